"""Code-branch search with a real small model on HumanEval: chosen on the prompt's examples, judged on the hidden tests.

    python -m tests.bench.humaneval --data HumanEval.jsonl.gz --model q05.gguf sample --minutes 11
    python -m tests.bench.humaneval --data HumanEval.jsonl.gz --model q05.gguf search --minutes 11
    python -m tests.bench.humaneval --data HumanEval.jsonl.gz --model q05.gguf report

Each problem is given as a user would give it: the stub as the starting program, and no checks but the examples of its
docstring, right or wrong. A problem whose docstring has none that can be read counts as its greedy attempt in every arm.

Arms, each with at most five programs of the model a problem:

- `greedy`: one at temperature 0.
- `mean`: one at temperature 0.8; the mean over five.
- `best of 5`: these five, chosen by the examples, ties to the first.
- `tree`: the search as a user gets it: greedy first, further drafts, revision with the trace, edits of near misses; it ends
  as soon as a program passes every example.
- the tree with one part left out or changed, see `ARMS`.

`sample` asks for what the first three arms need, `search` runs the trees (both stop after `--minutes` and go on where they
stopped), `report` needs no model. Every answer is stored below `--cache` under what was asked, so that arms share their
samples: two arms that ask the same get the same. Problems come in a fixed shuffled order, so that any part that is done is a
fair sample of the whole; `--first N` takes the first N of the data set instead.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.bench.repair import hosts
from treewright.errors import RequestError
from treewright.models.local import LocalProvider, LocalSettings
from treewright.models.prices import FREE
from treewright.models.provider import Completion, Outcome, ProviderInfo, Request, Sample, TextSink, Usage
from treewright.performers.search_model import SearchModel
from treewright.search.answers import code_of
from treewright.search.checks import Plan
from treewright.search.drive import run_search
from treewright.search.engine import SearchEngine
from treewright.search.framings import draft_framing, draft_messages
from treewright.search.ports import KernelHost, Screener
from treewright.search.ready import ready_tasks
from treewright.search.settings import SearchSettings
from treewright.search.task import SearchTask, plan_of
from treewright.search.tasks import DraftTask, Generated, ReviseTask

SAMPLES = 5
MOST_TOKENS = 320
WARM = 0.8
SLOTS = 16
SHUFFLE = 20
CHECK_S = 10.0

BASE: dict[str, Any] = {
    "generators": ("model", "revise", "mutate"),
    "max_candidates": SAMPLES,
    "mutate_seconds": 20.0,
}
ARMS: dict[str, dict[str, Any]] = {
    "tree": {},
    "no mutate": {"generators": ("model", "revise")},
    "no revise": {"generators": ("model", "mutate")},
    "one framing": {"varied": False},
    "drafts only": {"generators": ("model",)},
    "plain drafts": {"generators": ("model",), "varied": False},
    "plain drafts and edits": {"generators": ("model", "mutate"), "varied": False},
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: what is given, and what judges."""

    name: str
    prompt: str
    entry_point: str
    hidden: str


def read_problems(path: Path, first: int) -> list[Problem]:
    """Read the data set: shuffled in a fixed order, or its first ones."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [json.loads(line) for line in data.decode("utf-8").splitlines() if line.strip()]
    found = [
        Problem(
            row["task_id"],
            row["prompt"],
            row["entry_point"],
            f"{row['test']}\ncheck({row['entry_point']})\n",
        )
        for row in rows
    ]
    if first:
        return found[:first]
    random.Random(SHUFFLE).shuffle(found)
    return found


class OutOfTime(Exception):  # noqa: N818  not a fault: the slice is over
    """The slice is over; nothing is lost."""


class Store:
    """Answers of one model by what was asked, one JSON line a sample, appended at once.

    Args:
        folder: where they are kept.
        provider: asked for what is missing; None when only stored answers may be used.
        until: monotonic second after which nothing is asked any more.
    """

    def __init__(self, folder: Path, provider: LocalProvider | None, until: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "samples.jsonl"
        self._provider, self._until = provider, until
        self._kept: dict[str, list[dict[str, Any]]] = {}
        self._turn = threading.Lock()
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                self._kept.setdefault(one["key"], []).append(one)

    @property
    def info(self) -> ProviderInfo:
        """Told to the search as the local model itself."""
        if self._provider is not None:
            return self._provider.info
        return ProviderInfo(name="local:stored", kind="local", model="stored", endpoint="", price=FREE)

    def kept(self, request: Request) -> list[dict[str, Any]]:
        """Stored samples of a request."""
        return self._kept.get(_key(request), [])

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer from what is stored, and ask for the rest."""
        missing = request.samples - len(self.kept(request))
        if missing > 0:
            if self._provider is None or time.monotonic() > self._until:
                raise OutOfTime
            began = time.monotonic()
            done = await self._provider.complete(replace(request, samples=missing))
            if done.outcome.pauses_run or done.outcome is Outcome.CANCELLED:
                raise SystemExit(f"the model does not answer: {done.detail}")
            self._keep(request, done, time.monotonic() - began)
        rows = self.kept(request)[: request.samples]
        samples = tuple(
            Sample(text=row["text"], outcome=Outcome(row["outcome"]), finish_reason=row["finish"])
            for row in rows
        )
        usage = Usage(completion_tokens=sum(row["tokens"] for row in rows))
        return Completion(
            provider="stored", model="stored", outcome=samples[0].outcome, samples=samples, usage=usage
        )

    async def close(self) -> None:
        """Nothing to release: the provider is closed by whoever opened it."""

    def _keep(self, request: Request, done: Completion, seconds: float) -> None:
        count = max(len(done.samples), 1)
        rows = [
            {
                "key": _key(request),
                "text": sample.text,
                "outcome": sample.outcome.value,
                "finish": sample.finish_reason,
                "tokens": done.usage.completion_tokens // count,
                "seconds": seconds / count,
            }
            for sample in done.samples or (Sample(text="", outcome=Outcome.EMPTY),)
        ]
        with self._turn:
            self._kept.setdefault(_key(request), []).extend(rows)
            with self._file.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)


def _key(request: Request) -> str:
    asked = [[message.role, message.text] for message in request.messages]
    text = json.dumps([asked, request.max_tokens, request.temperature, request.stop])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:20]


class Asking:
    """Answers the search's tasks from the store; the model's loop runs in a thread of its own.

    A draft takes the sample of its own number among those that ask the same, so that two drafts never get the same one.
    """

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._model, self._loop = SearchModel(store, MOST_TOKENS), loop
        self._told: dict[tuple[object, float], int] = {}

    def complete(self, task: DraftTask | ReviseTask) -> Generated:
        """Answer one task."""
        alike = (task.messages, task.temperature)
        number = self._told[alike] = self._told.get(alike, 0) + 1
        asked = asyncio.run_coroutine_threadsafe(
            self._model.complete_alike([task] * number), self._loop
        ).result()
        return asked[-1].result


# --- asking ------------------------------------------------------------------------------------------------------


def task_of(problem: Problem) -> SearchTask:
    """The problem as a search is asked it."""
    return SearchTask(start=problem.prompt, entry_point=problem.entry_point, per_branch_timeout_s=CHECK_S)


def checks_of(task: SearchTask) -> Plan | None:
    """The examples of the docstring; None when there are none."""
    try:
        return plan_of(task)
    except RequestError:
        return None


def plain_task(problem: Problem, temperature: float) -> DraftTask:
    """The plain ask, as the search puts it."""
    task = task_of(problem)
    plan = checks_of(task) or Plan(checks=())
    engine = SearchEngine.start("bench", task, SearchSettings(generators=("model",)), plan=plan)
    found = next(one for one in ready_tasks(engine.state) if isinstance(one, DraftTask))
    messages = draft_messages(task, plan, draft_framing(0, has_start=False))
    return found.model_copy(update={"temperature": temperature, "messages": messages})


async def sample(problems: Sequence[Problem], store: Store, count: int) -> int:
    """Ask for the plain samples of every problem, some problems at once; returns how many problems are whole."""
    model = SearchModel(store, MOST_TOKENS)
    queue = iter(problems)
    whole = 0

    async def work() -> None:
        nonlocal whole
        for problem in queue:
            try:
                await model.complete(plain_task(problem, 0.0))
                if count:
                    await model.complete_alike([plain_task(problem, WARM)] * count)
            except OutOfTime:
                return
            whole += 1

    await asyncio.gather(*(work() for _ in range(3 if count else SLOTS)))
    return whole


# --- judging -----------------------------------------------------------------------------------------------------


class Judge:
    """Runs hidden tests in a process of their own, and remembers."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "judged.json"
        self._known: dict[str, bool] = {}
        if self._file.exists():
            self._known = json.loads(self._file.read_text(encoding="utf-8"))

    def right(self, problem: Problem, code: str) -> bool:
        """Whether a program passes the hidden tests within 10 seconds."""
        text = f"{code}\n\n{problem.hidden}"
        key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]
        if key not in self._known:
            with tempfile.TemporaryDirectory(prefix="tw-judge-") as folder:
                self._known[key] = _passes(text, folder)
        return self._known[key]

    def save(self) -> None:
        """Keep what is known."""
        self._file.write_text(json.dumps(self._known), encoding="utf-8")


def _passes(text: str, folder: str) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", text], capture_output=True, timeout=10, check=False, cwd=folder
        )
    except (subprocess.TimeoutExpired, ValueError):
        return False
    return done.returncode == 0


def codes_of(store: Store, problem: Problem, temperature: float) -> list[tuple[str, int]]:
    """Stored plain programs of a problem, with their tokens; an answer without a program is the bare stub."""
    task = plain_task(problem, temperature)
    request = SearchModel(store, MOST_TOKENS)._request(task)
    return [
        (
            code_of(task.begin + row["text"], problem.prompt, problem.entry_point) or problem.prompt,
            row["tokens"],
        )
        for row in store.kept(request)[:SAMPLES]
    ]


# --- searching ---------------------------------------------------------------------------------------------------


def search_one(
    problem: Problem, arm: str, asking: Asking, host: KernelHost, screener: Screener
) -> dict[str, Any]:
    """Run one search and return what it came to; judged later."""
    task = task_of(problem)
    plan = checks_of(task)
    settings = SearchSettings.model_validate({**BASE, **ARMS[arm]})
    if plan is None:
        answer = asking.complete(plain_task(problem, 0.0))
        code = code_of(answer.answers[0] if answer.answers else "", task.start, task.entry_point)
        return _row(problem, arm, code or task.start, model=1, generator="model", verified=False)
    engine = SearchEngine.start("bench", task, settings, plan=plan)
    began = time.monotonic()
    run_search(engine, host, screener, clock=time.monotonic, model=asking)
    state = engine.state
    chosen = state.branches.get((state.concluded.chosen if state.concluded else None) or "")
    asked = sum(1 for name in state.finished if name.startswith(("draft:", "revise:")))
    return _row(
        problem,
        arm,
        chosen.code if chosen else task.start,
        model=asked,
        generator=chosen.proposed.generator if chosen else "",
        framing=chosen.proposed.framing if chosen else "",
        verified=bool(state.concluded and state.concluded.verified),
        seconds=round(time.monotonic() - began, 1),
        tie=state.concluded.tie_break if state.concluded else "",
        branches=[
            {"code": one.code, "generator": one.proposed.generator, "passed": one.passed}
            for one in state.distinct()
        ],
    )


def _row(problem: Problem, arm: str, code: str, **more: Any) -> dict[str, Any]:
    return {"problem": problem.name, "arm": arm, "code": code, **more}


def searched(folder: Path) -> Iterator[dict[str, Any]]:
    """What searches came to so far."""
    path = folder / "searches.jsonl"
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def search(
    problems: Sequence[Problem], arms: Sequence[str], store: Store, folder: Path, workers: int, until: float
) -> None:
    """Run the searches that are missing, some problems at once."""
    done = {(one["problem"], one["arm"]) for one in searched(folder)}
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    turn = threading.Lock()
    missing = [(one, arm) for one in problems for arm in arms if (one.name, arm) not in done]

    def work(job: tuple[Problem, str]) -> None:
        if time.monotonic() > until:
            return
        with hosts("kernels") as (host, screener):
            try:
                row = search_one(*job, Asking(store, loop), host, screener)
            except OutOfTime:
                return
        with turn, (folder / "searches.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, missing))


# --- reporting ---------------------------------------------------------------------------------------------------


def report(problems: Sequence[Problem], store: Store, folder: Path) -> None:
    """Print the arms side by side, over the problems that every plain arm has."""
    judge = Judge(folder)
    rows = {(one["problem"], one["arm"]): one for one in searched(folder)}
    whole = [
        one for one in problems if len(codes_of(store, one, WARM)) == SAMPLES and codes_of(store, one, 0.0)
    ]
    print(f"{len(whole)} problems have every plain sample")
    greedy = {one.name: judge.right(one, codes_of(store, one, 0.0)[0][0]) for one in whole}
    warm = {one.name: [judge.right(one, code) for code, _ in codes_of(store, one, WARM)] for one in whole}
    count = max(len(whole), 1)
    mean = sum(sum(found) for found in warm.values()) / (count * SAMPLES)
    print(f"greedy            {sum(greedy.values()) / count:6.1%}")
    print(f"mean sample       {mean:6.1%}")
    print(f"possible of 5     {sum(any(found) for found in warm.values()) / count:6.1%}")
    print(f"possible of 5 + 1 {sum(any(warm[one.name]) or greedy[one.name] for one in whole) / count:6.1%}")
    for arm in ["best of 5", *ARMS]:
        mine = [one for one in whole if (one.name, arm) in rows]
        if mine:
            _arm(arm, mine, rows, judge, greedy, warm)
    judge.save()


def _arm(
    arm: str,
    mine: Sequence[Problem],
    rows: dict[tuple[str, str], dict[str, Any]],
    judge: Judge,
    greedy: dict[str, bool],
    warm: dict[str, list[bool]],
) -> None:
    found = {one.name: judge.right(one, rows[one.name, arm]["code"]) for one in mine}
    count = len(mine)
    share = sum(found.values()) / count
    single = sum(sum(warm[one.name]) for one in mine) / (count * SAMPLES)
    base = sum(greedy[one.name] for one in mine) / count
    asked = sum(rows[one.name, arm].get("model", 0) for one in mine)
    verified = [one for one in mine if rows[one.name, arm].get("verified")]
    wrong = sum(not found[one.name] for one in verified)
    print(
        f"{arm:<27} {share:6.1%} of {count}; {share / single - 1:+.1%} over the mean sample ({single:.1%}), "
        f"{share - base:+.1%} over greedy ({base:.1%}); {asked / count:.2f} programs a problem; "
        f"verified {len(verified)}, of these wrong {wrong}"
    )


def best_of(problems: Sequence[Problem], store: Store, folder: Path) -> None:
    """Choose among the five plain samples by the examples, with the search itself, and store what was chosen."""
    done = {one["problem"] for one in searched(folder) if one["arm"] == "best of 5"}
    with hosts("kernels") as (host, screener):
        for problem in problems:
            codes = [code for code, _ in codes_of(store, problem, WARM)]
            if problem.name in done or len(codes) < SAMPLES:
                continue
            row = _row(problem, "best of 5", codes[0], model=SAMPLES, generator="model", verified=False)
            task = task_of(problem)
            plan = checks_of(task)
            if plan is not None:
                settings = SearchSettings(generators=("given",), exhaustive=True)
                engine = SearchEngine.start("bench", task, settings, tuple(codes), plan)
                run_search(engine, host, screener, clock=time.monotonic)
                best = max(engine.state.distinct(), key=lambda one: (one.passed, -one.order), default=None)
                if best is not None:
                    row |= {"code": best.code, "verified": best.complete}
            with (folder / "searches.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def main() -> None:
    """Parse the command line and do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("act", choices=("sample", "search", "report"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "treewright-humaneval")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="warm samples a problem")
    parser.add_argument("--arms", default="tree", help=f"of {', '.join(ARMS)}; or all")
    parser.add_argument("--minutes", type=float, default=11.0)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as are idle")
    parser.add_argument("--stored", action="store_true", help="use stored answers only, and no model")
    parser.add_argument("--workers", type=int, default=3)
    given = parser.parse_args()
    problems = read_problems(given.data, given.first)
    folder = given.cache / given.model.stem
    until = time.monotonic() + 60 * given.minutes
    if given.act == "report":
        store = Store(folder, None, until)
        best_of(problems, store, folder)
        report(problems, store, folder)
        return
    settings = LocalSettings(
        path=given.model, context_tokens=1536, slots=SLOTS, threads=given.threads, cache_mib=256
    )
    provider = LocalProvider(settings)
    store = Store(folder, None if given.stored else provider, until)
    if given.act == "sample":
        asyncio.run(_sampled(problems, store, provider, given.samples))
    else:
        arms = list(ARMS) if given.arms == "all" else given.arms.split(",")
        search(problems, arms, store, folder, given.workers, until)
        print(f"{sum(1 for _ in searched(folder))} searches are stored")


async def _sampled(problems: Sequence[Problem], store: Store, provider: LocalProvider, samples: int) -> None:
    try:
        print(f"{await sample(problems, store, samples)} of {len(problems)} problems are sampled")
    finally:
        await provider.close()


if __name__ == "__main__":
    main()
