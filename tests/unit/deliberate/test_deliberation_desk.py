"""Deliberation as surfaces open it: the configuration's settings, shipped lenses, files, and endpoints over HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from treewright.app.context import Context
from treewright.app.deliberation import DeliberationDesk, deliberation_settings
from treewright.deliberate.ports import Endpoint
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.stages import lens_rotation, stage_table
from treewright.deliberate.utility import DIMENSIONS
from treewright.errors import ModelError
from treewright.models.registry import ModelsSettings, Surroundings
from treewright.performers.deliberation import endpoint_provider
from treewright.presets.lenses import load_lenses
from treewright.store.paths import find_root


class Endpoints(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint that rates everything 0.9 and remembers what reached it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str | None, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Answering(BaseHTTPRequestHandler):
    """Answers one chat completion, not streamed."""

    server: Endpoints

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.headers.get("Authorization"), body))
        prompt = body["messages"][-1]["content"]
        if "Rate this response from 0-10" in prompt:
            text = "9"
        elif "Dimensions:" in prompt:
            text = json.dumps(dict.fromkeys(DIMENSIONS, 0.9))
        else:
            text = f"An answer, number {len(self.server.seen)}."
        chunks = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        reply = {
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 5},
        }
        stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        sent = (stream if body.get("stream") else json.dumps(reply)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Endpoints]:
    """Return a running endpoint."""
    found = Endpoints()
    thread = threading.Thread(target=found.serve_forever, args=(0.02,))
    thread.start()
    yield found
    found.shutdown()
    thread.join(5)
    found.server_close()


def desk_with(server: Endpoints, config: str) -> DeliberationDesk:
    root = find_root()
    root.prepare()
    root.config.write_text(config, encoding="utf-8")
    models = ModelsSettings.model_validate(
        {
            "default": "mine",
            "endpoints": {"mine": {"url": server.url, "model": "m", "api_key": "sk-operator"}},
        }
    )
    around = Surroundings(environment={"OPENAI_API_KEY": "sk-other"})
    return DeliberationDesk(Context("cli"), lambda endpoint: endpoint_provider(endpoint, models, around))


@pytest.mark.requirement("deliberation:config:packaged")
def test_the_packaged_configuration_means_what_the_contract_says() -> None:
    configured = deliberation_settings(Context("cli").configuration())
    usual = DeliberationSettings()
    assert configured.subagent == usual.subagent
    assert configured.stages == usual.stages
    assert configured.modes == usual.modes
    assert configured.serial.model_copy(update={"default_lenses": []}) == usual.serial.model_copy(
        update={"default_lenses": []}
    )
    for stage in [*usual.stages.default, "Another"]:
        known = load_lenses().names()
        assert lens_rotation(stage, configured.serial.default_lenses, known) == lens_rotation(
            stage, usual.serial.default_lenses, known
        )
    assert set(load_lenses().names()) == set(stage_table().lens_order)


@pytest.mark.requirement("deliberation:nash:endpoints")
def test_the_nash_engine_runs_over_http_with_the_operators_key(server: Endpoints) -> None:
    config = f'[subagent]\nengine = "nash"\nendpoint = "{server.url}"\nmodel = "m"\n'
    with desk_with(server, config) as desk:
        session_id = desk.tools.start_session("Why?", "subagent")["session_id"]
        reply = desk.tools.begin_subagent_thought(session_id)
        assert reply["ok"], reply
        assert reply["equilibrium_state"] == "in_equilibrium"
    assert {key for key, _ in server.seen} == {"Bearer sk-operator"}
    assert len(server.seen) == 12


@pytest.mark.requirement("deliberation:start:override-endpoint-keyless")
def test_no_key_reaches_an_endpoint_that_the_session_chose(server: Endpoints) -> None:
    with desk_with(server, "") as desk:
        overrides = {"subagent": {"engine": "nash", "endpoint": server.url, "model": "m"}}
        session_id = desk.tools.start_session("Why?", "subagent", None, overrides)["session_id"]
        assert desk.tools.begin_subagent_thought(session_id)["ok"]
    assert {key for key, _ in server.seen} == {None}
    with pytest.raises(ModelError, match="must be an http address"):
        endpoint_provider(Endpoint("local:/x", "", 1.0, False), ModelsSettings(), Surroundings())


@pytest.mark.requirement("deliberation:autopilot:serial")
def test_autopilot_thinks_a_whole_session_through_over_http(server: Endpoints) -> None:
    config = "[autopilot]\nenabled = true\n[serial]\nfast_mode = true\n"
    with desk_with(server, config) as desk:
        session_id = desk.tools.start_session("Why?", "serial", "First, Last")["session_id"]
        for _ in range(2):
            reply = desk.tools.run_stage_autopilot(session_id)
            assert reply["ok"], reply
            desk.tools.advance_stage(session_id)
        assert desk.tools.next_action(session_id)["next_tool"] == "finalize_session"
    critiques = [
        body for _, body in server.seen if "Write the critique only" in body["messages"][-1]["content"]
    ]
    assert all(len(body["messages"][-1]["content"]) > 500 for body in critiques), (
        "the shipped lens is in the prompt"
    )


@pytest.mark.requirement("deliberation:necort:endpoint")
def test_the_necort_engine_runs_over_http_without_the_cores_own_fields(server: Endpoints) -> None:
    checkout = Path(__file__).parents[2] / "fixtures" / "necort_stand_in"
    config = (
        f'[subagent]\nengine = "necort"\nendpoint = "{server.url}"\nmodel = "m"\nnecort_path = "{checkout}"\n'
    )
    with desk_with(server, config) as desk:
        session_id = desk.tools.start_session("Why?", "subagent")["session_id"]
        reply = desk.tools.begin_subagent_thought(session_id)
        assert reply["ok"], reply
        assert reply["gate_value"] == pytest.approx(0.9)
        assert desk.tools.commit_subagent_thought(session_id)["ok"]
    assert len(server.seen) == 9
    assert not any("reasoning" in body for _, body in server.seen)
    assert {key for key, _ in server.seen} == {"Bearer sk-operator"}
