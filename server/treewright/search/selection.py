"""Which branch is best, and what decided between equals (contract: search, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from treewright.search.candidates import change_size, lines_of_code, token_count
from treewright.search.checks import Check, CheckKind, ObservedStatus
from treewright.search.ports import BranchOutcome
from treewright.search.state import Branch


class TieBreak(StrEnum):
    """What decided between branches that pass as many checks."""

    NONE = ""
    EXCEPTION = "no_exception"
    STDOUT = "stdout"
    EFFICIENCY = "efficiency"
    RANK = "likeliest_edit"
    CHANGE = "smallest_change"
    LINES = "fewest_lines"
    TOKENS = "fewest_tokens"
    FIRST = "first_generated"


_ORDER = (
    TieBreak.EXCEPTION,
    TieBreak.STDOUT,
    TieBreak.EFFICIENCY,
    TieBreak.RANK,
    TieBreak.CHANGE,
    TieBreak.LINES,
    TieBreak.TOKENS,
    TieBreak.FIRST,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The best branch.

    Attributes:
        branch: it.
        tie_break: what set it apart from the runner-up that passes as many checks.
        tied: ids of all branches that pass as many checks, the chosen one first.
    """

    branch: Branch
    tie_break: TieBreak
    tied: tuple[str, ...]


def choose(
    branches: Sequence[Branch], start: str, checks: Sequence[Check], *, efficiency: bool = False
) -> Choice | None:
    """Pick the best executed branch.

    Args:
        branches: executed branches, duplicates left out.
        start: the starting program, or empty.
        checks: the visible checks.
        efficiency: among branches that pass everything, prefer less CPU time, then less memory.

    Returns:
        None when nothing was executed.
    """
    ranked = sorted(
        ((-branch.passed, _ties(branch, start, checks, efficiency)), branch)
        for branch in _with_keys(branches)
    )
    if not ranked:
        return None
    (lost, ties), best = ranked[0][0], ranked[0][1].branch
    tied = [item.branch for (other, _), item in ranked if other == lost]
    reason = TieBreak.NONE
    if len(tied) > 1:
        reason = _first_difference(ties, ranked[1][0][1])
    return Choice(best, reason, tuple(branch.id for branch in tied))


@dataclass(frozen=True, slots=True, order=True)
class _Keyed:
    order: int
    branch: Branch

    @property
    def passed(self) -> int:
        return self.branch.passed


def _with_keys(branches: Sequence[Branch]) -> list[_Keyed]:
    return [_Keyed(branch.order, branch) for branch in branches]


def _ties(keyed: _Keyed, start: str, checks: Sequence[Check], efficiency: bool) -> tuple[float, ...]:
    branch = keyed.branch
    trace = branch.trace
    raised = (
        trace is None
        or trace.outcome is not BranchOutcome.FINISHED
        or any(
            verdict.status is not ObservedStatus.VALUE and not verdict.passed for verdict in branch.verdicts
        )
    )
    spent = (
        (trace.cpu_s, float(trace.peak_memory_bytes))
        if efficiency and trace and branch.complete
        else (0.0, 0.0)
    )
    return (
        float(raised),
        float(_prints_wrong(branch, checks)),
        spent[0] + spent[1] * 1e-18,
        float(branch.proposed.rank),
        float(change_size(start, branch.code)) if start.strip() else 0.0,
        float(lines_of_code(branch.code)),
        float(token_count(branch.code)),
        float(branch.order),
    )


def _prints_wrong(branch: Branch, checks: Sequence[Check]) -> bool:
    wanted = {check.id for check in checks if check.kind is CheckKind.STDOUT}
    return any(not verdict.passed for verdict in branch.verdicts if verdict.check_id in wanted)


def _first_difference(best: tuple[float, ...], second: tuple[float, ...]) -> TieBreak:
    for reason, one, other in zip(_ORDER, best, second, strict=True):
        if one != other:
            return reason
    return TieBreak.FIRST


def same_for_all(branches: Sequence[Branch], checks: Sequence[Check]) -> tuple[str, ...]:
    """Checks that tell no two branches apart: every branch passes them, or every branch fails them.

    Args:
        branches: executed branches, duplicates left out.
        checks: the visible checks.
    """
    found = []
    for index, check in enumerate(checks):
        results = {branch.verdicts[index].passed for branch in branches if index < len(branch.verdicts)}
        if len(results) == 1:
            found.append(check.id)
    return tuple(found)


def discriminating(branches: Sequence[Branch], checks: Sequence[Check]) -> bool | None:
    """Whether any check tells two branches apart; None with fewer than two distinct branches."""
    if len(branches) < 2:
        return None
    return len(same_for_all(branches, checks)) < len(checks)
