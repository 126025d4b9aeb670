"""What can go wrong with a model, and what becomes of the run."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.unit.performers.answering import Answerer
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, events, grow, project, request
from treewright.app.request import ResumeRequest
from treewright.app.treewright import Treewright
from treewright.errors import CapError
from treewright.store.run_folder import JOURNAL, RunReader
from treewright.tree.event import NodeChecked, RoundClosed, RoundStarted, StatusChanged, TaskFailed
from treewright.tree.run import Status

ENDED = (Status.CONVERGED, Status.ROUNDS_EXHAUSTED)
HEDGES = {
    "en": "Probably it is",
    "zh": "这大概是",
    "ja": "おそらくこれは",
    "ko": "아마도 이것은",
    "es": "Probablemente es",
    "fr": "C'est probablement",
    "de": "Es ist wahrscheinlich",
    "pt": "Provavelmente é",
    "ru": "Вероятно, это",
}
DEFERRALS = {
    "en": "This is left for future work:",
    "zh": "留待以后研究",
    "ja": "今後の課題とする",
    "ko": "향후 연구 과제로 남긴다",
    "es": "Queda para trabajo futuro",
    "fr": "Ce sont des travaux futurs",
    "de": "Es bleibt noch zu klären, ob",
    "pt": "Fica para trabalhos futuros",
    "ru": "Это требует дальнейшего изучения",
}


def in_language(language: str, phrase: str, folder: Path, home: Path) -> set[str]:
    """Grow a design whose answers hold a phrase until a fault is named; return the rules that were broken."""
    with Endpoint(answer=Answerer(phrase=phrase)) as endpoint:
        model = configure(home, endpoint.url)
        outcome = grow(Treewright("cli"), request("design", folder, model, lang=language))
    assert outcome.status in ENDED, outcome.reason
    checked = [event for event in events(outcome.folder) if isinstance(event, NodeChecked)]
    last = {event.node: event for event in checked}
    assert all(not event.violations for event in last.values())
    return {violation.rule for event in checked for violation in event.violations}


@pytest.mark.parametrize("language", HEDGES)
@pytest.mark.requirement("performers:model:hedges-sent-back")
def test_a_hedge_is_sent_back_in_each_language(language: str, tmp_path: Path, isolated_home: Path) -> None:
    assert "F1" in in_language(language, HEDGES[language], project(tmp_path / "project"), isolated_home)


@pytest.mark.parametrize("language", DEFERRALS)
@pytest.mark.requirement("performers:model:deferrals-sent-back")
def test_a_deferral_is_sent_back_in_each_language(language: str, tmp_path: Path, isolated_home: Path) -> None:
    assert "F8" in in_language(language, DEFERRALS[language], project(tmp_path / "project"), isolated_home)


@pytest.mark.parametrize("language", ["en", "zh", "de"])
@pytest.mark.requirement("performers:model:quotes-not-sent-back")
def test_quoted_and_code_text_is_not_sent_back(language: str, tmp_path: Path, isolated_home: Path) -> None:
    phrase = f"The line says `{DEFERRALS[language]}` and “{HEDGES[language]}” beside it, as"
    assert in_language(language, phrase, project(tmp_path / "project"), isolated_home) == set()


def repeated(endpoint: Endpoint) -> list[str]:
    """Return the prompts that were answered more than once."""
    seen = endpoint.delivered
    return [prompt for prompt in set(seen) if seen.count(prompt) > 1]


@pytest.mark.requirement("performers:model:storm-pauses")
def test_a_storm_of_429_pauses_the_run_and_resuming_repeats_no_paid_call(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url)
        app = Treewright("cli")
        made = app.start(request("brainstorm", folder, model))

        def storm(_: object) -> None:
            if len(endpoint.delivered) >= 5:
                endpoint.refuse = -1

        paused = asyncio.run(made.drive(storm))
        assert paused.status is Status.PAUSED
        assert "model_overloaded" in paused.reason
        endpoint.refuse = 0
        outcome = grow(app, ResumeRequest(run=str(paused.folder)))
        assert outcome.status in ENDED
        assert not repeated(endpoint)
        assert len(RunReader(outcome.folder).tree.nodes) > 12


@pytest.mark.requirement("performers:model:dead-endpoint")
def test_an_endpoint_that_dies_pauses_the_run_and_its_return_continues_it(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as first:
        made = Treewright("cli").start(request("brainstorm", folder, configure(isolated_home, first.url)))

        def die(_: object) -> None:
            if len(first.delivered) >= 5:
                first.die()

        paused = asyncio.run(made.drive(die))
        answered = set(first.delivered)
    assert paused.status is Status.PAUSED, paused.reason
    with Endpoint() as second:
        configure(isolated_home, second.url)
        outcome = grow(Treewright("cli"), ResumeRequest(run=str(paused.folder)))
        assert outcome.status in ENDED
        assert not answered & set(second.delivered)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("performers:model:killed")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill-9", "ctrl-c"])
def test_a_run_that_is_cut_off_resumes_without_repeating_an_answered_call(
    how: signal.Signals, tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint(latency_s=0.05) as endpoint:
        model = configure(isolated_home, endpoint.url, context_tokens=4096)
        command = [
            sys.executable,
            "-m",
            "treewright",
            "brainstorm",
            "How do builds stay fast?",
            "--model",
            model,
        ]
        out = folder / "out"
        arguments = [*command, "--rounds", "1", "--out", str(out), "--quiet"]
        child = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 150
            while len(endpoint.delivered) < 25 and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.01)
            endpoint.fall_silent(flights=6)  # every answer that was delivered is taken by now
            os.kill(child.pid, how)
            code = child.wait(60)
        finally:
            child.kill()
            child.wait()
            endpoint.drop()
        assert code in (130, -9)
        before = len(endpoint.delivered)
        outcome = grow(Treewright("cli"), ResumeRequest(run=str(out)))
        assert outcome.status in ENDED
        assert before >= 20
        assert not repeated(endpoint)
        assert len(endpoint.delivered) == len(set(endpoint.delivered)), "what was answered is not asked again"


@pytest.mark.slow
@pytest.mark.requirement("performers:model:concurrency")
def test_twelve_framings_are_in_flight_together_and_never_more_than_asked(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    for concurrency, most in ((12, 12), (3, 3)):
        with Endpoint(latency_s=0.8) as endpoint:
            model = configure(isolated_home, endpoint.url)
            wanted = request(
                "brainstorm", folder, model, concurrency=concurrency, out=str(folder / f"out{most}")
            )
            grow(Treewright("cli"), wanted)
            assert endpoint.most_together() == most


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("performers:model:concurrency-pays")
def test_a_round_with_four_at_once_takes_under_three_tenths_of_one_at_a_time(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    took = {}
    for concurrency in (1, 4):
        with Endpoint(answer=Answerer(tamper=three_more), latency_s=1.5) as endpoint:
            model = configure(isolated_home, endpoint.url)
            wanted = request(
                "brainstorm", folder, model, concurrency=concurrency, out=str(folder / f"c{concurrency}")
            )
            grow(Treewright("cli"), wanted)
            assert endpoint.most_together() == concurrency
        took[concurrency] = round_seconds(folder / f"c{concurrency}")
    assert took[4] < 0.3 * took[1], took


def three_more(answer: dict[str, Any], prompt: str) -> dict[str, Any]:
    """Let three framings bring a second proposal: with the two of E, the round has 16 nodes and 12 framings, multiples of four."""
    if "proposals" in answer and any(f"## Framing {letter}:" in prompt for letter in "ABC"):
        first = answer["proposals"][0]
        answer["proposals"].append({**first, "statement": f"Another way: {first['statement'][::-1]}"})
    return answer


def round_seconds(folder: Path) -> float:
    """Return how long a run's first round took, by its journal: what comes before and after it is one call at a time."""
    moments = {
        type(event): event.at for event in events(folder) if isinstance(event, RoundStarted | RoundClosed)
    }
    return (moment(moments[RoundClosed]) - moment(moments[RoundStarted])).total_seconds()


def moment(stamp: str) -> datetime:
    """Return the time of an event."""
    return datetime.fromisoformat(stamp)


@pytest.mark.requirement("performers:model:canary")
def test_a_key_never_reaches_the_journal_an_output_a_log_or_another_endpoint(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    canary = "sk-canary-0123456789abcdef"
    with Endpoint() as endpoint, Endpoint() as other:
        model = configure(isolated_home, endpoint.url, api_key=json.dumps(canary))
        config = isolated_home / "treewright" / "config.toml"
        text = config.read_text(encoding="utf-8")
        config.write_text(
            text + f'[providers.other]\nkind = "openai"\nendpoint = "{other.url}"\nmodel = "m"\n',
            encoding="utf-8",
        )
        config.chmod(0o600)
        outcome = grow(Treewright("cli"), request("brainstorm", folder, model))
        endpoint.refuse = -1
        failed = grow(Treewright("cli"), request("design", folder, model))
        grow(Treewright("cli"), request("attack", folder, "other"))
        assert any(canary in call.key for call in endpoint.calls)
        assert not any(canary in call.key or canary in call.prompt for call in other.calls)
    assert failed.status is Status.PAUSED
    assert canary not in failed.reason
    for path in [*outcome.folder.parent.rglob("*"), *(isolated_home / "treewright").rglob("*")]:
        if path.is_file() and path != config:
            assert canary.encode() not in path.read_bytes(), path


@pytest.mark.requirement("exploration:ending:spend-cap")
def test_at_the_cap_a_run_pauses_lists_what_is_unfinished_and_goes_on_with_a_higher_one(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url, price_in_usd=1.0, price_out_usd=1.0)
        app = Treewright("cli")
        capped = grow(app, request("brainstorm", folder, model, spend_cap_usd=0.03, concurrency=2))
        assert capped.status is Status.SPEND_CAP_REACHED
        tree = RunReader(capped.folder).tree
        assert 0 < tree.spend.usd <= 0.03
        last = [event for event in events(capped.folder) if isinstance(event, StatusChanged)][-1]
        assert last.details["unfinished"]
        outcome = grow(app, ResumeRequest(run=str(capped.folder), spend_cap_usd=20.0))
        assert outcome.status in ENDED
        assert not repeated(endpoint)


@pytest.mark.requirement("performers:model:unknown-price")
def test_a_model_of_unknown_price_is_refused_before_anything_is_sent(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    home = isolated_home / "treewright"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        '[providers.far]\nkind = "openai"\nendpoint = "https://models.example.org/v1"\nmodel = "m"\n',
        encoding="utf-8",
    )
    with pytest.raises(CapError) as refused:
        Treewright("cli").start(request("brainstorm", folder, "far"))
    assert refused.value.code == "price_unknown"
    assert not (folder / "out").exists()


@pytest.mark.requirement("performers:model:no-endless-repair")
def test_a_model_that_never_fits_ends_with_typed_failures_and_a_named_status(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    answer = Answerer(tamper=lambda data, prompt: {"nonsense": True} if "# Task: propose" in prompt else data)
    with Endpoint(answer=answer) as endpoint:
        model = configure(isolated_home, endpoint.url)
        outcome = grow(Treewright("cli"), request("brainstorm", folder, model))
        assert len(endpoint.calls) < 300
    assert outcome.status is Status.EARLY_STOP
    failed = [event for event in events(outcome.folder) if isinstance(event, TaskFailed)]
    assert failed
    assert {event.code for event in failed} == {"model_unfit"}
    assert all("nonsense" in event.raw for event in failed)


@pytest.mark.requirement("performers:model:disk-full")
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    out = folder / "out"
    with Endpoint(latency_s=0.02) as endpoint:
        model = configure(isolated_home, endpoint.url)
        script = (
            "import resource, sys\n"
            "from treewright.surfaces.cli.main import run\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))\n"
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            f"run(['brainstorm', 'How do builds stay fast?', '--model', {model!r}, '--rounds', '1', '--out', {str(out)!r}, '--quiet'])\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 5, done.stderr
        assert "Traceback" not in done.stderr
        assert (out / JOURNAL).stat().st_size <= 30000
        outcome = grow(Treewright("cli"), ResumeRequest(run=str(out)))
        assert outcome.status in ENDED
        assert len(repeated(endpoint)) <= 6
