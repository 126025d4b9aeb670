"""The model performer: a task becomes one call with room, or several small ones for a small context."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from treewright.errors import ModelError
from treewright.explore.ports import Performance
from treewright.explore.tasks import (
    Brief,
    DeriveResult,
    ExternalResult,
    GroundResult,
    Result,
    TaskKind,
)
from treewright.models.provider import Provider
from treewright.performers.model import compose, results, shapes, small
from treewright.performers.model.calls import Caller, Course, KeptAnswers
from treewright.performers.model.evidence import Excerpt, Span, merged
from treewright.performers.model.forms import statement_forms
from treewright.performers.model.lookup import Lookup, external
from treewright.performers.model.material import Material, holding, read_material
from treewright.performers.model.prompts import prompt
from treewright.performers.model.shapes import Style
from treewright.tree.body import Derivation
from treewright.tree.citation import Citation

CONTEXT_ASSUMED = 4096
"""Tokens of context of a server on this machine that does not say."""
CONTEXT_OF_HOSTED = 32_000
ROOMY_FROM = 16_000
"""Tokens of context from which a task is asked in one call."""
_EVIDENCE_SHARE = 4
"""One part in so many of a small context goes to text that can be cited."""
_EVIDENCE_MOST = 700
_EVIDENCE_ROOMY = 12_000
_NOTES_A_PIECE = 3
TEMPERATURE = 0.4
"""Of a first attempt: framings shall differ, quotations shall not."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is asked and shown at once.

    Attributes:
        style: of the answers.
        evidence: tokens of text to cite.
        answer: most tokens of one answer.
    """

    style: Style
    evidence: int
    answer: int


def sizes_for(provider: Provider) -> Sizes:
    """Return how to ask a provider, by its context."""
    info = provider.info
    near = (
        info.kind == "local"
        or "127.0.0.1" in info.endpoint
        or "localhost" in info.endpoint
        or "[::1]" in info.endpoint
    )
    context = info.context_tokens or (CONTEXT_ASSUMED if near else CONTEXT_OF_HOSTED)
    if context >= ROOMY_FROM:
        return Sizes(Style(close=False), min(_EVIDENCE_ROOMY, context // 3), 4096)
    return Sizes(Style(close=True), min(_EVIDENCE_MOST, context // _EVIDENCE_SHARE), min(900, context // 4))


class ModelPerformer:
    """Fills tasks in with a language model.

    Attributes:
        name: `model` and the provider's name.
        repairs: answers that were sent back so far.
        calls: tasks performed so far.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        max_repairs: int = 2,
        kept: KeptAnswers | None = None,
        lookup: Lookup | None = None,
        temperature: float = TEMPERATURE,
        sizes: Sizes | None = None,
    ) -> None:
        """Prepare; nothing is read or sent yet.

        Args:
            provider: with the spend cap around it, when it costs.
            max_repairs: how often an answer that does not fit is sent back.
            kept: keeps the answers of tasks that are not done.
            lookup: fetches pages for the cross-check X; None offline.
            temperature: of a first attempt; later ones are a little freer.
            sizes: how to ask; None decides by the provider's context.
        """
        self.name = f"model {provider.info.name}"
        self.repairs = 0
        self.calls = 0
        self._caller = Caller(provider, max_repairs=max_repairs, kept=kept)
        self._sizes = sizes or sizes_for(provider)
        self._lookup = lookup
        self._temperature = temperature
        self._material: Material | None = None
        self._reading = asyncio.Lock()

    async def perform(self, brief: Brief) -> Performance:
        """Fill a task in.

        Raises:
            ModelError: the model gave nothing usable, or cannot be reached; see `structured.ask`.
            CapError: the spend cap refused.
        """
        material = await self._materials(brief)
        self._sizes = in_letters_of(brief, self._sizes)
        course = Course(brief.task.id)
        result = await self._answer(brief, material, course)
        self.repairs += course.repairs
        self.calls += 1
        self._caller.account(course)
        return Performance(result=result, spent=tuple(course.spent))

    async def close(self) -> None:
        """Release the provider."""
        await self._caller.provider.close()

    async def _materials(self, brief: Brief) -> Material:
        async with self._reading:
            if self._material is None:
                self._material = await asyncio.to_thread(
                    read_material, brief.root_spec, str(brief.options.get("seed_from", ""))
                )
            return self._material

    async def _answer(self, brief: Brief, material: Material, course: Course) -> Result:
        match brief.task.kind:
            case TaskKind.GROUND:
                return await self._ground(brief, material, course)
            case TaskKind.PROPOSE:
                return await self._propose(brief, material, course)
            case TaskKind.DERIVE | TaskKind.REVISE:
                return await self._derive(brief, material, course)
            case TaskKind.EXTERNAL:
                return await self._external(brief, course)
            case TaskKind.SUMMARISE:
                return await self._summarise(brief, course)
            case _:
                raise ModelError("model_bad_request", "Checks are performed by our own code only.")

    async def _ask(
        self,
        brief: Brief,
        course: Course,
        part: str,
        task: str,
        schema: shapes.Schema,
        excerpt: Excerpt,
        leads: Sequence[Any] = (),
    ) -> dict[str, Any]:
        messages = compose.messages(brief, self._sizes.style, task, excerpt, leads)
        warmer = min(1.0, self._temperature + 0.15 * (max(1, brief.task.attempt) - 1))
        answer = await self._caller.ask(course, part, messages, schema, self._sizes.answer, warmer)
        return small.trimmed(answer, schema) if self._sizes.style.close else answer

    # --- ground -----------------------------------------------------------------------------------------

    async def _ground(self, brief: Brief, material: Material, course: Course) -> GroundResult:
        spec = brief.root_spec
        if spec.kind in ("artifact", "code") and not material.documents:
            why = "; ".join(f"{each['path']}: {each['reason']}" for each in material.unread[:5])
            return GroundResult(failure="root_unparseable", reason=why or "there is nothing to read in it")
        if material.ground is not None and brief.language.output == "en":
            return material.ground.model_copy(update={"unread": material.unread[:50]})
        excerpt, notes = await self._read_whole(brief, material, course)
        style = self._sizes.style
        answer: dict[str, Any] = {}
        due = shapes.root_fields(brief)
        if style.close and excerpt.empty:
            answer |= (known := small.given_root_fields(brief))
            due = [name for name in due if name not in known]
        for number, names in enumerate(shapes.groups(due, style)):
            task = compose.ground_task(brief, names)
            if notes:
                task = f"{prompt('ground.notes', notes=notes)}\n\n{task}"
            schema = shapes.ground_schema(brief, style, excerpt, names, first=number == 0)
            answer |= await self._ask(brief, course, f"ground:{number}", task, schema, excerpt)
        found = results.ground_result(brief, answer, excerpt)
        read = sorted(material.documents) if spec.kind != "topic" else list(found.read)
        return found.model_copy(update={"read": read, "unread": material.unread[:50]})

    async def _read_whole(self, brief: Brief, material: Material, course: Course) -> tuple[Excerpt, str]:
        """Return what the root's fields are filled in from: the whole text, or notes of every part with their lines."""
        room = self._sizes.evidence
        if material.size() <= room or brief.root_spec.kind != "artifact":
            return material.excerpt(brief, room), ""
        names = ", ".join(field.name for field in brief.preset.root_schema(brief.mode).fields)
        notes: list[str] = []
        spans: list[Span] = []
        style = self._sizes.style
        for number, piece in enumerate(material.pieces(room)):
            excerpt = Excerpt(material.documents, [piece], single=True)
            lines = shapes.lines_schema(style, excerpt, 1, 1)
            if lines is None:
                continue
            note = shapes.closed_object({"citations": lines, "note": style.text(shapes.ITEM_MOST)})
            noted: shapes.Schema = {"type": "array", "items": note, "minItems": 1, "maxItems": _NOTES_A_PIECE}
            task = prompt("ground.note", count=_NOTES_A_PIECE, about=names)
            answer = await self._ask(
                brief, course, f"note:{number}", task, shapes.closed_object({"notes": noted}), excerpt
            )
            for each in answer["notes"]:
                for citation in results.citations_of(each["citations"], excerpt)[:1]:
                    notes.append(f"- {citation.start}| {each['note']}")
                    if citation.path in material.documents and 0 < citation.start <= len(
                        material.documents[citation.path].lines
                    ):
                        spans.append(Span(citation.path, citation.start, citation.start))
        shown = (
            Excerpt(material.documents, merged(spans), single=True)
            if spans
            else material.excerpt(brief, room)
        )
        return shown, "\n".join(notes)

    # --- propose ----------------------------------------------------------------------------------------

    async def _propose(self, brief: Brief, material: Material, course: Course) -> Result:
        excerpt = material.excerpt(brief, self._sizes.evidence)
        if self._sizes.style.close:
            excerpt.favoured = material.places_for(brief, excerpt)
        forms = statement_forms(brief) if self._sizes.style.plain else ()
        schema = shapes.propose_schema(brief, self._sizes.style, excerpt, forms)
        leads = material.facts_for(brief, excerpt)
        of_text = material.spec.kind == "artifact" and bool(excerpt.favoured)
        places = excerpt.labels(shapes.CHOICES_MOST) if of_text else []
        answer = await self._ask(
            brief,
            course,
            "propose",
            compose.propose_task(brief, self._sizes.style, citing=not excerpt.empty, places=places),
            schema,
            excerpt,
            leads,
        )
        return results.propose_result(brief, answer, excerpt)

    # --- derive and revise ------------------------------------------------------------------------------

    async def _derive(self, brief: Brief, material: Material, course: Course) -> DeriveResult:
        excerpt = material.excerpt(brief, self._sizes.evidence)
        held = await asyncio.to_thread(_held, brief)
        names = shapes.due_fields(brief)
        drafted = small.drafted(brief) if self._sizes.style.close else {}
        names = [name for name in names if name not in drafted]
        again = brief.task.kind is TaskKind.REVISE
        scored = not again or any(v.rule == "score-missing" for v in brief.violations)
        leads = material.facts_for(brief, excerpt)
        try:
            answer = await self._fields(brief, course, excerpt, names, leads, drafted, scored=scored)
        except ModelError as fault:
            if fault.code != "model_refused":
                raise
            empty = brief.previous or Derivation(fields={}, scores={})
            return DeriveResult(body=empty, refuses=fault.message)
        return results.derive_result(brief, drafted | answer, excerpt, [*names, *drafted], held)

    async def _fields(
        self,
        brief: Brief,
        course: Course,
        excerpt: Excerpt,
        names: list[str],
        leads: Sequence[Any],
        drafted: dict[str, Any],
        *,
        scored: bool,
    ) -> dict[str, Any]:
        style = self._sizes.style
        parts = shapes.groups(names, style)
        if not parts and not scored:
            parts = [[]]  # faults of the node as a whole: its citations are asked for again
        if not style.close:
            every = parts[0] if parts else []
            schema = shapes.derive_schema(brief, style, excerpt, every)
            task = compose.derive_task(brief, style, every, {}, cites=True)
            if scored:
                schema = shapes.join_schemas([schema, shapes.judge_schema(brief, style, excerpt)])
                task += "\n\n" + compose.judge_task(brief, style, excerpt)
            return await self._ask(brief, course, "derive", task, schema, excerpt, leads)
        return await self._in_parts(brief, course, excerpt, parts, leads, drafted, scored=scored)

    async def _in_parts(
        self,
        brief: Brief,
        course: Course,
        excerpt: Excerpt,
        parts: list[list[str]],
        leads: Sequence[Any],
        drafted: dict[str, Any],
        *,
        scored: bool,
    ) -> dict[str, Any]:
        """Ask for a few fields at a time, what is filled in already in sight; then for the scores of what was written."""
        style, preset = self._sizes.style, brief.preset
        answer: dict[str, Any] = {}
        names = [name for group in parts for name in group]
        for number, group in enumerate(group for group in parts if group or not scored):
            cites = bool(shapes.cited_fields(preset, group)) and not excerpt.empty
            shown = excerpt if cites else Excerpt(excerpt.documents)
            schema = shapes.derive_schema(brief, style, shown, group)
            task = compose.derive_task(brief, style, group, _told(answer, names), cites=cites)
            answer |= await self._ask(brief, course, f"derive:{number}", task, schema, shown, leads)
        if scored:
            shown = excerpt if preset.gate("defense_shown") else Excerpt(excerpt.documents)
            schema = shapes.judge_schema(brief, style, shown)
            said = _told(answer, names) or dict(brief.previous.fields if brief.previous else {})
            task = compose.judge_task(brief, style, shown, drafted | said)
            answer |= await self._ask(brief, course, "judge", task, schema, shown)
        return answer

    # --- external and summarise -------------------------------------------------------------------------

    async def _external(self, brief: Brief, course: Course) -> ExternalResult:
        if self._lookup is None:
            return ExternalResult(reason="the run is offline")

        async def put(part: str, task: str, schema: shapes.Schema) -> dict[str, Any]:
            return await self._ask(brief, course, part, task, schema, Excerpt({}))

        return await external(brief, self._sizes.style, self._lookup, put, self._sizes.evidence)

    async def _summarise(self, brief: Brief, course: Course) -> Result:
        style = self._sizes.style
        task = prompt("summarise.task", outline=compose.outline_of(brief))
        answer = await self._ask(
            brief, course, "summarise", task, shapes.summary_schema(brief, style), Excerpt({})
        )
        return results.summary_result(answer)


def in_letters_of(brief: Brief, sizes: Sizes) -> Sizes:
    """Return how to ask in a run: only an English root is answered in the letters of English alone."""
    root = brief.root.statement if brief.root else brief.root_spec.text
    plain = brief.language.output == "en" and root.isascii() and brief.preset.root_kind != "code"
    return replace(sizes, style=replace(sizes.style, plain=plain and sizes.style.close))


def _told(answer: dict[str, Any], names: Sequence[str]) -> dict[str, object]:
    return {name: answer[name] for name in names if name in answer}


def _held(brief: Brief) -> list[Citation]:
    """Return the citations that hold, with the lines that checking found: nothing else may support the node."""
    if brief.proposal_citations:
        return [c.citation for c in brief.proposal_citations if c.state.holds]
    if brief.proposal is None:
        return []
    return holding(brief.root_spec.workspace, brief.proposal.citations)


def seed_of(task: str) -> int:
    """Return a seed that depends on the task alone."""
    return int.from_bytes(hashlib.sha256(task.encode("utf-8")).digest()[:4], "big") >> 1
