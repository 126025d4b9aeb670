"""`treewright doctor`: what is missing, and the command that mends it."""

import dataclasses
import json
from collections.abc import Iterator

import click

from treewright.app.checkup import Checkup
from treewright.app.doctor import examine
from treewright.app.treewright import Treewright
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.saying import say

_MARKS = {"good": "ok", "missing": "MISSING", "optional": "optional"}


@click.command(short_help="Say what is missing here, and how to mend it.")
@flags.text_or_json
def doctor(form: str) -> int:
    """Look at everything that Treewright needs, and say of each thing that is missing what mends it.

    Python, the command, its packages, settings, the folder where runs are kept, the latest runs, git, ruff, kernels, models. Nothing is
    changed, and nothing is asked of other machines. Exit 1 when something is missing; what is optional does not count.
    """
    found = examine(Treewright("cli").context)
    if form == "json":
        say(json.dumps([dataclasses.asdict(each) for each in found], ensure_ascii=False, indent=1))
    else:
        for line in _lines(found):
            say(line)
    return 1 if any(each.state == "missing" for each in found) else 0


def _lines(found: list[Checkup]) -> Iterator[str]:
    width = max(len(each.name) for each in found)
    for each in found:
        yield f"{_MARKS[each.state]:<8} {each.name:<{width}}  {each.detail}"
        if each.mend:
            yield f"{'':<8} {'':<{width}}  -> {each.mend}"
    missing = [each.name for each in found if each.state == "missing"]
    yield ""
    if missing:
        yield f"To be mended: {', '.join(missing)}."
    elif any(each.name == "models" and each.state == "optional" for each in found):
        yield "Nothing is missing: treewright audit works. Without a model the other presets do not."
    else:
        yield "Nothing is missing."
