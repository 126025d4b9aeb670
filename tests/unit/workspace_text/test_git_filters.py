"""A repository's own filters are programs that git would run on what it compares: they are not run."""

import subprocess
from pathlib import Path

from treewright.workspace.git import LineRange, changed_ranges


def git(folder: Path, *arguments: str) -> None:
    """Run git with an author, in a folder."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_no_filter_of_the_repository_or_of_a_submodule_runs(tmp_path: Path) -> None:
    inner, outer, owned = tmp_path / "outer" / "inner", tmp_path / "outer", tmp_path / "owned"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "init", "-q", "inner")
    for folder in (inner, outer):
        (folder / "app.py").write_text("one\ntwo\n", encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "start")
    for folder, name in ((inner, "in"), (outer, "a.b=c d")):
        for kind in ("clean", "process", "smudge"):
            git(folder, "config", f"filter.{name}.{kind}", f"touch {owned}")
        git(folder, "config", f"filter.{name}.required", "true")
        git(folder, "config", "filter.x.clean", f"touch {owned}; cat")
        (folder / ".gitattributes").write_text("*.py filter=x\n", encoding="utf-8")
        (folder / "app.py").write_text("one\nchanged\n", encoding="utf-8")
    ranges = changed_ranges(outer, "HEAD")
    assert ranges is not None
    assert ranges["app.py"] == [LineRange(2, 2)]
    assert not owned.exists()


def test_a_repository_without_filters_is_compared_as_ever(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "app.py").write_text("one\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "start")
    (tmp_path / "app.py").write_text("one\ntwo\n", encoding="utf-8")
    assert changed_ranges(tmp_path, "HEAD") == {"app.py": [LineRange(2, 2)]}
