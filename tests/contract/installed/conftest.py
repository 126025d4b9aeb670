"""Our artefacts, an index of them, and an environment that has nothing of the checkout."""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract.installed.index import lay_out, needed, pack, served

REPOSITORY = Path(__file__).parents[3]


@dataclass(frozen=True)
class Clean:
    """A place with an empty home, no variables but what every shell has, and no way out but to the index.

    Attributes:
        folder: where it is; commands run in an empty folder of it.
        index: the address of the index.
    """

    folder: Path
    index: str

    def environment(self, **more: str) -> dict[str, str]:
        """Return the whole environment of a command."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        nowhere = "http://127.0.0.1:9"
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(self.folder / "tmp"),
            "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "ALL_PROXY": nowhere, "NO_PROXY": "127.0.0.1",
            **more,
        }  # fmt: skip

    def run(
        self, *command: str | Path, cwd: Path | None = None, timeout: float = 400, code: int = 0, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command as a stranger would; it has to leave with `code`."""
        here = cwd or self.folder / "elsewhere"
        for each in (here, self.folder / "tmp"):
            each.mkdir(exist_ok=True)
        done = subprocess.run(
            [str(word) for word in command], cwd=here, env=self.environment(**more), stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", timeout=timeout, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def installing(self) -> Mapping[str, str]:
        """Return what tells pip, uv and pipx to ask the index and nobody else, whatever this machine is set to."""
        places = ("UV_CACHE_DIR", "UV_TOOL_DIR", "PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR")
        return {
            **{name: str(self.folder / name.lower()) for name in places},
            "PIP_INDEX_URL": self.index, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1", "PIP_NO_COMPILE": "1", "UV_INDEX_URL": self.index, "UV_NO_CONFIG": "1",
            "UV_PYTHON_DOWNLOADS": "never", "UV_PYTHON": sys.executable, "PIPX_DEFAULT_PYTHON": sys.executable,
        }  # fmt: skip


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the source archive of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture(scope="session")
def index(artefacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the artefacts and everything that they need."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = needed(
        [*project["project"]["dependencies"], *extras["local"], *project["build-system"]["requires"]]
    )
    packed = tmp_path_factory.mktemp("packed")
    folder = tmp_path_factory.mktemp("index")
    lay_out(folder, [*artefacts.iterdir(), *(pack(name, packed) for name in sorted(wanted))])
    with served(folder) as address:
        yield address


@pytest.fixture(scope="session")
def clean(index: str) -> Iterator[Clean]:
    """Return the clean place; its path is short, since sockets of kernels lie below it."""
    with tempfile.TemporaryDirectory(prefix="tw-i-") as folder:
        yield Clean(Path(folder), index)


@pytest.fixture(scope="session")
def installed(clean: Clean) -> Path:
    """Install the wheel with pip into an environment of its own and return the `treewright` in it."""
    environment = clean.folder / "venv"
    clean.run(sys.executable, "-m", "venv", environment)
    clean.run(environment / "bin" / "pip", "install", "-q", "treewright", **clean.installing())
    return environment / "bin" / "treewright"
