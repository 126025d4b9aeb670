"""From answers that fit their shape to results of the engine."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from treewright.explore.merging import normalised
from treewright.explore.tasks import (
    Brief,
    DeriveResult,
    GroundResult,
    ProposeResult,
    SummariseResult,
)
from treewright.parsing import parse_program
from treewright.performers.model import small
from treewright.performers.model.evidence import Excerpt
from treewright.performers.model.shapes import cited_fields, supports_name, verbatim
from treewright.regular import read_regular
from treewright.tree.body import Derivation, FieldValue, Proposal
from treewright.tree.citation import Citation, Edit, NumericCheck

NO_PLACE = "no file is cited"
BEFORE_CHECK = "NONE"
"""What the external field holds until the cross-check X has written to it."""


def plain(value: Any, echoes: Collection[str] = ()) -> FieldValue:
    """Return a field as the engine keeps it: a list of one item is that item.

    What only repeats an item before it, or words of the task, says nothing and is left out; the engine asks for what is missing then.

    Args:
        value: a text or a list of texts.
        echoes: normalised texts that say nothing here: the statement, what the field is for.
    """
    if not isinstance(value, list):
        text = str(value).strip()
        return "" if normalised(text) in echoes else text
    seen: set[str] = set(echoes)
    found = []
    for item in value:
        text = str(item).strip()
        if text and normalised(text) not in seen:
            seen.add(normalised(text))
            found.append(text)
    return found[0] if len(found) == 1 else found


def echoes_of(brief: Brief, name: str) -> set[str]:
    """Return the texts that say nothing in a field: what the field is for, and the statement of the node."""
    preset = brief.preset
    about = [preset.rule(name).about, *(field.about for field in preset.root_schema(brief.mode).fields)]
    if name != preset.parts.subject and brief.proposal is not None:
        about.append(brief.proposal.statement)
    if brief.root is not None:
        about.append(brief.root.statement)
    about += small.example_texts(brief)
    return {normalised(text) for text in about if text}


def citations_of(given: object, excerpt: Excerpt, field: str = "") -> list[Citation]:
    """Return the citations of an answer, each once."""
    found: list[Citation] = []
    for each in given if isinstance(given, list) else []:
        citation = excerpt.cite(each, field)
        if citation is not None and citation not in found:
            found.append(citation)
    return found


def ground_result(brief: Brief, answer: Mapping[str, Any], excerpt: Excerpt) -> GroundResult:
    """Return the root of an answer; an inferred topic is marked (contract: exploration, 3)."""
    names = [field.name for field in brief.preset.root_schema(brief.mode).fields]
    fields: dict[str, FieldValue] = {
        name: plain(answer[name], echoes_of(brief, name)) for name in names if name in answer
    }
    statement = verbatim(brief) or " ".join(str(answer.get("statement", "")).split())
    if brief.root_spec.inferred and statement and not statement.startswith("[INFERRED]"):
        statement = f"[INFERRED] {statement}"
    cited = citations_of(answer.get("citations"), excerpt)
    return GroundResult(
        statement=statement,
        fields=fields,
        citations=cited,
        read=sorted({span.path for span in excerpt.spans}),
    )


def propose_result(brief: Brief, answer: Mapping[str, Any], excerpt: Excerpt) -> ProposeResult:
    """Return what a framing brought; the position is the first place that a proposal cites."""
    need = brief.framing.requirement if brief.framing else None
    listed = list(answer.get(need.listed_as, [])) if need and need.listed_as else []
    labels = need.labels if need else ()
    position = brief.preset.parts.position
    found: list[Proposal] = []
    for number, each in enumerate(answer.get("proposals", [])):
        cited = citations_of(each.get("citations"), excerpt, position or "")
        facts: dict[str, Any] = {"listed": listed} if listed else {}
        if number < len(labels):
            facts["label"] = labels[number]
        found.append(
            Proposal(
                statement=" ".join(str(each.get("statement", "")).split()),
                position=cited[0].label() if position and cited else "",
                evidence=str(each.get("evidence", "")).strip(),
                assumptions=[str(item) for item in each.get("assumptions", [])],
                predictions=[str(item) for item in each.get("predictions", [])],
                defense=str(each.get("defense", "")).strip(),
                citations=cited,
                facts=facts,
            )
        )
    said = _said(brief)
    fresh = [
        each
        for each in found
        if normalised(each.statement) not in said and not small.is_echo(brief, each.statement)
    ]
    if found and not fresh:
        return ProposeResult(reason="the statement is in the tree already; say something that no node says")
    return ProposeResult(proposals=fresh)


def _said(brief: Brief) -> set[str]:
    """Return the statements that a proposal may not repeat: the root's, those of its way down, those around it."""
    said = [brief.root.statement] if brief.root else []
    said += [node.statement for node in brief.lineage] + list(brief.known)
    if brief.framing is not None:
        said += [brief.framing.prompt, *brief.framing.prompt.split(". ")]
    return {normalised(text) for text in said}


def derive_result(
    brief: Brief, answer: Mapping[str, Any], excerpt: Excerpt, names: Sequence[str], held: list[Citation]
) -> DeriveResult:
    """Return a derived or revised node.

    Args:
        brief: of the task.
        answer: every part's keys together.
        excerpt: what was shown to cite.
        names: the fields that were asked for.
        held: citations that are known to hold: the proposal's, and for a revision those of the former body.
    """
    previous = brief.previous
    fields: dict[str, FieldValue] = dict(previous.fields) if previous else {}
    fields |= {name: plain(answer[name], echoes_of(brief, name)) for name in names if name in answer}
    _fill_own(brief, fields, held)
    cited = [c for c in held if c.field not in cited_fields(brief.preset, names)] if previous else list(held)
    cited += citations_of(answer.get("citations"), excerpt)
    for name in cited_fields(brief.preset, names):
        cited += citations_of(answer.get(supports_name(name)), excerpt, name)
    shown, defense = _defense(brief, answer, excerpt)
    cited += defense
    scores = answer.get("scores") or (previous.scores if previous else {})
    kept = previous.defense_shown if previous and "scores" not in answer else shown
    edits = edits_of(answer.get("edits"), brief.root_spec.workspace, _files(brief, cited))
    body = Derivation(
        fields=fields,
        scores={key: int(value) for key, value in scores.items()},
        citations=list(dict.fromkeys(cited)),
        numeric_checks=[*_kept_checks(brief, names), *_checks(answer)],
        defense_shown=kept,
        edits=edits or (previous.edits if previous else []),
        cwe=str(brief.proposal.facts.get("cwe", "")) if brief.proposal else "",
    )
    return DeriveResult(body=body)


def _fill_own(brief: Brief, fields: dict[str, FieldValue], held: Sequence[Citation]) -> None:
    """Fill in what is known without asking: the statement, and the place with the words that stand there."""
    parts = brief.preset.parts
    if brief.proposal is not None:
        fields.setdefault(parts.subject, brief.proposal.statement)
    if parts.position:
        place = next((c for c in held if c.field in ("", parts.position)), None)
        if place is not None:
            fields[parts.position] = f"{place.label()}\n\n```\n{place.quote}\n```"
        elif parts.position not in fields:
            fields[parts.position] = brief.proposal.position if brief.proposal else NO_PLACE
    if parts.external and not as_there(fields.get(parts.external)):
        fields[parts.external] = BEFORE_CHECK


def as_there(value: FieldValue | None) -> bool:
    """Tell whether a field says anything."""
    return bool("".join(value).strip()) if value is not None else False


def _defense(brief: Brief, answer: Mapping[str, Any], excerpt: Excerpt) -> tuple[bool, list[Citation]]:
    field = brief.preset.parts.defense or ""
    if "answered_by" in answer:
        citation = excerpt.cite(answer["answered_by"], field)
        return citation is not None, [citation] if citation else []
    return bool(answer.get("defense_shown", False)), []


def _kept_checks(brief: Brief, names: Sequence[str]) -> list[NumericCheck]:
    previous = brief.previous
    return [check for check in previous.numeric_checks if check.field not in names] if previous else []


def _checks(answer: Mapping[str, Any]) -> list[NumericCheck]:
    return [
        NumericCheck(
            claim=str(each["claim"]),
            field=str(each["field"]),
            expression=str(each["expression"]),
            expected=str(each["expected"]),
        )
        for each in answer.get("numeric_checks", [])
    ]


def _files(brief: Brief, cited: Sequence[Citation]) -> frozenset[str]:
    """Return the files that a finding is about: what it cites, and what is looked at when that is one file."""
    return frozenset({citation.path for citation in cited if citation.path} | {brief.root_spec.path})


def edits_of(given: object, workspace: str, files: Collection[str]) -> list[Edit]:
    """Return the edits that can be applied: of the finding's own files, at lines that exist, and Python that still parses.

    What is audited may tell the model to write elsewhere. So a file outside the workspace, one that the finding does not cite, and
    one whose name or folder begins with a dot (hooks of git, settings of an editor) are never proposed to be changed.
    """
    found: list[Edit] = []
    root = Path(workspace).resolve()
    for each in given if isinstance(given, list) else []:
        try:
            path = (root / str(each["path"])).resolve()
            if not path.is_relative_to(root) or not _may_change(path.relative_to(root), files):
                continue
            lines = read_regular(path).decode("utf-8").splitlines(keepends=True)
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        start, end = int(each["start"]), int(each["end"])
        if not 1 <= start <= len(lines) + 1 or not start - 1 <= end <= len(lines):
            continue
        old = "".join(lines[start - 1 : end])
        new = str(each["new"])
        new += "\n" if new and not new.endswith("\n") else ""
        if old == new or not _parses(path, "".join([*lines[: start - 1], new, *lines[end:]])):
            continue
        found.append(Edit(path=path.relative_to(root).as_posix(), start=start, end=end, old=old, new=new))
    return found


def _may_change(path: Path, files: Collection[str]) -> bool:
    return path.as_posix() in files and not any(part.startswith(".") for part in path.parts)


def _parses(path: Path, text: str) -> bool:
    if path.suffix != ".py":
        return True
    try:
        parse_program(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def summary_result(answer: Mapping[str, Any]) -> SummariseResult:
    """Return the report's narrative."""
    weird = str(answer.get("weirdest_branch", ""))
    why = str(answer.get("why_weird", "")).strip()
    return SummariseResult(
        weirdest_branch=f"{weird}: {why}" if weird and why else weird,
        blind_spots=[str(item) for item in answer.get("blind_spots", [])],
        next_steps=[{"text": str(s["text"]), "node": str(s["node"])} for s in answer.get("next_steps", [])][
            :3
        ],
        narrative=str(answer.get("narrative", "")).strip(),
    )
