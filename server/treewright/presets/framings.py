"""The 12 framings A to L and the cross-check X, read from `presets/framings/` (contract: exploration, 4)."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import Any, Literal, get_args

from pydantic import Field

from treewright.data import shipped_path
from treewright.errors import PresetError
from treewright.presets.body import sections
from treewright.presets.fault import Fault, Mark, errors_only, fault_at, in_reading_order
from treewright.presets.frontmatter import Document, read_document
from treewright.presets.schema import Preset, RootKind, Text
from treewright.presets.shape import FlagShape, ListShape, MapShape, NumberShape, Shaped, TextShape, shaped
from treewright.presets.source import read_source
from treewright.tree.citation import Frozen

LETTERS = "ABCDEFGHIJKL"
"""the framings that fire on every expanded node, in the order that decides ordinals"""
CROSS_CHECK = "X"

Letter = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "X"]

FRAMING_SECTIONS = ("Purpose", "Prompt", "What to look for", "Output requirement", "Failure modes")
_KINDS = get_args(RootKind)
FRAMING_SHAPE = MapShape(
    required={
        "framing": TextShape(tuple(get_args(Letter))),
        "title": TextShape(),
        "children": NumberShape(0, 12),
    },
    optional={
        "listed": NumberShape(0, 12),
        "listed_as": TextShape(),
        "labels": ListShape(TextShape()),
        "new_branch": FlagShape(),
        "high_risk": FlagShape(),
    },
)


class Requirement(Frozen):
    """What an answer to a framing must bring.

    Attributes:
        children: proposals that are due at least; 0 for X.
        listed: things that must be listed before the proposals; 0 for none.
        listed_as: what these are: `fields`, `counters`, `questions`, `consensuses`, `failures`, `candidates`.
        labels: one for each child when they have distinct parts to play, as `relax` and `tighten`.
        new_branch: a child must differ from everything that the tree already has.
        high_risk: the child is the high-risk one that every pass must bring (rule F4).
    """

    children: int = Field(ge=0, le=12)
    listed: int = Field(default=0, ge=0, le=12)
    listed_as: str = ""
    labels: tuple[str, ...] = ()
    new_branch: bool = False
    high_risk: bool = False


class Framing(Frozen):
    """One way of looking at a node.

    Attributes:
        letter: A to L, or X.
        title: its name.
        requirement: the output requirement as data.
        purpose: why it exists.
        prompt: the instruction, ready to be sent.
        look_for: root kind to what to look for.
        output: the output requirement in words.
        failure_modes: how answers to it go wrong.
    """

    letter: Letter
    title: Text
    requirement: Requirement
    purpose: Text
    prompt: Text
    look_for: dict[RootKind, Text]
    output: Text
    failure_modes: Text

    def instruction(self, preset: Preset) -> str:
        """Return what a performer is told: prompt, what this preset looks for, output, failure modes."""
        parts = [
            f"## Framing {self.letter}: {self.title}",
            self.prompt,
            f"Look for: {self.look_for[preset.root_kind]}",
            preset.framing_notes.get(self.letter, ""),
            f"What to bring:\n{self.output}",
            f"What goes wrong here:\n{self.failure_modes}",
        ]
        return "\n\n".join(part for part in parts if part)


def framing(letter: str) -> Framing:
    """Return a framing by its letter, A to L or X.

    Raises:
        PresetError: `framing_not_found` or `framing_invalid`: the installation is damaged.
    """
    found = _registry().get(letter)
    if found is None:
        raise PresetError("framing_not_found", f"there is no framing {letter!r}", "use a letter A to L, or X")
    return found


def all_framings() -> tuple[Framing, ...]:
    """Return the 12 framings A to L in order, without X."""
    return tuple(framing(letter) for letter in LETTERS)


@cache
def _registry() -> dict[str, Framing]:
    return {
        letter: load_framing(shipped_path("presets", "framings", f"{letter}.md")) for letter in LETTERS + "X"
    }


def load_framing(path: Path) -> Framing:
    """Read a framing from its file.

    Raises:
        PresetError: `framing_not_found`, `framing_unreadable` or `framing_invalid`.
    """
    found, faults = parse_framing(read_source(path, "framing"), str(path))
    if found is None:
        raise PresetError(
            "framing_invalid",
            f"the framing {path.name} cannot be used: {errors_only(faults)[0]}",
            f"run `treewright validate {path}`",
            {"path": str(path), "faults": [fault.model_dump() for fault in faults]},
        )
    return found


def parse_framing(text: str, path: str) -> tuple[Framing | None, list[Fault]]:
    """Read a framing's text.

    Args:
        text: the decoded file.
        path: its name; the base name is the letter.

    Returns:
        The framing, or None when an error refuses it, and every fault in reading order.
    """
    document = read_document(text, path)
    front = shaped(document.front, FRAMING_SHAPE, path) if document.front else Shaped(path)
    texts = {s.heading.title: s for s in sections(document.body, document.body_line, 2)}
    look = texts.get("What to look for")
    look_for = {s.heading.title: s.text for s in (look.parts(3) if look else [])}
    faults = [*document.faults, *front.faults]
    if document.front is not None:
        faults += _letter_differs_from_file(front, path)
        faults += _requirement_is_off(front, path)
        faults += _section_is_missing(document, {k: v.text for k, v in texts.items()}, look_for)
        faults += _questions_are_off(document, front.data, texts["Prompt"].text if "Prompt" in texts else "")
    faults = in_reading_order(faults)
    if errors_only(faults):
        return None, faults
    data: dict[str, Any] = dict(front.data)
    built = Framing(
        letter=data.pop("framing"),
        title=data.pop("title"),
        requirement=Requirement.model_validate(data),
        purpose=texts["Purpose"].text,
        prompt=texts["Prompt"].text,
        look_for={kind: look_for[kind] for kind in _KINDS},
        output=texts["Output requirement"].text,
        failure_modes=texts["Failure modes"].text,
    )
    return built, faults


def _letter_differs_from_file(front: Shaped, path: str) -> Iterator[Fault]:
    """E501: a framing's letter equals the base name of its file."""
    stem = PurePath(path.replace("\\", "/")).stem
    letter = front.data.get("framing")
    if letter is not None and letter != stem:
        message = f"framing is {letter} but the file is called {stem}.md; make them equal"
        yield fault_at(path, front.mark("framing"), "E501", message)


def _requirement_is_off(front: Shaped, path: str) -> Iterator[Fault]:
    """E502: labels are as many as children, listed things are named, only X brings no child."""
    data = front.data
    children, labels = data.get("children"), data.get("labels", [])
    if labels and children is not None and len(labels) != children:
        message = f"there are {len(labels)} labels for {children} children"
        yield fault_at(path, front.key_mark("labels"), "E502", message)
    if bool(data.get("listed")) != bool(data.get("listed_as")):
        message = "listed and listed_as belong together: how many, and what they are"
        yield fault_at(path, front.key_mark("listed"), "E502", message)
    if children is not None and "framing" in data and (children == 0) != (data["framing"] == CROSS_CHECK):
        message = "every framing A to L brings at least one child, and X brings none"
        yield fault_at(path, front.mark("children"), "E502", message)


def _section_is_missing(
    document: Document, texts: dict[str, str], look_for: dict[str, str]
) -> Iterator[Fault]:
    """E503: a framing has its five sections, with something to look for under each root kind."""
    at = Mark(line=document.body_line, column=1, end_column=1)
    for title in FRAMING_SECTIONS:
        if not texts.get(title):
            yield fault_at(document.path, at, "E503", f"the section `## {title}` is missing or empty")
    for kind in _KINDS:
        if not look_for.get(kind):
            message = f"`### {kind}` is missing or empty under What to look for"
            yield fault_at(document.path, at, "E503", message)


def _questions_are_off(document: Document, data: dict[str, Any], prompt: str) -> Iterator[Fault]:
    """E504: a framing that asks questions numbers exactly as many as it says."""
    if data.get("listed_as") != "questions":
        return
    numbered = sum(1 for line in prompt.splitlines() if line.partition(".")[0].isdigit())
    if numbered != data.get("listed"):
        at = Mark(line=document.body_line, column=1, end_column=1)
        message = f"the prompt numbers {numbered} questions, listed says {data.get('listed')}"
        yield fault_at(document.path, at, "E504", message)
