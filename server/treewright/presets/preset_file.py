"""A preset file taken apart: what the rules look at and the loader builds from."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any, get_args

from treewright.data import data_path
from treewright.presets.body import Section, sections
from treewright.presets.fault import Fault
from treewright.presets.frontmatter import Document, read_document
from treewright.presets.schema import DIM_MAXIMUM, GateKind, RootKind, SecondarySelector
from treewright.presets.shape import (
    FlagShape,
    ListShape,
    MapShape,
    NumberShape,
    Shaped,
    TextShape,
    shaped,
)
from treewright.tree.run import Role

GROUNDING, NOTES, VERDICTS, ANTI_PATTERNS = (
    "Grounding recipe",
    "Framing notes",
    "Verdict detail",
    "Anti-patterns",
)
SECTIONS = (GROUNDING, NOTES, VERDICTS, ANTI_PATTERNS)
LETTERS = "ABCDEFGHIJKLX"

_ROLES = tuple(role.value for role in Role)
_TEXT = TextShape()
_FIELD_RULE = MapShape(
    optional={
        "min_items": NumberShape(0, 50),
        "min_sentences": NumberShape(0, 50),
        "must_cite": FlagShape(),
        "must_have_steps": FlagShape(),
        "numeric": FlagShape(),
        "about": _TEXT,
    }
)
_ROOT_FIELD = MapShape({"name": _TEXT}, {"min_items": NumberShape(0, 50), "about": _TEXT})
_GATE = MapShape(
    {"when": TextShape(get_args(GateKind)), "then": TextShape(_ROLES), "because": _TEXT},
    {"field": _TEXT, "dim": _TEXT, "value": NumberShape(1, DIM_MAXIMUM), "always": FlagShape()},
)
_ARTIFACTS = MapShape(
    {"primary": _TEXT},
    {
        "secondary": MapShape(others=_TEXT),
        "sort_by": _TEXT,
        "each": _TEXT,
        "table": ListShape(_TEXT),
    },
)
_PARTS = [
    "subject",
    "framing",
    "position",
    "evidence",
    "assumptions",
    "predictions",
    "defense",
    "fix",
    "external",
    "potential",
    "verdict",
]

PRESET_SHAPE = MapShape(
    required={
        "name": _TEXT,
        "description": _TEXT,
        "root_kind": TextShape(get_args(RootKind)),
        "subject_label": _TEXT,
        "verdict_enum": MapShape(dict.fromkeys(_ROLES, _TEXT)),
        "convergence_metric": TextShape(_ROLES),
        "score_dims": ListShape(MapShape({"key": _TEXT, "name": _TEXT, "desc": _TEXT})),
        "node_schema": ListShape(_TEXT),
        "output_artifacts": _ARTIFACTS,
    },
    optional={
        "use-when": _TEXT,
        "not-when": _TEXT,
        "parts": MapShape(optional=dict.fromkeys(_PARTS, _TEXT)),
        "field_rules": MapShape(others=_FIELD_RULE),
        "root_fields": ListShape(
            MapShape({"fields": ListShape(_ROOT_FIELD)}, {"mode": _TEXT, "when": _TEXT})
        ),
        "gates": ListShape(_GATE),
        "glossary_paths": ListShape(_TEXT),
    },
)


@dataclass(frozen=True, slots=True)
class PresetFile:
    """A preset file as its rules see it.

    Attributes:
        document: front matter, body, and what reading them found wrong.
        front: the values of the front matter that had their shape.
        sections: the level 2 sections of the body.
    """

    document: Document
    front: Shaped
    sections: tuple[Section, ...]

    @property
    def path(self) -> str:
        """The name of the file, for faults."""
        return self.document.path

    @property
    def base_name(self) -> str:
        """The name that the preset should carry."""
        return PurePath(self.path.replace("\\", "/")).stem

    @property
    def data(self) -> dict[str, Any]:
        """The values of the front matter that had their shape."""
        return self.front.data

    def reading_faults(self) -> list[Fault]:
        """Return what was wrong before any rule was asked."""
        return [*self.document.faults, *self.front.faults]

    def selector(self, key: str) -> str | None:
        """Return which nodes a key of `secondary` selects: a selector itself, or the label of a role."""
        if key in get_args(SecondarySelector):
            return key
        labels = {label.casefold(): role for role, label in self.data.get("verdict_enum", {}).items()}
        role: str | None = labels.get(key.casefold())
        return role if role in get_args(SecondarySelector) else None

    def section(self, title: str) -> Section | None:
        """Return the first section of a title, in any letter case."""
        wanted = title.casefold()
        return next((s for s in self.sections if s.heading.title.casefold() == wanted), None)

    def parts(self) -> dict[str, str]:
        """Return part to field: what the file says, completed by the usual names of its fields."""
        named: dict[str, str] = dict(self.data.get("parts", {}))
        fields = self.data.get("node_schema", [])
        for part, usual in usual_parts().items():
            found = next((name for name in usual if name in fields), None)
            if part not in named and found:
                named[part] = found
        if "subject" not in named and fields:
            named["subject"] = fields[0]
        return named


def take_apart(text: str, path: str) -> PresetFile:
    """Read a preset's text as far as it can be read.

    Args:
        text: the decoded file.
        path: its name, for faults and for the name that the preset should carry.
    """
    document = read_document(text, path)
    front = shaped(document.front, PRESET_SHAPE, path) if document.front else Shaped(path)
    return PresetFile(document, front, tuple(sections(document.body, document.body_line, 2)))


@cache
def usual_parts() -> Mapping[str, tuple[str, ...]]:
    """Return part to the field names that usually play it (data: `presets/parts.toml`)."""
    table = tomllib.loads(data_path("presets", "parts.toml").read_text(encoding="utf-8"))
    return {part: tuple(names) for part, names in table.items()}
