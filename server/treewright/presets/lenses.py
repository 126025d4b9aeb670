"""Lenses: directive prompts that each attack a thought from one side (contract: deliberation, 2)."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from treewright.data import shipped_path
from treewright.errors import PresetError
from treewright.presets.body import headings
from treewright.presets.fault import Fault, Mark, errors_only, fault_at, in_reading_order
from treewright.presets.frontmatter import Document, read_document
from treewright.presets.schema import Text
from treewright.presets.shape import FlagShape, ListShape, MapShape, Shaped, TextShape, shaped
from treewright.presets.source import read_source
from treewright.tree.citation import Frozen

SHIPPED_ORDER = (
    "overconfidence",
    "weak_evidence",
    "missing_perspective",
    "unstated_assumption",
    "scope_creep",
    "alternative_framing",
    "steel_man",
    "first_principles",
)
"""the order in which lenses come after a stage's own (contract: deliberation, 2)"""

SHORTEST = 200
"""characters; a directive below that leaves a small model to guess what it is to do"""
LONGEST = 4000
"""characters; a lens is one part of a prompt that must fit a small context"""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_ASK_SHAPE = MapShape(
    required={"key": TextShape(), "ask": TextShape()}, optional={"quote": FlagShape(), "begins": TextShape()}
)
LENS_SHAPE = MapShape(
    required={"name": TextShape(), "attacks": TextShape(), "produces": TextShape()},
    optional={"asks": ListShape(_ASK_SHAPE)},
)


class Ask(Frozen):
    """One short question of a lens.

    Attributes:
        key: identifier in snake case, unique in its lens.
        ask: what is asked.
        quote: whether the answer is a sentence of the text, word for word.
        begins: the words that the answer begins with; empty for any.
    """

    key: Text
    ask: Text
    quote: bool = False
    begins: str = ""

    @property
    def label(self) -> str:
        """The key as people read it: `fails_when` is `Fails when`."""
        return self.key.replace("_", " ").capitalize()

    @property
    def told(self) -> str:
        """What is asked, with its rule."""
        if self.quote:
            return f"{self.ask} (copied word for word)"
        return f'{self.ask} (begin with "{self.begins}")' if self.begins else self.ask


class Lens(Frozen):
    """A lens.

    Attributes:
        name: identifier in snake case, the base name of its file.
        title: the first heading of its body.
        attacks: what it looks for, in one line.
        produces: what an answer holds, in one line.
        guidance: the prompt, Markdown without the title.
        asks: what to answer, in order; empty for a lens whose guidance says it.
        path: where it was read from.
        shipped: False for one of the user's.
    """

    name: Text
    title: Text
    attacks: Text
    produces: Text
    guidance: Text
    asks: tuple[Ask, ...] = ()
    path: str
    shipped: bool = True

    @property
    def directive(self) -> str:
        """The whole prompt: the guidance, and the lines to answer with."""
        if not self.asks:
            return self.guidance
        lines = [f"- {one.label}: {one.told}" for one in self.asks]
        return "\n".join((self.guidance, "", "Answer in this form, one or two sentences a line:", "", *lines))


class LensLibrary(Frozen):
    """The lenses of an installation and a user.

    Attributes:
        lenses: name to lens, the shipped ones in their fixed order, then the user's by name.
        faults: what is wrong with files that were left out; a faulty override leaves the shipped lens in place.
    """

    lenses: dict[str, Lens]
    faults: tuple[Fault, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names in order."""
        return tuple(self.lenses)

    def get(self, name: str) -> Lens:
        """Return a lens; spaces, hyphens and letter case of the name do not matter.

        Raises:
            PresetError: `lens_not_found`, with the nearest name.
        """
        wanted = re.sub(r"[\s-]+", "_", name.strip().lower())
        if wanted in self.lenses:
            return self.lenses[wanted]
        near = difflib.get_close_matches(wanted, list(self.lenses), 1, 0.4)
        hint = f"did you mean {near[0]}?" if near else f"known lenses: {', '.join(self.lenses)}"
        raise PresetError("lens_not_found", f"there is no lens {name.strip()!r}", hint, {"name": name})


def load_lenses(root: Path | None = None) -> LensLibrary:
    """Read the shipped lenses and those in `<root>/lenses/`, which add to them or override them by name.

    Args:
        root: the store's root folder.

    Raises:
        PresetError: a shipped lens is missing or at fault: the installation is damaged.
    """
    lenses = {name: load_lens(shipped_path("lenses", f"{name}.md")) for name in SHIPPED_ORDER}
    faults: list[Fault] = []
    for path in sorted((root / "lenses").glob("*.md")) if root else ():
        try:
            found, problems = parse_lens(read_source(path, "lens"), str(path))
        except PresetError as error:
            mark = Mark(line=1, column=1, end_column=1)
            found, problems = None, [fault_at(str(path), mark, "E100", error.message)]
        faults += problems
        if found:
            lenses[found.name] = found.model_copy(update={"shipped": False})
    return LensLibrary(lenses=lenses, faults=tuple(faults))


def load_lens(path: Path) -> Lens:
    """Read a lens from its file.

    Raises:
        PresetError: `lens_not_found`, `lens_unreadable` or `lens_invalid`.
    """
    found, faults = parse_lens(read_source(path, "lens"), str(path))
    if found is None:
        raise PresetError(
            "lens_invalid",
            f"the lens {path.name} cannot be used: {errors_only(faults)[0]}",
            f"run `treewright validate {path}`",
            {"path": str(path), "faults": [fault.model_dump() for fault in faults]},
        )
    return found


def parse_lens(text: str, path: str) -> tuple[Lens | None, list[Fault]]:
    """Read a lens's text.

    Args:
        text: the decoded file.
        path: its name; the base name is the lens's.

    Returns:
        The lens, or None when an error refuses it, and every fault in reading order.
    """
    document = read_document(text, path)
    front = shaped(document.front, LENS_SHAPE, path) if document.front else Shaped(path)
    faults = [*document.faults, *front.faults]
    title, directive = _title_and_directive(document)
    if document.front is not None:
        faults += _name_differs_from_file(front, path)
        faults += _title_is_missing(document, title)
        faults += _directive_is_off(document, directive)
        faults += _asks_are_off(front)
    faults = in_reading_order(faults)
    if errors_only(faults):
        return None, faults
    return Lens(**front.data, title=title, guidance=directive, path=path), faults


def _title_and_directive(document: Document) -> tuple[str, str]:
    first = next(iter(headings(document.body, document.body_line)), None)
    if first is None or first.level != 1:
        return "", "\n".join(document.body).strip()
    after = document.body[first.line + 1 - document.body_line :]
    return first.title, "\n".join(after).strip()


def _name_differs_from_file(front: Shaped, path: str) -> Iterator[Fault]:
    """E401: a lens's name is an identifier and equals the base name of its file."""
    stem = PurePath(path.replace("\\", "/")).stem
    name = front.data.get("name")
    if name is not None and name != stem:
        message = f"name is {name} but the file is called {stem}.md; make them equal"
        yield fault_at(path, front.mark("name"), "E401", message)
    elif name is not None and not _NAME.match(name):
        message = f"name {name} must be lower case ASCII words joined by underscores"
        yield fault_at(path, front.mark("name"), "E401", message)


def _asks_are_off(front: Shaped) -> Iterator[Fault]:
    """E404: what a lens asks has names of its own, and an answer is a quotation or has an opening, not both."""
    seen: set[str] = set()
    for place, one in enumerate(front.data.get("asks", ())):
        key = one.get("key", "")
        mark = front.mark("asks", place, "key")
        if key and (not _NAME.match(key) or key in seen):
            message = f"key {key} must be lower case ASCII words joined by underscores, once in a lens"
            yield fault_at(front.path, mark, "E404", message)
        elif one.get("quote") and one.get("begins"):
            yield fault_at(
                front.path, mark, "E404", f"{key} is a quotation and cannot begin with other words"
            )
        seen.add(key)


def _title_is_missing(document: Document, title: str) -> Iterator[Fault]:
    """E402: the body starts with a heading `# Title`."""
    if not title:
        at = Mark(line=document.body_line, column=1, end_column=1)
        yield fault_at(document.path, at, "E402", "the body must start with a heading `# Title`")


def _directive_is_off(document: Document, directive: str) -> Iterator[Fault]:
    """E403: the directive is long enough to be followed and short enough for a small context."""
    at = Mark(line=document.body_line, column=1, end_column=1)
    if not SHORTEST <= len(directive) <= LONGEST:
        message = f"the directive must have {SHORTEST} to {LONGEST} characters, found {len(directive)}"
        yield fault_at(document.path, at, "E403", message)
