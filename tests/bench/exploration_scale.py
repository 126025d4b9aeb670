"""A run of 100,000 nodes: is the last append as cheap as the first, and how fast does it open again?

    python -m tests.bench.exploration_scale [--nodes 100000]

Nodes are scripted, 12 fields and about 2 KiB each. Prints a Markdown table for docs/benchmarks.md.
"""

import argparse
import asyncio
import itertools
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from treewright.explore.engine import Explorer
from treewright.explore.materials import Materials
from treewright.performers.scripted import ScriptedPerformer, SeededRule
from treewright.performers.verify import Verifier
from treewright.presets.framings import all_framings
from treewright.presets.loader import load_preset
from treewright.runner import Growth, Runner
from treewright.store.run_folder import RunWriter
from treewright.tree.event import NodeDerived, RunStarted
from treewright.tree.run import Caps, RootSpec

_FILLER = "It follows from what stands above and is written out here so that a node has its usual size. "


class Grown(NamedTuple):
    """What growing a run took, in seconds.

    Attributes:
        nodes: between one derived node and the next, by the clock.
        processor: the same, of the processor.
        appends: each durable append to the journal, by the clock.
        whole: the whole run.
    """

    nodes: list[float]
    processor: list[float]
    appends: list[float]
    whole: float


class _TimedWriter(RunWriter):
    """A run's writer that notes how long each durable append took."""

    appends: list[float]

    def commit(self) -> None:
        began = time.perf_counter()
        super().commit()
        self.appends.append(time.perf_counter() - began)


def grow(folder: Path, nodes: int) -> Grown:
    """Grow a run of about so many nodes."""
    preset = load_preset("brainstorm")
    writer = _TimedWriter.create(folder, "cli")
    writer.appends = []
    explorer = Explorer(writer.tree, Materials(preset, {f.letter: f for f in all_framings()}), writer)
    root = RootSpec(kind=preset.root_kind, text="scale", workspace=str(folder))
    started = RunStarted(
        run="scale",
        preset=preset.name,
        preset_digest=preset.digest,
        root=root,
        caps=Caps(width=nodes),
        mode=preset.root_schemas[0].mode,
    )
    writer.stage(explorer.begin(started))
    rule = SeededRule("scale", advance=400, max_depth=40, filler=_FILLER)
    stamps: list[tuple[float, float]] = []

    def listen(growth: Growth) -> None:
        now = time.perf_counter(), time.process_time()
        stamps.extend(now for event in growth.events if isinstance(event, NodeDerived))

    began = time.perf_counter()
    runner = Runner(
        writer, explorer, ScriptedPerformer(rule), Verifier(folder), concurrency=16, listener=listen
    )
    asyncio.run(runner.run())
    took = time.perf_counter() - began
    writer.save_snapshot()
    writer.close()
    pairs = list(itertools.pairwise(stamps))
    return Grown([b[0] - a[0] for a, b in pairs], [b[1] - a[1] for a, b in pairs], writer.appends, took)


_REOPEN = """
import resource, sys, time
from pathlib import Path
from treewright.store.run_folder import RunReader
began = time.perf_counter()
reader = RunReader(Path(sys.argv[1]))
took = time.perf_counter() - began
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(reader.tree.nodes))
"""


def reopen(folder: Path) -> tuple[float, float, int]:
    """Open a run in a fresh process; return seconds, peak megabytes, nodes."""
    done = subprocess.run(
        [sys.executable, "-c", _REOPEN, str(folder)], capture_output=True, text=True, check=True
    )
    took, peak, nodes = done.stdout.split()
    return float(took), float(peak), int(nodes)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="folder to leave the run in")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary) / "run"
        folder.mkdir(parents=True)
        grown = grow(folder, chosen.nodes)
        size = (folder / "journal.jsonl").stat().st_size
        snapshot = [reopen(folder) for _ in range(3)]
        (folder / "journal.snapshot").rename(folder / "aside")
        replay = reopen(folder)
        (folder / "aside").rename(folder / "journal.snapshot")
    best = min(snapshot)
    print("| figure | value |\n| --- | --- |")
    print(f"| nodes | {best[2] - 1:,} |")
    print(f"| journal | {size / 1e6:,.0f} MB |")
    print(f"| growing | {grown.whole:,.0f} s, {grown.whole / best[2] * 1e3:.2f} ms a node |")
    for name, seconds in (
        ("a durable append", grown.appends),
        ("a node, by the clock", grown.nodes),
        ("a node, of the processor", grown.processor),
    ):
        first, last = statistics.mean(seconds[:1000]), statistics.mean(seconds[-1000:])
        print(f"| {name}: first thousand, last thousand | {first * 1e3:.2f} ms, {last * 1e3:.2f} ms |")
        print(f"| last to first | {last / first:.2f} |")
    print(f"| reopening by the snapshot | {best[0]:.2f} s, {best[1]:.0f} MB |")
    print(f"| reopening by the journal alone | {replay[0]:.1f} s, {replay[1]:.0f} MB |")
    print(
        f"| peak memory while growing | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB |"
    )


if __name__ == "__main__":
    main()
