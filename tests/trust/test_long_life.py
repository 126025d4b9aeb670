"""A sidecar that stays open: its memory, handles, processes and temporary files do not grow."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.contract.lsp.raw import RawClient
from tests.trust.planting import PROJECT

MOST_GROWN = 20 * 1024 * 1024
"""bytes that the sidecar may have more at the end than once it was warm"""
OVER = ("CONVERGED", "ROUNDS_EXHAUSTED")
WARM_EDITS, WARM_AUDITS = 50, 2
LIVES = [
    pytest.param(500, 10, id="short"),
    pytest.param(10_000, 100, id="long", marks=pytest.mark.soak),
]


def has_ended(run: str, message: dict[str, Any]) -> bool:
    """Say whether a message tells the end of a run."""
    if message.get("method") != "treewright/runChanged":
        return False
    rows = [change["row"] for change in message["params"]["changes"] if change["run"] == run]
    return any(row and row["status"] in OVER for row in rows)


class Life:
    """An editor that types in one file and audits its folder."""

    def __init__(self, client: RawClient, project: Path) -> None:
        self.client, self.project = client, project
        self.path = project / "app.py"
        self.version = 1
        self.text = self.path.read_text(encoding="utf-8")
        self.uri = self.path.as_uri()

    def begin(self) -> None:
        """Shake hands and open the file."""
        self.client.initialize(self.project)
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})

    def edit(self, count: int) -> None:
        """Type a line and take it away again, and have the findings of the file looked at."""
        for number in range(count):
            self.version += 1
            put, end = ("# a line\n", 0) if number % 2 == 0 else ("", 1)
            change = {
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": end, "character": 0}},
                "text": put,
            }
            document = {"uri": self.uri, "version": self.version}
            self.client.notify(
                "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
            )
            if number % 25 == 24:
                place = {"start": {"line": 0, "character": 0}, "end": {"line": 12, "character": 0}}
                asked = {
                    "textDocument": {"uri": self.uri},
                    "range": place,
                    "context": {"diagnostics": []},
                }
                self.client.request("textDocument/codeAction", asked)
                self.client.seen.clear()

    def audit(self, count: int) -> None:
        """Audit the folder, and wait for the end of it."""
        for _ in range(count):
            run = self.client.request("treewright/start", {"root": self.project.as_uri()})["run"]
            self.client.until(partial(has_ended, run), 300)
            self.client.seen.clear()

    def weight(self) -> tuple[int, int, int]:
        """Return resident bytes, handles and child processes of the sidecar."""
        process = psutil.Process(self.client.process.pid)
        return process.memory_info().rss, process.num_fds(), len(process.children(recursive=True))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("edits", "audits"), LIVES)
@pytest.mark.requirement("trust:life:bounded")
def test_a_sidecar_that_stays_open_does_not_grow(
    tmp_path: Path, edits: int, audits: int, record_property: Any
) -> None:
    project, scratch = tmp_path / "project", tmp_path / "scratch"
    project.mkdir()
    scratch.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_text(text, encoding="utf-8")
    client = RawClient(env={"TMPDIR": str(scratch)})
    try:
        life = Life(client, project)
        life.begin()
        life.audit(WARM_AUDITS)
        life.edit(WARM_EDITS)
        before = life.weight()
        rounds = max(1, audits // 10)
        for _ in range(rounds):
            life.edit(edits // rounds)
            life.audit(audits // rounds)
        after = life.weight()
    finally:
        client.close()
    told = f"{(after[0] - before[0]) / 1e6:.1f} MB more, handles {before[1]} to {after[1]}, children {before[2]} to {after[2]}"
    record_property("grown", told)
    sys.stdout.write(f"{told}\n")  # shown with -s, for docs/benchmarks.md
    assert after[0] - before[0] < MOST_GROWN, told
    assert after[1] <= before[1] + 2, told
    assert after[2] <= before[2], told
    assert list(scratch.iterdir()) == []
