"""What it brings to ask a local model several things at once: the 12 framings of a root, one at a time and four at a time.

    python -m tests.bench.explore_concurrency --model NAME [--concurrency 1 4] [--out FOLDER]

NAME is a provider of `config.toml` with as many `slots` as the largest concurrency. The framings of a brainstorm's root are asked, nothing
is derived. The time counts from the first framing that was asked to the last that was answered; the model was loaded before. Prints one
line a concurrency with the load of the machine, and the ratio.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

from tests.bench.explore_models import TOPIC
from treewright.app.request import ExplorationRequest
from treewright.app.treewright import Treewright
from treewright.explore.tasks import Task, TaskKind
from treewright.tree.event import FramingAnswered, RoundStarted

ASKED = (TaskKind.GROUND, TaskKind.PROPOSE, TaskKind.VERIFY)


def seconds(model: str, folder: Path, concurrency: int) -> tuple[float, int]:
    """Ask the framings; return how long it took, and the tokens that were written and read."""
    folder.mkdir(parents=True)
    (folder / ".git").mkdir()
    growing = Treewright("cli").start(
        ExplorationRequest(
            preset="brainstorm",
            root=TOPIC,
            base=str(folder),
            out=str(folder / "run"),
            model=model,
            rounds=1,
            concurrency=concurrency,
        )
    )
    every, moments = growing.explorer.ready, {}

    def ready(room: int, flights: dict[str, object]) -> list[Task]:
        return [task for task in every(64, flights) if task.kind in ASKED and task.node == "0"][:room]

    growing.explorer.ready = ready  # type: ignore[method-assign, assignment]

    def listen(progress: object) -> None:
        for event in progress.events:  # type: ignore[attr-defined]
            if isinstance(event, RoundStarted):
                moments["begun"] = time.monotonic()
            elif isinstance(event, FramingAnswered):
                moments["ended"] = time.monotonic()

    asyncio.run(growing.drive(listen))
    spend = growing.writer.tree.spend
    return moments["ended"] - moments["begun"], spend.prompt_tokens + spend.completion_tokens


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--concurrency", nargs="*", type=int, default=[1, 4])
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    home = given.out or Path(tempfile.mkdtemp(prefix="explore-concurrency-"))
    found: dict[int, float] = {}
    for concurrency in given.concurrency:
        took, tokens = seconds(given.model, home / f"c{concurrency}", concurrency)
        found[concurrency] = took
        load = [round(value, 1) for value in os.getloadavg()]
        print(
            json.dumps(
                {"concurrency": concurrency, "seconds": round(took, 1), "tokens": tokens, "load": load}
            ),
            flush=True,
        )
    first, *others = given.concurrency
    for other in others:
        print(f"{other} at once take {found[other] / found[first]:.2f} of the time of {first}")


if __name__ == "__main__":
    main()
