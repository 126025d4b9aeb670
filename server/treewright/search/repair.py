"""Offline repair: which mutants to screen next, and which of those that pass to keep.

`Repair` is a state machine without a clock: `ask` gives mutants, likeliest first, `tell` takes what screening
showed. Single edits come in order of their cost. A mutant that comes closer (more checks pass, or a failing one
fails by less) becomes a base for a second edit; its edits join the same queue at the sum of both costs, less
what its progress is worth. Nothing equivalent is screened twice.
"""

from __future__ import annotations

import ast
import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from treewright.parsing import parse_program
from treewright.search.checks import Check, Observation, Plan, Verdict, judge
from treewright.search.mutate.catalogue import edits_of
from treewright.search.mutate.digest import program_digest
from treewright.search.mutate.edit import Edit, apply_splices
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import Site
from treewright.search.mutate.unknown import missing_names
from treewright.search.ports import Trace
from treewright.search.suspicion import line_costs
from treewright.search.symptoms import discounts


@dataclass(frozen=True, slots=True)
class Mutant:
    """One program to screen.

    Attributes:
        id: `m1`, `m2`, ... in the order they were asked for.
        source: the whole program.
        cost: bits; the sum over its edits.
        edits: operator ids, first to last.
        parent: the mutant it was made from, or None for the starting program.
    """

    id: str
    source: str
    cost: float
    edits: tuple[str, ...]
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Screened:
    """A mutant and what screening showed.

    Attributes:
        mutant: the program.
        verdicts: one a check, in order.
        gap: sum of the checks' gaps; 0 when all pass.
    """

    mutant: Mutant
    verdicts: tuple[Verdict, ...]
    gap: float

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(1 for verdict in self.verdicts if verdict.passed)

    @property
    def complete(self) -> bool:
        """Whether every check passed."""
        return all(verdict.passed for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one repair.

    Attributes:
        depth: most edits a mutant may hold.
        screened: most mutants to screen in all.
        beyond_bits: once something passes, go on through single edits up to this many bits above the cheapest
            passing one, so that its rivals are known.
        passing: stop when so many distinct mutants pass.
        bases: most mutants that second edits are applied to.
    """

    depth: int = 2
    screened: int = 100_000
    beyond_bits: float = 3.0
    passing: int = 24
    bases: int = 60


@dataclass(slots=True)
class _Base:
    """A program that edits are applied to."""

    source: str
    cost: float
    worth: float
    edits: tuple[str, ...]
    parent: str | None
    lines: dict[int, float]
    missing: frozenset[str] = frozenset()


@dataclass(order=True, slots=True)
class _Queued:
    """An edit that waits: `urgency` decides when its turn is, `cost` what it counts as when it passes."""

    urgency: float
    order: int
    cost: float = field(compare=False)
    base: _Base = field(compare=False)
    edit: Edit = field(compare=False)
    site: Site = field(compare=False)


_PROGRESS_BITS = 7.0
"""What turning every failing check into a passing one would be worth to a base, in bits."""

_GAP_BITS = 4.0
"""What closing the gaps of the failing checks altogether would be worth."""

_WIDEN_AT_ONCE = 6
"""Bases taken at a time when nothing came closer."""

_SECOND_EDIT_BITS = 3.0
"""A bug of two edits is rarer than one of one."""


class Repair:
    """The search for edits of one program.

    Args:
        program: the starting program.
        plan: the visible checks.
        baseline: the starting program's trace, with executed lines where the host can tell.
        limits: bounds.
    """

    def __init__(self, program: str, plan: Plan, baseline: Trace, limits: Limits | None = None) -> None:
        self.plan = plan
        self.limits = limits or Limits()
        self.start = Screened(Mutant("m0", program, 0.0, ()), *verdicts_of(plan.checks, baseline))
        self.passing: list[Screened] = []
        self.best: Screened = self.start
        self.asked = 0
        self.told = 0
        self._observed = baseline.observations
        self._strings = _check_strings(plan.checks)
        self._queue: list[_Queued] = []
        self._order = itertools.count()
        self._seen: set[str] = set()
        self._open: dict[str, Mutant] = {}
        self._bases = 0
        self._waiting: list[tuple[Screened, Trace]] = []
        self._signatures: set[tuple[object, ...]] = set()
        self._discounts = discounts(plan.checks, self.start.verdicts, baseline.observations)
        digest = program_digest(program)
        if digest is None or self.start.complete:
            return
        self._seen.add(digest)
        tree = parse_program(program)
        executed = {one.check_id: one.lines for one in baseline.observations}
        passed = {verdict.check_id: verdict.passed for verdict in self.start.verdicts}
        self._push(
            _Base(program, 0.0, 0.0, (), None, line_costs(tree, executed, passed), _missing(self.start))
        )

    # The queue

    def ask(self, count: int) -> list[Mutant]:
        """The next mutants to screen, at most `count`; empty when there is nothing left or enough was found."""
        found: list[Mutant] = []
        if not self._queue and not self._open:
            self._widen()
        while len(found) < count and self._queue and self.asked < self.limits.screened:
            if self._enough(self._queue[0].urgency):
                break
            queued = heapq.heappop(self._queue)
            mutant = self._make(queued)
            if mutant is not None:
                found.append(mutant)
        return found

    @property
    def urgency(self) -> float | None:
        """Of the next edit in the queue, in bits; None when the queue is empty or enough was found."""
        if not self._queue or self._enough(self._queue[0].urgency) or self.asked >= self.limits.screened:
            return None
        return self._queue[0].urgency

    def _enough(self, next_cost: float) -> bool:
        if not self.passing:
            return False
        if len(self.passing) >= self.limits.passing:
            return True
        return next_cost > min(one.mutant.cost for one in self.passing) + self.limits.beyond_bits

    def _make(self, queued: _Queued) -> Mutant | None:
        source = apply_splices(queued.site.source, queued.edit.splices)
        if source is None:
            return None
        digest = program_digest(source)
        if digest is None or digest in self._seen:
            return None
        self._seen.add(digest)
        self.asked += 1
        base = queued.base
        mutant = Mutant(
            f"m{self.asked}", source, queued.cost, (*base.edits, queued.edit.operator), base.parent
        )
        self._open[mutant.id] = mutant
        return mutant

    def _push(self, base: _Base) -> None:
        site = Site(base.source)
        material = Material(site, self._strings, base.missing)
        for cost, edit in edits_of(site, material, base.lines, self._discounts):
            total = base.cost + cost
            self._queue.append(_Queued(total - base.worth, next(self._order), total, base, edit, site))
        heapq.heapify(self._queue)

    # Results

    def tell(self, mutant_id: str, trace: Trace) -> Screened | None:
        """Take what screening a mutant showed; a mutant that is unknown or was told before is ignored."""
        mutant = self._open.pop(mutant_id, None)
        if mutant is None:
            return None
        self.told += 1
        screened = Screened(mutant, *verdicts_of(self.plan.checks, trace))
        if screened.complete:
            self.passing.append(screened)
            if len(self.passing) == 1:
                self._sort_by_cost()
        elif len(mutant.edits) < self.limits.depth:
            self._consider(screened, trace)
        if (screened.passed, -screened.gap) > (self.best.passed, -self.best.gap):
            self.best = screened
        return screened

    def _sort_by_cost(self) -> None:
        """Something passes: from now on only rivals that are as likely count, however near their bases came."""
        for queued in self._queue:
            queued.urgency = queued.cost
        heapq.heapify(self._queue)

    def _consider(self, screened: Screened, trace: Trace) -> None:
        """Make a mutant a base for second edits when it came closer than what it was made from."""
        if self.passing or self._bases >= self.limits.bases:
            return
        signature = _signature(screened)
        if signature in self._signatures:
            return
        lost = sum(
            1
            for before, after in zip(self.start.verdicts, screened.verdicts, strict=True)
            if before.passed and not after.passed
        )
        gained = screened.passed - self.start.passed + lost
        closer = self.start.gap - screened.gap
        if lost > gained or (gained == 0 and closer <= 0.02):
            if lost == 0 and any(verdict.actual for verdict in screened.verdicts):
                self._signatures.add(signature)
                self._waiting.append((screened, trace))
            return
        self._signatures.add(signature)
        failing = max(len(self.start.verdicts) - self.start.passed, 1)
        worth = _PROGRESS_BITS * (gained - lost) / failing + _GAP_BITS * max(closer, 0.0) / max(
            self.start.gap, 0.1
        )
        base = _Base(
            screened.mutant.source,
            screened.mutant.cost + _SECOND_EDIT_BITS,
            worth,
            screened.mutant.edits,
            screened.mutant.id,
            self._lines_of(screened, trace),
            _missing(screened),
        )
        self._bases += 1
        self._push(base)

    def _widen(self) -> None:
        """Nothing came closer: go on from the likeliest mutants that only failed in another way."""
        if self.passing or not self._waiting or self._bases >= self.limits.bases:
            return
        self._waiting.sort(key=lambda item: item[0].mutant.cost)
        for screened, trace in self._waiting[:_WIDEN_AT_ONCE]:
            self._bases += 1
            mutant = screened.mutant
            cost = mutant.cost + _SECOND_EDIT_BITS
            lines, missing = self._lines_of(screened, trace), _missing(screened)
            self._push(_Base(mutant.source, cost, 0.0, mutant.edits, mutant.id, lines, missing))
        del self._waiting[:_WIDEN_AT_ONCE]

    def _lines_of(self, screened: Screened, trace: Trace) -> dict[int, float]:
        tree = parse_program(screened.mutant.source)
        executed = {one.check_id: one.lines for one in trace.observations}
        if not any(executed.values()):
            executed = {one.check_id: one.lines for one in self._observed}
            if screened.mutant.source.count("\n") != self.start.mutant.source.count("\n"):
                executed = {}
        return line_costs(tree, executed, {verdict.check_id: verdict.passed for verdict in screened.verdicts})

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to ask for and nothing is being screened."""
        return not self._open and (
            (not self._queue and not self._waiting)
            or self.asked >= self.limits.screened
            or (bool(self._queue) and self._enough(self._queue[0].urgency))
        )


def verdicts_of(checks: Sequence[Check], trace: Trace) -> tuple[tuple[Verdict, ...], float]:
    """Judge every check of a plan by a trace; absent observations fail.

    Returns:
        The verdicts in the checks' order, and the sum of their gaps.
    """
    by_id: dict[str, Observation] = {one.check_id: one for one in trace.observations}
    verdicts = tuple(judge(check, by_id.get(check.id)) for check in checks)
    return verdicts, sum(verdict.gap for verdict in verdicts)


def _missing(screened: Screened) -> frozenset[str]:
    """Names that a program did not find where checks failed."""
    return missing_names(verdict.message for verdict in screened.verdicts if not verdict.passed)


def _signature(screened: Screened) -> tuple[object, ...]:
    return tuple((verdict.passed, verdict.status, verdict.actual) for verdict in screened.verdicts)


def _check_strings(checks: Sequence[Check]) -> tuple[str, ...]:
    """Strings that appear in what the checks evaluate and expect."""
    found: dict[str, None] = {}
    for check in checks:
        for text in (check.context, check.evaluate):
            try:
                tree = parse_program(text)
            except SyntaxError:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60:
                    found[node.value] = None
        _collect(check.expected, found)
    return tuple(found)[:40]


def _collect(value: object, found: dict[str, None]) -> None:
    if isinstance(value, str) and len(value) < 60:
        found[value] = None
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in list(value)[:50]:
            _collect(item, found)
    elif isinstance(value, dict):
        for item in list(value.items())[:50]:
            _collect(item, found)
