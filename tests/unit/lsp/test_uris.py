"""Addresses to paths and back."""

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.surfaces.lsp.uris import (
    as_spelled_on_disk,
    fs_path,
    key_of,
    to_uri,
    virtual_parts,
    virtual_uri,
)


@pytest.mark.requirement("lsp:paths:drive-letters")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/x/a.py", "c:\\x\\a.py"),
        ("file:///C:/x/a.py", "c:\\x\\a.py"),
        ("file:///c:/x/%C3%BC%20b.py", "c:\\x\\ü b.py"),
        ("file://server/share/a.py", "\\\\server\\share\\a.py"),
        ("file://///server/share/a.py", "\\\\server\\share\\a.py"),
        ("file://localhost/c:/x", "c:\\x"),
    ],
)
def test_windows_paths_are_read_in_every_spelling(uri: str, path: str) -> None:
    assert fs_path(uri, windows=True) == path


@pytest.mark.requirement("lsp:paths:drive-letters")
def test_two_spellings_of_a_drive_are_one_document_on_windows_and_two_folders_elsewhere() -> None:
    one, other = "file:///c%3A/x", "file:///C:/x"
    assert key_of(one, windows=True) == key_of(other, windows=True)
    assert key_of(one, windows=False) != key_of(other, windows=False)
    assert key_of(one, windows=False) == key_of("file:///c:/x", windows=False)
    assert fs_path(one, windows=False) == "/c:/x"


@pytest.mark.parametrize(
    "uri",
    ["untitled:Untitled-1", "vscode-notebook-cell:/a/b.ipynb#W0sZmlsZQ%3D%3D", "treewright:/run/a/x.md", ""],
)
def test_other_schemes_are_no_files_and_their_own_keys_byte_for_byte(uri: str) -> None:
    assert fs_path(uri) is None
    assert key_of(uri) == uri


@pytest.mark.parametrize("uri", ["file://other-host/a", "file:relative", "file:///a%00b", "file://"])
def test_what_is_no_file_of_this_machine_is_none(uri: str) -> None:
    assert fs_path(uri, windows=False) is None


def test_windows_paths_become_addresses() -> None:
    assert to_uri(PureWindowsPath("C:\\x y\\ü.py")) == "file:///c%3A/x%20y/%C3%BC.py"
    assert to_uri(PureWindowsPath("\\\\server\\share\\a.py")) == "file://server/share/a.py"


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_posix_path_survives_the_way_there_and_back(name: str) -> None:
    if name in (".", ".."):
        return
    assert fs_path(to_uri(PurePosixPath("/a") / name), windows=False) == f"/a/{name}"


@given(st.binary(min_size=1, max_size=20).filter(lambda b: b"/" not in b and b"\0" not in b))
def test_file_names_that_are_no_unicode_survive_too(name: bytes) -> None:
    import os

    path = "/a/" + os.fsdecode(name)
    assert fs_path(to_uri(PurePosixPath(path)), windows=False) == str(PurePosixPath(path)) or name in (
        b".",
        b"..",
    )


def test_virtual_addresses_name_run_and_node() -> None:
    uri = virtual_uri("abc", "node", "A1.K2.md")
    assert uri == "treewright:/run/abc/node/A1.K2.md"
    assert virtual_parts(uri) == ["abc", "node", "A1.K2.md"]
    assert virtual_parts("treewright:/nonsense") is None
    assert virtual_parts("file:///run/a/b") is None


def test_the_disks_spelling_is_found_for_another_unicode_form(tmp_path: Path) -> None:
    import unicodedata

    stored = tmp_path / unicodedata.normalize("NFD", "mö") / unicodedata.normalize("NFC", "bü.py")
    stored.parent.mkdir()
    stored.write_text("", encoding="utf-8")
    typed = tmp_path / unicodedata.normalize("NFC", "mö") / unicodedata.normalize("NFD", "bü.py")
    assert as_spelled_on_disk(typed) == stored
    missing = tmp_path / "nö"
    assert as_spelled_on_disk(missing) == missing
