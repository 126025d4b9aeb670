"""Which of a preset's modes a topic asks for: a problem when something fails or a choice is due, research else."""

import re
import tomllib
from functools import cache

from treewright.data import data_path
from treewright.presets.schema import Preset


@cache
def _words() -> tuple[frozenset[str], tuple[str, ...]]:
    table = tomllib.loads(data_path("modes.toml").read_text(encoding="utf-8"))["problem"]
    return frozenset(table["words"]), tuple(table["parts"])


def mode_of(preset: Preset, topic: str) -> str:
    """Return the mode that a topic decides; the preset's first where it has only one, or none that is a problem.

    Args:
        preset: with its modes in order.
        topic: the user's words.
    """
    modes = [schema.mode for schema in preset.root_schemas]
    if "problem" not in modes or len(modes) == 1:
        return modes[0]
    words, parts = _words()
    low = topic.casefold().replace("’", "'")
    told = words.intersection(re.findall(r"[\w']+", low)) or any(part in low for part in parts)
    return "problem" if told else next(mode for mode in modes if mode != "problem")
