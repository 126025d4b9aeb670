"""What a result changes: from a task and its result to the events that record it. Nothing here applies an event."""

from treewright.explore.materials import Materials
from treewright.explore.merging import normalised, outlook
from treewright.explore.ports import Bodies
from treewright.explore.rules.body import check_body, check_citations
from treewright.explore.rules.text import as_text, items
from treewright.explore.tasks import (
    DeriveResult,
    ExternalResult,
    GroundResult,
    ProposeResult,
    Result,
    SummariseResult,
    Task,
    TaskKind,
    VerifyResult,
)
from treewright.presets.schema import ADVANCES_FROM, KEPT_FROM, Preset
from treewright.tree import event as e
from treewright.tree.body import Derivation, Proposal
from treewright.tree.citation import CheckedCitation, Violation
from treewright.tree.fold import FRAMING_TRIES, Tree
from treewright.tree.ids import ROOT, child_id
from treewright.tree.run import Role, Status

EXTERNAL_UNCHECKED = "external_resources_unchecked=true"
"""What the external field records offline (contract: exploration, 4 X)."""


def accept(tree: Tree, materials: Materials, bodies: Bodies, task: Task, result: Result) -> list[e.Event]:
    """Return the events of a result for a ready task.

    Raises:
        TypeError: the result is of another kind than the task asks for.
    """
    preset = materials.preset
    match task.kind, result:
        case TaskKind.GROUND, GroundResult():
            return _ground(tree, preset, task, result)
        case TaskKind.PROPOSE, ProposeResult():
            return _reroute(tree, task, result) if task.replaces else _propose(materials, task, result)
        case ((TaskKind.DERIVE | TaskKind.REVISE), DeriveResult()):
            return _derive(tree, preset, task, result)
        case TaskKind.EXTERNAL, ExternalResult():
            return [e.ExternalProposed(node=task.node, citations=result.citations, reason=result.reason)]
        case TaskKind.SUMMARISE, SummariseResult():
            return [e.Summarised(**result.model_dump())]
        case TaskKind.VERIFY, VerifyResult():
            return _verify(tree, materials, bodies, task, result)
        case _:
            raise TypeError(f"{type(result).__name__} is no result of a {task.kind} task")


def _ground(tree: Tree, preset: Preset, task: Task, result: GroundResult) -> list[e.Event]:
    if result.failure:
        return [
            e.Noted(text=result.reason or result.failure, data={"unread": result.unread}),
            e.StatusChanged(status=Status.EARLY_STOP, reason=result.failure, details={"why": result.reason}),
        ]
    mode = tree.started.mode if tree.started else ""
    faults = root_faults(preset, mode, result)
    grounded = e.Grounded(
        statement=result.statement,
        fields=result.fields,
        citations=result.citations,
        read=result.read,
        unread=result.unread,
        facts=result.facts,
        violations=faults,
        attempt=task.attempt,
    )
    if faults or result.citations:
        return [grounded]
    return [grounded, e.RootChecked()]


def root_faults(preset: Preset, mode: str, result: GroundResult) -> list[Violation]:
    """Return what the root's fields lack."""
    found = []
    if not result.statement.strip():
        found.append(
            Violation(rule="field-missing", field="statement", message="the root needs one sentence")
        )
    for field in preset.root_schema(mode).fields:
        count = len(items(result.fields.get(field.name, "")))
        if count < field.min_items:
            message = f"{field.name} has {count} items, {field.min_items} are due; {field.about}"
            found.append(Violation(rule="too-few-items", field=field.name, message=message))
    return found


def _propose(materials: Materials, task: Task, result: ProposeResult) -> list[e.Event]:
    answered = e.FramingAnswered(
        node=task.node,
        framing=task.framing,
        attempt=task.attempt,
        proposals=result.proposals,
        examined=result.examined,
        reason=result.reason,
    )
    if result.proposals and not any(proposal.citations for proposal in result.proposals):
        return [answered, _checked_proposals(materials, answered, [[] for _ in result.proposals])]
    return [answered]


def _checked_proposals(
    materials: Materials, answer: e.FramingAnswered, citations: list[list[CheckedCitation]]
) -> e.ProposalsChecked:
    usable, reasons = [], []
    for index, proposal in enumerate(answer.proposals):
        fault = _proposal_fault(materials.preset, proposal, citations[index])
        if fault:
            reasons.append(f"proposal {index + 1}: {fault}")
        else:
            usable.append(index)
    if usable and (few := _too_few(materials, answer, len(usable))):
        usable, reasons = [], [*reasons, few]
    return e.ProposalsChecked(
        node=answer.node,
        framing=answer.framing,
        attempt=answer.attempt,
        citations=citations,
        usable=usable,
        reasons=reasons,
    )


def _too_few(materials: Materials, answer: e.FramingAnswered, usable: int) -> str:
    """Say what is missing when a framing brought fewer children than it must; its last try is taken as it is.

    An answer with a record of what was examined says by it that there is no more to be had.
    """
    framing = materials.framings.get(answer.framing)
    if framing is None or answer.examined is not None or answer.attempt >= FRAMING_TRIES:
        return ""
    due = framing.requirement.children
    labels = f" ({', '.join(framing.requirement.labels)})" if framing.requirement.labels else ""
    return f"{due} children{labels} are due, {usable} can be used" if usable < due else ""


def _proposal_fault(preset: Preset, proposal: Proposal, checked: list[CheckedCitation]) -> str:
    if len(normalised(proposal.statement)) < 3:
        return "no statement"
    position = preset.parts.position
    due = {
        "evidence": proposal.evidence.strip(),
        "assumptions": any(text.strip() for text in proposal.assumptions),
        "predictions": any(text.strip() for text in proposal.predictions),
        "defense": proposal.defense.strip(),
        position or "": not position or proposal.position.strip(),
        "citations": not position or proposal.citations,
    }
    missing = [name for name, given in due.items() if not given]
    if missing:
        return "no " + ", no ".join(missing)
    if position and preset.rule(position).must_cite and not any(c.state.holds for c in checked):
        faults = "; ".join(f"{c.citation.label()}: {c.reason or c.state}" for c in checked[:3])
        return f"its position could not be verified ({faults or 'nothing was quoted'})"
    return ""


def _reroute(tree: Tree, task: Task, result: ProposeResult) -> list[e.Event]:
    node = tree.nodes[task.replaces]
    proposal = next((p for p in result.proposals if len(normalised(p.statement)) >= 3), None)
    if proposal is None:
        return [e.RerouteVoided(node=node.id, reason=result.reason or "no sibling that can be filled")]
    ordinal = tree.passes[task.node].reroutes[node.id]
    return [e.NodeRerouted(node=node.id, by=child_id(task.node, "E", ordinal), proposals=[proposal])]


def _derive(tree: Tree, preset: Preset, task: Task, result: DeriveResult) -> list[e.Event]:
    if result.refuses:
        return [e.NodeBlocked(node=task.node, reasons=[f"the performer refuses: {result.refuses}"])]
    node = tree.nodes[task.node]
    online = bool(tree.option("online", False))
    body = completed(preset, result.body, node.framing, online=online)
    language = tree.started.language.output if tree.started else "en"
    violations = check_body(preset, body, language)
    derived = e.NodeDerived(
        node=node.id,
        revision=node.revision + 1,
        body=body,
        outlook=outlook(as_text(body.fields.get(preset.parts.predictions or "", ""))),
        violations=violations,
    )
    if body.citations or body.numeric_checks:
        return [derived]
    return [derived, _checked_node(preset, derived, VerifyResult(citations=[[]]))]


def completed(preset: Preset, body: Derivation, framing: str, *, online: bool) -> Derivation:
    """Return a body with what the engine knows better than any performer, and scores in the preset's order.

    The framing's letter and the provisional label are facts, and the external field records that nothing was looked up.
    """
    fields = dict(body.fields)
    parts = preset.parts
    if parts.framing:
        fields[parts.framing] = framing
    if parts.verdict:
        total = sum(body.scores.values())
        role = Role.ADVANCES if total >= ADVANCES_FROM else Role.KEPT if total >= KEPT_FROM else Role.PRUNED
        fields[parts.verdict] = preset.label(role)
    if parts.external and not online:
        text = as_text(fields.get(parts.external, "")).strip()
        if EXTERNAL_UNCHECKED not in text:
            fields[parts.external] = f"{text}\n{EXTERNAL_UNCHECKED}" if text else EXTERNAL_UNCHECKED
    ordered = {name: fields[name] for name in preset.node_schema if name in fields}
    extra = {name: value for name, value in fields.items() if name not in ordered}
    scores = {key: body.scores[key] for key in preset.dim_keys() if key in body.scores}
    return body.model_copy(update={"fields": ordered | extra, "scores": scores})


def _checked_node(preset: Preset, derived: e.NodeDerived, result: VerifyResult) -> e.NodeChecked:
    citations = result.citations[0] if result.citations else []
    violations = [*derived.violations, *check_citations(preset, derived.body, citations)]
    return e.NodeChecked(
        node=derived.node,
        revision=derived.revision,
        citations=citations,
        numerics=result.numerics,
        violations=violations,
    )


def _verify(
    tree: Tree, materials: Materials, bodies: Bodies, task: Task, result: VerifyResult
) -> list[e.Event]:
    if task.node == ROOT and not task.framing:
        return [e.RootChecked(citations=result.citations[0] if result.citations else [])]
    if task.framing == "X":
        return [e.ExternalChecked(node=task.node, citations=result.citations[0] if result.citations else [])]
    if task.framing:
        answer = bodies.read(tree.passes[task.node].framings[task.framing].answer_at)
        assert isinstance(answer, e.FramingAnswered)
        return [_checked_proposals(materials, answer, result.citations)]
    derived = bodies.read(tree.nodes[task.node].derived_at)
    assert isinstance(derived, e.NodeDerived)
    return [_checked_node(materials.preset, derived, result)]


def failed(tree: Tree, task: Task, code: str, message: str, raw: str = "") -> list[e.Event]:
    """Return the events of a task that its performer could not fill in."""
    failure = e.TaskFailed(task=task.id, code=code, message=message, raw=raw)
    if task.replaces:
        return [failure, e.RerouteVoided(node=task.replaces, reason=message)]
    if task.kind is TaskKind.EXTERNAL:
        return [failure, e.ExternalProposed(node=task.node, reason=message)]
    if task.kind is TaskKind.VERIFY:
        return [failure, *_unverified(tree, task, message)]
    return [failure]


def _unverified(tree: Tree, task: Task, message: str) -> list[e.Event]:
    """A check that cannot be made leaves nothing verified; it never lets a claim pass."""
    node = tree.nodes[task.node]
    if task.node == ROOT and not task.framing:
        return [e.RootChecked()]
    if task.framing == "X":
        return [e.ExternalChecked(node=node.id)]
    if task.framing:
        state = tree.passes[task.node].framings[task.framing]
        return [
            e.ProposalsChecked(
                node=task.node,
                framing=task.framing,
                attempt=state.attempt,
                reasons=[f"not checked: {message}"],
            )
        ]
    violation = Violation(rule="F1", message=f"its evidence could not be checked: {message}")
    return [e.NodeChecked(node=node.id, revision=node.revision, violations=[violation])]
