"""`make release` builds the same twice, and refuses what is not fit to be installed (`tools/release.py`, `artefacts.py`)."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.repository.source import ROOT
from tools.artefacts import extension_faults, foreign, machine_paths, sdist_faults, wheel_faults
from tools.version import current

Change = Callable[[dict[str, bytes]], None]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and source archive as a release does, from the last commit."""
    folder = tmp_path_factory.mktemp("released")
    command = [sys.executable, "-m", "tools.release", "--no-extension", "--into", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.mark.requirement("packages:release:reproducible", "packages:release:listed")
def test_it_is_the_same_twice_and_listed_with_its_digests(released: Path) -> None:
    # The command itself builds twice, in two folders, and fails when the two differ.
    lines = (line.split() for line in (released / "SHA256SUMS").read_text(encoding="ascii").splitlines())
    listed = {name: digest for digest, name in lines}
    artefacts = [path for path in released.iterdir() if path.name != "SHA256SUMS"]
    assert {path.name.removeprefix("treewright-")[:5] for path in artefacts} == {current(ROOT)}
    assert listed == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in artefacts}


def repacked(wheel: Path, folder: Path, change: Change) -> Path:
    """Return a copy of a wheel with its contents changed."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    made = folder / wheel.name
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made


INFO = f"treewright-{current(ROOT)}.dist-info"


@pytest.mark.requirement("packages:release:checked")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda files: None, ""),
        (lambda files: files.pop(f"{INFO}/licenses/LICENSE"), "licenses/LICENSE is missing"),
        (lambda files: files.update({"treewright/tests/test_x.py": b""}), "does not belong in it"),
        (lambda files: files.update({"treewright/__pycache__/x.pyc": b""}), "does not belong in it"),
        (lambda files: files.update({"elsewhere/x.py": b""}), "lies outside the package"),
        (lambda files: files.update({"treewright/x.py": b"HERE = '/build/of/mine/x'"}), "names /build/of/mine"),
        (lambda files: files.update({"treewright/errors.py": b"changed"}), "not in the record as it is"),
        (lambda files: files.pop("treewright/_data/presets/design.md"), "design.md is missing"),
        (
            lambda files: files.update({f"{INFO}/METADATA": files[f"{INFO}/METADATA"].replace(b"\nVersion: ", b"\nVersion: 9")}),
            "is being released",
        ),
        (
            lambda files: files.update({f"{INFO}/METADATA": files[f"{INFO}/METADATA"].replace(b"Classifier: Typing", b"Requires-Dist: ???\nClassifier: Typing")}),
            "metadata: ",
        ),
    ],
)  # fmt: skip
def test_a_wheel_that_is_not_as_it_should_be_is_refused(
    released: Path, tmp_path: Path, change: Change, told: str
) -> None:
    (wheel,) = released.glob("*.whl")
    bad = repacked(wheel, tmp_path, change)
    faults = wheel_faults(bad, current(ROOT), ["/build/of/mine"], ["treewright/_data/presets/design.md"])
    assert any(told in fault for fault in faults) if told else faults == []


@pytest.mark.requirement("packages:release:checked")
def test_an_extension_that_carries_another_wheel_or_version_is_refused(
    released: Path, tmp_path: Path
) -> None:
    (wheel,) = released.glob("*.whl")
    packed, locked = tmp_path / "treewright.vsix", b"pygls==2.1.1 --hash=sha256:00\n"
    files: dict[str, str | bytes] = {
        "extension/package.json": json.dumps({"version": current(ROOT), "main": "./dist/extension.js"}),
        **dict.fromkeys(("extension/LICENSE.txt", "extension/LICENSE-NOTICES", "extension/readme.md"), "x"),
        "extension/dist/extension.js": "x",
        f"extension/sidecar/{wheel.name}": wheel.read_bytes(),
        "extension/sidecar/requirements.txt": locked,
    }

    def faults(**changed: str | bytes) -> list[str]:
        names = {
            "wheel": f"extension/sidecar/{wheel.name}",
            "manifest": "extension/package.json",
            "extra": "extension/sidecar/wheels/a.whl",
        }
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in {**files, **{names[key]: value for key, value in changed.items()}}.items():
                archive.writestr(name, content)
        return extension_faults(packed, current(ROOT), [], wheel, locked)

    assert faults() == []
    assert faults(wheel=b"another") == ["the wheel inside is not the one that is released"]
    assert "its version is 9.9.9" in faults(manifest='{"version": "9.9.9", "main": "./dist/extension.js"}')[0]
    assert faults(extra=b"not locked") == ["a.whl is not what the requirements name"]


def test_the_source_archive_holds_what_a_wheel_is_built_from_and_no_tests(released: Path) -> None:
    (archive,) = released.glob("*.tar.gz")
    assert sdist_faults(archive, current(ROOT), [str(ROOT), os.path.expanduser("~")]) == []
    assert archive.stat().st_size < 3 << 20


def test_names_and_paths_of_ours_are_told_from_those_of_others() -> None:
    assert list(foreign(["treewright/kernels/testrun.py", "treewright/data/static/rules/web.toml"])) == []
    assert len(list(foreign(["a/tests/x", "node_modules/x", "x.pyc", "dist/x.js.map", "a/.git/config"]))) == 5
    near = {"a": b"see https://example.org/home/me/x and verify/0/home/me"}
    assert list(machine_paths(near, ["/home/me"])) == []
    assert list(machine_paths({"a": b"open('/home/me/x')"}, ["/home/me"])) != []
