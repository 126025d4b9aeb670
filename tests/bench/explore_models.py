"""Explorations with a real language model: what share of answers needs repair, of tasks fails, of citations holds.

    python -m tests.bench.explore_models --model local:/path/to/model.gguf [--preset attack chain ...] [--code FILE ...] [--minutes 15] [--out FOLDER]

Each preset runs one round on a root of its own below `--out`, which keeps the runs to be read. A preset that is not done within its
minutes is stopped as a user would stop it; the same command with the same `--out` goes on with it. Prints one line a preset and a JSON
object at the end. `calls.jsonl` beside a run holds every prompt and answer.
"""

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treewright.errors import ModelError
from treewright.models import structured
from treewright.models.provider import Provider, Request
from treewright.performers.model import calls
from treewright.store.run_folder import JOURNAL, RunReader
from treewright.surfaces.cli.main import run as treewright
from treewright.tree.event import NodeChecked, NodeDerived, ProposalsChecked, TaskFailed
from treewright.tree.run import Status

PRESETS = ("brainstorm", "attack", "design", "code-audit")
FINAL = tuple(status for status in Status if status.final)
ROOTS = Path(__file__).parent.parent / "fixtures" / "explore"
TOPIC = "How can a small team keep flaky integration tests from blocking merges?"
DESIGN = "Store the notes of up to 50 users so that two devices can edit offline and no edit is lost."


@dataclass
class Figures:
    """What one preset's run showed.

    Attributes:
        status: where it stands; of a chain, its last stage.
        exit_code: of the command.
        nodes, with_verdict: nodes below the root.
        calls: parts of tasks that were asked for.
        answers: that the model gave, repairs included.
        repaired: answers that had to be sent back for their shape.
        failed_tasks: tasks given up.
        derived, revised: bodies, and how many of them were revisions that a rule asked for.
        citations, held: checked ones, and those that hold.
        tokens, seconds: used.
        verdicts: nodes by label.
    """

    preset: str
    status: str = ""
    exit_code: int = 0
    nodes: int = 0
    with_verdict: int = 0
    calls: int = 0
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


class Recording:
    """Records every call with its repairs, and leaves the answers alone."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ask = structured.ask
        vars(calls)["ask"] = self

    async def __call__(self, provider: Provider, request: Request, **given: Any) -> structured.Answer:
        begun = time.monotonic()
        row: dict[str, Any] = {"part": request.schema_name, "prompt": request.prompt}
        try:
            answer = await self._ask(provider, request, **given)
            row |= {"text": answer.text, "attempts": answer.attempts, "repairs": answer.repairs}
            row |= {"prompt_tokens": answer.usage.prompt_tokens, "cached": answer.usage.cached_tokens}
            row |= {"completion_tokens": answer.usage.completion_tokens}
        except ModelError as fault:
            row |= {name: fault.details.get(name) for name in ("attempts", "repairs", "raw")}
            row["fault"] = fault.code
            raise
        finally:
            row["seconds"] = round(time.monotonic() - begun, 2)
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        return answer

    def stop(self) -> None:
        vars(calls)["ask"] = self._ask


def calls_of(file: Path) -> list[dict[str, Any]]:
    """Return the recorded calls."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def root_of(preset: str, folder: Path) -> str:
    """Write a preset's root into a project of its own and return how it is named."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    if preset in ("brainstorm", "design", "chain"):
        return DESIGN if preset == "design" else TOPIC
    name = "plan.md" if preset == "attack" else "shop.py"
    (folder / name).write_bytes((ROOTS / name).read_bytes())
    return name


def measured(job: str, command: list[str], folder: Path, minutes: float) -> Figures:
    """Run one command, or go on with what it began, and return the figures so far.

    Args:
        job: how it is called in the figures.
        command: of `treewright`, to be run in the folder; its output goes to `run`.
        folder: its project.
        minutes: after which it is stopped as by Ctrl-C.
    """
    figures = Figures(job)
    run, before = folder / "run", folder / "figures.json"
    spent = json.loads(before.read_text(encoding="utf-8"))["seconds"] if before.exists() else 0.0
    if not is_done(run):
        begun, recording = time.monotonic(), Recording(folder / "calls.jsonl")
        figures.exit_code = by_command_line(
            ["resume", str(run)] if run.exists() else command, folder, minutes
        )
        recording.stop()
        spent += time.monotonic() - begun
    figures.seconds = round(spent, 1)
    rows = calls_of(folder / "calls.jsonl")
    figures.calls = len(rows)
    figures.answers = sum(int(row.get("attempts") or 0) for row in rows)
    figures.repaired = sum(int(row.get("repairs") or 0) for row in rows)
    for reader in readers(run):
        _from_journal(figures, reader)
    before.write_text(json.dumps(asdict(figures), indent=1), encoding="utf-8")
    return figures


def by_command_line(command: list[str], folder: Path, minutes: float) -> int:
    """Run a command of ours as a terminal would, and press Ctrl-C after some minutes."""
    os.chdir(folder)
    bell = threading.Timer(minutes * 60, os.kill, (os.getpid(), signal.SIGINT))
    bell.start()
    try:
        treewright(command)
    except SystemExit as end:
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 130
    finally:
        bell.cancel()
    return 0


def readers(run: Path) -> list[RunReader]:
    """Return the explorations of a run: its own, or those of a chain's stages."""
    own = [run] if (run / JOURNAL).exists() and not sorted(run.glob("stage*")) else []
    return [
        RunReader(folder)
        for folder in [*own, *sorted(path.parent for path in run.glob(f"stage*/**/{JOURNAL}"))]
    ]


def is_done(run: Path) -> bool:
    """Tell whether there is nothing more to do."""
    found = readers(run) if run.exists() else []
    chain = (run / "CHAIN_REPORT.md").exists() or bool(sorted(run.glob("stage*")))
    ended = bool(found) and all(
        each.tree.status in (*FINAL, Status.ROUNDS_EXHAUSTED, Status.WIDTH_CAP_REACHED) for each in found
    )
    return ended and (not chain or (run / "CHAIN_REPORT.md").exists())


def commands(given: argparse.Namespace, home: Path) -> list[tuple[str, list[str], Path]]:
    """Return what is to be run: name, command, folder."""
    found = []
    width = ["--width", str(given.width)] if given.width else []
    common = [
        *width,
        "--model",
        given.model,
        "--rounds",
        "1",
        "--concurrency",
        str(given.concurrency),
        "--out",
        "run",
    ]
    for preset in given.preset:
        folder = home / preset
        root = root_of(preset, folder)
        name = "audit" if preset == "code-audit" else preset
        more = ["--stages", "brainstorm,design,attack", "--top-k", "1"] if preset == "chain" else []
        found.append((preset, [name, root, *common, *more], folder))
    for file in given.code:
        folder = home / f"code-{file.parent.name}-{file.stem}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".git").mkdir(exist_ok=True)
        (folder / file.name).write_bytes(file.read_bytes())
        found.append((f"code-audit {file.name}", ["audit", file.name, *common], folder))
    return found


def _from_journal(figures: Figures, reader: RunReader) -> None:
    tree = reader.tree
    figures.status = tree.status.value + (f"={tree.reason}" if tree.reason else "")
    figures.nodes += len(tree.nodes) - 1
    labels = Counter(node.role.value for node in tree.descendants() if node.role is not None)
    figures.with_verdict += sum(labels.values())
    figures.verdicts = dict(Counter(figures.verdicts or {}) + labels)
    figures.tokens += tree.spend.prompt_tokens + tree.spend.completion_tokens
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
    parser.add_argument("--preset", nargs="*", default=[], choices=[*PRESETS, "chain"])
    parser.add_argument("--code", nargs="*", type=Path, default=[], help="files to audit, each by itself")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--width", type=int, default=0, help="end each run at so many judged nodes")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    if not given.preset and not given.code:
        given.preset = list(PRESETS)
    home = (given.out or Path(tempfile.mkdtemp(prefix="explore-models-"))).absolute()
    os.environ.setdefault("TREEWRIGHT_HOME", str(home / "treewright"))
    given.code = [file.absolute() for file in given.code]
    found = []
    for job, command, folder in commands(given, home):
        figures = measured(job, command, folder, given.minutes)
        found.append(asdict(figures))
        print(json.dumps(asdict(figures)), flush=True)
    print(json.dumps({"model": given.model, "runs": found}, indent=1))


if __name__ == "__main__":
    main()
