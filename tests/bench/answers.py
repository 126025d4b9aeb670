"""Answers of a small local model: direct, after criticising itself, and through a deliberation, with what each spends.

    python -m tests.bench.answers --model local:/path/to/model.gguf [--arms direct critique deliberation] [--minutes 11]
    python -m tests.bench.answers --report

The problems (`data/answers.toml`) have answers that can be checked; only the last `ANSWER:` line counts. `critique` asks for an
answer, for what may be wrong with it, and again. `deliberation` is the product's own: a session of one stage, one round of draft,
critique with a lens, refinement and score, driven by the autopilot; the committed thought is the answer. Every finished answer is
stored below `--cache`, so that a run that was stopped goes on; `--report` needs no model. Problems come in a fixed shuffled order,
so that a first part of them is a fair sample of all.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from treewright.app.autopilot import driving_context
from treewright.app.context import Context
from treewright.app.deliberation import DeliberationDesk
from treewright.models.local import LocalProvider, LocalSettings
from treewright.models.provider import Completion, Message, Provider, ProviderInfo, Request, TextSink

DATA = Path(__file__).parent / "data" / "answers.toml"
FORM = "End with one line of the form ANSWER: followed by the bare answer."
MOST_TOKENS = 300
ARMS = ("direct", "critique", "deliberation")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem and the answer that is right."""

    number: int
    kind: str
    question: str
    answer: str


def problems() -> list[Problem]:
    """Read the data."""
    rows = tomllib.loads(DATA.read_text(encoding="utf-8"))["problem"]
    return [
        Problem(number, row["kind"], row["question"], row["answer"]) for number, row in enumerate(rows, 1)
    ]


class Shared:
    """A provider that threads with loops of their own share.

    Args:
        inner: lives on `loop`.
        loop: a loop that runs in a thread of its own.
    """

    def __init__(self, inner: Provider, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    @property
    def info(self) -> ProviderInfo:
        """That of the model."""
        return self._inner.info

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer on the model's loop."""
        work = asyncio.run_coroutine_threadsafe(self._inner.complete(request), self._loop)
        return await asyncio.wrap_future(work)

    async def close(self) -> None:
        """Left to whoever opened the model."""


class Counting:
    """One problem's view of the shared provider."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.calls = self.tokens = 0

    @property
    def info(self) -> ProviderInfo:
        """That of the model."""
        return self._shared.info

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer, and count."""
        done = await self._shared.complete(request)
        self.calls += 1
        self.tokens += done.usage.completion_tokens
        return done

    async def close(self) -> None:
        """Left to whoever opened the model."""


# --- the arms ----------------------------------------------------------------------------------------------------


def ask(provider: Provider, *turns: tuple[str, str]) -> str:
    """Ask once, at temperature 0."""
    messages = tuple(Message.of("user" if role == "user" else "assistant", text) for role, text in turns)
    request = Request(messages=messages, max_tokens=MOST_TOKENS, temperature=0.0)
    return asyncio.run(provider.complete(request)).text


def direct(problem: Problem, provider: Provider) -> str:
    """One call."""
    return ask(provider, ("user", f"{problem.question}\n\nThink step by step, briefly. {FORM}"))


def critique(problem: Problem, provider: Provider) -> str:
    """Three calls: an answer, what may be wrong with it, the answer again."""
    asked = f"{problem.question}\n\nThink step by step, briefly. {FORM}"
    first = ask(provider, ("user", asked))
    said = "Criticise your answer: check each step and name the first one that is wrong, if any."
    fault = ask(provider, ("user", asked), ("assistant", first), ("user", said))
    again = f"Now give your final answer. {FORM}"
    return ask(
        provider,
        ("user", asked),
        ("assistant", first),
        ("user", said),
        ("assistant", fault),
        ("user", again),
    )


def deliberation(problem: Problem, provider: Provider) -> str:
    """A session of one stage and one round, by the autopilot."""
    with DeliberationDesk(driving_context(Context("cli"), "bench"), lambda _: provider) as desk:
        overrides = {"serial": {"max_rounds": 1}}
        question = f"{problem.question} {FORM}"
        started = desk.tools.start_session(question, "serial", ["Analysis"], overrides)
        session_id = started["session_id"]
        for _ in range(3):
            reply = desk.tools.run_stage_autopilot(session_id)
            if reply["ok"]:
                break
        document = json.loads(desk.tools.export_session(session_id)["session_json"])
        thoughts = document["thoughts"]
        if not thoughts:
            return ""
        rounds = thoughts[-1]["critique_rounds"]
        return (rounds and rounds[-1]["refined_content"]) or str(thoughts[-1]["content"])


RUNS: dict[str, Callable[[Problem, Provider], str]] = {
    "direct": direct,
    "critique": critique,
    "deliberation": deliberation,
}


# --- judging -----------------------------------------------------------------------------------------------------


def right(text: str, wanted: str) -> bool:
    """Whether the last ANSWER line says what is wanted."""
    found = re.findall(r"ANSWER\W*:\W*(.+)", text, re.IGNORECASE)
    if not found:
        return False
    said = found[-1].strip().strip("*`$\"' .").casefold()
    numbers = re.findall(r"-?\d+(?:\.\d+)?", said.replace(",", ""))
    if re.fullmatch(r"-?\d+(?:\.\d+)?", wanted):
        return bool(numbers) and abs(float(numbers[-1]) - float(wanted)) < 1e-9
    return re.sub(r"\W+", "", said) == re.sub(r"\W+", "", wanted.casefold())


def report(folder: Path) -> None:
    """Print each arm's share and spend, over the problems that every arm has."""
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    known = {one.number: one for one in problems()}
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    by_arm = {arm: {row["problem"]: row for row in rows if row["arm"] == arm} for arm in arms}
    common = sorted(set.intersection(*(set(found) for found in by_arm.values())))
    print(f"{len(common)} problems have every arm of {', '.join(arms)}")
    for arm in arms:
        mine = [by_arm[arm][number] for number in common]
        good = [row for row in mine if right(row["text"], known[row["problem"]].answer)]
        kinds = {
            kind: sum(known[row["problem"]].kind == kind for row in good)
            for kind in ("arithmetic", "logic", "code")
        }
        silent = sum("answer" not in row["text"].casefold() for row in mine)
        count = max(len(mine), 1)
        print(
            f"{arm:<13} {len(good)} of {len(mine)} ({len(good) / count:.1%}) {kinds}; no answer line {silent}; "
            f"{sum(row['calls'] for row in mine) / count:.1f} calls, {sum(row['tokens'] for row in mine) / count:.0f} "
            f"tokens, {sum(row['seconds'] for row in mine) / count:.0f} s a problem"
        )


# --- running -----------------------------------------------------------------------------------------------------


def run(given: argparse.Namespace, folder: Path) -> None:
    """Answer what is missing, some problems at once, until the minutes are over."""
    path = folder / "answers.jsonl"
    rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    done = {(row["problem"], row["arm"]) for row in map(json.loads, rows)}
    until = time.monotonic() + given.minutes * 60
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    settings = LocalSettings(
        path=Path(given.model.removeprefix("local:")),
        context_tokens=4096,
        slots=given.workers,
        threads=given.threads,
    )
    inner = LocalProvider(settings)
    shared = Shared(inner, loop)
    turn = threading.Lock()

    def work(job: tuple[Problem, str]) -> None:
        if time.monotonic() > until:
            return
        problem, arm = job
        counting, began = Counting(shared), time.monotonic()
        text = RUNS[arm](problem, counting)
        row = {
            "problem": problem.number,
            "arm": arm,
            "text": text,
            "calls": counting.calls,
            "tokens": counting.tokens,
            "seconds": round(time.monotonic() - began, 1),
        }
        with turn, path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    shuffled = sorted(problems(), key=lambda one: hashlib.sha256(one.question.encode()).digest())
    jobs = [(one, arm) for one in shuffled for arm in given.arms if (one.number, arm) not in done]
    try:
        with ThreadPoolExecutor(given.workers) as pool:
            list(pool.map(work, jobs))
    finally:
        asyncio.run_coroutine_threadsafe(inner.close(), loop).result(30)


def main() -> None:
    """Parse the command line and do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="")
    parser.add_argument(
        "--name", default="", help="folder of the stored answers; the model's name when empty"
    )
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=ARMS)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "treewright-answers")
    parser.add_argument("--minutes", type=float, default=11.0)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as are idle")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    folder = given.cache / (given.name or Path(given.model.removeprefix("local:")).stem)
    folder.mkdir(parents=True, exist_ok=True)
    if not given.report:
        with tempfile.TemporaryDirectory(prefix="tw-answers-") as home:
            os.environ["TREEWRIGHT_HOME"] = home
            run(given, folder)
    report(folder)


if __name__ == "__main__":
    main()
