"""The caller fills tasks in: a card with the exact shape for each task, and a tolerant reading of what comes back.

Used over MCP, where the calling model thinks. Pure: no clock, no network; files are read only to quote them. Nothing that the caller says
about its own citations counts: the result goes to the engine, and its citations to our verifier.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treewright.explore.tasks import (
    Brief,
    DeriveResult,
    ExternalResult,
    GroundResult,
    ProposeResult,
    Result,
    SummariseResult,
    TaskKind,
)
from treewright.models.fitting import coerce
from treewright.models.parse import parse_answer as read_answer
from treewright.models.shape import expected_shape, shape_faults
from treewright.performers.model import compose, results, shapes
from treewright.performers.model.evidence import Excerpt
from treewright.performers.model.material import Material
from treewright.performers.model.prompts import prompt
from treewright.performers.model.shapes import Style
from treewright.tree.body import Derivation, Examined
from treewright.tree.citation import Citation

ROOMY = Style(close=False)
EVIDENCE_TOKENS = 6000
"""Tokens of numbered text on a card; a caller that can read files reads the rest by itself."""
FAULTS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an answer cannot be read, and what is expected.

    Attributes:
        message: the exact correction, one line a fault.
        shape: the expected shape.
    """

    message: str
    shape: str
    faults: tuple[str, ...] = field(default=())


def task_card(brief: Brief, material: Material | None = None) -> dict[str, Any]:
    """Return a task as it is handed to the caller.

    Args:
        brief: of the task.
        material: what the root offers to quote; None leaves reading to the caller.

    Returns:
        `task`, `kind`, `node`, `framing`, `instructions` (everything due, in reading order), `schema` (JSON schema of the answer),
        `shape` (the same in a few lines), and `optional`: what may be returned instead.
    """
    excerpt = material.excerpt(brief, EVIDENCE_TOKENS) if material else Excerpt({})
    schema = answer_schema(brief)
    leads = material.facts_for(brief, excerpt) if material else []
    said = compose.messages(brief, ROOMY, _instruction(brief), excerpt, leads)
    text = "\n\n".join(message.text for message in said)
    if excerpt.empty and _may_cite(brief):
        text = text.replace(prompt("cite_none"), prompt("cite_free"))
    card: dict[str, Any] = {
        "task": brief.task.id,
        "kind": brief.task.kind.value,
        "node": brief.task.node,
        "framing": brief.task.framing,
        "instructions": text,
        "schema": schema,
        "shape": expected_shape(schema),
    }
    if brief.task.kind is TaskKind.PROPOSE:
        card["optional"] = 'With nothing to bring: {"reason": "why this framing brings nothing here"}'
    elif brief.task.kind is TaskKind.GROUND:
        card["optional"] = (
            'When the root cannot be had: {"failure": "root_unparseable | root_underspecified | tool_blocked", "reason": "..."}'
        )
    elif brief.task.kind in (TaskKind.DERIVE, TaskKind.REVISE):
        card["optional"] = 'When you must refuse: {"refuses": "why"}'
    return card


def answer_schema(brief: Brief) -> dict[str, Any]:
    """Return the JSON schema of a task's answer. Citations are objects with path, start, end and quote, or url and quote."""
    anywhere = _anywhere()
    match brief.task.kind:
        case TaskKind.GROUND:
            schema = shapes.ground_schema(brief, ROOMY, anywhere, shapes.root_fields(brief), first=True)
            if brief.preset.root_kind not in ("artifact", "code"):
                del schema["properties"]["citations"]["minItems"]  # a topic need not have a file to cite
            return schema
        case TaskKind.PROPOSE:
            return shapes.propose_schema(brief, ROOMY, anywhere)
        case TaskKind.DERIVE | TaskKind.REVISE:
            return _derive_schema(brief, anywhere)
        case TaskKind.EXTERNAL:
            text = {"type": "string"}
            quote = shapes.closed_object({"url": text, "quote": text})
            return shapes.closed_object({"citations": {"type": "array", "items": quote}})
        case _:
            return shapes.summary_schema(brief, ROOMY)


def _derive_schema(brief: Brief, excerpt: Excerpt) -> dict[str, Any]:
    schema = shapes.derive_schema(brief, ROOMY, excerpt, shapes.due_fields(brief))
    if _scored(brief):
        schema = shapes.join_schemas([schema, shapes.judge_schema(brief, ROOMY, excerpt)])
    return schema


def _scored(brief: Brief) -> bool:
    again = brief.task.kind is TaskKind.REVISE
    return not again or any(violation.rule == "score-missing" for violation in brief.violations)


def _anywhere() -> Excerpt:
    """Return an excerpt of everything: the caller may cite what it read by itself."""
    from treewright.performers.model.evidence import Span

    return Excerpt({}, [Span("", 1, 1)])


def _may_cite(brief: Brief) -> bool:
    return brief.task.kind in (TaskKind.GROUND, TaskKind.PROPOSE, TaskKind.DERIVE, TaskKind.REVISE)


def _instruction(brief: Brief) -> str:
    match brief.task.kind:
        case TaskKind.GROUND:
            return f"{compose.ground_task(brief, shapes.root_fields(brief))}\n\n{brief.preset.grounding}"
        case TaskKind.PROPOSE:
            return compose.propose_task(brief, ROOMY)
        case TaskKind.DERIVE | TaskKind.REVISE:
            task = compose.derive_task(brief, ROOMY, shapes.due_fields(brief), {}, cites=True)
            return f"{task}\n\n{compose.judge_task(brief, ROOMY, _anywhere())}" if _scored(brief) else task
        case TaskKind.EXTERNAL:
            framing = brief.framing.instruction(brief.preset) if brief.framing else ""
            return prompt("external.quotes", label=brief.preset.subject_label) + f"\n\n{framing}"
        case _:
            return prompt("summarise.task", outline=compose.outline_of(brief))


def parse_answer(brief: Brief, answer: str | Mapping[str, Any]) -> Result | Fault:
    """Return the result that an answer stands for, or the exact correction.

    Args:
        brief: of the task.
        answer: text with JSON in it (fences, prose around, trailing commas and strings for numbers are put right), or the data.
    """
    schema = answer_schema(brief)
    data = _data(answer, schema)
    if data is None:
        said = (
            "There is no JSON object in the answer."
            if isinstance(answer, str)
            else "The answer is no JSON object."
        )
        return Fault(said, expected_shape(schema))
    if (other := _instead(brief, data)) is not None:
        return other
    tolerant = _with_defaults(_without_needless(data, schema), schema)
    value, _ = coerce(tolerant, schema)
    faults = tuple(str(fault) for fault in shape_faults(value, schema))
    if faults:
        return Fault("\n".join(faults[:FAULTS_SHOWN]), expected_shape(schema), faults)
    return _result(brief, value)


def _data(answer: str | Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(answer, Mapping):
        return dict(answer)
    try:
        parsed = read_answer(answer)
    except ValueError:
        return None
    value = parsed.value
    if parsed.cut_off:
        return None
    if isinstance(value, list) and set(schema["properties"]) == {"proposals"}:
        return {"proposals": value}
    return value if isinstance(value, dict) else None


def _instead(brief: Brief, data: Mapping[str, Any]) -> Result | None:
    """Return what may stand in place of an answer: a reason for none, a failure, a refusal."""
    kind = brief.task.kind
    if (
        kind is TaskKind.PROPOSE
        and not data.get("proposals")
        and (data.get("reason") or data.get("examined"))
    ):
        examined = data.get("examined")
        record = Examined(note=str(examined)) if examined else None
        return ProposeResult(reason=str(data.get("reason") or ""), examined=record)
    if kind is TaskKind.GROUND and data.get("failure"):
        return GroundResult(failure=str(data["failure"]), reason=str(data.get("reason") or ""))
    if kind in (TaskKind.DERIVE, TaskKind.REVISE) and data.get("refuses"):
        return DeriveResult(
            body=brief.previous or Derivation(fields={}, scores={}), refuses=str(data["refuses"])
        )
    if kind is TaskKind.EXTERNAL and not data.get("citations"):
        return ExternalResult(reason=str(data.get("reason") or "nothing was found"))
    return None


_OPTIONAL = frozenset({"citations", "numeric_checks", "edits", "defense_shown", "blind_spots"})


def _with_defaults(data: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what may be left out; what a rule needs is asked for by the engine, with the rule's name."""
    found = dict(data)
    for name in schema["properties"]:
        if name in _OPTIONAL and found.get(name) is None:
            found[name] = False if name == "defense_shown" else []
    if isinstance(found.get("proposals"), list):
        found["proposals"] = [
            {"citations": [], **each} if isinstance(each, dict) else each for each in found["proposals"]
        ]
    if isinstance(found.get("citations"), list):
        found["citations"] = [_place(each) for each in found["citations"]]
    for each in found.get("proposals", []) if isinstance(found.get("proposals"), list) else []:
        if isinstance(each, dict) and isinstance(each.get("citations"), list):
            each["citations"] = [_place(one) for one in each["citations"]]
    return found


def _place(given: Any) -> Any:
    """Return a citation in the shape's words: `path:3-4`, a lone `line`, a missing end or quote are understood."""
    citation = _anywhere().cite(given)
    if citation is None or citation.kind == "url":
        return given
    shown: dict[str, Any] = {
        "path": citation.path,
        "start": citation.start or 1,
        "end": max(citation.end, citation.start, 1),
        "quote": citation.quote,
    }
    if isinstance(given, dict) and "field" in given:
        shown["field"] = given["field"]
    return shown


def _without_needless(data: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data without what the engine fills in by itself: it is no fault to send it."""
    return {name: value for name, value in data.items() if name in schema["properties"] or value is not None}


def _result(brief: Brief, value: dict[str, Any]) -> Result:
    anywhere = _anywhere()
    match brief.task.kind:
        case TaskKind.GROUND:
            found = results.ground_result(brief, value, anywhere)
            return found.model_copy(update={"read": sorted({c.path for c in found.citations if c.path})})
        case TaskKind.PROPOSE:
            return results.propose_result(brief, value, anywhere)
        case TaskKind.DERIVE | TaskKind.REVISE:
            return results.derive_result(brief, value, anywhere, shapes.due_fields(brief), held_of(brief))
        case TaskKind.EXTERNAL:
            name = brief.preset.parts.external or ""
            cited = [
                Citation(kind="url", field=name, url=str(each["url"]), quote=str(each["quote"]))
                for each in value["citations"]
            ]
            return ExternalResult(citations=cited)
        case TaskKind.SUMMARISE:
            return results.summary_result(value)
        case _:
            raise TypeError(f"{brief.task.kind} is performed by our own code only")


def held_of(brief: Brief) -> list[Citation]:
    """Return the citations that hold."""
    from treewright.performers.model.material import holding

    if brief.proposal_citations:
        return [each.citation for each in brief.proposal_citations if each.state.holds]
    return holding(brief.root_spec.workspace, brief.proposal.citations) if brief.proposal else []


__all__ = ["Fault", "SummariseResult", "answer_schema", "parse_answer", "task_card"]
