"""The nash engine: equilibrium of the rating game, rounds, and the same result however tasks are spread."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.nash import NashRound, equilibria, select
from treewright.deliberate.ports import Endpoint, ModelTask, TaskPlan
from treewright.deliberate.specialists import Brief
from treewright.deliberate.utility import DIMENSIONS
from treewright.errors import ModelError
from treewright.performers.deliberation import EndpointDriver

ENDPOINT = {"endpoint": "http://127.0.0.1:1/v1", "engine": "nash", "model": "m"}


def rated(value: float) -> str:
    return json.dumps(dict.fromkeys(DIMENSIONS, value))


def answers(ratings: dict[str, float]) -> Callable[[ModelTask], str]:
    """Answer candidates with their task's number, ratings by the candidate's text in the prompt."""

    def answer(task: ModelTask) -> str:
        if task.kind == "rate":
            return rated(next(value for text, value in ratings.items() if text in task.prompt))
        return f"<{task.kind} {task.id.rpartition(':')[2]}>"

    return answer


def nash_desk(build: Any, driver: Any, **more: Any) -> tuple[Deliberation, str]:
    desk = build({"subagent": {**ENDPOINT, **more}}, driver=driver)
    return desk, desk.start_session("Why?", "subagent")["session_id"]


@pytest.mark.requirement("deliberation:nash:equilibrium")
@pytest.mark.parametrize(
    ("payoffs", "expected"),
    [
        ([[0.9, 0.1], [0.9, 0.1]], [0]),
        ([[0.9, 0.1], [0.1, 0.9]], []),
        ([[0.5, 0.55], [0.55, 0.5]], [0, 1]),
        ([[0.5, 0.56], [0.5, 0.5]], [1]),
        ([[0.7]], [0]),
    ],
)
def test_a_candidate_is_an_equilibrium_when_nobody_gains_more_than_epsilon_elsewhere(
    payoffs: list[list[float]], expected: list[int]
) -> None:
    assert equilibria(payoffs, 0.05) == expected


@pytest.mark.requirement("deliberation:nash:equilibrium")
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
def test_switching_away_from_an_equilibrium_never_gains_and_away_from_any_other_someone_gains(
    payoffs: list[list[float]],
) -> None:
    stable = equilibria(payoffs, 0.05)
    for candidate in range(len(payoffs)):
        gain = max(max(row) - row[candidate] for row in payoffs)
        assert (gain <= 0.05 + 1e-6) if candidate in stable else (gain > 0.05)
    assert select(range(len(payoffs)), [0.5] * len(payoffs)) == 0


@pytest.mark.requirement("deliberation:nash:begin-runs-a-round")
def test_begin_then_commit_is_enough_when_the_group_agrees(build: Any, scripted: Any) -> None:
    driver = scripted(answers({"<candidate 0>": 0.2, "<candidate 1>": 0.9, "<candidate 2>": 0.3}))
    desk, session_id = nash_desk(build, driver)
    reply = desk.begin_subagent_thought(session_id)
    assert (reply["winner"], reply["equilibrium_state"], reply["converged_reason"]) == (
        "Creativity", "in_equilibrium", "equilibrium",
    )  # fmt: skip
    assert sum(len(plan.tasks) for plan in driver.plans) == 3 + 9
    spent = len(driver.plans)
    assert desk.advance_subagent_round(session_id)["next_tool"] == "commit_subagent_thought"
    assert len(driver.plans) == spent, "nothing is spent once there is an equilibrium"
    assert desk.commit_subagent_thought(session_id)["converged_reason"] == "equilibrium"


@pytest.mark.requirement("deliberation:nash:improvement")
def test_without_an_equilibrium_specialists_improve_until_the_rounds_are_used(
    build: Any, scripted: Any
) -> None:
    def answer(task: ModelTask) -> str:
        if task.kind != "rate":
            return f"<{task.kind} {task.id}>"
        rater, candidate = task.id.rpartition(":")[2].split("-")
        return rated(0.9 if rater == candidate else 0.3)

    driver = scripted(answer)
    desk, session_id = nash_desk(build, driver)
    first = desk.begin_subagent_thought(session_id)
    assert (first["converged"], first["equilibrium_state"]) == (False, "preferred")
    assert first["next_tool"] == "advance_subagent_round"
    second = desk.advance_subagent_round(session_id)
    assert (second["converged_reason"], second["next_tool"]) == ("max_rounds", "commit_subagent_thought")
    improving = [task for plan in driver.plans for task in plan.tasks if task.kind == "improve"]
    assert len(improving) == 3
    assert all("The candidate the group prefers" in task.prompt for task in improving)
    assert desk.advance_subagent_round(session_id)["code"] == "round_budget_exhausted"


@pytest.mark.requirement("deliberation:nash:weights")
def test_a_heavier_voice_decides_between_candidates_in_its_stage() -> None:
    brief = Brief("t", "q", "Analysis", "", "", "", "", 0, ("Analysis", "Skeptic"), (1.5, 1.0))
    game = NashRound(brief, [])
    for number in range(2):
        game.accept(f"t:0:candidate:{number}", f"c{number}")
    for rater, candidate, value in ((0, 0, 0.2), (0, 1, 0.9), (1, 0, 0.9), (1, 1, 0.2)):
        game.accept(f"t:0:rate:{rater}-{candidate}", rated(value))
    outcome = game.outcome()
    assert outcome is not None
    assert [one.was_selected for one in outcome] == [False, True]
    assert outcome[1].utility_vector.mean == pytest.approx((1.5 * 0.9 + 0.2) / 2.5)


@pytest.mark.requirement("deliberation:nash:unreadable")
def test_an_unreadable_rating_is_asked_for_again_and_then_fails_the_round_without_loss(
    build: Any, scripted: Any
) -> None:
    broken = {"on": True}

    def answer(task: ModelTask) -> str:
        if task.kind == "rate":
            return "very good" if broken["on"] and task.id.endswith("1-1") else rated(0.9)
        return f"<{task.id}>"

    driver = scripted(answer)
    desk, session_id = nash_desk(build, driver)
    reply = desk.begin_subagent_thought(session_id)
    assert (reply["code"], reply["next_tool"]) == ("adapter_error", "advance_subagent_round")
    assert "manual" in reply["message"]
    tried = sum(task.id.endswith("rate:1-1") for plan in driver.plans for task in plan.tasks)
    assert tried == 3
    broken["on"] = False
    before = len(driver.plans)
    assert desk.advance_subagent_round(session_id)["converged"] is True
    assert [len(plan.tasks) for plan in driver.plans[before:]] == [1], (
        "what was answered is not paid for twice"
    )


@pytest.mark.requirement("deliberation:nash:unreadable")
def test_a_dead_endpoint_is_an_adapter_error_and_the_caller_can_play_by_hand(
    build: Any, scripted: Any
) -> None:
    desk, session_id = nash_desk(build, scripted(lambda _: None))
    assert desk.begin_subagent_thought(session_id)["code"] == "adapter_error"
    for number in range(3):
        reply = desk.advance_subagent_round(session_id, f"c{number}", json.loads(rated(0.9)))
        assert reply["ok"], reply
    assert reply["equilibrium_state"] == "best_mean"
    assert desk.commit_subagent_thought(session_id)["ok"]


@pytest.mark.requirement("deliberation:nash:unreadable")
def test_a_round_is_not_stored_when_the_thought_changed_while_models_were_thinking(
    build: Any, scripted: Any
) -> None:
    box: dict[str, Any] = {}

    def answer(task: ModelTask) -> str:
        if "desk" in box and not box.get("done"):
            box["done"] = True
            box["desk"].advance_subagent_round(box["id"], "by hand", json.loads(rated(0.4)))
        return rated(0.9) if task.kind == "rate" else f"<{task.id}>"

    desk, session_id = nash_desk(build, scripted(answer))
    box.update(desk=desk, id=session_id)
    reply = desk.begin_subagent_thought(session_id)
    assert reply["code"] == "state_changed"
    assert len(desk.inspect_utility_matrix(session_id)["matrix"]) == 1


class Endpoints:
    """A completer that records who was called; some endpoints fail."""

    def __init__(self, dead: frozenset[str] = frozenset()) -> None:
        self.dead = dead
        self.calls: list[tuple[str, str]] = []
        self.active = 0
        self.most_at_once = 0

    async def __call__(self, task: ModelTask, endpoint: Endpoint | None) -> str:
        import asyncio

        url = endpoint.url if endpoint else "provider"
        self.calls.append((task.id, url))
        self.active += 1
        self.most_at_once = max(self.most_at_once, self.active)
        await asyncio.sleep(0)
        self.active -= 1
        if url in self.dead:
            raise ModelError("model_unreachable", f"{url} is down")
        return rated((len(task.id) * 7 % 10) / 10) if task.kind == "rate" else f"answer to {task.id}"


@pytest.mark.requirement("deliberation:nash:endpoints")
def test_several_endpoints_work_at_once_and_one_in_sequence_with_the_same_result(build: Any) -> None:
    documents = []
    for urls in (["http://a"], ["http://a", "http://b", "http://c"]):
        completer = Endpoints()
        desk, session_id = nash_desk(build, EndpointDriver(completer), endpoint="", endpoints=urls)
        assert desk.begin_subagent_thought(session_id)["ok"]
        rows = desk.inspect_utility_matrix(session_id)["matrix"]
        documents.append([{**row, "text": None} for row in rows])
        assert {url for _, url in completer.calls} == set(urls)
        assert completer.most_at_once == len(urls)
    assert documents[0] == documents[1]


@pytest.mark.requirement("deliberation:nash:endpoints")
@pytest.mark.parametrize("fallback", [True, False])
def test_what_a_dead_endpoint_fails_at_is_tried_on_the_others_if_configured(fallback: bool) -> None:
    completer = Endpoints(frozenset({"http://a"}))
    urls = [Endpoint(f"http://{name}", "m", 1.0, True) for name in "ab"]
    tasks = [ModelTask(f"t{number}", "draft", "p", 0.0) for number in range(4)]
    found = EndpointDriver(completer).perform(TaskPlan(tasks, urls, fallback))
    assert sorted(found.texts) == (["t0", "t1", "t2", "t3"] if fallback else ["t1", "t3"])
    assert sorted(found.faults) == ([] if fallback else ["t0", "t2"])
