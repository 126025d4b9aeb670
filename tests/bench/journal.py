"""What the journal costs: one durable append, appends over a long run, and opening it again.

    python -m tests.bench.journal [--nodes 100000] [--folder DIR]

A node is four events (drafted, derived, checked, verdict), about 3 KiB in all, appended as one. Every figure is printed beside the bare
system calls that it is to be compared with, taken in turns in the same run.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from treewright.store.journal import JournalWriter
from treewright.store.journal_line import frame
from treewright.store.journal_reader import JournalReader
from treewright.store.snapshot import load_snapshot, save_snapshot

SCHEMA = "bench-1"
_TEXT = "The parser trusts the length that the header gives, and a header may lie about it. "
_FIELDS = [f"field_{number}" for number in range(12)]


def node_events(number: int) -> list[dict[str, Any]]:
    """Return the four events of a node; the derived one has 12 fields and about 2 KiB."""
    name = f"A{number}"
    fields = {field: (_TEXT * 2)[: 150 + (number + place) % 40] for place, field in enumerate(_FIELDS)}
    return [
        {"type": "node_drafted", "node": name, "parent": "0", "framing": "A", "subject": _TEXT * 3},
        {"type": "node_derived", "node": name, "fields": fields},
        {
            "type": "node_checked",
            "node": name,
            "citations": [{"path": "a.py", "line": number, "state": "verified"}],
        },
        {"type": "verdict", "node": name, "scores": [3, 2, 1, 0, 3], "role": "kept"},
    ]


def single_append(folder: Path, count: int = 1000) -> dict[str, float]:
    """Return median milliseconds of one durable append and of a bare write and fsync of the same bytes, in turns."""
    ours: list[float] = []
    bare: list[float] = []
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = os.open(folder / "bare", flags, 0o600)
    with JournalWriter.create(folder / "single.jsonl") as writer:
        for number in range(count):
            event = node_events(number)[1]
            line = frame(json.dumps(event).encode(), number + 1)
            ours.append(_timed(lambda event=event: writer.append(event)))
            bare.append(_timed(lambda line=line: _bare(descriptor, line)))
    os.close(descriptor)
    return {
        "append_ms": statistics.median(ours),
        "bare_ms": statistics.median(bare),
        "append_p99_ms": sorted(ours)[int(count * 0.99)],
        "ratio": statistics.median(ours) / statistics.median(bare),
    }


def long_run(folder: Path, nodes: int) -> dict[str, float]:
    """Grow a run; return median milliseconds of its first and its last thousand appends.

    The machine may be busier at the end than at the beginning, so the last thousand are also taken in turns with a
    thousand appends to a new journal: `paired_ratio` is what the run's length alone costs.
    """
    costs: list[float] = []
    fresh: list[float] = []
    edge = min(1000, nodes // 2)
    with JournalWriter.create(folder / "journal.jsonl") as writer:
        for number in range(nodes - edge):
            events = node_events(number)
            costs.append(_timed(lambda events=events: writer.append_many(events)))
        save_snapshot(folder / "snapshot.bin", _payload(nodes), mark=writer.mark, schema=SCHEMA)
        with JournalWriter.create(folder / "fresh.jsonl") as other:
            for number in range(nodes - edge, nodes):
                events = node_events(number)
                costs.append(_timed(lambda events=events: writer.append_many(events)))
                fresh.append(_timed(lambda events=events: other.append_many(events)))
    first, last = statistics.median(costs[:edge]), statistics.median(costs[-edge:])
    return {
        "first_ms": first,
        "last_ms": last,
        "ratio": last / first,
        "paired_ratio": last / statistics.median(fresh),
        "megabytes": (folder / "journal.jsonl").stat().st_size / 1e6,
    }


def reopen(folder: Path, *, snapshot: bool) -> dict[str, float]:
    """Open the grown run in a fresh process; return seconds, peak megabytes, and events that were replayed."""
    arguments = [sys.executable, "-m", "tests.bench.journal", "--reopen", str(folder)]
    done = subprocess.run(
        [*arguments, *(["--no-snapshot"] if not snapshot else [])],
        check=True,
        capture_output=True,
        encoding="utf-8",
        cwd=Path(__file__).resolve().parents[2],
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _reopen_here(folder: Path, *, use_snapshot: bool) -> dict[str, float]:
    import resource

    began = time.perf_counter()
    reader = JournalReader(folder / "journal.jsonl")
    found = load_snapshot(folder / "snapshot.bin", reader, schema=SCHEMA) if use_snapshot else None
    state = found.payload.splitlines() if found else []
    if found:
        reader = JournalReader(folder / "journal.jsonl", after=found.mark)
    replayed = sum(len(line.event()) > 0 for line in reader.lines())
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak_mb": peak, "replayed": replayed, "state": len(state)}


def _payload(nodes: int) -> Iterator[bytes]:
    """A fold's size: scores, verdict and the places of the bodies for each node, about 250 bytes."""
    for number in range(nodes):
        yield (
            json.dumps([f"A{number}", "0", "A", [3, 2, 1, 0, 3], "kept", number, _TEXT * 2]).encode() + b"\n"
        )


def _bare(descriptor: int, line: bytes) -> None:
    os.write(descriptor, line)
    os.fsync(descriptor)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _table(rows: list[tuple[str, dict[str, float]]]) -> str:
    lines = ["| measured | figures |", "| --- | --- |"]
    for name, figures in rows:
        told = ", ".join(f"{key} {value:,.3f}" for key, value in figures.items())
        lines.append(f"| {name} | {told} |")
    return "\n".join(lines)


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder by default")
    parser.add_argument("--reopen", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--no-snapshot", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.reopen:
        print(json.dumps(_reopen_here(chosen.reopen, use_snapshot=not chosen.no_snapshot)))
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        rows = [("one durable append against a bare write and fsync", single_append(folder))]
        rows.append((f"appends over {chosen.nodes:,} nodes", long_run(folder, chosen.nodes)))
        rows.append(("reopening with the snapshot", reopen(folder, snapshot=True)))
        rows.append(("reopening without it", reopen(folder, snapshot=False)))
        print(_table(rows))


if __name__ == "__main__":
    main()
