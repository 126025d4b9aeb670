"""Autopilot: the same loops driven by a provider, honouring the mode, resumable on any fault."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from treewright.deliberate.engine import Deliberation
from treewright.deliberate.ports import ModelTask
from treewright.deliberate.utility import DIMENSIONS

ON = {"autopilot": {"enabled": True, "endpoint": "http://127.0.0.1:1/v1", "model": "m", "temperature": 0.3}}
SEVEN = json.dumps(dict.fromkeys(DIMENSIONS, 0.6))


def model(task: ModelTask) -> str:
    if task.scores_wanted:
        return f"```json\n{SEVEN}\n```"
    return hashlib.sha256(task.id.encode()).hexdigest()


def started(build: Any, driver: Any, mode: str = "serial", **tables: Any) -> tuple[Deliberation, str]:
    desk = build({**ON, **tables}, driver=driver)
    return desk, desk.start_session("Why?", mode, "First, Last")["session_id"]


@pytest.mark.requirement("deliberation:autopilot:off")
def test_when_off_the_tools_do_not_exist(build: Callable[..., Deliberation], scripted: Any) -> None:
    desk = build(driver=scripted(model))
    assert not [name for name in desk.tool_names() if "autopilot" in name]
    session_id = desk.start_session("Why?", "serial")["session_id"]
    assert desk.call("run_stage_autopilot", {"session_id": session_id})["code"] == "unknown_tool"
    assert desk.run_stage_autopilot(session_id)["code"] == "autopilot_unavailable"
    assert "run_stage_autopilot" in build(ON).tool_names()


@pytest.mark.requirement("deliberation:autopilot:off")
def test_the_engine_imports_no_network_code() -> None:
    script = (
        "import sys, treewright.deliberate.engine as e\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'httpx', 'requests', 'asyncio', 'http', 'urllib3', 'portalocker'}, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.requirement("deliberation:autopilot:serial")
def test_it_drives_a_thought_from_its_draft_to_its_commit(build: Any, scripted: Any) -> None:
    driver = scripted(model)
    desk, session_id = started(build, driver)
    reply = desk.run_stage_autopilot(session_id, "first")
    assert reply["ok"], reply
    assert (reply["converged_reason"], reply["next_tool"]) == ("diminishing_returns", "advance_stage")
    kinds = [task.kind for plan in driver.plans for task in plan.tasks]
    assert kinds == ["draft"] + ["critique", "refine", "score"] * 3
    assert {
        (endpoint.url, endpoint.use_operator_key) for plan in driver.plans for endpoint in plan.endpoints
    } == {("http://127.0.0.1:1/v1", True)}
    again = desk.run_stage_autopilot(session_id, initial_content="A draft of the user's.")
    assert again["ok"]
    assert "A draft of the user's." in desk.render_session(session_id)["markdown"]
    assert desk.summarize_session(session_id)["thoughts"] == 2


@pytest.mark.requirement("deliberation:autopilot:subagent")
def test_it_plays_the_specialists_of_a_manual_session(build: Any, scripted: Any) -> None:
    driver = scripted(model)
    desk, session_id = started(build, driver, "subagent")
    reply = desk.run_subagent_autopilot(session_id)
    assert reply["ok"], reply
    kinds = [task.kind for plan in driver.plans for task in plan.tasks]
    assert kinds == ["candidate", "score"] * 6
    assert reply["converged_reason"] == "max_rounds"


@pytest.mark.requirement("deliberation:autopilot:subagent")
def test_it_lets_an_engine_with_an_endpoint_do_its_rounds(build: Any, scripted: Any) -> None:
    driver = scripted(model)
    tables = {"engine": "nash", "endpoint": "http://127.0.0.1:1/v1"}
    desk, session_id = started(build, driver, "subagent", subagent=tables)
    reply = desk.run_subagent_autopilot(session_id)
    assert reply["ok"], reply
    assert {task.kind for plan in driver.plans for task in plan.tasks} == {"candidate", "rate"}


@pytest.mark.requirement("deliberation:autopilot:mode-and-stage")
def test_it_honours_the_mode_and_the_stage(build: Any, scripted: Any) -> None:
    desk, session_id = started(build, scripted(model))
    assert desk.run_subagent_autopilot(session_id)["code"] == "wrong_mode"
    mismatch = desk.run_stage_autopilot(session_id, "Last")
    assert (mismatch["code"], mismatch["next_tool"]) == ("stage_mismatch", "begin_thought")
    unset = desk.start_session("Why?")["session_id"]
    assert desk.run_stage_autopilot(unset)["code"] == "mode_required"


@pytest.mark.requirement("deliberation:autopilot:faults")
@pytest.mark.parametrize("kind", ["draft", "critique", "refine", "score"])
def test_a_fault_stops_it_with_a_directive_and_it_resumes_where_it_stopped(
    build: Any, scripted: Any, kind: str
) -> None:
    down = {"on": True}
    driver = scripted(lambda task: None if down["on"] and task.kind == kind else model(task))
    desk, session_id = started(build, driver)
    reply = desk.run_stage_autopilot(session_id)
    assert (reply["code"], reply["ok"]) == ("autopilot_incomplete", False)
    assert reply["next_tool"] == desk.next_action(session_id)["next_tool"]
    down["on"] = False
    before = len(driver.plans)
    assert desk.run_stage_autopilot(session_id)["ok"]
    assert driver.plans[before].tasks[0].kind == kind, "nothing that was done is done again"


@pytest.mark.requirement("deliberation:autopilot:faults")
def test_an_answer_that_cannot_be_used_is_asked_for_again_with_the_fault(build: Any, scripted: Any) -> None:
    tries: list[str] = []

    def stubborn(task: ModelTask) -> str:
        if task.kind != "score":
            return model(task)
        tries.append(task.prompt)
        return "good, I think" if len(tries) < 3 else SEVEN

    desk, session_id = started(build, scripted(stubborn), serial={"fast_mode": True})
    assert desk.run_stage_autopilot(session_id)["ok"]
    assert "could not be used" in tries[1]
    assert len(tries[2]) < len(tries[1]) + 50, "prompts do not grow with each try"
    hopeless, other = started(build, scripted(lambda task: "good" if task.scores_wanted else model(task)))
    assert hopeless.run_stage_autopilot(other)["code"] == "autopilot_incomplete"
    assert hopeless.next_action(other)["situation"] == "serial_score"


@pytest.mark.requirement("deliberation:autopilot:faults")
def test_without_a_provider_it_is_unavailable(build: Any) -> None:
    desk, session_id = started(build, None)
    reply = desk.run_stage_autopilot(session_id)
    assert (reply["code"], reply["next_tool"]) == ("autopilot_unavailable", "begin_thought")


@pytest.mark.requirement("deliberation:autopilot:faults")
def test_a_finalised_session_is_not_driven(build: Any, scripted: Any) -> None:
    desk, session_id = started(build, scripted(model))
    desk.finalize_session(session_id)
    assert desk.run_stage_autopilot(session_id)["code"] == "session_finalized"
