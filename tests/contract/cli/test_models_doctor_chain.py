"""`treewright models`, `doctor`, `chain` and runs with a model, as a terminal user meets them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.contract.cli.terminal import Command
from tests.unit.performers.answering import Answerer
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, project


@pytest.mark.requirement("cli:models:list")
def test_models_shows_what_answers_and_never_a_key(treewright: Command, isolated_home: Path) -> None:
    with Endpoint() as endpoint:
        configure(isolated_home, endpoint.url, api_key='"sk-canary-0123456789"')
        (isolated_home / "treewright" / "config.toml").chmod(0o600)
        shown = treewright("models", "--format", "json")
        probed = treewright("models", "--probe")
    row = next(row for row in shown.json() if row["name"] == "loop")
    assert row["answers"] is True
    assert row["price"] == "free"
    assert row["context_tokens"] == 32_000
    assert shown.code == probed.code == 0
    assert "answered in" in probed.out
    assert "canary" not in shown.out + shown.err + probed.out + probed.err


@pytest.mark.requirement("cli:models:list")
def test_models_tells_what_to_do_when_nothing_answers(treewright: Command, isolated_home: Path) -> None:
    configure(isolated_home, "http://127.0.0.1:9/v1")
    shown = treewright("models")
    assert "loop: does not answer" in shown.out
    assert "audit" in shown.out


@pytest.mark.requirement("cli:models:doctor")
def test_doctor_finds_this_machine_in_order(treewright: Command) -> None:
    shown = treewright("doctor", "--format", "json", timeout=100)
    names = {row["name"]: row for row in shown.json()}
    assert {"python", "settings", "store", "git", "ruff", "kernels"} <= set(names)
    assert names["kernels"]["state"] == "good", names["kernels"]
    assert shown.code == 0, shown.out


@pytest.mark.requirement("cli:models:doctor")
def test_doctor_names_a_fault_and_the_command_that_mends_it(treewright: Command, isolated_home: Path) -> None:
    folder = isolated_home / "treewright"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[explore]\nconcurency = 3\n", encoding="utf-8")
    shown = treewright("doctor", timeout=100)
    assert shown.code == 1
    assert "MISSING" in shown.out
    assert "concurrency" in shown.out
    (folder / "config.toml").write_text(
        '[providers.x]\nkind = "openai"\nendpoint = "https://example.org/v1"\nmodel = "m"\napi_key = "sk-secret-1234567890"\n',
        encoding="utf-8",
    )
    (folder / "config.toml").chmod(0o644)
    exposed = treewright("doctor", timeout=100)
    assert exposed.code == 1
    assert "chmod 600" in exposed.out
    assert "sk-secret" not in exposed.out + exposed.err


@pytest.mark.requirement("exploration:ending:estimate")
def test_a_run_with_a_model_that_costs_shows_an_estimate_before_it_starts(
    treewright: Command, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url, price_in_usd=0.5, price_out_usd=1.5)
        done = treewright(
            "brainstorm", "How do builds stay fast?", "--model", model, "--rounds", "1", cwd=folder
        )
    assert done.code == 0, done.err
    assert "a round on one node:" in done.err
    assert "USD" in done.err


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("performers:chain:cli")
def test_chain_runs_whole_and_prints_its_stages(
    treewright: Command, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(score=3)) as endpoint:
        model = configure(isolated_home, endpoint.url)
        done = treewright(
            "chain",
            "How do builds stay fast?",
            "--model",
            model,
            "--rounds",
            "1",
            "--top-k",
            "1",
            "--stages",
            "brainstorm,design,attack",
            cwd=folder,
            timeout=300,
        )
        again = treewright("resume", "last", cwd=folder)
    assert done.code == 0, done.err
    assert done.out.count("seeded 1 of ") == 2, "each cut is told"
    assert "CHAIN_REPORT.md" in done.out
    assert again.code == 2


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("performers:chain:resumable")
def test_a_chain_stopped_by_ctrl_c_says_how_to_go_on_and_goes_on(
    treewright: Command, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(answer=Answerer(score=3), latency_s=0.1) as endpoint:
        model = configure(isolated_home, endpoint.url)
        command = [sys.executable, "-m", "treewright", "chain", "How do builds stay fast?", "--model", model]
        options = [
            "--rounds",
            "1",
            "--top-k",
            "1",
            "--stages",
            "brainstorm,design",
            "--out",
            str(folder / "out"),
        ]
        child = subprocess.Popen(
            [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            deadline = time.monotonic() + 150
            while len(endpoint.delivered) < 5 and time.monotonic() < deadline:
                time.sleep(0.02)
            endpoint.fall_silent(flights=6)  # every answer that was delivered is taken by now
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
            endpoint.drop()
        assert child.returncode == 130, out
        assert f"treewright resume {folder / 'out'}" in out
        endpoint.latency_s = 0.0
        done = treewright("resume", str(folder / "out"), cwd=folder, timeout=200)
        assert done.code == 0, done.out + done.err
        assert len(endpoint.delivered) == len(set(endpoint.delivered)), "what was answered is not asked again"
