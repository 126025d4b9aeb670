"""Listing, decoding and git: what strangers' folders hold."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.workspace.decode import Decoded, Unreadable, decode_bytes, read_source, split_lines
from treewright.workspace.git import changed_ranges, churn, head_commit, run_git
from treewright.workspace.walk import list_sources, looks_generated, looks_minified


def names(root: Path, suffixes: frozenset[str] | None = None) -> list[str]:
    return [file.relative for file in list_sources(root, suffixes).files]


def reasons(root: Path) -> dict[str, str]:
    return {entry.relative: entry.reason for entry in list_sources(root).skipped}


@pytest.mark.requirement("workspace:walk:order")
def test_files_come_in_path_order_whatever_the_disk_says(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "z/c.py", "a/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n", encoding="utf-8")
    assert names(tmp_path) == ["a.py", "a/d.py", "b.py", "z/c.py"]


@pytest.mark.requirement("workspace:walk:gitignore")
def test_gitignore_files_count_at_every_level_and_the_nearest_decides(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\nsecret.py\n", encoding="utf-8")
    (tmp_path / "sub" / ".gitignore").write_text("!secret.py\n", encoding="utf-8")
    for name in ("a.log", "secret.py", "sub/secret.py", "kept.py"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    assert [n for n in names(tmp_path) if not n.endswith(".gitignore")] == ["kept.py", "sub/secret.py"]
    assert reasons(tmp_path)["secret.py"] == "ignored"


@pytest.mark.requirement("workspace:walk:skips")
def test_what_nobody_here_wrote_is_left_out_with_its_reason(tmp_path: Path) -> None:
    for name in ("node_modules/x.js", ".treewright/y.py", "a.min.js", "b.png", "c_pb2.py", "dist/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    found = reasons(tmp_path)
    assert found == {
        "node_modules/": "vendored",
        ".treewright/": "administrative",
        "a.min.js": "minified",
        "b.png": "binary",
        "c_pb2.py": "generated",
        "dist/": "built",
    }


@pytest.mark.requirement("workspace:walk:links")
def test_a_link_to_an_ancestor_ends_and_a_link_out_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "a.py").write_text("x\n", encoding="utf-8")
    (tmp_path / "outside.py").write_text("x\n", encoding="utf-8")
    (root / "deep" / "er" / "up").symlink_to(root)
    (root / "out.py").symlink_to(tmp_path / "outside.py")
    (root / "nowhere.py").symlink_to(root / "missing")
    (root / "again.py").symlink_to(root / "deep" / "a.py")
    assert names(root) == ["deep/a.py"]
    found = reasons(root)
    assert found["deep/er/up"] == "link-loop"
    assert found["out.py"] == "link-out"
    assert found["nowhere.py"] == "link-broken"
    assert found["again.py"] == "link-loop"


@pytest.mark.requirement("workspace:walk:loop-of-links")
def test_two_links_that_lead_to_each_other_are_listed_as_broken(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert set(reasons(tmp_path).values()) == {"link-broken"}


@pytest.mark.requirement("workspace:walk:special")
def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert reasons(tmp_path) == {"pipe.py": "special"}


@pytest.mark.requirement("workspace:walk:single-file")
def test_a_single_file_is_a_root_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x\n", encoding="utf-8")
    (tmp_path / "two.py").write_text("x\n", encoding="utf-8")
    assert names(tmp_path / "one.py") == ["one.py"]


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_sources(tmp_path / "gone")


@pytest.mark.requirement("workspace:decode:encodings")
@pytest.mark.parametrize(
    ("data", "text", "reason"),
    [
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\r\n", "bom"),
        ("x = 'é'\r\n".encode("utf-16"), "x = 'é'\r\n", "bom"),
        (b"\xfe\xff" + "x = 1\n".encode("utf-16-be"), "x = 1\n", "bom"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", "cookie"),
        (b"x = '\x93quoted\x94 \x92'\n", "x = '“quoted” ’'\n", "cp1252"),
        (b"x = '\x81\xe9'\n", "x = '\x81é'\n", "latin-1"),
        ("x = 'é'\n".encode(), "x = 'é'\n", "utf-8"),
        (b"# coding: rot13\nx = 1\n", "# coding: rot13\nx = 1\n", "utf-8"),
        (b"# coding: nonsense\nx = 1\n", "# coding: nonsense\nx = 1\n", "utf-8"),
    ],
)
def test_every_encoding_is_read_and_stated(data: bytes, text: str, reason: str) -> None:
    decoded = decode_bytes(data)
    assert isinstance(decoded, Decoded)
    assert (decoded.text, decoded.reason) == (text, reason)
    assert bool(decoded.stated) == (reason != "utf-8")
    assert decoded.encode(decoded.text) == data


@pytest.mark.requirement("workspace:decode:binary")
def test_nul_bytes_mean_binary() -> None:
    assert isinstance(decode_bytes(b"x\0y"), Unreadable)
    assert isinstance(decode_bytes(b"\xff\xfe\x00"), Unreadable)


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused_and_written_back_unchanged(data: bytes) -> None:
    decoded = decode_bytes(data)
    if isinstance(decoded, Decoded) and decoded.reason != "cookie":
        assert decoded.encode(decoded.text) == data


@pytest.mark.requirement("workspace:decode:lines")
def test_only_line_feeds_and_carriage_returns_end_a_line() -> None:
    assert split_lines("a\x0cb\u2028c\r\nd\re\nf") == ["a\x0cb\u2028c", "d", "e", "f"]


@pytest.mark.requirement("workspace:decode:gone")
def test_a_file_that_vanished_is_a_value_not_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x\n", encoding="utf-8")
    listing = list_sources(tmp_path)
    path.unlink()
    assert read_source(listing.files[0].path) == Unreadable(
        "gone", "it was there when the folder was listed and is not any more"
    )


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x" * 101)
    found = read_source(tmp_path / "a.py", max_bytes=100)
    assert isinstance(found, Unreadable)
    assert found.reason == "too-large"


def test_generated_and_minified_texts_are_known_by_their_look() -> None:
    assert looks_generated("# Code generated by protoc. DO NOT EDIT.\nx = 1\n")
    assert not looks_generated("def generate():\n    pass\n")
    assert looks_minified("a=1;" * 3000)
    assert not looks_minified("a = 1\n" * 3000)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.requirement("workspace:git:ranges")
def test_changed_lines_are_known_with_names_and_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    name = os.fsdecode(b"caf\xe9.py")
    (tmp_path / name).write_bytes(b"a\nb\nc\n")
    (tmp_path / "plain.py").write_bytes(b"one\ntwo\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / name).write_bytes(b"a\nb \x92\nc\nd\n")
    (tmp_path / "new.py").write_bytes(b"x\n")
    found = changed_ranges(tmp_path, "HEAD")
    assert found is not None
    assert [(r.start, r.end) for r in found[name]] == [(2, 2), (4, 4)]
    assert "plain.py" not in found
    assert found["new.py"][0].touches(1, 1)
    assert churn(tmp_path) == {name: 1, "plain.py": 1}
    assert len(head_commit(tmp_path) or "") == 40


@pytest.mark.requirement("workspace:git:inert")
def test_a_repository_cannot_make_git_run_its_programs(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("x\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "diff.x.textconv"):
        git(tmp_path, "config", key, str(script))
    (tmp_path / ".gitattributes").write_text("*.py diff=x\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("y\n", encoding="utf-8")
    assert changed_ranges(tmp_path, "HEAD") is not None
    assert churn(tmp_path)
    assert not mark.exists()


@pytest.mark.requirement("workspace:git:absent")
def test_no_repository_no_git_and_nonsense_revisions_are_answers_not_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed_ranges(tmp_path, "HEAD") is None
    assert churn(tmp_path) == {}
    assert changed_ranges(tmp_path, "--output=/tmp/x") is None
    monkeypatch.setenv("PATH", "")
    assert run_git(tmp_path, "status") is None
