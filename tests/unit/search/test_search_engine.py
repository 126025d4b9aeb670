"""The search as a state machine: what it asks for, what a result changes, which branch is best."""

import itertools
import json
import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.unit.search.forkhost import ForkHost
from treewright.search.checks import Plan
from treewright.search.drive import run_search
from treewright.search.engine import SearchEngine
from treewright.search.events import SearchEvent
from treewright.search.frontier import next_to_revise
from treewright.search.ports import Refused, Reserved, Settled, Trace
from treewright.search.report import report
from treewright.search.settings import SearchSettings, default_generators
from treewright.search.state import fold_all
from treewright.search.task import SearchTask
from treewright.search.tasks import DraftTask, Executed, ExecuteTask, Generated, MutateTask, ReviseTask
from treewright.search.trajectory import Spans, audit_line, audit_name, urn

CHECKS = "assert f(1) == 1\nassert f(2) == 4\nassert f(3) == 9\nassert f(0) == 0\nassert f(-2) == 4"
GOOD = "def f(n):\n    return n * n\n"
LONG = "def f(n):\n    result = n * n\n    return result\n"
HALF = "def f(n):\n    return n\n"
BAD = "def f(n):\n    return None\n"
RAISES = "def f(n):\n    if n > 1 or n < 0:\n        raise ValueError(n)\n    return n\n"


def started(
    generators: tuple[str, ...] = ("given",), given: tuple[str, ...] = (), start: str = "", **more: object
) -> SearchEngine:
    """A search for the square, begun."""
    choices = SearchSettings.model_validate({"generators": generators, **more})
    return SearchEngine.start(
        "r1", SearchTask(start=start, entry_point="f", check_sources=(CHECKS,)), choices, given
    )


def run(engine: SearchEngine, model: object = None, cap: object = None, **more: object) -> SearchEngine:
    """Perform everything with real forks."""
    host = ForkHost()
    return run_search(engine, host, host, clock=time.monotonic, model=model, cap=cap, **more)  # type: ignore[arg-type]


class Scripted:
    """Answers drafts and revisions from a list."""

    def __init__(self, *answers: str, price: float = 0.0) -> None:
        self.answers = list(answers)
        self.asked: list[DraftTask | ReviseTask] = []
        self.price = price

    def complete(self, task: DraftTask | ReviseTask) -> Generated:
        """The next answer; none left is a failure."""
        self.asked.append(task)
        if not self.answers:
            return Generated(task_id=task.id, failed=True, message="empty answer", spend_usd=self.price)
        return Generated(task_id=task.id, answers=(self.answers.pop(0),), spend_usd=self.price)


class Purse:
    """A spend cap in one process."""

    def __init__(self, cap: float) -> None:
        self.left = cap
        self.held: dict[str, float] = {}
        self.calls: list[str] = []

    def reserve(self, run: str, estimate_usd: float) -> Reserved | Refused:
        """Grant what fits."""
        if estimate_usd > self.left + 1e-12:
            return Refused(error="spend_cap_exceeded", message="the cap is reached")
        self.left -= estimate_usd
        name = f"h{len(self.calls)}"
        self.calls.append("reserve")
        self.held[name] = estimate_usd
        return Reserved(reservation_id=name, estimate_usd=estimate_usd, remaining_usd=self.left)

    def settle(self, run: str, reservation_id: str, actual_usd: float, *, failed: bool) -> Settled | Refused:
        """Charge what it cost."""
        self.calls.append("failed" if failed else "settle")
        self.left += self.held.pop(reservation_id) - actual_usd
        return Settled(reservation_id=reservation_id, charged_usd=actual_usd, remaining_usd=self.left)


@pytest.mark.requirement("search:select:most-passed")
def test_the_branch_that_passes_most_checks_is_chosen() -> None:
    engine = run(started(given=(HALF, BAD, GOOD)))
    found = report(engine.state)
    assert found.verified and found.chosen is not None and found.chosen.code == GOOD
    assert [(branch.passed, branch.total) for branch in found.branches] == [(2, 5), (0, 5), (5, 5)]
    assert found.discriminating is True and found.failing == ()


@pytest.mark.requirement("search:select:best-so-far")
def test_without_a_passing_branch_the_best_so_far_is_named_with_what_fails() -> None:
    found = report(run(started(given=(BAD, HALF))).state)
    assert not found.verified and found.chosen is not None and found.chosen.code == HALF
    assert found.failing == ("c2", "c3", "c5")


@pytest.mark.requirement("search:select:ties")
@pytest.mark.parametrize(
    ("given_programs", "start", "chosen", "reason"),
    [
        ((RAISES, HALF), "", HALF, "no_exception"),
        ((LONG, GOOD), "", GOOD, "fewest_lines"),
        (("def f(n):\n    return n * n + n * 0\n", GOOD), "", GOOD, "fewest_tokens"),
        (
            ("def f(n):\n    return n * n + 0 * n\n", "def f(n):\n    return n * n - 0 * n\n"),
            "",
            "def f(n):\n    return n * n + 0 * n\n",
            "first_generated",
        ),
        (
            ("def f(n):\n    return n ** 2\n", "def f(n):\n    n = n * n\n    return n\n"),
            "def f(n):\n    n = n * 1\n    return n\n",
            "def f(n):\n    n = n * n\n    return n\n",
            "smallest_change",
        ),
    ],
)
def test_ties_are_broken_as_the_contract_says(
    given_programs: tuple[str, ...], start: str, chosen: str, reason: str
) -> None:
    engine = run(started(given=given_programs, start=start, exhaustive=True))
    found = report(engine.state)
    assert found.chosen is not None and found.chosen.code == chosen
    assert found.tie_break == reason


@pytest.mark.requirement("search:select:early-stop")
def test_the_search_ends_with_the_first_branch_that_passes_everything_unless_exhaustive() -> None:
    early = run(started(given=(GOOD, LONG, BAD))).state
    assert [branch.trace is not None for branch in early.branches.values()] == [True, False, False]
    late = run(started(given=(GOOD, LONG, BAD), exhaustive=True)).state
    assert all(branch.trace is not None for branch in late.branches.values())


@pytest.mark.requirement("search:checks:non-discriminating")
def test_checks_that_tell_nothing_apart_are_named_and_a_tie_suggests_a_single_attempt() -> None:
    tied = report(run(started(given=(HALF, "def f(n):\n    return +n\n"))).state)
    assert tied.discriminating is False
    assert set(tied.same_for_all) == {"c1", "c2", "c3", "c4", "c5"}
    assert any("single attempt" in text for text in tied.advice)
    mixed = report(run(started(given=(HALF, RAISES, BAD))).state)
    assert mixed.discriminating is True and set(mixed.same_for_all) == {"c2", "c3", "c5"}
    assert report(run(started(given=(HALF,))).state).discriminating is None


@pytest.mark.requirement("search:candidates:duplicates")
def test_duplicates_are_executed_once() -> None:
    twin = "def f(n):   # the same\n    return (n)\n"
    host = ForkHost()
    count = 0
    engine = started(given=(HALF, twin, BAD))
    while tasks := engine.ready():
        task = tasks[0]
        assert isinstance(task, ExecuteTask)
        count += 1
        engine.submit(Executed(task_id=task.id, trace=host.run_branch(task.program, task.plan)))
    branches = engine.state.branches
    assert count == 2 and branches["b1"].proposed.duplicate_of == "b0" and branches["b1"].passed == 2


@pytest.mark.requirement("search:engine:idempotent")
@settings(max_examples=25, deadline=None)
@given(st.permutations([0, 1, 2]), st.lists(st.integers(0, 2), max_size=4))
def test_results_in_any_order_repeated_and_late_lead_to_the_same_choice(
    order: list[int], again: list[int]
) -> None:
    host = ForkHost()
    engine = started(given=(HALF, BAD, RAISES))
    tasks = engine.ready()
    results = [
        Executed(task_id=task.id, trace=host.run_branch(task.program, task.plan))
        for task in tasks
        if isinstance(task, ExecuteTask)
    ]
    for index in itertools.chain(order, again):
        before = engine.state.branches[f"b{index}"].trace is not None
        assert bool(engine.submit(results[index])) is not before
    assert engine.submit(Executed(task_id="execute:b99", trace=results[0].trace)) == ()
    assert engine.submit(Generated(task_id="draft:7", answers=(GOOD,))) == ()
    assert engine.done and engine.state.concluded is not None and engine.state.concluded.chosen == "b0"


@pytest.mark.requirement("search:engine:resume")
def test_a_search_goes_on_from_its_events_with_the_same_tasks() -> None:
    host = ForkHost()
    engine = started(given=(HALF, BAD, RAISES))
    adapter: TypeAdapter[SearchEvent] = TypeAdapter(SearchEvent)
    while not engine.done:
        stored = [adapter.validate_json(adapter.dump_json(event)) for event in engine.events]
        again = SearchEngine(stored)
        assert [task.id for task in again.ready()] == [task.id for task in engine.ready()]
        engine = again
        task = engine.ready()[0]
        assert isinstance(task, ExecuteTask)
        engine.submit(Executed(task_id=task.id, trace=host.run_branch(task.program, task.plan)))
    assert fold_all(engine.events).concluded == engine.state.concluded


@pytest.mark.requirement("search:generate:mutate")
def test_a_failing_starting_program_is_repaired_without_a_model() -> None:
    engine = started(("mutate",), start="def f(n):\n    return n + n\n")
    assert [type(task) for task in engine.ready()] == [ExecuteTask]
    found = report(run(engine).state)
    assert found.verified and found.chosen is not None and found.chosen.generator == "mutate"
    assert "+    return n * n" in found.chosen.diff


@pytest.mark.requirement("search:generate:mutate")
def test_a_starting_program_that_passes_is_returned_unchanged() -> None:
    found = report(run(started(("mutate",), start=GOOD)).state)
    assert found.verified and found.chosen is not None and found.chosen.diff == ""
    assert any("every check already" in text for text in found.advice)


@pytest.mark.requirement("search:generate:greedy-first")
def test_the_first_model_candidate_is_greedy_and_others_are_asked_for_only_when_it_fails() -> None:
    model = Scripted(f"```python\n{GOOD}```")
    run(started(("model",)), model)
    assert [task.id for task in model.asked] == ["draft:0"] and model.asked[0].temperature == 0.0
    model = Scripted(HALF, BAD, GOOD)
    found = report(run(started(("model",)), model).state)
    assert found.verified and [task.id for task in model.asked] == ["draft:0", "draft:1", "draft:2"]
    assert len({task.framing for task in model.asked}) == 3


@pytest.mark.requirement("search:generate:concurrent")
def test_the_varied_drafts_are_all_ready_at_once() -> None:
    engine = started(("model",), staged=False)
    assert [task.id for task in engine.ready()] == [f"draft:{n}" for n in range(5)]


@pytest.mark.requirement("search:generate:revise")
def test_the_best_branch_is_revised_with_its_own_trace() -> None:
    model = Scripted(BAD, HALF, BAD, f"<think>f(2)</think>Here:\n```python\n{GOOD}```\nDone.")
    engine = run(started(("model", "revise")), model)
    revision = model.asked[-1]
    assert isinstance(revision, ReviseTask) and revision.branch_id == "b1"
    prompt = revision.messages[-1].content
    assert "assert f(2) == 4" in prompt and "it gave 2" in prompt and "2 of 5 checks pass" in prompt
    assert engine.state.verified


@pytest.mark.requirement("search:generate:revise")
@pytest.mark.parametrize("policy", ["best_first", "uct"])
def test_the_frontier_keeps_to_the_depth_and_to_max_candidates(policy: str) -> None:
    model = Scripted(*[f"def f(n):\n    return n + {k}\n" for k in range(1, 9)])
    engine = run(started(("model", "revise"), max_candidates=5, revise_depth=1, frontier=policy), model)
    assert len(model.asked) == 5 and max(branch.depth for branch in engine.state.branches.values()) == 1
    assert next_to_revise([], "uct", 3) is None


@pytest.mark.requirement("search:checks:holdout")
def test_held_out_checks_are_kept_from_prompts_and_measured_at_the_end() -> None:
    text = "\n".join(f"assert f({n}) == {n * n}" for n in range(10))
    engine = SearchEngine.start(
        "r1",
        SearchTask(entry_point="f", check_sources=(text,), holdout=0.4),
        SearchSettings(generators=("model", "revise"), max_candidates=2),
    )
    hidden = [check.source for check in engine.state.plan.checks if check.holdout]
    model = Scripted(HALF, GOOD)
    found = report(run(engine, model).state)
    prompts = "\n".join(message.content for task in model.asked for message in task.messages)
    assert len(hidden) == 4 and not any(
        source in prompts.splitlines() or f"- {source}\n" in prompts for source in hidden
    )
    assert (found.holdout_passed, found.holdout_total) == (4, 4)


@pytest.mark.requirement("search:cap:reserve-then-settle")
def test_every_model_call_is_reserved_before_and_settled_after_also_when_it_fails() -> None:
    purse, model = Purse(1.0), Scripted(HALF, price=0.05)
    engine = run(started(("model",), max_candidates=2, estimate_usd=0.2), model, purse)
    assert purse.calls == ["reserve", "settle", "reserve", "failed"]
    assert engine.state.spend_usd == pytest.approx(0.1) and not engine.state.reservations


@pytest.mark.requirement("search:cap:halt")
def test_a_refusal_halts_the_rest_and_the_best_so_far_is_returned() -> None:
    purse, model = Purse(0.5), Scripted(BAD, HALF, GOOD, price=0.2)
    found = report(run(started(("model",), estimate_usd=0.2), model, purse).state)
    assert len(model.asked) == 2
    assert (found.halted, found.reason, found.verified) == (True, "spend_cap", False)
    assert found.chosen is not None and found.chosen.code == HALF


@pytest.mark.requirement("search:cap:halt")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("candidate_limit_exceeded", "candidate_limit"),
        ("branch_timeout", "timeout"),
        ("capability_disabled", "disabled"),
    ],
)
def test_each_refusal_names_its_reason(error: str, reason: str) -> None:
    engine = started(("model",))
    engine.reserved("draft:0", Refused(error=error, message="no"))
    assert engine.done and report(engine.state).reason == reason and report(engine.state).chosen is None


@pytest.mark.requirement("search:cap:halt")
def test_a_call_that_was_out_when_the_cap_refused_another_still_counts() -> None:
    host = ForkHost()
    engine = started(("model",), staged=False, max_candidates=2)
    engine.reserved("draft:0", Reserved(reservation_id="h0", estimate_usd=0.2, remaining_usd=0.1))
    engine.reserved("draft:1", Refused(error="spend_cap_exceeded", message="no"))
    assert not engine.done and engine.ready() == []
    engine.settled("draft:0", 0.1, failed=False)
    assert engine.settled("draft:0", 0.1, failed=False) == ()
    engine.submit(Generated(task_id="draft:0", answers=(GOOD,), spend_usd=0.1))
    (task,) = engine.ready()
    assert isinstance(task, ExecuteTask)
    engine.submit(Executed(task_id=task.id, trace=host.run_branch(task.program, task.plan)))
    assert engine.done and report(engine.state).verified and report(engine.state).halted


@pytest.mark.requirement("search:cap:candidates")
def test_more_than_five_candidates_warn_and_mutants_do_not_count() -> None:
    assert SearchSettings().max_candidates == 5 and SearchSettings().warnings() == ()
    assert SearchSettings(max_candidates=6).warnings() == ("W051",)
    with pytest.raises(ValueError, match="max_candidates"):
        SearchSettings(max_candidates=0)
    with pytest.raises(ValueError, match="estimate_usd"):
        SearchSettings(estimate_usd=float("inf"))


@pytest.mark.requirement("search:settings:default-generators")
def test_default_generators_follow_from_what_is_there() -> None:
    task, bare = SearchTask(start=GOOD), SearchTask(statement="square")
    assert default_generators(task, model_configured=False, given=False) == ("mutate",)
    assert default_generators(task, model_configured=True, given=True) == ("given", "mutate", "model")
    assert default_generators(bare, model_configured=True, given=False) == ("model",)


@pytest.mark.requirement("search:halt:timeout")
def test_a_time_limit_halts_with_the_best_so_far() -> None:
    ticks = itertools.count()
    host = ForkHost()
    engine = run_search(
        started(given=(HALF, BAD, GOOD)), host, host, clock=lambda: float(next(ticks)), time_limit_s=1.5
    )
    found = report(engine.state)
    assert (
        (found.halted, found.reason) == (True, "timeout")
        and found.chosen is not None
        and found.chosen.code == HALF
    )


@pytest.mark.requirement("search:failure:crash-recorded")
def test_a_crash_loses_that_branchs_score_and_the_search_goes_on() -> None:
    found = report(run(started(given=("import os\nos._exit(0)\n", HALF))).state)
    assert [branch.outcome for branch in found.branches] == ["crashed", "finished"]
    assert found.chosen is not None and found.chosen.code == HALF


@pytest.mark.requirement("search:trajectory:audit")
def test_the_audit_log_holds_candidates_traces_reservations_and_the_choice() -> None:
    engine = run(
        started(("model",), max_candidates=2, estimate_usd=0.1), Scripted(HALF, GOOD, price=0.1), Purse(1.0)
    )
    lines = [json.loads(audit_line(event, "r1", "2026-01-02T03:04:05Z")) for event in engine.events]
    kinds = [line["event"]["kind"] for line in lines]
    assert {
        "search_started",
        "reservation_made",
        "reservation_settled",
        "candidate_proposed",
        "branch_executed",
        "search_concluded",
    } <= set(kinds)
    executed = next(line for line in lines if line["event"]["kind"] == "branch_executed")
    assert (
        executed["branch"] == "urn:treewright:search:local:r1:b0"
        and executed["event"]["trace"]["observations"]
    )
    assert urn("a b", "x/y") == "urn:treewright:search:x-y:a-b"
    assert audit_name("r1", date(2026, 1, 2)) == "search-r1-2026-01-02.jsonl"


class Recorder:
    """A tracer that remembers."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, object], list[str]]] = []

    def start(self, name: str, parent: object = None) -> "RecordedSpan":
        """Open a span."""
        record: tuple[str, dict[str, object], list[str]] = (name, {}, [])
        self.spans.append(record)
        return RecordedSpan(record)


class RecordedSpan:
    """A span that remembers."""

    def __init__(self, record: tuple[str, dict[str, object], list[str]]) -> None:
        self.record = record

    def set(self, name: str, value: str | float | bool) -> None:
        """Set an attribute."""
        self.record[1][name] = value

    def end(self) -> None:
        """Close it."""
        self.record[2].append("ended")


@pytest.mark.requirement("search:trajectory:spans")
def test_one_span_a_run_and_one_a_branch_and_none_without_a_tracer() -> None:
    tracer = Recorder()
    spans, silent = Spans(tracer), Spans(None)
    engine = run(started(given=(HALF, GOOD)), on_event=spans.take)
    for event in engine.events:
        silent.take(event)
    spans.close(engine.state, 12.0)
    silent.close(engine.state, 12.0)
    assert [name for name, _, _ in tracer.spans] == [
        "treewright.search.run",
        *["treewright.search.branch"] * 2,
    ]
    assert all(ended == ["ended"] for _, _, ended in tracer.spans)
    assert {"n_candidates", "chosen_id", "total_duration_ms", "total_cost_usd", "halted"} <= set(
        tracer.spans[0][1]
    )


def test_the_mutate_task_comes_after_the_start_was_executed_and_before_the_model() -> None:
    engine = started(("mutate", "model"), start=HALF)
    (task,) = engine.ready()
    assert isinstance(task, ExecuteTask) and task.plan.trace_lines
    engine.submit(Executed(task_id=task.id, trace=ForkHost().run_branch(task.program, task.plan)))
    assert [type(task) for task in engine.ready()] == [MutateTask]
    assert isinstance(Trace, type) and Plan
