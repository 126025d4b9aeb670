"""The environment that the extension makes for the sidecar, and the probe that looks at interpreters."""

import base64
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[3] / "extension" / "python"


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """Write a small wheel."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = []
    for path, text in contents.items():
        mark = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={mark},{len(text)}")
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return made


class Carried:
    """What an extension would carry."""

    def __init__(self, folder: Path) -> None:
        empty = dict.fromkeys(("pygls/__init__.py", "pygls/lsp/__init__.py", "pygls/lsp/server.py"), "")
        self.wheels = folder / "wheels"
        self.pygls = wheel(self.wheels, "pygls", "2.1.0", empty)
        modules = ("", "surfaces/", "surfaces/lsp/")
        package = {f"treewright/{each}__init__.py": "" for each in modules}
        self.sidecar = wheel(
            folder, "treewright", "0.1.0", {**package, "treewright/surfaces/lsp/launch.py": ""}
        )
        self.requirements = folder / "requirements.txt"
        self.target = folder / "environment"
        self.hold(hashlib.sha256(self.pygls.read_bytes()).hexdigest())

    def hold(self, digest: str) -> None:
        """Hold the package to a hash."""
        self.requirements.write_text(f"pygls==2.1.0 --hash=sha256:{digest}\n", encoding="utf-8")

    def provision(self) -> subprocess.CompletedProcess[str]:
        """Make the environment."""
        where = ["--target", self.target, "--requirements", self.requirements, "--wheel", self.sidecar]
        command = [sys.executable, "-I", PYTHON / "provision.py", *where, "--wheels", self.wheels]
        return subprocess.run(
            [str(word) for word in command], capture_output=True, encoding="utf-8", check=False, timeout=100
        )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("extension:provision:complete", "extension:provision:offline")
def test_an_environment_is_made_offline_once_and_made_anew_when_it_was_left_unfinished(
    tmp_path: Path,
) -> None:
    carried = Carried(tmp_path)
    first = carried.provision()
    assert first.returncode == 0, first.stderr
    steps = [json.loads(line)["step"] for line in first.stdout.splitlines()]
    assert steps == ["environment", "packages", "sidecar", "check"]
    assert carried.provision().stdout == ""
    (carried.target / "complete.json").unlink()
    (carried.target / "bin" / "python").unlink()
    again = carried.provision()
    assert again.returncode == 0, again.stderr
    assert len(again.stdout.splitlines()) == 4


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("extension:provision:hashes")
def test_a_package_with_another_hash_is_refused_and_nothing_counts_as_complete(tmp_path: Path) -> None:
    carried = Carried(tmp_path)
    carried.hold("0" * 64)
    done = carried.provision()
    assert done.returncode != 0
    assert "hash" in done.stderr.lower()
    assert not (carried.target / "complete.json").exists()
    assert not (tmp_path / "environment.lock").exists()


@pytest.mark.requirement("extension:probe:sidecar")
def test_a_probe_finds_the_sidecar_of_an_interpreter_that_has_it() -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(PYTHON / "probe.py")],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=30,
    )
    found = json.loads(done.stdout)
    assert found["version"] == list(sys.version_info[:3])
    assert found["sidecar"]
    assert found["why"] == ""
