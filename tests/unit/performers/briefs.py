"""Briefs of every kind, made by growing a real tree to the task that is wanted."""

from pathlib import Path

from treewright.explore.tasks import Brief, NodeView, Task, TaskKind
from treewright.presets.framings import framing
from treewright.presets.loader import load_preset
from treewright.tree.body import Derivation, Proposal
from treewright.tree.citation import CheckedCitation, Citation, CitationState, Violation
from treewright.tree.run import Language, RootSpec

PLACE = Citation(path="paper.md", start=3, end=3, quote="The cache makes every build faster.")


def brief(kind: TaskKind, preset: str = "attack", workspace: Path | None = None, **given: object) -> Brief:
    """Return a brief for a task of a kind, on the paper of `growing_runs`."""
    own = load_preset(preset)
    letter = str(given.pop("letter", "D"))
    paths = {"attack": "paper.md", "code-audit": "notes.py"}
    spec = RootSpec(
        kind=own.root_kind,
        path=paths.get(preset, ""),
        text="" if preset in paths else "Faster builds",
        workspace=str(workspace or ""),
    )
    asked = (
        letter
        if kind in (TaskKind.PROPOSE, TaskKind.DERIVE, TaskKind.REVISE)
        else "X"
        if kind is TaskKind.EXTERNAL
        else ""
    )
    node = "0" if kind in (TaskKind.GROUND, TaskKind.PROPOSE, TaskKind.SUMMARISE) else f"{letter}1"
    values: dict[str, object] = {
        "task": Task(id=f"{kind}/{node}/1", kind=kind, node=node, framing=asked),
        "preset": own,
        "mode": own.root_schemas[0].mode,
        "language": Language(),
        "root_spec": spec,
        "framing": framing(asked) if asked else None,
    }
    if kind is not TaskKind.GROUND:
        values["root"] = NodeView(id="0", statement="A paper on a cache for builds.", evidence=[PLACE])
    if kind in (TaskKind.DERIVE, TaskKind.REVISE):
        values["proposal"] = Proposal(
            statement="The claim rests on one measurement.",
            position=PLACE.label(),
            citations=[PLACE.model_copy(update={"field": "artifact_position"})],
        )
    if kind is TaskKind.REVISE:
        values["previous"] = Derivation(
            fields=dict.fromkeys(own.node_schema, "It stands."),
            scores=dict.fromkeys(own.dim_keys(), 2),
            citations=[PLACE],
        )
        values["violations"] = [
            Violation(rule="F1", field="predictions", quote="probably", message="“probably” hedges")
        ]
        values["proposal_citations"] = [CheckedCitation(citation=PLACE, state=CitationState.VERIFIED)]
    if kind is TaskKind.SUMMARISE:
        values["outline"] = {
            "nodes": 3,
            "by_label": {"CONFIRMED": 1},
            "best": [{"id": "D1", "statement": "One.", "score": 12}],
        }
    values |= given
    return Brief.model_validate(values)
