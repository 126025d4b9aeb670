"""A repository that wants more than to be looked at: planted files, files without end, words meant for the model.

Elsewhere: git's programs (`tests/unit/workspace_files/test_walking.py`, `tests/unit/workspace_text/test_git_filters.py`), links and
settings (`tests/unit/store/test_paths.py`, `tests/unit/store/test_config.py`), pipes beside the code
(`tests/contract/cli/test_hostile_files.py`), candidates that are executed (`tests/unit/kernels/test_kernels_hostile.py`).
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trust.conftest import Planted
from treewright.app.describe import describe_run, is_search
from treewright.app.search_sources import digest_of
from treewright.app.session_import import foreign_sessions
from treewright.app.session_store import describe_session
from treewright.app.standing import read_baseline
from treewright.errors import TreewrightError
from treewright.models.local import check_model_file
from treewright.models.scripted import ScriptedProvider
from treewright.performers.model.results import edits_of
from treewright.presets.documents import manifest_faults
from treewright.presets.source import read_source
from treewright.regular import NotRegularError, TooLargeError, read_regular
from treewright.store.config import load_config
from treewright.store.durable import replace_file
from treewright.store.recover import mend_journal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such files there")


def _session_home(path: Path) -> Any:
    path.parent.mkdir(exist_ok=True)
    return foreign_sessions(path.parent)


def _mended(path: Path) -> Any:
    import datetime

    return mend_journal(path, now=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "baseline": ("baseline.json", read_baseline),
    "manifest of pages": ("languages.json", manifest_faults),
    "preset": ("mine.md", lambda path: read_source(path, "preset")),
    "script": ("script.json", ScriptedProvider.from_file),
    "model": ("model.gguf", check_model_file),
    "settings": (".treewright.toml", lambda path: load_config(workspace=path.parent)),
    "home to import": ("index.json", _session_home),
    "session": ("session.json", describe_session),
    "journal": ("journal.jsonl", lambda path: describe_run(path.parent)),
    "journal of a search": ("journal.jsonl", lambda path: is_search(path.parent)),
    "journal to mend": ("journal.jsonl", _mended),
    "file to search": ("program.py", digest_of),
}


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _without_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


def _huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(64 << 30)  # holes: it takes no room


def _brackets(path: Path) -> None:
    path.write_text("[" * 200_000, encoding="utf-8")


KINDS = {"pipe": _pipe, "device": _without_end, "folder": _folder, "huge": _huge, "brackets": _brackets}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.requirement("trust:files:named")
def test_no_file_that_is_none_keeps_waiting_fills_the_memory_or_crashes(
    tmp_path: Path, reader: str, kind: str
) -> None:
    name, read = READERS[reader]
    if kind == "huge" and reader in ("journal", "journal to mend"):
        return  # a journal has no bound: it is read in pieces, to its end
    path = tmp_path / "planted" / name
    path.parent.mkdir()
    KINDS[kind](path)
    with contextlib.suppress(TreewrightError):
        read(path)


@pytest.mark.requirement("trust:files:devices-kept")
def test_no_file_is_put_in_the_place_of_a_device_or_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(TreewrightError, match="a device or a pipe stands in its place"):
            replace_file(tmp_path / name, [b"x"])
    assert (tmp_path / "null").is_symlink() and (tmp_path / "pipe").is_fifo()


def test_what_is_refused_says_why(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegularError, match="no regular file"):
        read_regular(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"x" * 11)
    with pytest.raises(TooLargeError, match="larger than 10 bytes"):
        read_regular(tmp_path / "long", 10)
    assert read_regular(tmp_path / "long", 11) == b"x" * 11


@pytest.mark.slow
@pytest.mark.requirement("trust:files:beside")
def test_files_beside_the_code_that_are_nested_without_end_end_no_audit(
    planted: Planted, project: Path, tmp_path: Path
) -> None:
    for name, text in {
        "package.json": '{"dependencies": ' + "[" * 100_000,
        "pyproject.toml": "a = " + "[" * 100_000,
        "deep.py": "x = " + "(" * 5_000,
        "deeper.py": "x = " + "not " * 20_000 + "1\n",
        "deep.js": "x = " + "[" * 20_000,
        "glossary.md": "# " * 20_000,
    }.items():
        (project / name).write_text(text, encoding="utf-8")
    done = planted("audit", project, "--out", "out", "-q")
    assert done.code == 0, done.err
    assert "(app.py:" in (tmp_path / "out" / "REPORT.md").read_text(encoding="utf-8")


# --- words meant for the model ------------------------------------------------------------------------------------


@pytest.mark.requirement("trust:injection:edits")
def test_a_model_that_was_talked_into_it_changes_no_other_file(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    for name in ("app.py", "other.py", ".git/hooks/pre-commit", ".vscode/tasks.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "outside.py").write_text("one\n", encoding="utf-8")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    os.mkfifo(root / "pipe.py")
    names = [
        "app.py", "other.py", "../outside.py", str(tmp_path / "outside.py"), "link.py", "pipe.py", ".git/hooks/pre-commit",
        ".vscode/tasks.json", "app.py/../.git/hooks/pre-commit", "", "\0",
    ]  # fmt: skip
    given = [{"path": name, "start": 1, "end": 1, "new": "three = 3"} for name in names]
    cited = {"app.py", "link.py", "pipe.py", "../outside.py", ".git/hooks/pre-commit", ".vscode/tasks.json"}
    assert [edit.path for edit in edits_of(given, str(root), cited)] == ["app.py"]
    assert edits_of(given, str(root), frozenset()) == []


@pytest.mark.requirement("trust:injection:no-tools")
def test_a_model_is_offered_nothing_that_it_could_have_done() -> None:
    """The one thing that looks like a tool is how one provider is told the shape of its answer."""
    models = Path(__file__).parents[2] / "server" / "treewright" / "models"
    for path in sorted(models.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for word in ('"tools":', '"tool_choice":', '"functions":', '"function_call":', '"mcp_servers":'):
            assert word not in text or path.name == "anthropic.py", (path.name, word)
    text = (models / "anthropic.py").read_text(encoding="utf-8")
    assert '"tool_choice": {"type": "tool", "name": request.schema_name}' in text
