"""Offline repair, measured: programs repaired by `mutate` alone, judged by checks that it never saw.

    python tests/bench/repair.py --data HumanEvalPack-python.jsonl --half dev
    python tests/bench/repair.py --own --half held

A problem set is split in two by the parity of the position: even positions are for development, odd ones are
held back and only ever counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.unit.search.forkhost import ForkHost
from treewright.errors import RequestError
from treewright.search.drive import RepairOutcome, repair_program
from treewright.search.ports import KernelHost, Screener
from treewright.search.task import SearchTask, plan_of

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "repair"


@dataclass
class Problem:
    """One buggy program, what is visible and what judges."""

    name: str
    program: str
    entry_point: str
    visible: str
    hidden: str
    solution: str = ""


@dataclass
class Row:
    """What became of one problem."""

    name: str
    plausible: bool
    correct: bool
    seconds: float
    screened: int
    passing: int
    several: bool
    edits: tuple[str, ...] = ()
    diff: str = ""
    correct_among: int = 0
    note: str = ""
    ranks: list[str] = field(default_factory=list)


def human_eval_pack(path: Path) -> list[Problem]:
    """Read HumanEvalPack's Python problems."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Problem(
            row["task_id"],
            row["declaration"] + row["buggy_solution"],
            row["entry_point"],
            row["example_test"],
            row["test"],
            row["declaration"] + row["canonical_solution"],
        )
        for row in rows
    ]


def own_problems(folder: Path = FIXTURES) -> list[Problem]:
    """Read the repository's own problems: one file a bug, its parts divided by comment lines."""
    found = []
    for path in sorted(folder.glob("*.py")):
        parts: dict[str, list[str]] = {}
        current: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.startswith("# --- "):
                current = parts.setdefault(line[6:].strip(), [])
            else:
                current.append(line)
        texts = {name: "".join(lines).strip("\n") + "\n" for name, lines in parts.items()}
        for name, program in texts.items():
            if name.startswith("buggy"):
                found.append(
                    Problem(
                        f"{path.stem}:{name}",
                        program,
                        path.stem,
                        texts["visible"],
                        texts["hidden"],
                        texts["correct"],
                    )
                )
    return found


def judged(program: str, hidden: str) -> bool:
    """Run the hidden checks in a process of their own; 60 seconds."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", program + "\n\n" + hidden],
            capture_output=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@contextlib.contextmanager
def hosts(kind: str) -> Iterator[tuple[KernelHost, Screener]]:
    """What executes: `kernels` as in a search (every core, limits, boxes), `forks` bare and on one core."""
    if kind == "forks":
        host = ForkHost()
        yield host, host
        return
    from treewright.kernels.host import choose_host
    from treewright.kernels.screen import ForkScreener

    kernel = choose_host()
    try:
        with ForkScreener() as screener:
            yield kernel, screener
    finally:
        kernel.close()


def processor_seconds() -> float:
    """A clock for a busy machine: processor time of this process, plus its children's shared by the cores.

    It goes as the clock on the wall would, were nobody else there: the search itself has one thread, what it
    screens runs on every core. Waiting counts for nothing, so it flatters a little.
    """
    import psutil

    children = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            used = child.cpu_times()
            children += used.user + used.system + used.children_user + used.children_system
    return time.process_time() + children / (os.cpu_count() or 1)


CLOCKS = {"wall": time.monotonic, "processor": processor_seconds}


def solve(
    problem: Problem, seconds: float, everything: bool = False, kind: str = "forks", clock: str = "wall"
) -> Row:
    """Repair one problem and judge the result."""
    now = CLOCKS[clock]
    task = SearchTask(
        statement="", start=problem.program, entry_point=problem.entry_point, check_sources=(problem.visible,)
    )
    started = now()
    try:
        plan = plan_of(task)
    except RequestError as error:
        return Row(problem.name, False, False, 0.0, 0, 0, False, note=error.code)
    with hosts(kind) as (host, screener):
        outcome: RepairOutcome = repair_program(task.start, plan, host, screener, clock=now, seconds=seconds)
        took = now() - started
    if outcome.chosen is None:
        if outcome.best.complete:
            return Row(problem.name, False, False, took, 0, 0, False, note="nothing_fails")
        note = f"best {outcome.best.passed}/{len(plan.checks)} asked {outcome.screened}"
        return Row(problem.name, False, False, took, outcome.screened, 0, False, note=note)
    correct = judged(outcome.chosen.source, problem.hidden)
    row = Row(
        problem.name,
        True,
        correct,
        took,
        outcome.screened,
        len(outcome.ranked),
        outcome.distinct > 1,
        outcome.chosen.edits,
        outcome.diff,
    )
    if everything and not correct:
        for rank, one in enumerate(outcome.ranked):
            if judged(one.mutant.source, problem.hidden):
                row.correct_among = rank + 1
                row.note = f"correct is #{rank + 1}: {one.mutant.edits} cost {one.mutant.cost:.1f} {one.note}; chosen cost {outcome.ranked[0].mutant.cost:.1f} {outcome.ranked[0].note}"
                break
    return row


def _job(arguments: tuple[Problem, float, bool, str, str]) -> Row:
    return solve(*arguments)


def main() -> None:
    """Parse the command line, run, print a table and the figures of each half."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="HumanEvalPack-python.jsonl")
    parser.add_argument("--problems", type=Path, help="a JSON list of problems, fields as of Problem")
    parser.add_argument("--own", action="store_true", help="the repository's own problems")
    parser.add_argument("--half", choices=("dev", "held", "both"), default="both")
    parser.add_argument("--only", nargs="*", default=[], help="names that must appear in the problem's name")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--clock", choices=sorted(CLOCKS), default="wall", help="what --seconds are counted by"
    )
    parser.add_argument("--host", choices=("forks", "kernels"), default="forks")
    parser.add_argument("--show", action="store_true", help="print what went wrong (development half only)")
    options = parser.parse_args()
    if options.problems:
        problems = [Problem(**row) for row in json.loads(options.problems.read_text(encoding="utf-8"))]
    else:
        problems = own_problems() if options.own else human_eval_pack(options.data)
    for parity, half in ((0, "dev"), (1, "held")):
        if options.half in (half, "both"):
            chosen = [one for index, one in enumerate(problems) if index % 2 == parity]
            chosen = chosen[options.first : options.first + options.count]
            if options.only:
                chosen = [one for one in chosen if any(one.name.endswith(name) for name in options.only)]
            report(half, chosen, options)


def print_row(row: Row) -> None:
    """What became of one problem of the development half."""
    print(
        f"## {row.name} {'right' if row.correct else 'WRONG' if row.plausible else 'NONE'} {row.seconds:.1f} s, "
        f"screened {row.screened}, passing {row.passing}, {row.edits} {row.note}"
    )
    if not row.correct:
        print(
            "\n".join(
                line for line in row.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
            )
        )
    sys.stdout.flush()


def report(half: str, problems: list[Problem], options: argparse.Namespace) -> None:
    """Run one half and print its figures."""
    show = options.show and half == "dev"
    jobs = [(one, options.seconds, show, options.host, options.clock) for one in problems]
    rows = []
    # A process a problem, so that the processor's clock starts anew.
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        for row in pool.imap(_job, jobs, chunksize=1):
            rows.append(row)
            if show:
                print_row(row)
    count = len(rows)
    plausible, correct = sum(row.plausible for row in rows), sum(row.correct for row in rows)
    times = sorted(row.seconds for row in rows)
    usable = [row for row in rows if row.note not in ("search_no_checks", "nothing_fails")]
    good = sum(row.correct for row in usable)
    print(
        f"{half}: of {len(usable)} with a failing visible check, correct {good} ({good / max(len(usable), 1):.1%})"
    )
    print(
        f"{half}: {count} problems, plausible {plausible} ({plausible / count:.1%}), correct {correct} "
        f"({correct / count:.1%}), without visible checks {sum(row.note == 'search_no_checks' for row in rows)}, "
        f"failing none {sum(row.note == 'nothing_fails' for row in rows)}, several {sum(row.several for row in rows)}, "
        f"median {times[count // 2]:.1f} s, slowest {times[-1]:.1f} s, screened {sum(row.screened for row in rows)}"
    )


if __name__ == "__main__":
    main()
