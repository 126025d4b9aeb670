"""Driving a search: ready tasks to kernels, edits and models, each result durable the moment it is there."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from treewright.app.context import Context
from treewright.app.request import Notice
from treewright.app.search_hosts import SearchHosts
from treewright.app.search_outcome import SearchOutcome, best_so_far, lost, refuse_all_lost
from treewright.app.search_outputs import write_outputs
from treewright.app.search_spend import LedgerCap
from treewright.app.search_store import SearchWriter, entry_of_search, status_of
from treewright.app.search_tracer import find_tracer
from treewright.errors import KernelError
from treewright.performers.search_model import Asked, SearchModel
from treewright.search.drive import perform_mutation
from treewright.search.engine import SearchEngine
from treewright.search.events import SearchEvent
from treewright.search.ports import BranchOutcome, Refused, Reserved
from treewright.search.settings import SearchSettings
from treewright.search.tasks import (
    DraftTask,
    Executed,
    ExecuteTask,
    Generated,
    HoldoutTask,
    Mutated,
    MutateTask,
    Result,
    ReviseTask,
    Task,
    asked_alike,
)
from treewright.search.trajectory import Spans
from treewright.store.index import Index
from treewright.store.locks import stop_requested

_POLL_S = 0.2
_ENDING_S = 1.5
"""How long branches that are under way may take to end by themselves when the search is stopped."""

_RANKING_S = 6.0
"""The same at a time limit: repair by edits may have passing programs to rank."""

SearchListener = Callable[[tuple[SearchEvent, ...], SearchEngine], None]
LocalTask = MutateTask | ExecuteTask | HoldoutTask
Found = tuple[Task, Result | Asked | None]


class Searching:
    """A search that is open for writing, ready to be driven."""

    def __init__(
        self,
        context: Context,
        writer: SearchWriter,
        engine: SearchEngine,
        hosts: SearchHosts,
        index: Index,
        *,
        model: SearchModel | None,
        cap: LedgerCap,
        notices: list[Notice],
        time_limit_s: float | None,
        workers: int,
    ) -> None:
        """Take over an open search; use `searches.start` or `searches.resume`."""
        self.context = context
        self.writer = writer
        self.engine = engine
        self.notices = notices
        self._hosts = hosts
        self._index = index
        self._model = model
        self._cap = cap
        self._time_limit = time_limit_s
        self._workers = workers
        self._spans = Spans(find_tracer(context.environ))
        self._in_flight: dict[str, asyncio.Task[Found]] = {}
        self._cancel: dict[str, asyncio.Event] = {}
        self._held: dict[int, Found] = {}
        self._stopping = False
        self._no_more = False
        self._why = ""
        self._listener: SearchListener | None = None
        self._fault: KernelError | None = None
        self._began = time.monotonic()

    @property
    def run(self) -> str:
        """The run's id."""
        return self.engine.state.run

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.writer.folder

    def pick_up(self, settings: SearchSettings) -> None:
        """Go on where the journal ends: charge what was cut off, hand in answers that were kept, reopen what halted.

        Args:
            settings: the bounds that hold from here on.
        """
        for answer in list(self.writer.logged.answers.values()):
            if answer.task_id in self.engine.state.reservations:
                self._commit((*self._cap.charge(self.engine, answer), *self.engine.submit(answer)))
            elif answer.task_id not in self.engine.state.finished:
                self._commit(self.engine.submit(answer))
        self._commit(self._cap.charge_lost(self.engine))
        self._commit(self.engine.reopen(settings))

    def offer(self, code: str) -> None:
        """Hand a program in."""
        self._commit(self.engine.offer(code))

    def stop(self) -> None:
        """Ask the search to stop; everything found so far is kept."""
        self._stopping = True
        self._why = self._why or "cancelled"

    def close(self) -> None:
        """Give up a search that is not going to be driven."""
        self._hosts.close()
        self.writer.close()

    async def drive(self, listener: SearchListener | None = None) -> SearchOutcome:
        """Search until it ends, is stopped or pauses; then write its outputs and close it.

        Raises:
            KernelError: `search_pytest_missing`; E052 when no branch could be executed at all. What was found stays.
            StoreError: the disk refused; everything acknowledged is kept.
        """
        self._listener = listener
        self._began = time.monotonic()
        for event in self.engine.events:
            self._spans.take(event)
        try:
            self.index(driven=True)
            await self._loop()
        finally:
            # Kernels first: whatever still computes in one ends, and no thread waits for it.
            await asyncio.shield(asyncio.to_thread(self._hosts.close))
            await asyncio.shield(self._release())
            outcome = await asyncio.shield(asyncio.to_thread(self._finish))
        if self._fault is not None:
            raise self._fault
        refuse_all_lost(self.engine)
        return outcome

    # --- the loop ---

    async def _loop(self) -> None:
        until = self._began + self._time_limit if self._time_limit is not None else None
        while not self.engine.done and self._fault is None:
            if stop_requested(self.folder):
                self.stop()
            if self._stopping:
                break
            if until is not None and time.monotonic() >= until:
                await self._wind_up(_RANKING_S)
                self._commit(self.engine.halt("timeout", "the time limit was reached"))
                break
            await self._start_ready(until)
            if not self._in_flight:
                break
            await self._collect()
            if self.engine.state.verified and not self.engine.state.settings.exhaustive:
                await self._end_the_rest()
        await self._wind_up(_ENDING_S)
        if self.engine.state.halted is not None:
            self._commit(self.engine.conclude())

    async def _start_ready(self, until: float | None) -> None:
        """Start what is ready and has room; drafts that ask the same go out as one request."""
        admitted: list[DraftTask | ReviseTask] = []
        for task in self.engine.ready():
            held = isinstance(task, ExecuteTask) and _order(task.branch_id) in self._held
            if held or task.id in self._in_flight or not self._room_for(task, admitted):
                continue
            if not isinstance(task, DraftTask | ReviseTask):
                self._launch(task, until)
            elif self._reserve(task):
                admitted.append(task)
            else:
                break
        for tasks in asked_alike(admitted):
            self._launch_calls(tasks, until)

    def _room_for(self, task: Task, admitted: Sequence[Task]) -> bool:
        kinds = [name.partition(":")[0] for name in [*self._in_flight, *(one.id for one in admitted)]]
        if isinstance(task, DraftTask | ReviseTask):
            limit = self._model.provider.info.concurrency if self._model else 1
            return sum(kind in ("draft", "revise") for kind in kinds) < limit
        if isinstance(task, MutateTask):
            return not any(kind in ("mutate", "execute", "holdout") for kind in kinds)
        return sum(kind in ("mutate", "execute", "holdout") for kind in kinds) < self._workers

    def _reserve(self, task: DraftTask | ReviseTask) -> bool:
        """Hold the worst case of a call before it is sent; a refusal halts the search."""
        estimate = self._model.worst_case_usd(task) if self._model else 0.0
        answer: Reserved | Refused = self._cap.reserve(self.run, estimate)
        self._commit(self.engine.reserved(task.id, answer))
        return isinstance(answer, Reserved)

    def _launch_calls(self, tasks: Sequence[DraftTask | ReviseTask], until: float | None) -> None:
        cancel = asyncio.Event()
        left = None if until is None else max(0.05, until - time.monotonic())
        call = asyncio.ensure_future(self._ask(tasks, cancel, left))
        for number, task in enumerate(tasks):
            self._cancel[task.id] = cancel
            self._in_flight[task.id] = asyncio.ensure_future(_share(call, task, number))

    def _launch(self, task: LocalTask, until: float | None) -> None:
        cancel = self._cancel[task.id] = asyncio.Event()
        self._in_flight[task.id] = asyncio.ensure_future(self._perform(task, cancel, until))

    async def _perform(self, task: LocalTask, cancel: asyncio.Event, until: float | None) -> Found:
        left = None if until is None else max(0.05, until - time.monotonic())
        try:
            if isinstance(task, MutateTask):
                return task, await asyncio.to_thread(self._mutate, task, cancel, left)
            return task, await asyncio.to_thread(self._execute, task, left)
        except KernelError as fault:
            if not (cancel.is_set() or self._no_more):
                self._fault = self._fault or fault
            return task, None
        except Exception:
            # Whatever a thread meets whose kernels we took away is our own doing.
            if not self._no_more:
                raise
            return task, None

    async def _ask(
        self, tasks: Sequence[DraftTask | ReviseTask], cancel: asyncio.Event, left: float | None
    ) -> list[Asked]:
        if self._model is None:
            missing = "no model is configured"
            return [Asked(Generated(task_id=task.id, failed=True, message=missing)) for task in tasks]
        timer = None
        if left is not None:
            timer = asyncio.get_running_loop().call_later(left, cancel.set)
        try:
            return await self._model.complete_alike(tasks, cancel)
        finally:
            if timer is not None:
                timer.cancel()

    def _mutate(self, task: MutateTask, cancel: asyncio.Event, left: float | None) -> Result:
        if left is not None:
            task = task.model_copy(update={"seconds": min(task.seconds, left)})
        return perform_mutation(task, self._hosts, self._hosts, time.monotonic, cancel.is_set)

    def _execute(self, task: ExecuteTask | HoldoutTask, left: float | None) -> Result | None:
        """Execute a branch; None when the search's time limit cut it short, which says nothing about it."""
        whole = task.plan.per_branch_timeout_s
        allowed = whole if left is None else min(whole, left)
        plan = task.plan.model_copy(update={"per_branch_timeout_s": allowed})
        trace = self._hosts.run_branch(task.program, plan)
        if allowed < whole and trace.outcome is BranchOutcome.TIMEOUT:
            return None
        return Executed(task_id=task.id, trace=trace)

    # --- results ---

    async def _collect(self) -> None:
        done, _ = await asyncio.wait(
            self._in_flight.values(), timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED
        )
        for future in done:
            self._arrived(*future.result())

    def _arrived(self, task: Task, found: Result | Asked | None) -> None:
        """Take a result; branches in the order of their generation, so that speed does not decide who is first."""
        self._in_flight.pop(task.id, None)
        self._cancel.pop(task.id, None)
        if isinstance(task, ExecuteTask):
            self._held[_order(task.branch_id)] = (task, found)
        else:
            self._take(found)
        running = [_order(name.partition(":")[2]) for name in self._in_flight if name.startswith("execute:")]
        for order in sorted(self._held):
            if not running or order < min(running):
                self._take(self._held.pop(order)[1])

    def _take(self, found: Result | Asked | None) -> None:
        if isinstance(found, Asked):
            self._settle(found)
        elif found is not None and not (self._no_more and _cut_short(found, self._stopping)):
            self._commit(self.engine.submit(found))

    def _settle(self, asked: Asked) -> None:
        """Keep an answer, charge it, and hand it in; what the whole search must wait for pauses it."""
        result = asked.result
        cut_short = self._no_more and result.failed
        if not (asked.pauses or cut_short):
            self.writer.answer(result)
        events = self._cap.charge(self.engine, result)
        if asked.pauses:
            self._commit(events)
            self._stopping, self._why = True, f"paused: {asked.pauses}"
        elif cut_short:
            self._commit(events)  # charged, and asked again when the search goes on
        else:
            self._commit((*events, *self.engine.submit(result)))

    def _commit(self, events: tuple[SearchEvent, ...]) -> None:
        if not events:
            return
        self.writer.events(events)
        for event in events:
            self._spans.take(event)
        if self._listener is not None:
            self._listener(events, self.engine)

    async def _end_the_rest(self) -> None:
        """A branch passed everything: calls that are still out are ended and settled, the rest is left alone."""
        for name, cancel in self._cancel.items():
            if name.partition(":")[0] in ("draft", "revise", "mutate"):
                cancel.set()
        calls = {name: one for name, one in self._in_flight.items() if name.startswith(("draft:", "revise:"))}
        if calls:
            await asyncio.wait(calls.values())
            for one in calls.values():
                self._arrived(*one.result())

    async def _wind_up(self, seconds: float) -> None:
        """End what is in flight: settle calls, give branches a moment, then take their kernels away."""
        self._no_more = True
        for cancel in self._cancel.values():
            cancel.set()
        waiting = [one for name, one in self._in_flight.items() if name.startswith(("draft:", "revise:"))]
        if self._in_flight:
            await asyncio.wait(self._in_flight.values(), timeout=seconds)
        for one in list(self._in_flight.values()):
            if one.done():
                self._arrived(*one.result())
        if self._in_flight:
            await asyncio.to_thread(self._hosts.close)
            await asyncio.wait(
                [one for one in waiting if not one.done()] or self._in_flight.values(), timeout=10
            )
            for one in list(self._in_flight.values()):
                if one.done():
                    self._arrived(*one.result())
        for order in sorted(self._held):
            self._take(self._held.pop(order)[1])

    # --- the end ---

    async def _release(self) -> None:
        if self._model is not None:
            with contextlib.suppress(OSError):
                await self._model.close()

    def _finish(self) -> SearchOutcome:
        seconds = time.monotonic() - self._began
        engine = self.engine
        try:
            self._spans.close(engine.state, seconds * 1000)
            if not engine.done:
                why = self._why or (f"paused: {self._fault}" if self._fault else "cancelled")
                self.writer.stopped(why, seconds)
            else:
                self.writer.stopped("", seconds)
            found = best_so_far(self.writer.logged.events, self.writer.logged.seconds)
            status = status_of(self.writer.logged, driven=False)
            reason = self.writer.logged.stopped.removeprefix("paused: ")
            outputs = write_outputs(self.folder, found, engine.state)
            self.index(driven=False)
            return SearchOutcome(self.run, self.folder, status, reason, found, outputs, self.notices)
        finally:
            self.writer.close()

    def index(self, *, driven: bool) -> None:
        """Tell the index where the search stands."""
        entry = entry_of_search(self.writer.logged, driven=driven)
        if entry is not None:
            self._index.put(entry)


async def _share(call: "asyncio.Future[list[Asked]]", task: Task, number: int) -> Found:
    """One task's part of a call that answers several."""
    return task, (await call)[number]


def _order(branch_id: str) -> int:
    return int(branch_id[1:])


def _cut_short(found: Result, stopping: bool) -> bool:
    """Tell whether a result says nothing, because we ended its kernel or its repair: the task is done again later."""
    if isinstance(found, Executed):
        return lost(found.trace)
    return stopping and isinstance(found, Mutated) and not found.passing
