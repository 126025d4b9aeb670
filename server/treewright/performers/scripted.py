"""A performer that answers from a record: for tests, demonstrations and replays. It ships with the product.

A script maps task ids to results; what is not in it is answered by a rule, so that a whole tree can be grown from a seed. The same
seed gives the same tree.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from treewright.errors import ModelError
from treewright.explore.ports import Performance
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
from treewright.tree.body import Derivation, FieldValue, Proposal
from treewright.tree.citation import Citation

Rule = Callable[[Brief], Result]


class ScriptedPerformer:
    """Answers tasks from a script, then from a rule.

    Attributes:
        name: `scripted`.
        performed: ids of the tasks performed, in order.
    """

    name = "scripted"

    def __init__(
        self, rule: Rule, script: Mapping[str, Result | Exception] | None = None, latency_s: float = 0.0
    ) -> None:
        """Prepare.

        Args:
            rule: answers what the script does not.
            script: results or errors by task id.
            latency_s: how long each answer takes.
        """
        self._rule = rule
        self._script = dict(script or {})
        self._latency = latency_s
        self.performed: list[str] = []

    async def perform(self, brief: Brief) -> Performance:
        """Answer a task.

        Raises:
            Exception: what the script holds for the task.
        """
        if self._latency:
            await asyncio.sleep(self._latency)
        self.performed.append(brief.task.id)
        answer = self._script.get(brief.task.id)
        if isinstance(answer, Exception):
            raise answer
        return Performance(result=answer if answer is not None else self._rule(brief))


class SeededRule:
    """Grows a tree of made-up but well-formed nodes, decided by a seed alone.

    Args:
        seed: any text.
        advance: how many of a hundred children advance; falls by half with each level, so that trees end.
        citation: cited by every node; needed by presets whose fields must cite.
        filler: text added to each field, to reach a size.
        max_depth: nodes at this depth never advance.
        width: proposals a framing brings.
    """

    def __init__(
        self,
        seed: str,
        *,
        advance: int = 20,
        citation: Citation | None = None,
        filler: str = "",
        max_depth: int = 3,
        width: int = 1,
    ) -> None:
        self._seed = seed
        self._advance = advance
        self._citation = citation
        self._filler = filler
        self._max_depth = max_depth
        self._width = width

    def __call__(self, brief: Brief) -> Result:
        """Answer a task.

        Raises:
            ModelError: `unscripted` for a task this rule has no answer to.
        """
        match brief.task.kind:
            case TaskKind.GROUND:
                return self._ground(brief)
            case TaskKind.PROPOSE:
                return self._propose(brief)
            case TaskKind.DERIVE | TaskKind.REVISE:
                return DeriveResult(body=self._derive(brief))
            case TaskKind.EXTERNAL:
                return ExternalResult(reason="nothing is looked up by a script")
            case TaskKind.SUMMARISE:
                return SummariseResult(narrative="Grown from a script.")
            case _:
                raise ModelError("unscripted", f"the script has no answer to {brief.task.id}")

    def _number(self, *parts: Any) -> int:
        text = "\0".join([self._seed, *map(str, parts)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])

    def _ground(self, brief: Brief) -> GroundResult:
        fields: dict[str, FieldValue] = {
            field.name: [f"{field.name} item {i + 1}." for i in range(max(1, field.min_items))]
            for field in brief.preset.root_schema(brief.mode).fields
        }
        citations = [self._citation] if self._citation else []
        return GroundResult(statement=f"Root of {self._seed}.", fields=fields, citations=citations)

    def _propose(self, brief: Brief) -> ProposeResult:
        task = brief.task
        where = task.replaces or task.node
        proposals = []
        for index in range(max(self._width, 2 if task.framing == "E" else 1)):
            mark = self._number("propose", where, task.framing, index)
            words = " ".join(hashlib.sha256(f"{mark}.{i}".encode()).hexdigest()[:7] for i in range(6))
            proposals.append(
                Proposal(
                    statement=f"{task.framing} of {where} branch {index + 1}: {words}.",
                    position=self._citation.label() if self._citation else "",
                    evidence="As recorded.",
                    assumptions=["The record is what it says."],
                    predictions=[f"It shows as {words[:7]}."],
                    defense="Nothing in the record speaks against it.",
                    citations=[self._citation] if self._citation else [],
                )
            )
        return ProposeResult(proposals=proposals)

    def _derive(self, brief: Brief) -> Derivation:
        node = brief.task.node
        assert brief.proposal is not None
        depth = node.count(".") + 1
        share = self._advance / 2 ** (depth - 1)
        advances = depth < self._max_depth and self._number("score", node) % 1000 < share * 10
        level = 3 if advances else 1 + self._number("level", node) % 2
        fields: dict[str, FieldValue] = {}
        for name in brief.preset.node_schema:
            rule = brief.preset.rule(name)
            lines = [
                f"The {name} of this branch is item {self._word(node, name, i)}."
                for i in range(max(2, rule.min_items, rule.min_sentences))
            ]
            fields[name] = [*lines, self._filler] if self._filler else lines
        fields[brief.preset.parts.subject] = brief.proposal.statement
        citations = []
        if self._citation:
            citations = [self._citation.model_copy(update={"field": ""})]
        return Derivation(
            fields=fields, scores=dict.fromkeys(brief.preset.dim_keys(), level), citations=citations
        )

    def _word(self, *parts: Any) -> str:
        return f"{self._number('word', *parts):x}"[:6].translate(str.maketrans("0123456789", "ghijklmnop"))
