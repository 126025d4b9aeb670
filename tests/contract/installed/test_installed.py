"""What a stranger installs works, with nothing of the checkout: no source, no home, no variable, no network."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import treewright
from tests.contract.installed.conftest import REPOSITORY, Clean
from tests.contract.lsp.raw import RawClient

# Some 35 s of work; on a machine that others use too it may take long.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
UV = Path(sys.executable).with_name("uv")
PIPX = Path(sys.executable).with_name("pipx")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Copy the sample project."""
    return Path(shutil.copytree(REPOSITORY / "docs" / "examples" / "flawed-shop", tmp_path / "shop"))


@pytest.mark.requirement("packages:wheel:pip", "packages:version:says")
def test_pip_installs_the_wheel_and_it_says_its_version(clean: Clean, installed: Path) -> None:
    assert clean.run(installed, "--version").stdout == f"treewright, version {treewright.__version__}\n"
    script = "import sys, treewright; print(treewright.__file__); print(*sys.path, sep='\\n')"
    places = clean.run(installed.with_name("python"), "-c", script).stdout
    assert str(REPOSITORY) not in places


@pytest.mark.requirement("packages:installed:audit")
def test_it_audits_the_sample_project(clean: Clean, installed: Path, shop: Path) -> None:
    done = clean.run(installed, "audit", shop, "--format", "json", "-q", "--fail-on", "confirmed", code=1)
    assert json.loads(done.stdout)["verdicts"]["CONFIRMED"] >= 10


@pytest.mark.requirement("packages:wheel:data")
def test_every_preset_profile_lens_and_framing_is_there_and_in_order(clean: Clean, installed: Path) -> None:
    assert clean.run(installed, "validate").stderr.strip() == "0 errors, 0 warnings"


@pytest.mark.requirement("packages:installed:doctor")
def test_doctor_finds_nothing_missing(clean: Clean, installed: Path) -> None:
    done = clean.run(installed, "doctor", "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert [row for row in rows.values() if row["state"] == "missing"] == []
    assert "a kernel computes" in rows["kernels"]["detail"]


async def handshake(clean: Clean, installed: Path, root: Path) -> tuple[str, list[str], str]:
    """Return what the server calls itself, its tools, and its answer to a call, as the official client sees them."""
    server = StdioServerParameters(
        command=str(installed),
        args=["mcp", "--root", str(root)],
        env=clean.environment(),
        cwd=str(clean.folder),
    )
    async with Client(stdio_client(server)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("list_presets", {})
        return client.server_info.name, tools, str(answer.content[0])


@pytest.mark.asyncio
@pytest.mark.requirement("packages:installed:mcp")
async def test_the_official_client_shakes_hands_with_its_mcp_server(
    clean: Clean, installed: Path, shop: Path
) -> None:
    name, tools, presets = await handshake(clean, installed, shop)
    assert name == "treewright"
    assert {"tree_start", "audit_code", "search_start", "next_action"} <= set(tools)
    assert "brainstorm" in presets


@pytest.mark.requirement("packages:installed:lsp")
def test_its_language_server_initializes(clean: Clean, installed: Path, shop: Path) -> None:
    given = [f"{name}={value}" for name, value in clean.environment().items()]
    client = RawClient(("env", "-i", *given, str(installed), "lsp"), cwd=clean.folder)
    try:
        client.initialize(shop)
        assert client.seen[0]["result"]["serverInfo"]["version"] == treewright.__version__
        assert client.shut_down() == 0
    finally:
        client.close()


@pytest.mark.requirement("packages:wheel:uvx", "packages:wheel:extras")
def test_uvx_runs_it_from_an_index_with_the_extra_for_embedded_models(clean: Clean) -> None:
    uvx = (UV, "tool", "run", "-q", "--from", "treewright[local]")
    done = clean.run(*uvx, "treewright", "--version", **clean.installing())
    assert treewright.__version__ in done.stdout
    clean.run(*uvx, "python", "-c", "import xllamacpp", **clean.installing())


@pytest.mark.requirement("packages:wheel:pipx")
def test_pipx_runs_it_from_an_index(clean: Clean) -> None:
    done = clean.run(PIPX, "run", "--quiet", "treewright", "--version", **clean.installing())
    assert treewright.__version__ in done.stdout


@pytest.mark.requirement("packages:sdist:installs")
def test_the_source_archive_builds_and_installs_by_itself(
    clean: Clean, installed: Path, artefacts: Path, tmp_path: Path
) -> None:
    (archive,) = artefacts.glob("*.tar.gz")
    target = tmp_path / "target"
    pip = installed.with_name("pip")
    clean.run(pip, "install", "-q", "--no-deps", "--target", target, archive, **clean.installing())
    script = f"import sys; sys.path.insert(0, {str(target)!r}); import treewright; print(treewright.__file__)"
    assert clean.run(installed.with_name("python"), "-c", script).stdout.startswith(str(target))
    clean.run(installed.with_name("python"), "-m", "treewright", "validate", PYTHONPATH=str(target))
