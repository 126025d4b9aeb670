"""The necort adapter: what it supplies to the core, what it takes from it, and what happens without it."""

import asyncio
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.ports import Endpoint
from treewright.deliberate.utility import DIMENSIONS
from treewright.errors import ModelError
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider
from treewright.performers.deliberation import ProviderChat
from treewright.performers.necort import PINNED_COMMIT, NecortNegotiator, fault_of, vendored_checkout

STAND_IN = str(Path(__file__).parents[2] / "fixtures" / "necort_stand_in")
ENDPOINT = Endpoint("http://127.0.0.1:1/v1", "m", 5.0, True)


class Model:
    """Answers each voice with a numbered text, and rates by the text."""

    def __init__(self, ratings: dict[str, str]) -> None:
        self.ratings = ratings
        self.calls: list[tuple[Sequence[dict[str, str]], float, Endpoint]] = []
        self.threads: set[int] = set()

    def __call__(
        self, messages: Sequence[dict[str, str]], temperature: float, endpoint: Endpoint, *, rating: bool
    ) -> str:
        self.calls.append((messages, temperature, endpoint))
        self.threads.add(threading.get_ident())
        assert rating is ("Rate this response" in messages[-1]["content"])
        content = messages[-1]["content"]
        if "Rate this response" in content:
            rated = content.rpartition("Response being rated:")[2] or content
            return next(value for text, value in self.ratings.items() if text in rated)
        assert "Improve your response" not in content, "improvements that nothing rates are not asked for"
        return f"answer {temperature:.1f}"


def run(model: Model, checkout: str = STAND_IN, endpoints: Sequence[Endpoint] = (ENDPOINT,)) -> Any:
    return NecortNegotiator(model).negotiate("Which cache?", 3, endpoints, checkout)


@pytest.mark.requirement("deliberation:necort:round")
def test_one_round_gives_rated_candidates_and_the_cores_choice() -> None:
    model = Model({"answer 0.7": "4", "answer 0.8": "9", "answer 0.9": "6"})
    found = run(model)
    assert found.candidates == ["answer 0.7", "answer 0.8", "answer 0.9"]
    assert found.ratings == pytest.approx([0.4, 0.9, 0.6])
    assert (found.selected, list(found.in_equilibrium)) == (1, [1])
    assert len(model.calls) == 3 + 6, "one round: three answers, six ratings, nothing else"


@pytest.mark.requirement("deliberation:necort:endpoint")
def test_only_messages_and_temperature_reach_the_configured_endpoints() -> None:
    other = Endpoint("http://127.0.0.1:2/v1", "m", 5.0, False)
    model = Model({"answer": "7"})
    run(model, endpoints=[ENDPOINT, other])
    assert {endpoint.url for _, _, endpoint in model.calls} == {ENDPOINT.url, other.url}
    assert all(set(message) == {"role", "content"} for messages, _, _ in model.calls for message in messages)


@pytest.mark.requirement("deliberation:necort:stdout")
def test_the_core_writes_nothing_to_the_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    run(Model({"answer": "7"}))
    assert capfd.readouterr() == ("", "")


@pytest.mark.requirement("deliberation:necort:unedited")
def test_importing_the_core_leaves_no_modules_or_paths_behind() -> None:
    before_modules, before_path = set(sys.modules), list(sys.path)
    run(Model({"answer": "7"}))
    left = set(sys.modules) - before_modules
    assert not left & {"recursive_thinking_ai", "nash_recursive_thinking", "openai", "requests"}
    assert sys.path == before_path


@pytest.mark.requirement("deliberation:necort:ratings")
@pytest.mark.parametrize(
    ("said", "rating"),
    [("8 of 10", 0.8), ("**7**/10", 0.7), ("<think>10?</think> 3", 0.3), ("Score: 10", 1.0)],
)
def test_a_rating_is_the_first_number_of_the_reply(said: str, rating: float) -> None:
    assert run(Model({"answer": said})).ratings == pytest.approx([rating] * 3)


@pytest.mark.requirement("deliberation:necort:ratings")
@pytest.mark.parametrize("said", ["excellent", "85"])
def test_a_rating_that_is_none_is_a_failure_and_not_a_neutral_value(said: str) -> None:
    with pytest.raises(ModelError) as caught:
        run(Model({"answer": said}))
    assert caught.value.code == "model_bad_response"


@pytest.mark.requirement("deliberation:necort:ratings")
def test_a_model_that_can_be_held_to_a_shape_rates_with_one_number() -> None:
    provider = ScriptedProvider(
        [
            ScriptedAnswer(text='{"rating": 7}', when="Rate this", times=None),
            ScriptedAnswer(text="Cache.", times=None),
        ]
    )
    chat = ProviderChat(lambda _: provider, asyncio.run)
    found = NecortNegotiator(chat).negotiate("Which cache?", 3, [ENDPOINT], STAND_IN)
    assert found.ratings == pytest.approx([0.7] * 3)
    shaped = [request.schema is not None for request in provider.requests]
    assert shaped == [False] * 3 + [True] * 6


@pytest.mark.requirement("deliberation:necort:equilibrium-honest")
def test_a_choice_by_average_is_not_called_an_equilibrium() -> None:
    class Split(Model):
        def __call__(
            self, messages: Sequence[dict[str, str]], temperature: float, endpoint: Endpoint, *, rating: bool
        ) -> str:
            self.calls.append((messages, temperature, endpoint))
            if "Rate this response" not in messages[-1]["content"]:
                return f"answer {temperature:.1f}"
            number = len(self.calls) - 4
            return ["9", "1", "1", "9", "8", "1"][number]

    found = run(Split({}))
    assert list(found.in_equilibrium) == []
    assert 0 <= found.selected < 3


@pytest.mark.requirement("deliberation:necort:off-the-event-loop")
def test_the_blocking_core_runs_off_the_event_loop() -> None:
    model = Model({"answer": "7"})
    loop_threads: set[int] = set()

    async def main() -> Any:
        loop_threads.add(threading.get_ident())
        return await NecortNegotiator(model).negotiate_async("Which?", 3, [ENDPOINT], STAND_IN)

    assert asyncio.run(main()).selected == 0
    assert not model.threads & loop_threads


@pytest.mark.requirement("deliberation:necort:failed-call")
def test_a_failed_call_is_raised_and_never_becomes_an_answer() -> None:
    def dead(messages: Any, temperature: float, endpoint: Endpoint, *, rating: bool) -> str:
        raise ModelError("model_unreachable", "the endpoint is down")

    with pytest.raises(ModelError, match="down"):
        NecortNegotiator(dead).negotiate("Which?", 3, [ENDPOINT], STAND_IN)


BROKEN = {
    "syntax": "def broken(:\n",
    "missing class": "x = 1\n",
    "raises": "raise RuntimeError('no')\n",
    "exits": "raise OSError('no')\n",
    "other class": "class NashEquilibriumRecursiveChat:\n    pass\n",
}


@pytest.mark.requirement("deliberation:necort:absent-or-broken")
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_core_is_told_and_does_not_crash(tmp_path: Path, case: str) -> None:
    (tmp_path / "recursive_thinking_ai.py").write_text("", encoding="utf-8")
    (tmp_path / "nash_recursive_thinking.py").write_text(BROKEN[case], encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        run(Model({}), str(tmp_path))
    assert caught.value.code == "necort_broken"
    assert "recursive_thinking_ai" not in sys.modules


@pytest.mark.requirement("deliberation:necort:absent-or-broken")
def test_an_absent_core_is_told(tmp_path: Path) -> None:
    assert fault_of(str(tmp_path)) == "The necort core is not there."
    assert fault_of(STAND_IN) == ""


def necort_desk(
    build: Callable[..., Deliberation], model: Any, checkout: str = STAND_IN
) -> tuple[Deliberation, str]:
    tables = {"engine": "necort", "endpoint": ENDPOINT.url, "necort_path": checkout}
    desk = build({"subagent": tables}, negotiator=NecortNegotiator(model))
    return desk, desk.start_session("Which cache?", "subagent")["session_id"]


@pytest.mark.requirement("deliberation:necort:dimensions")
def test_the_blended_rating_fills_three_dimensions_and_the_gate_is_correctness(build: Any) -> None:
    desk, session_id = necort_desk(build, Model({"answer 0.7": "4", "answer 0.8": "9", "answer 0.9": "6"}))
    reply = desk.begin_subagent_thought(session_id)
    assert (reply["winner"], reply["gate_value"], reply["converged"]) == ("Creativity", 0.9, True)
    row = desk.inspect_utility_matrix(session_id)["matrix"][1]
    filled = {name: row[name] for name in DIMENSIONS}
    assert {name for name, value in filled.items() if value == 0.9} == {"correctness", "clarity", "coverage"}
    assert {name for name, value in filled.items() if value == 0.5} == set(DIMENSIONS) - {
        "correctness",
        "clarity",
        "coverage",
    }
    assert desk.commit_subagent_thought(session_id)["ok"]


@pytest.mark.requirement("deliberation:necort:rounds-capped")
def test_rounds_are_capped_by_us_and_seeded_with_the_winner(build: Any) -> None:
    model = Model({"answer 0.7": "4", "answer 0.8": "6", "answer 0.9": "5"})
    desk, session_id = necort_desk(build, model)
    assert desk.begin_subagent_thought(session_id)["next_tool"] == "advance_subagent_round"
    assert desk.advance_subagent_round(session_id)["converged_reason"] == "max_rounds"
    assert desk.advance_subagent_round(session_id)["code"] == "round_budget_exhausted"
    assert len(model.calls) == 2 * 9
    assert "answer 0.8" in model.calls[9][0][-1]["content"]


@pytest.mark.requirement("deliberation:necort:absent-or-broken")
def test_without_the_core_the_tools_name_the_manual_path(build: Any, tmp_path: Path) -> None:
    desk, session_id = necort_desk(build, Model({}), str(tmp_path))
    reply = desk.begin_subagent_thought(session_id)
    assert (reply["code"], reply["next_tool"]) == ("adapter_error", "advance_subagent_round")
    assert "manual" in reply["message"]
    assert reply["prompt"]


@pytest.mark.may_skip_in_ci("the pinned core is a submodule that a clone without network does not have")
@pytest.mark.requirement("deliberation:necort:pinned-core")
def test_the_pinned_core_itself_runs_a_round(capfd: pytest.CaptureFixture[str]) -> None:
    if not (vendored_checkout() / "nash_recursive_thinking.py").is_file():
        pytest.skip("vendor/necort is not fetched; see docs/necort_deps.md")
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("numpy is not installed; see docs/necort_deps.md")
    found = run(Model({"answer 0.7": "4", "answer 0.8": "9", "answer 0.9": "6"}), "")
    assert found.ratings == pytest.approx([0.4, 0.9, 0.6])
    assert (found.selected, list(found.in_equilibrium)) == (1, [1])
    assert capfd.readouterr().out == ""


@pytest.mark.requirement("deliberation:necort:pin")
def test_the_pin_is_the_same_wherever_it_is_named() -> None:
    root = Path(__file__).parents[3]
    entry = subprocess.run(
        ["git", "ls-tree", "HEAD", "vendor/necort"],
        cwd=root,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    assert entry.split()[:3] == ["160000", "commit", PINNED_COMMIT]
    for name in ("docs/necort_deps.md", "LICENSE-NOTICES"):
        assert PINNED_COMMIT in (root / name).read_text(encoding="utf-8"), name
    modules = (root / ".gitmodules").read_text(encoding="utf-8")
    assert "https://github.com/PhialsBasement/Chain-of-Recursive-Thoughts" in modules
