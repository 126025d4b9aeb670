"""How long a mutation of a deliberation session takes as the session grows, durable write included.

    python tests/bench/deliberation.py [--sizes 0,1,100,1000] [--repeats 15]

Thoughts have 600 characters and two finished critique rounds. Each of the six mutations of the serial loop is
timed on a session that already holds the given number of committed thoughts, on disk, with the index and locks as
in use. `cold` is the first call of a new process: the file is read and checked. Prints medians in milliseconds.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
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


def measure(size: int, repeats: int) -> tuple[dict[str, float], int]:
    """Return the median of each mutation at a size, and the file's bytes."""
    times: dict[str, list[float]] = defaultdict(list)
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
    six = [value for name, values in times.items() if not name.startswith("next") for value in values]
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        **medians,
        "all six mutations": statistics.median(six),
        "slowest mutation": max(six),
    }, path.stat().st_size


def main() -> None:
    """Measure each size in a root of its own and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="0,1,100,1000")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    columns = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="tw-bench-") as folder:
            os.environ["TREEWRIGHT_HOME"] = folder
            columns[size] = measure(size, options.repeats)
    print("median ms".ljust(26) + "".join(f"{size:>10}" for size in sizes))
    print("file, KB".ljust(26) + "".join(f"{columns[size][1] / 1000:>10.1f}" for size in sizes))
    for name in columns[sizes[0]][0]:
        print(name.ljust(26) + "".join(f"{columns[size][0][name]:>10.1f}" for size in sizes))


if __name__ == "__main__":
    main()
