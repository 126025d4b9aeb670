"""Validates the files that people write: presets, profiles, lenses, framings, pages (contract: exploration, 11)."""

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from treewright.data import data_path, shipped_path
from treewright.errors import PresetError
from treewright.presets.documents import MANIFEST, manifest_faults
from treewright.presets.fault import Fault, Mark, fault_at, in_reading_order
from treewright.presets.framings import parse_framing
from treewright.presets.frontmatter import normalised
from treewright.presets.lenses import parse_lens
from treewright.presets.loader import parse_preset
from treewright.presets.profiles import parse_profile
from treewright.presets.references import page_faults
from treewright.presets.source import read_source
from treewright.tree.citation import Frozen

FileKind = Literal["preset", "profile", "lens", "framing", "page"]

_START = Mark(line=1, column=1, end_column=1)
_FOLDERS: dict[str, FileKind] = {
    "presets": "preset",
    "profiles": "profile",
    "lenses": "lens",
    "framings": "framing",
}
_TELLTALE: tuple[tuple[str, FileKind], ...] = (
    ("root_kind", "preset"),
    ("verdict_enum", "preset"),
    ("attacks", "lens"),
    ("framing", "framing"),
    ("field", "profile"),
)
_SKIPPED = {"node_modules", "__pycache__", "vendor", "dist", "build"}


class RuleEntry(Frozen):
    """What the rule table says of a rule: a name for people and a sentence."""

    id: str
    name: str
    summary: str


@cache
def rules() -> dict[str, RuleEntry]:
    """Return every validation rule by id (data: `presets/rules.toml`)."""
    table = tomllib.loads(data_path("presets", "rules.toml").read_text(encoding="utf-8"))
    return {key: RuleEntry(id=key, **entry) for key, entry in table.items()}


def validate_text(kind: FileKind, text: str, name: str, folder: Path | None = None) -> list[Fault]:
    """Return the faults of a text, in reading order; nothing is written and nothing raised.

    Args:
        kind: what the text is; `file_kind` tells.
        text: the decoded text, as an editor holds it.
        name: its file name or path; the base name is the name that the content should carry.
        folder: where links and examples are looked up; None leaves other files out.
    """
    parsers = {"preset": parse_preset, "profile": parse_profile, "lens": parse_lens, "framing": parse_framing}
    faults = list(parsers[kind](text, name)[1]) if kind in parsers else []
    lines = normalised(text).split("\n")
    start = _body_start(lines)
    faults += page_faults(lines[start:], name, start + 1, folder)
    return in_reading_order(faults)


def _body_start(lines: list[str]) -> int:
    """Return the index of the first line after the front matter; 0 without one."""
    if not re.match(r"---[ \t]*\Z", lines[0]):
        return 0
    return next((i + 1 for i, line in enumerate(lines[1:], 1) if re.match(r"---[ \t]*\Z", line)), len(lines))


def file_kind(path: Path, text: str) -> FileKind:
    """Return what a Markdown file is: by the folder it lies in, else by the keys of its front matter."""
    kind = _FOLDERS.get(path.resolve().parent.name)
    if kind:
        return kind
    lines = normalised(text).split("\n")
    front = lines[1 : _body_start(lines)]
    keys = {line.partition(":")[0] for line in front}
    return next((kind for key, kind in _TELLTALE if key in keys), "page")


def validate_paths(paths: Sequence[Path], checked: Counter[str] | None = None) -> list[Fault]:
    """Return the faults of files and folders, in reading order.

    Folders are walked for Markdown files and `languages.json`; hidden, vendored and generated folders are left out,
    and links to folders are not followed.

    Args:
        paths: files and folders; a missing one is a fault itself.
        checked: counts the files that could be read by what they were taken for.
    """
    counted = Counter[str]() if checked is None else checked
    faults: list[Fault] = []
    for path in dict.fromkeys(file for given in paths for file in _files(given)):
        faults += _file_faults(path, counted)
    return in_reading_order(dict.fromkeys(faults))


def default_paths(root: Path | None = None) -> list[Path]:
    """Return what `treewright validate` looks at when it is given nothing: what is shipped and what the user has.

    Args:
        root: the store's root folder.
    """
    own = [root / name for name in ("presets", "profiles", "lenses")] if root else []
    return [shipped_path("presets"), shipped_path("lenses"), *(folder for folder in own if folder.is_dir())]


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in _SKIPPED)
        for name in sorted(files):
            if name.endswith(".md") or name == MANIFEST:
                yield Path(folder) / name


def _file_faults(path: Path, checked: Counter[str]) -> list[Fault]:
    if path.name == MANIFEST:
        checked["list of pages"] += 1
        return manifest_faults(path)
    if path.suffix != ".md" and path.exists():
        return [fault_at(str(path), _START, "E100", "only Markdown files and languages.json are validated")]
    try:
        text = read_source(path, "preset")
    except PresetError as error:
        line = error.details.get("line", 1)
        message = error.message.replace("preset file", "file")
        return [fault_at(str(path), Mark(line=line, column=1, end_column=1), "E100", message)]
    kind = file_kind(path, text)
    checked[kind] += 1
    return validate_text(kind, text, str(path), path.parent)


def as_json(faults: Sequence[Fault]) -> str:
    """Return faults as a JSON list, one object a fault, for `--format json`."""
    return json.dumps([fault.model_dump() for fault in faults], ensure_ascii=False, indent=2)
