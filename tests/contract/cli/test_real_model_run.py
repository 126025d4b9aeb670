"""A short run with a real 0.5B model from the command line: what recorded answers cannot prove.

Long ones: `python -m tests.bench.explore_models`. The model: `python tests/bench/fetch_models.py q05`.
"""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.bench.fetch_models import models_folder
from tests.contract.cli.terminal import Command, command
from treewright.store.run_folder import JOURNAL, RunReader
from treewright.tree.run import Status

MODEL = models_folder() / "q05.gguf"  # found at import, while the real home is still in place
PATIENCE_S = 420

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(PATIENCE_S + 180),
    pytest.mark.may_skip_in_ci("the model file of 491 MB is not fetched there"),
    pytest.mark.skipif(
        not MODEL.exists(), reason=f"no real model at {MODEL}: run python tests/bench/fetch_models.py q05"
    ),
]


@pytest.mark.requirement("models:real:short-run")
def test_a_small_real_model_grows_a_tree_that_stops_whole_and_goes_on(
    treewright: Command, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ["brainstorm", "How do rare network faults get into tests?", "--model", f"local:{MODEL}"]
    child = subprocess.Popen(
        command(*arguments, "--rounds", "1", "--out", str(out)),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    began = time.monotonic()
    while child.poll() is None and time.monotonic() - began < PATIENCE_S and not _judged(out):
        time.sleep(2)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=120)
    assert "Traceback" not in said
    tree = RunReader(out).tree
    assert tree.status in (Status.STOPPED, Status.ROUNDS_EXHAUSTED), said
    assert tree.root.statement.startswith("How do rare network faults")
    assert tree.spend.completion_tokens > 0
    assert {"REPORT.md", "tree.md", "tree.json", "tree.svg", "tree.html"} <= {p.name for p in out.iterdir()}
    judged = _judged(out)
    assert judged, f"no node was judged within {PATIENCE_S} s: {said}"
    assert all(f"## {node}" in (out / "tree.md").read_text(encoding="utf-8") for node in judged)
    shown = treewright("show", str(out), timeout=60)
    assert shown.code == 0
    assert tree.status is not Status.STOPPED or "treewright resume " in said


def _judged(out: Path) -> list[str]:
    """Return the nodes that have a verdict."""
    if not (out / JOURNAL).exists():
        return []
    return [node.id for node in RunReader(out).tree.descendants() if node.role is not None]
