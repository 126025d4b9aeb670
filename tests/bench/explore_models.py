"""Explorations with a real language model: what share of answers needs repair, of tasks fails, of citations holds.

    python -m tests.bench.explore_models --model local:/path/to/model.gguf [--preset attack ...] [--minutes 15] [--out FOLDER]

Each preset runs one round on a root of its own below `--out`, which keeps the runs to be read. A preset that is not done within its
minutes is stopped as a user would stop it; its figures are those of what it did. Prints one line a preset and a JSON object at the end.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treewright.app.request import ExplorationRequest
from treewright.app.treewright import Treewright
from treewright.errors import ModelError
from treewright.models import structured
from treewright.performers.model import calls
from treewright.store.run_folder import RunReader
from treewright.tree.event import NodeChecked, NodeDerived, ProposalsChecked, TaskFailed

ROOTS = Path(__file__).parent.parent / "fixtures" / "explore"
TOPIC = "How can a small team keep flaky integration tests from blocking merges?"
DESIGN = "Store the notes of up to 50 users so that two devices can edit offline and no edit is lost."


@dataclass
class Figures:
    """What one preset's run showed.

    Attributes:
        status: where it stands.
        nodes, with_verdict: nodes below the root.
        answers: that the model gave in full.
        repaired: answers that had to be sent back for their shape.
        failed_tasks: tasks given up.
        derived, revised: bodies, and how many of them were revisions that a rule asked for.
        citations, held: checked ones, and those that hold.
        tokens, seconds: used.
        verdicts: nodes by label.
    """

    preset: str
    status: str = ""
    nodes: int = 0
    with_verdict: int = 0
    answers: int = 0
    repaired: int = 0
    failed_tasks: int = 0
    derived: int = 0
    revised: int = 0
    citations: int = 0
    held: int = 0
    tokens: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] | None = None


class Counting:
    """Counts answers and repairs of every call, and leaves the answers alone."""

    def __init__(self) -> None:
        self.answers = 0
        self.repaired = 0
        self._ask = structured.ask
        calls.ask = self  # type: ignore[assignment]

    async def __call__(self, *args: Any, **given: Any) -> structured.Answer:
        try:
            answer = await self._ask(*args, **given)
        except ModelError as fault:
            self.answers += int(fault.details.get("attempts", 0))
            self.repaired += int(fault.details.get("repairs", 0))
            raise
        self.answers += answer.attempts
        self.repaired += answer.repairs
        return answer


def root_of(preset: str, folder: Path) -> str:
    """Write a preset's root into a project of its own and return how it is named."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    if preset in ("brainstorm", "design"):
        return TOPIC if preset == "brainstorm" else DESIGN
    name = "plan.md" if preset == "attack" else "shop.py"
    (folder / name).write_bytes((ROOTS / name).read_bytes())
    return name


def measured(preset: str, model: str, home: Path, minutes: float, concurrency: int) -> Figures:
    """Run one preset and return its figures."""
    figures, counting = Figures(preset), Counting()
    folder = home / preset
    root = root_of(preset, folder)
    request = ExplorationRequest(
        preset=preset,
        root=root,
        base=str(folder),
        out=str(folder / "run"),
        model=model,
        rounds=1,
        concurrency=concurrency,
    )
    begun = time.monotonic()

    async def drive() -> None:
        growing = Treewright("cli").start(request)
        asyncio.get_running_loop().call_later(minutes * 60, growing.stop)
        outcome = await growing.drive()
        figures.status = outcome.status.value + (f"={outcome.reason}" if outcome.reason else "")

    asyncio.run(drive())
    figures.seconds = round(time.monotonic() - begun, 1)
    figures.answers, figures.repaired = counting.answers, counting.repaired
    _from_journal(figures, RunReader(folder / "run"))
    return figures


def _from_journal(figures: Figures, reader: RunReader) -> None:
    tree = reader.tree
    figures.nodes = len(tree.nodes) - 1
    labels = Counter(node.role.value for node in tree.descendants() if node.role is not None)
    figures.with_verdict, figures.verdicts = sum(labels.values()), dict(labels)
    figures.tokens = tree.spend.prompt_tokens + tree.spend.completion_tokens
    for at in range(1, reader.last + 1):
        event = reader.read(at)
        if isinstance(event, TaskFailed):
            figures.failed_tasks += 1
        elif isinstance(event, NodeDerived):
            figures.derived += 1
            figures.revised += event.revision > 1
        elif isinstance(event, (ProposalsChecked, NodeChecked)):
            groups = event.citations if isinstance(event, ProposalsChecked) else [event.citations]
            states = [checked.state for group in groups for checked in group]
            figures.citations += len(states)
            figures.held += sum(state.holds for state in states)


def main() -> None:
    """Measure the presets that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--preset", nargs="*", default=["brainstorm", "attack", "design", "code-audit"])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--concurrency", type=int, default=6)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    home = given.out or Path(tempfile.mkdtemp(prefix="explore-models-"))
    os.environ.setdefault("TREEWRIGHT_HOME", str(home / "treewright"))
    found = []
    for preset in given.preset:
        figures = measured(preset, given.model, home, given.minutes, given.concurrency)
        found.append(asdict(figures))
        print(json.dumps(asdict(figures)), flush=True)
    print(json.dumps({"model": given.model, "runs": found}, indent=1))


if __name__ == "__main__":
    main()
