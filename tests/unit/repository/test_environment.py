"""Set-up knows what is ready, what is stale and what is broken (`tools/environment.py`)."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.repository.source import ROOT
from tools.environment import LOCK_FILES, NodeEnvironment, PythonEnvironment, main, run


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Lay out the files that decide what is installed."""
    root = tmp_path / "checkout"
    (root / "requirements").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", root)
    for name in LOCK_FILES["dev"]:
        shutil.copy(ROOT / name, root / name)
    return root


def ready(root: Path) -> PythonEnvironment:
    """Return an environment that looks installed: a real one without packages, stamped."""
    environment = PythonEnvironment(root)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment.folder], check=True)
    packages = next((environment.folder / "lib").glob("*/site-packages"))
    (packages / "pip.py").touch()
    (environment.folder / "bin/pip").write_text(f"#!{environment.python}\n", encoding="utf-8")
    for part in LOCK_FILES:
        environment.stamp(part).write_text(environment.wanted(part), encoding="utf-8")
    return environment


def test_a_stamped_environment_is_ready_and_needs_nothing(checkout: Path) -> None:
    environment = ready(checkout)
    assert environment.is_ready("runtime")
    assert environment.is_ready("dev")


def test_a_changed_lock_file_concerns_only_the_parts_made_from_it(checkout: Path) -> None:
    environment = ready(checkout)
    with (checkout / "requirements/dev.txt").open("a", encoding="utf-8") as handle:
        handle.write("# changed\n")
    assert environment.is_ready("runtime")
    assert not environment.is_ready("dev")


def test_a_changed_linter_setting_is_no_reason_to_install_again(checkout: Path) -> None:
    environment = ready(checkout)
    text = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    (checkout / "pyproject.toml").write_text(
        text.replace("line-length = 110", "line-length = 90"), encoding="utf-8"
    )
    assert environment.is_ready("dev")
    (checkout / "pyproject.toml").write_text(text.replace('"psutil>=6"', '"psutil>=7"'), encoding="utf-8")
    assert not environment.is_ready("dev")


def test_an_interrupted_set_up_is_begun_anew(checkout: Path) -> None:
    environment = ready(checkout)
    assert environment.fault() == ""
    environment.marker.touch()
    assert not environment.is_ready("dev")
    assert "interrupted" in environment.fault()


def test_an_environment_of_a_moved_checkout_is_not_taken(checkout: Path) -> None:
    ready(checkout)
    moved = PythonEnvironment(checkout.rename(checkout.with_name("moved")))
    assert not moved.is_ready("dev")
    assert "another folder" in moved.fault()


def test_a_folder_that_is_no_environment_is_not_taken(checkout: Path) -> None:
    environment = PythonEnvironment(checkout)
    environment.folder.mkdir()
    assert "no virtual environment" in environment.fault()


def test_node_packages_are_wanted_only_when_there_is_a_lock_file(checkout: Path) -> None:
    node = NodeEnvironment(checkout)
    assert node.is_ready()
    (checkout / "extension").mkdir()
    (checkout / "extension/package.json").write_text("{}", encoding="utf-8")
    (checkout / "extension/package-lock.json").write_text("{}", encoding="utf-8")
    assert not node.is_ready()


def test_a_command_that_fails_is_told_with_what_it_wrote(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="it did not work:\nno such thing"):
        run([sys.executable, "-c", "import sys; sys.exit('no such thing')"], tmp_path, "it did not work:")
    with pytest.raises(Exception, match="it did not start:"):
        run([tmp_path / "missing"], tmp_path, "it did not start:")


def test_an_unknown_part_is_a_usage_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["everything"]) == 2
    assert "usage" in capsys.readouterr().err
