"""Field profiles: how the reviewers of a domain weigh things (contract: exploration, 9).

A profile adds notes to framings and an order to the frontier. It never relaxes a rule: it changes what is looked at
first and what is looked for, not what counts.
"""

import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath

from pydantic import Field

from treewright.data import shipped_path
from treewright.errors import PresetError
from treewright.presets.body import Section, sections
from treewright.presets.fault import Fault, Mark, errors_only, fault_at, in_reading_order
from treewright.presets.frontmatter import Document, read_document
from treewright.presets.schema import DIM_MAXIMUM, Preset, Text
from treewright.presets.shape import ListShape, MapShape, NumberShape, Shaped, TextShape, shaped
from treewright.presets.source import read_source
from treewright.tree.citation import Frozen

NOT_FOUND_TAG = "[FIELD_PROFILE_NOT_FOUND]"
CITATIONS = "citations"

SECTION_FRAMINGS: Mapping[str, tuple[str, ...]] = {
    "Reviewer concerns": ("C", "D"),
    "Field consensuses": ("I",),
    "Common failure modes": ("J",),
    "Evidence bar": ("X", CITATIONS),
}
"""section to the framings it speaks to; `citations` stands for the checking of evidence"""

_KEYWORD_HITS = 4
"""keywords beyond this many say nothing more about where a node belongs"""
_NAME = re.compile(r"_?[a-z0-9][a-z0-9-]*\Z")
PROFILE_SHAPE = MapShape(
    required={"field": TextShape(), "description": TextShape()},
    optional={"keywords": ListShape(TextShape()), "weights": MapShape(others=NumberShape(1, 3))},
)


class Profile(Frozen):
    """A field profile.

    Attributes:
        field: equals the base name of its file.
        description: one sentence.
        keywords: words of a node's statement that make it interesting to this field.
        weights: names of score dimensions to weights 1 to 3, for those that this field looks at first.
        texts: section title to Markdown, for the four sections.
        digest: SHA-256 (hex) of the file with LF line ends and without byte order mark.
    """

    field: Text
    description: Text
    keywords: tuple[str, ...] = ()
    weights: dict[str, int] = Field(default_factory=dict)
    texts: dict[str, Text]
    digest: Text

    def notes_for(self, framing: str) -> str:
        """Return what the profile adds to a framing (A to L, X) or to `citations`; empty for most."""
        return "\n\n".join(self.texts[title] for title, to in SECTION_FRAMINGS.items() if framing in to)


def priority(profile: Profile | None, preset: Preset, scores: Mapping[str, int], text: str) -> float:
    """Return how much earlier than its sum says a frontier node is expanded.

    It is the weighted mean of the dimensions that the profile weighs (0 to 3) plus half a point for each keyword in
    the text, four at most: 0 to 5 in all, against a sum of 11 to 15. Only an order follows from it.

    Args:
        profile: None gives 0.
        preset: whose dimensions the scores are.
        scores: by dimension key, 0 to 3.
        text: the node's statement.
    """
    if profile is None:
        return 0.0
    weighed = [
        (profile.weights[dim.name], min(max(scores.get(dim.key, 0), 0), DIM_MAXIMUM))
        for dim in preset.score_dims
        if dim.name in profile.weights
    ]
    total = sum(weight for weight, _ in weighed)
    mean = sum(weight * score for weight, score in weighed) / total if total else 0.0
    hits = sum(1 for pattern in _patterns(profile.keywords) if pattern.search(text))
    return mean + 0.5 * min(hits, _KEYWORD_HITS)


@cache
def _patterns(keywords: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?<![A-Za-z0-9]){re.escape(word)}", re.IGNORECASE) for word in keywords)


def find_profile(name: str, root: Path | None = None) -> tuple[Profile | None, str]:
    """Return a field profile, or the warning to go on with.

    Args:
        name: what `--field` says.
        root: the store's root folder; a profile in its `profiles/` wins over a shipped one.

    Returns:
        The profile and an empty text, or None and a warning that starts with `[FIELD_PROFILE_NOT_FOUND]`.

    Raises:
        PresetError: `profile_unreadable` or `profile_invalid`: the profile is there and is at fault.
    """
    wanted = name.strip()
    known = list_profiles(root)
    if wanted in known:
        return load_profile(known[wanted]), ""
    if wanted.startswith("_"):
        return None, f"{NOT_FOUND_TAG} {wanted} cannot be chosen: names that start with _ are templates"
    near = difflib.get_close_matches(wanted, list(known), 1, 0.4)
    hint = f"did you mean {near[0]}?" if near else f"known fields: {', '.join(known)}"
    return None, f"{NOT_FOUND_TAG} there is no field profile {wanted!r}; {hint}"


def list_profiles(root: Path | None = None) -> dict[str, Path]:
    """Return the selectable profiles, name to file, the user's before the shipped."""
    folders = [*([root / "profiles"] if root else []), shipped_path("presets", "profiles")]
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.md")):
            if not path.name.startswith("_"):
                found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def load_profile(path: Path) -> Profile:
    """Read a profile from its file.

    Raises:
        PresetError: `profile_not_found`, `profile_unreadable` or `profile_invalid`.
    """
    found, faults = parse_profile(read_source(path, "profile"), str(path))
    if found is None:
        raise PresetError(
            "profile_invalid",
            f"the field profile {path.name} cannot be used: {errors_only(faults)[0]}",
            f"run `treewright validate {path}`",
            {"path": str(path), "faults": [fault.model_dump() for fault in faults]},
        )
    return found


def parse_profile(text: str, path: str) -> tuple[Profile | None, list[Fault]]:
    """Read a profile's text.

    Args:
        text: the decoded file.
        path: its name; the base name is the field.

    Returns:
        The profile, or None when an error refuses it, and every fault in reading order.
    """
    document = read_document(text, path)
    front = shaped(document.front, PROFILE_SHAPE, path) if document.front else Shaped(path)
    found = {s.heading.title: s for s in sections(document.body, document.body_line, 2)}
    faults = [*document.faults, *front.faults]
    if document.front is not None:
        faults += _field_differs_from_file(front, path)
        faults += _section_is_missing(document, found)
        faults += _section_is_unused(document, found)
    faults = in_reading_order(faults)
    if errors_only(faults):
        return None, faults
    texts = {title: found[title].text for title in SECTION_FRAMINGS}
    digest = hashlib.sha256(document.text.encode("utf-8")).hexdigest()
    return Profile.model_validate({**front.data, "texts": texts, "digest": digest}), faults


def _field_differs_from_file(front: Shaped, path: str) -> Iterator[Fault]:
    """E301: a profile's field equals the base name of its file."""
    stem = PurePath(path.replace("\\", "/")).stem
    name = front.data.get("field")
    if name is not None and name != stem:
        message = f"field is {name} but the file is called {stem}.md; make them equal"
        yield fault_at(path, front.mark("field"), "E301", message)
    elif name is not None and not _NAME.match(name):
        message = f"field {name} may only hold lower case letters, digits and hyphens"
        yield fault_at(path, front.mark("field"), "E301", message)


def _section_is_missing(document: Document, found: Mapping[str, Section]) -> Iterator[Fault]:
    """E302: a profile has its four sections, none of them empty."""
    end = Mark(line=document.body_line, column=1, end_column=1)
    for title in SECTION_FRAMINGS:
        if title not in found:
            yield fault_at(document.path, end, "E302", f"the section `## {title}` is missing from the body")
        elif not found[title].text:
            mark = found[title].heading.mark
            yield fault_at(document.path, mark, "E302", f"the section {title} is empty")


def _section_is_unused(document: Document, found: Mapping[str, Section]) -> Iterator[Fault]:
    """W303: a section that no framing reads is likely a misspelt one."""
    for title, section in found.items():
        if title not in SECTION_FRAMINGS:
            message = f"the section {title} is not used; known: {', '.join(SECTION_FRAMINGS)}"
            yield fault_at(document.path, section.heading.mark, "W303", message)
