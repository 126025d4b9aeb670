"""F1, no claim from memory.

Outside the assumptions field nothing is hedged ("probably", "I believe", and their equivalents in the run's language), a place in a
file or an address that prose names has a citation, and a field that must cite has at least one citation that holds.
"""

import re
from collections.abc import Iterable

from treewright.explore.rules.lexicon import find
from treewright.explore.rules.text import as_text
from treewright.presets.schema import Preset
from treewright.tree.body import Derivation
from treewright.tree.citation import CheckedCitation, Citation, CitationState, Violation

_PLACE = re.compile(r"(?<![\w/:.-])((?:[\w.-]+/)*[\w-]+\.[A-Za-z]\w{0,5}):(\d+)(?:-\d+)?")
_SHOWN = re.compile(r"```.*?```|`[^`\n]*`|“[^”\n]*”|「[^」\n]*」|\"[^\"\n]*\"", re.DOTALL)
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`]+[^\s<>()\[\]\"'`.,;:!?]")


def check_prose(preset: Preset, body: Derivation, language: str) -> list[Violation]:
    """Return hedges and uncited places in a body's prose."""
    found: list[Violation] = []
    cited_paths = {c.path for c in body.citations if c.kind == "file"}
    cited_urls = {c.url for c in body.citations if c.kind == "url"}
    for name, value in body.fields.items():
        text = as_text(value)
        if name != preset.parts.assumptions:
            found.extend(_hedges(name, text, language))
        found.extend(_uncited(name, text, cited_paths, cited_urls))
    return found


def _hedges(name: str, text: str, language: str) -> list[Violation]:
    return [
        Violation(
            rule="F1",
            field=name,
            quote=hit.phrase,
            message=f"“{hit.phrase}” hedges; state what the evidence shows, or move it to the assumptions",
        )
        for hit in find("hedge", text, language)
    ]


def _uncited(name: str, text: str, paths: set[str], urls: set[str]) -> list[Violation]:
    places = [
        match[0] for match in _PLACE.finditer(text) if not any(_names(match[1], path) for path in paths)
    ]
    known = {url.rstrip("/") for url in urls}
    prose = _SHOWN.sub(" ", text)  # an address in code or quotes is an example, not a claim
    addresses = [match[0] for match in _ADDRESS.finditer(prose) if match[0].rstrip("/") not in known]
    return [_uncited_fault(name, quote) for quote in places + addresses]


def _names(said: str, path: str) -> bool:
    """Tell whether words name a path: the whole of it, or its end from the start of a folder's or file's word."""
    before = path[: -len(said)]
    return path.endswith(said) and (not before or not (before[-1].isalnum() or before[-1] in "_.-"))


def _uncited_fault(name: str, quote: str) -> Violation:
    return Violation(
        rule="F1", field=name, quote=quote, message=f"{quote} is named without a citation that can be checked"
    )


def check_evidence(preset: Preset, body: Derivation, citations: Iterable[CheckedCitation]) -> list[Violation]:
    """Return the fields that must cite and have nothing that holds.

    A citation without a field of its own supports every field; a weak one (lines exist, nothing quoted) is enough
    anywhere but in the position.
    """
    checked = list(citations)
    found = []
    for name in preset.node_schema:
        if not preset.rule(name).must_cite or not as_text(body.fields.get(name, "")).strip():
            continue
        supporting = [c for c in checked if c.citation.field in ("", name)]
        if any(_supports(c, strict=name == preset.parts.position) for c in supporting):
            continue
        found.append(
            Violation(
                rule="F1",
                field=name,
                quote="; ".join(c.citation.label() for c in supporting[:3]),
                message=_evidence_message(name, supporting),
            )
        )
    return found


def _supports(checked: CheckedCitation, *, strict: bool) -> bool:
    return checked.state.holds or (not strict and checked.state is CitationState.WEAK)


def _evidence_message(name: str, supporting: list[CheckedCitation]) -> str:
    if not supporting:
        return f"{name} needs a citation: a path with lines and the text that stands there, verbatim"
    faults = "; ".join(f"{c.citation.label()}: {c.reason or c.state}" for c in supporting[:3])
    return f"no citation of {name} could be verified ({faults})"


def dominated(citations: Iterable[CheckedCitation]) -> bool:
    """Tell whether more citations are unverified than not (`[NEEDS_VERIFICATION]` dominates)."""
    states = [c.state for c in citations]
    return states.count(CitationState.UNVERIFIED) * 2 > len(states)


def holding(citations: Iterable[CheckedCitation]) -> list[Citation]:
    """Return the citations that may support another node."""
    return [c.citation for c in citations if c.state.holds]
