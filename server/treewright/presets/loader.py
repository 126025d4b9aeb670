"""Finds, reads and builds presets."""

import difflib
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from treewright.counted import counted
from treewright.data import shipped_path
from treewright.errors import PresetError
from treewright.presets.fault import Fault, errors_only, in_reading_order
from treewright.presets.preset_file import (
    ANTI_PATTERNS,
    GROUNDING,
    NOTES,
    VERDICTS,
    PresetFile,
    take_apart,
)
from treewright.presets.preset_rules import note_letter, preset_faults, sort_keys
from treewright.presets.schema import Preset
from treewright.presets.source import read_source
from treewright.tree.citation import Frozen

_PATH_LIKE = re.compile(r"[/\\]|\.md\Z|\A~|\A\.")


class PresetSummary(Frozen):
    """A preset as a list shows it.

    Attributes:
        name: what `--preset` takes.
        description: from the file; empty when it cannot be loaded.
        source: `shipped` or `user`.
        path: where the file is.
        faults: how many errors keep it from being used.
    """

    name: str
    description: str
    source: str
    path: str
    faults: int = 0


def parse_preset(text: str, path: str) -> tuple[Preset | None, list[Fault]]:
    """Read a preset's text.

    Args:
        text: the decoded file.
        path: its name; the base name is what the preset must be called.

    Returns:
        The preset, or None when an error refuses it, and every fault in reading order.
    """
    file = take_apart(text, path)
    faults = in_reading_order(preset_faults(file))
    return (None if errors_only(faults) else _build(file)), faults


def load_preset_file(path: Path) -> Preset:
    """Read a preset from a file.

    Raises:
        PresetError: `preset_not_found`, `preset_unreadable`, or `preset_invalid` with every fault in its details.
    """
    preset, faults = parse_preset(read_source(path, "preset"), str(path))
    if preset is None:
        errors = errors_only(faults)
        raise PresetError(
            "preset_invalid",
            f"the preset {path.name} has {counted(len(errors), 'fault')}; the first: {errors[0]}",
            f"run `treewright validate {path}` to see them all",
            {"path": str(path), "faults": [fault.model_dump() for fault in faults]},
        )
    return preset


def find_preset(reference: str, root: Path | None = None, base: Path | None = None) -> Path:
    """Return the file that `--preset` means.

    Args:
        reference: a shipped name, a name in `<root>/presets/`, or a path to a `.md` file.
        root: the store's root folder.
        base: the folder that a relative path starts from; the current folder when None.

    Raises:
        PresetError: `preset_not_found`, with the nearest names.
    """
    wanted = reference.strip()
    if _PATH_LIKE.search(wanted):
        path = Path(wanted).expanduser()
        path = path if base is None else base / path
        if path.is_file():
            return path
    elif wanted:
        for folder in _folders(root):
            path = folder / f"{wanted}.md"
            if path.is_file():
                return path
    names = [summary.name for summary in list_presets(root)]
    near = difflib.get_close_matches(wanted, names, 1, 0.4)
    hint = f"did you mean {near[0]}?" if near else f"known presets: {', '.join(names)}"
    raise PresetError("preset_not_found", f"there is no preset {wanted!r}", hint, {"reference": wanted})


def load_preset(reference: str, root: Path | None = None, base: Path | None = None) -> Preset:
    """Find and read a preset; see `find_preset` and `load_preset_file`."""
    return load_preset_file(find_preset(reference, root, base))


def list_presets(root: Path | None = None) -> list[PresetSummary]:
    """Return the shipped presets, then the user's; a user's file with a shipped name is left out."""
    found: dict[str, PresetSummary] = {}
    for source, folder in zip(("shipped", "user"), _folders(root), strict=False):
        for path in sorted(folder.glob("*.md")):
            if path.stem.startswith("_") or path.stem in found:
                continue
            try:
                description, faults = load_preset_file(path).description, 0
            except PresetError as error:
                description, faults = "", len(error.details.get("faults", [])) or 1
            found[path.stem] = PresetSummary(
                name=path.stem, description=description, source=source, path=str(path), faults=faults
            )
    return list(found.values())


def _folders(root: Path | None) -> list[Path]:
    return [shipped_path("presets"), *([root / "presets"] if root else [])]


def _build(file: PresetFile) -> Preset:
    """Build the preset of a file that has no errors."""
    data = dict(file.data)
    data["use_when"] = data.pop("use-when", "")
    data["not_when"] = data.pop("not-when", "")
    data["parts"] = file.parts()
    data["root_schemas"] = data.pop("root_fields", None) or _usual_root_fields(data["root_kind"])
    artifacts = dict(data["output_artifacts"])
    artifacts["secondary"] = {
        file.selector(key): name for key, name in artifacts.get("secondary", {}).items()
    }
    artifacts["sort_by"] = sort_keys(artifacts.get("sort_by", "score"))
    data["output_artifacts"] = artifacts
    notes = file.section(NOTES)
    return Preset.model_validate(
        {
            **data,
            "grounding": _text(file, GROUNDING),
            "verdict_detail": _text(file, VERDICTS),
            "anti_patterns": _text(file, ANTI_PATTERNS),
            "framing_notes": {note_letter(n): n.text for n in (notes.parts(3) if notes else []) if n.text},
            "digest": hashlib.sha256(file.document.text.encode("utf-8")).hexdigest(),
        }
    )


def _text(file: PresetFile, title: str) -> str:
    section = file.section(title)
    return section.text if section else ""


@cache
def _usual_root_fields(root_kind: str) -> list[dict[str, Any]]:
    """Return the root fields of the shipped preset of a root kind, for presets that name none."""
    for path in sorted(shipped_path("presets").glob("*.md")):
        file = take_apart(read_source(path, "preset"), str(path))
        if file.data.get("root_kind") == root_kind and "root_fields" in file.data:
            fields: list[dict[str, Any]] = file.data["root_fields"]
            return fields
    raise PresetError("preset_invalid", f"no shipped preset names root fields for {root_kind}")
