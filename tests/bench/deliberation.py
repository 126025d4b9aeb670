"""How long a mutation of a deliberation session takes as the session grows, durable write included.

    python tests/bench/deliberation.py [--sizes 0,1,100,1000] [--repeats 15]
    python tests/bench/deliberation.py --beside DEEP-THINK-MCP --beside-python PYTHON [--sizes 1000]

Thoughts have 600 characters and two finished critique rounds. Each of the six mutations of the serial loop is
timed on a session that already holds the given number of committed thoughts, on disk, with the index and locks as
in use. `cold` is the first call of a new process: the file is read and checked. Prints medians in milliseconds.

`--beside` names a checkout of deep-think-mcp, and `--beside-python` an interpreter with its dependencies: its mutations are
timed in the same run, one thought of theirs after one of ours, each called as a function in a process of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from treewright.app.session_store import FileSessionStore
from treewright.deliberate.encoding import decode, encode
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.session import CritiqueRound, Session, Thought
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.toolbox import Surroundings
from treewright.deliberate.utility import DIMENSIONS, Utility
from treewright.presets.lenses import load_lenses
from treewright.store.index import Index
from treewright.store.paths import find_root

TEXT = "A cache with a short lifetime answers nine of ten reads and is never more than a minute old. "
SCORES = dict.fromkeys(DIMENSIONS, 0.7)


def thought(number: int) -> Thought:
    """Return a committed thought of 600 characters with two rounds."""
    text = (TEXT * 7)[:600]
    rounds = [
        CritiqueRound(
            round_index=index,
            lens="weak_evidence",
            critique_text=text,
            refined_content=text,
            delta_score=0.1 if index else None,
        )
        for index in range(2)
    ]
    return Thought(
        id=uuid4().hex,
        stage="Research",
        position=number + 1,
        timestamp=datetime.now(UTC),
        content=text,
        critique_rounds=rounds,
        final_utility_scores=Utility(**SCORES),
        committed=True,
    )


def deliberation() -> Deliberation:
    """Return a deliberation over the files of this run's root."""
    root = find_root()
    return Deliberation(
        Surroundings(
            FileSessionStore(root, Index(root.index)),
            load_lenses().lenses,
            DeliberationSettings(),
            lambda: datetime.now(UTC),
            lambda: uuid4().hex,
        )
    )


def grown(desk: Deliberation, size: int) -> tuple[str, Path]:
    """Return the id and file of a session with that many committed thoughts."""
    session_id = desk.start_session("Should reads be cached?", "serial", "Research, Conclusion")["session_id"]
    session: Session = decode(desk.export_session(session_id)["session_json"].encode())
    session.thoughts.extend(thought(number) for number in range(size))
    path = Path(session.save_path)
    path.write_bytes(b"".join(encode(session)))
    return session_id, path


def timed(times: dict[str, list[float]], name: str, call: Callable[[], object]) -> None:
    """Time one call, in milliseconds."""
    began = time.perf_counter()
    reply = call()
    times[name].append((time.perf_counter() - began) * 1000)
    if not (isinstance(reply, dict) and reply["ok"]):
        raise SystemExit(f"{name} was refused: {reply}")


Times = dict[str, list[float]]


def measure(
    size: int, repeats: int, beside: Callable[[], dict[str, float]] | None
) -> tuple[Times, Times, int]:
    """Return the times of each mutation at a size, ours and theirs, and our file's bytes."""
    times: Times = defaultdict(list)
    theirs: Times = defaultdict(list)
    session_id, path = grown(deliberation(), size)
    desk = deliberation()
    timed(times, "next_action, cold", lambda: desk.next_action(session_id))
    for number in range(repeats):
        text = f"{number} {TEXT[: 300 + number]}"
        timed(times, "begin_thought", lambda: desk.begin_thought(session_id, TEXT * 6))
        timed(times, "critique_current_thought", lambda: desk.critique_current_thought(session_id))
        timed(times, "submit_critique", lambda: desk.submit_critique(session_id, TEXT * 6))
        timed(
            times, "refine_current_thought", lambda text=text: desk.refine_current_thought(session_id, text)
        )
        timed(times, "score_current_thought", lambda: desk.score_current_thought(session_id, SCORES))
        timed(times, "commit_thought", lambda: desk.commit_thought(session_id))
        timed(times, "next_action", lambda: desk.next_action(session_id))
        for name, value in (beside() if beside is not None else {}).items():
            theirs[name].append(value)
    return times, theirs, path.stat().st_size


def medians(times: Times) -> dict[str, float]:
    """Return the median of each tool, of all mutations, and the slowest one."""
    six = [value for name, values in times.items() if not name.startswith("next") for value in values]
    found = {name: statistics.median(values) for name, values in times.items()}
    return {**found, "all six mutations": statistics.median(six), "slowest mutation": max(six)}


@contextmanager
def other_server(checkout: Path, python: str, size: int) -> Iterator[Callable[[], dict[str, float]]]:
    """Start deep-think-mcp's half; the call performs and times one thought of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="tw-beside-") as root,
        subprocess.Popen(
            [python, str(Path(__file__).with_name("beside_deep_think.py")), str(size), root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        json.loads(child.stdout.readline())

        def once() -> dict[str, float]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("\n")
            child.stdin.flush()
            found: dict[str, float] = json.loads(child.stdout.readline())
            return found

        yield once


def main() -> None:
    """Measure each size in a root of its own and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="0,1,100,1000")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--beside", type=Path, help="checkout of deep-think-mcp")
    parser.add_argument("--beside-python", default="python3", help="an interpreter with its dependencies")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    ours: dict[int, dict[str, float]] = {}
    theirs: dict[int, dict[str, float]] = {}
    kilobytes = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="tw-bench-") as folder, ExitStack() as stack:
            os.environ["TREEWRIGHT_HOME"] = folder
            beside = None
            if options.beside is not None:
                other = other_server(options.beside, options.beside_python, size)
                beside = stack.enter_context(other)
            mine, found, length = measure(size, options.repeats, beside)
            ours[size], kilobytes[size] = medians(mine), length / 1000
            theirs[size] = medians(found) if found else {}
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("median ms".ljust(40) + "".join(f"{size:>10}" for size in sizes))
    print("file, KB".ljust(40) + "".join(f"{kilobytes[size]:>10.1f}" for size in sizes))
    for label, columns in (("", ours), ("deep-think-mcp: ", theirs)):
        for name in columns[sizes[0]]:
            print(f"{label}{name}".ljust(40) + "".join(f"{columns[size][name]:>10.1f}" for size in sizes))
    if options.beside is not None:
        key = "all six mutations"
        shares = [f"{ours[size][key] / theirs[size][key]:>10.2f}" for size in sizes]
        print("ours in parts of theirs".ljust(40) + "".join(shares))


if __name__ == "__main__":
    main()
