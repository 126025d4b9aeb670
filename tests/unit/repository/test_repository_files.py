"""What is committed names no machine and no registry, and says one version everywhere."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import treewright
from tests.unit.repository.source import ROOT, tracked_files
from tools.version import current

LOCKS = ("requirements/*.txt", "package-lock.json", "extension/package-lock.json", "uv.lock")
# Put together here, so that this file does not contain what it forbids.
_MACHINE_PATH = re.compile(
    r"(?<![\w.:/~-])/(?:" + "|".join(("work", "root")) + r")/[\w.]|/home/(?!user\b|me\b|you\b|alice\b)\w+/"
)
_HOST = re.compile(r"https?://|--(?:extra-)?index-url|--find-links|--trusted-host|git\+")
_PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)==(\S+)", re.MULTILINE)


def locks() -> list[Path]:
    """Return the lock files of the checkout."""
    return sorted(path for pattern in LOCKS for path in ROOT.glob(pattern))


def hosts_in(text: str) -> list[str]:
    """Return the lines of a lock file that name where packages come from."""
    # npm notes where to send money beside a package; nothing is fetched from there.
    text = re.sub(r'"funding": (?:\{[^}]*\}|\[[^\]]*\]|"[^"]*")', "", text)
    return [line.strip() for line in text.splitlines() if _HOST.search(line)]


def pins(name: str) -> dict[str, set[str]]:
    """Return the pinned versions of `requirements/<name>.txt`, by package."""
    found: dict[str, set[str]] = {}
    for package, version in _PINNED.findall((ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")):
        found.setdefault(package, set()).add(version)
    return found


def test_no_lock_file_names_a_host() -> None:
    told = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in locks()
        for line in hosts_in(path.read_text(encoding="utf-8"))
    ]
    assert not told, "\n" + "\n".join(told[:20])


def test_no_file_holds_a_path_of_the_machine_it_was_made_on() -> None:
    told = []
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" in content[:8000]:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if found := _MACHINE_PATH.search(line):
                told.append(f"{path.relative_to(ROOT)}:{number}: {found.group()}")
    assert not told, "\n" + "\n".join(told[:20])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open('/" + "root/.config')", True),
        ("cd /" + "work/main", True),
        ("/home/" + "jo/project/x", True),
        ("https://example.org/work/x", False),
        ("docs/" + "work/x and ./root/x", False),
    ],
)
def test_machine_paths_are_told_from_other_paths(text: str, found: bool) -> None:
    assert bool(_MACHINE_PATH.search(text)) is found


def test_hosts_are_told_from_funding_notes() -> None:
    assert hosts_in('"resolved": "https://registry.example.org/a.tgz"') != []
    assert hosts_in("--find-links /opt") != []
    assert hosts_in('"funding": {\n "url": "https://example.org/give"\n}') == []


@pytest.mark.parametrize("name", ["runtime", "build", "dev"])
def test_every_pinned_package_carries_hashes(name: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if _PINNED.match(entry)]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_files_agree_on_each_version() -> None:
    runtime = pins("runtime")
    for name in ("build", "dev"):
        assert {p: v for p, v in pins(name).items() if p in runtime and not v <= runtime[p]} == {}


def test_every_declared_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\s<>=!~\[;]", word)[0].lower() for word in project["dependencies"]}
    assert names <= set(pins("runtime"))


def test_the_dev_extra_names_what_the_gates_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "requirements/dev.in").read_text(encoding="utf-8").splitlines()
    asked = [line.partition(" ;")[0] for line in lines if line and not line.startswith(("#", "-"))]
    extras = project["optional-dependencies"]
    assert sorted(asked) == sorted([*extras["dev"], *extras["local"]])


def test_every_runtime_package_stands_in_the_licence_notices() -> None:
    notices = {
        line.split()[0]
        for line in (ROOT / "LICENSE-NOTICES").read_text(encoding="utf-8").splitlines()
        if line
    }
    assert set(pins("runtime")) <= notices


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    said = {"treewright.__version__": treewright.__version__}
    said[project["tool"]["hatch"]["version"]["path"]] = current(ROOT)
    manifest = ROOT / "extension" / "package.json"
    lock = json.loads((ROOT / "extension" / "package-lock.json").read_text(encoding="utf-8"))
    said["extension/package-lock.json"] = lock["version"]
    said["its own package there"] = lock["packages"][""]["version"]
    if manifest.is_file():
        said["extension/package.json"] = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    if released:
        said["CHANGELOG.md"] = released[0]
    assert len(set(said.values())) == 1, said
