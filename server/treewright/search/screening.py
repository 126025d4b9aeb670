"""Screens mutants until something passes, nothing is left or time is up, and decides how long each may take.

Most mutants that take far longer than the starting program never end, so each gets a short time first. One that did
not end is not given up: it waits until mutants that are unlikelier by some bits have had their turn, and then gets more.
"""

from __future__ import annotations

import heapq
import itertools
import math
import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from treewright.search.checks import Check, Observation, ObservedStatus, Plan, judge
from treewright.search.ports import BranchOutcome, KernelHost, Screener, Trace
from treewright.search.repair import Mutant, Repair

BATCH = 128
"""Mutants screened between two looks at the clock."""

LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.02, 1.0
_START_TIMEOUT_S = 0.5
_LATE_BATCH = 12
_LATE_BITS = (2.0, 5.0)
"""What not ending in a short time, and not in a longer one, speaks against a mutant."""

_DEAR_S = 0.01
_PATIENCE_S = 2.0
"""Wall clock beyond what a program may compute: it is for what waits, and for a busy machine."""
_LATE_SHARE = 0.3
_LEAST_S = 0.001
"""What any program takes."""

_TRACED_HUNG_S = 0.3
"""A starting program that hangs shows the lines of its loop in this time, for each check."""


@dataclass(order=True, slots=True)
class _Late:
    """A mutant that did not end in its time: `due` is the urgency at which it gets more."""

    due: float
    order: int
    mutant: Mutant = field(compare=False)
    tier: int = field(compare=False)


class _Waiting:
    """Mutants that did not end, by when they get more time.

    Where most mutants hang, giving all of them more would leave no time for others: as long as there are others,
    the late ones get a share of all seconds.

    Args:
        tiers: seconds a check, first to last.
    """

    def __init__(self, tiers: tuple[float, ...]) -> None:
        self.tiers = tiers
        self._late: list[_Late] = []
        self._order = itertools.count()
        self._spent = [0.0 for _ in tiers]

    def spend(self, tier: int, trace: Trace) -> None:
        """Count what a program took, as far as its trace says."""
        self._spent[tier] += _LEAST_S + (self.tiers[tier] if hung(trace) else trace.cpu_s)

    def _affordable(self) -> bool:
        tier = self._late[0].tier
        return sum(self._spent[1:]) + self.tiers[tier] <= _LATE_SHARE * (1.0 + sum(self._spent))

    def add(self, mutant: Mutant, tier: int) -> bool:
        """Have a mutant wait for the tier after the one that it did not end in; False when there is none."""
        if tier + 1 >= len(self.tiers):
            return False
        due = mutant.cost + _LATE_BITS[tier]
        heapq.heappush(self._late, _Late(due, next(self._order), mutant, tier + 1))
        return True

    def due(self, urgency: float | None) -> list[_Late]:
        """Those whose turn it is, all of one tier; all may come when nothing else is left (`urgency` None)."""
        found: list[_Late] = []
        if urgency is not None and not (self._late and self._affordable()):
            return found
        while (
            self._late
            and len(found) < _LATE_BATCH
            and (urgency is None or self._late[0].due <= urgency)
            and (not found or self._late[0].tier == found[0].tier)
        ):
            found.append(heapq.heappop(self._late))
        return found


class CheapFirst:
    """A screener that runs the checks that take long only against programs that pass all others.

    What a program that fails earlier would have shown there is taken to be what the starting program showed: nothing
    is known about it.

    Args:
        screener: executes.
        start: the starting program, screened: how long its checks took.
        plan: the visible checks.

    Attributes:
        dear: ids of the checks that take long.
    """

    def __init__(self, screener: Screener, start: Trace, plan: Plan) -> None:
        self._screener = screener
        self._known = {one.check_id: one for one in start.observations}
        times = {
            check.id: seen.cpu_s if (seen := self._known.get(check.id)) and not _late(seen) else math.inf
            for check in plan.checks
        }
        usual = statistics.median_low(times.values()) if times else 0.0
        self.dear = {name for name, took in times.items() if took > max(_DEAR_S, 5 * usual)}
        told = [check for check in plan.checks if check.id not in self.dear]
        if all(judge(check, self._known.get(check.id)).passed for check in told):
            self.dear = set()  # only those that take long tell a right program from a wrong one

    def screen(self, programs: Sequence[str], plan: Plan) -> list[Trace]:
        """Run the plan against each program; one trace a program, in order."""
        if not self.dear:
            return self._screener.screen(programs, plan)
        cheap = tuple(check for check in plan.checks if check.id not in self.dear)
        found = self._screener.screen(programs, plan.model_copy(update={"checks": cheap}))
        through = [number for number, trace in enumerate(found) if _passes(cheap, trace)]
        whole = with_timeout(plan, MOST_TIMEOUT_S, 4 * MOST_TIMEOUT_S * len(plan.checks))
        known = [self._known[name] for name in sorted(self.dear) if name in self._known]
        unknown = [one for one in known if not _late(one)]
        found = [
            trace.model_copy(update={"observations": (*trace.observations, *unknown)}) for trace in found
        ]
        again = self._screener.screen([programs[number] for number in through], whole) if through else []
        for number, trace in zip(through, again, strict=True):
            found[number] = trace
        return found


def _late(observed: Observation) -> bool:
    return observed.status is ObservedStatus.TIMEOUT


def _passes(checks: Sequence[Check], trace: Trace) -> bool:
    by_id = {one.check_id: one for one in trace.observations}
    return all(judge(check, by_id.get(check.id)).passed for check in checks)


def measure_start(
    program: str, plan: Plan, host: KernelHost, screener: Screener
) -> tuple[Trace, float, CheapFirst]:
    """Run the starting program, for its lines and its time.

    Returns:
        Its branch, with executed lines where the host can tell; the CPU seconds that a mutant gets for a
        check at first; and the screener for its mutants.
    """
    timed = screener.screen([program], with_timeout(plan, _START_TIMEOUT_S))[0]
    each = _TRACED_HUNG_S if hung(timed) else 2.0 + 20 * timed.cpu_s
    baseline = host.run_branch(program, with_timeout(plan, each).model_copy(update={"trace_lines": True}))
    cheap_first = CheapFirst(screener, timed, plan)
    return baseline, screen_timeout(timed, cheap_first.dear), cheap_first


def screen_mutants(
    repair: Repair, plan: Plan, screener: Screener, quick_s: float, going_on: Callable[[], bool]
) -> None:
    """Ask for mutants, screen them and tell what they showed.

    Args:
        repair: the search for edits.
        plan: the visible checks.
        screener: executes mutants.
        quick_s: CPU seconds a check at first.
        going_on: asked between batches whether there is time left.
    """
    waiting = _Waiting((quick_s, min(MOST_TIMEOUT_S, 5 * quick_s), MOST_TIMEOUT_S))
    while going_on():
        batch, tier = _next(repair, waiting)
        if not batch:
            return
        traces = screener.screen([one.source for one in batch], with_timeout(plan, waiting.tiers[tier]))
        for mutant, trace in zip(batch, traces, strict=True):
            waiting.spend(tier, trace)
            if not (hung(trace) and waiting.add(mutant, tier)):
                repair.tell(mutant.id, trace)


def _next(repair: Repair, waiting: _Waiting) -> tuple[list[Mutant], int]:
    """The mutants whose turn it is, and how long they may take (a tier)."""
    urgency = repair.urgency
    late = waiting.due(urgency) if urgency is not None else []
    fresh = [] if late else repair.ask(BATCH)
    if not late and not fresh and not repair.passing:
        late = waiting.due(None)
    if late:
        return [one.mutant for one in late], late[0].tier
    return fresh, 0


def with_timeout(plan: Plan, seconds: float, most_s: float | None = None) -> Plan:
    """The plan for screening: no line traces, a short time a check, and no more than all of them need.

    Args:
        plan: the visible checks.
        seconds: CPU time of a check.
        most_s: wall clock of a program; None is that of the plan.
    """
    whole = min(most_s or plan.per_branch_timeout_s, _PATIENCE_S + 4 * seconds * len(plan.checks))
    return plan.model_copy(
        update={"per_check_timeout_s": seconds, "per_branch_timeout_s": whole, "trace_lines": False}
    )


def screen_timeout(timed: Trace, dear: Collection[str] = ()) -> float:
    """CPU seconds that a mutant gets for one check at first: ten times what the slowest check that ended took.

    Args:
        timed: the starting program, screened.
        dear: ids of checks that come later and take longer.
    """
    ended = [one.cpu_s for one in timed.observations if not _late(one) and one.check_id not in dear]
    return min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, 10 * max(ended, default=0.0)))


def hung(trace: Trace) -> bool:
    """Whether a check, or the whole branch, did not end in time."""
    return trace.outcome is BranchOutcome.TIMEOUT or any(_late(one) for one in trace.observations)
