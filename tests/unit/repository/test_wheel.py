"""The wheel carries what the package needs when there is no checkout around it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.unit.repository.source import PACKAGE, ROOT, tracked_files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from this checkout, without network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    return next(folder.glob("*.whl"))


def test_every_file_of_the_package_and_every_preset_and_lens_is_in_the_wheel(wheel: Path) -> None:
    carried = set(zipfile.ZipFile(wheel).namelist())
    wanted = set()
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if path.is_relative_to(PACKAGE):
            wanted.add(path.relative_to(PACKAGE.parent).as_posix())
        elif name.startswith(("presets/", "lenses/")) and path.suffix == ".md":
            wanted.add(f"treewright/_data/{name}")
    assert wanted - carried == set()


def test_an_unpacked_wheel_finds_its_data_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from treewright.data import data_path, shipped_path\n"
        "print(data_path('errors'), shipped_path('presets', 'design.md'), sep='\\n')\n"
    )
    done = subprocess.run(
        # -S leaves out site-packages, where the checkout is installed.
        [sys.executable, "-I", "-S", "-c", script],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    found = [Path(line) for line in done.stdout.splitlines()]
    assert [path.is_relative_to(tmp_path) and path.exists() for path in found] == [True, True]
