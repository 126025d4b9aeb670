"""What a search found, as one object: the command line's JSON, an editor's card, an MCP answer."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from treewright.search.candidates import lines_of_code, unified_diff
from treewright.search.state import Branch, SearchState
from treewright.search.task import visible


class ChosenReport(BaseModel):
    """The chosen program."""

    model_config = ConfigDict(frozen=True)

    id: str
    generator: str
    code: str
    diff: str
    passed: int
    total: int


class BranchReport(BaseModel):
    """One branch in brief."""

    model_config = ConfigDict(frozen=True)

    id: str
    parent: str | None
    generator: str
    framing: str
    passed: int
    total: int
    outcome: str
    duplicate_of: str | None
    lines: int
    cpu_s: float
    spend_usd: float


class SearchReport(BaseModel):
    """A search in brief (contract: search, 6).

    Attributes:
        run: the run's id.
        verified: the chosen branch passes every visible check.
        halted: something was left out for a cap, a limit or time.
        reason: which.
        discriminating: whether the checks told branches apart; None with fewer than two.
        same_for_all: checks that told no two branches apart.
        tie_break: what decided between equals.
        failing: ids of the visible checks that the chosen branch fails.
        holdout_passed: held-out checks that the chosen branch passes, of `holdout_total`.
        alternatives: groups of passing programs that behave differently on generated inputs.
        advice: sentences for the user.
        not_guaranteed: guarantees that the host of the chosen branch could not give.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    verified: bool
    halted: bool
    reason: str | None
    discriminating: bool | None
    same_for_all: tuple[str, ...]
    tie_break: str
    chosen: ChosenReport | None
    failing: tuple[str, ...]
    holdout_passed: int | None
    holdout_total: int
    alternatives: int
    advice: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    branches: tuple[BranchReport, ...]
    spend_usd: float
    duration_s: float


ADVICE = {
    "all_tied": "Every branch passed the same checks, so the checks cannot tell a right program from a plausible "
    "one. A single attempt would have done; add checks that differ.",
    "several_behaviours": "Several programs pass every check and still behave differently on other inputs. Add a "
    "check that tells them apart, or look at the alternatives.",
    "start_passes": "The starting program passes every check already: nothing was changed.",
}


def report(state: SearchState, duration_s: float = 0.0) -> SearchReport:
    """Sum a search up.

    Args:
        state: the folded search.
        duration_s: wall clock of the whole run.
    """
    end = state.concluded
    chosen = state.branches.get(end.chosen) if end and end.chosen else None
    held = state.holdout.verdicts if state.holdout else ()
    return SearchReport(
        run=state.run,
        verified=bool(end and end.verified),
        halted=state.halted is not None,
        reason=state.halted,
        discriminating=end.discriminating if end else None,
        same_for_all=end.same_for_all if end else (),
        tie_break=end.tie_break if end else "",
        chosen=_chosen(state, chosen),
        failing=tuple(verdict.check_id for verdict in chosen.verdicts if not verdict.passed)
        if chosen
        else (),
        holdout_passed=sum(verdict.passed for verdict in held) if held else None,
        holdout_total=sum(check.holdout for check in state.plan.checks),
        alternatives=max((one.distinct for one in state.finished.values()), default=0),
        advice=tuple(ADVICE[code] for code in end.advice) if end else (),
        not_guaranteed=chosen.trace.not_guaranteed if chosen and chosen.trace else (),
        branches=tuple(_brief(state, branch) for branch in state.branches.values()),
        spend_usd=state.spend_usd,
        duration_s=duration_s,
    )


def _chosen(state: SearchState, branch: Branch | None) -> ChosenReport | None:
    if branch is None:
        return None
    start = state.task.start
    return ChosenReport(
        id=branch.id,
        generator=branch.proposed.generator,
        code=branch.code,
        diff=unified_diff(start, branch.code, state.task.path) if start.strip() else "",
        passed=branch.passed,
        total=len(visible(state.plan).checks),
    )


def _brief(state: SearchState, branch: Branch) -> BranchReport:
    trace = branch.trace
    return BranchReport(
        id=branch.id,
        parent=branch.proposed.parent,
        generator=branch.proposed.generator,
        framing=branch.proposed.framing,
        passed=branch.passed,
        total=len(visible(state.plan).checks),
        outcome=trace.outcome.value if trace else "not_executed",
        duplicate_of=branch.proposed.duplicate_of,
        lines=lines_of_code(branch.code),
        cpu_s=trace.cpu_s if trace else 0.0,
        spend_usd=branch.proposed.spend_usd,
    )
