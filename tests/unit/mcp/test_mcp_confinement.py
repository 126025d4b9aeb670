"""Which paths a server looks at."""

from pathlib import Path

import pytest

from treewright.errors import RequestError
from treewright.surfaces.mcp.confinement import Confinement, folder_of_uri, usual_folder


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    inside, outside, store = (tmp_path / name for name in ("project", "secret", "store"))
    for folder in (inside, outside, store):
        folder.mkdir()
        (folder / "a.txt").write_text("x", encoding="utf-8")
    return inside, outside, store


@pytest.mark.requirement("mcp:roots:confined")
@pytest.mark.parametrize("named", ["a.txt", "./a.txt", "sub/../a.txt", "new/file.md", "."])
def test_paths_inside_are_admitted(folders: tuple[Path, Path, Path], named: str) -> None:
    inside, _, store = folders
    assert Confinement([inside], store).admit(named).is_relative_to(inside)


@pytest.mark.requirement("mcp:roots:confined")
@pytest.mark.parametrize(
    "named",
    [
        "../secret/a.txt",
        "sub/../../secret",
        "/etc/passwd",
        "/",
        "~/.ssh/id_rsa",
        "..",
        "link/a.txt",
        "link/../../secret/a.txt",
    ],
)
def test_paths_outside_are_refused_links_and_dots_included(
    folders: tuple[Path, Path, Path], named: str
) -> None:
    inside, outside, store = folders
    (inside / "link").symlink_to(outside)
    with pytest.raises(RequestError) as fault:
        Confinement([inside], store).admit(named)
    assert fault.value.code == "outside_roots"


@pytest.mark.requirement("mcp:roots:confined")
def test_a_folder_whose_name_only_begins_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project-2").mkdir()
    with pytest.raises(RequestError):
        Confinement([tmp_path / "project"], tmp_path / "store").admit(str(tmp_path / "project-2"))


def test_a_link_that_leads_inside_is_followed(folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    inside, _, store = folders
    (tmp_path / "alias").symlink_to(inside)
    assert Confinement([tmp_path / "alias"], store).admit(str(inside / "a.txt"))


def test_without_folders_every_path_is_refused_but_the_store(folders: tuple[Path, Path, Path]) -> None:
    inside, _, store = folders
    with pytest.raises(RequestError) as fault:
        Confinement([], store).admit("a.txt")
    assert fault.value.code == "no_roots"
    assert Confinement([], store).admit(str(store / "a.txt"), store)
    with pytest.raises(RequestError):
        Confinement([], store).admit(str(inside / "a.txt"), store)


@pytest.mark.requirement("mcp:roots:client")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b", "/a/b"),
        ("file:///a/b%20c/%C3%A4", "/a/b c/ä"),
        ("file://localhost/a", "/a"),
        ("https://example.org/a", None),
        ("file://server/share", None),
    ],
)
def test_roots_are_file_addresses(uri: str, path: str | None) -> None:
    assert folder_of_uri(uri) == (Path(path) if path else None)


def test_the_whole_disk_and_the_home_are_no_usual_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, expected in ((Path("/"), []), (Path.home(), []), (tmp_path, [tmp_path])):
        monkeypatch.chdir(folder)
        assert usual_folder() == expected
