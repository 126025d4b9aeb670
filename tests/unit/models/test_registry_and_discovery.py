"""From a name to a provider, and what answers where."""

import json

import pytest

from tests.unit.models.loopback import Loopback, Reply, chat, error
from treewright.errors import ModelError
from treewright.models.discover import FoundModel, Target, discover, look_at
from treewright.models.memory import Dialect, EndpointMemory, Speed
from treewright.models.prices import PriceKind
from treewright.models.provider import Message, Provider, Request
from treewright.models.registry import Surroundings, build, read_settings
from treewright.models.secrets import Key
from treewright.models.spend import CapGate, Metered

NONE = read_settings({})
KEYED = Surroundings(
    environment={"OPENAI_API_KEY": "vendor-key-0001", "ANTHROPIC_API_KEY": "vendor-key-0002"}
)


@pytest.mark.requirement("models:name:forms")
@pytest.mark.parametrize(
    ("name", "kind", "endpoint", "model", "price"),
    [
        ("openai:gpt-4o-mini", "openai", "https://api.openai.com", "gpt-4o-mini", PriceKind.KNOWN),
        ("openai:gpt-99", "openai", "https://api.openai.com", "gpt-99", PriceKind.UNKNOWN),
        (
            "anthropic:claude-haiku-4-5",
            "anthropic",
            "https://api.anthropic.com",
            "claude-haiku-4-5",
            PriceKind.KNOWN,
        ),
        ("ollama:qwen2.5:7b", "openai", "http://127.0.0.1:11434", "qwen2.5:7b", PriceKind.FREE),
        ("http://127.0.0.1:8080/v1#m/x", "openai", "http://127.0.0.1:8080", "m/x", PriceKind.FREE),
        ("http://[::1]:8080/v1", "openai", "http://[::1]:8080", "", PriceKind.FREE),
        ("https://gate.example/v1#m", "openai", "https://gate.example", "m", PriceKind.UNKNOWN),
    ],
)
def test_a_name_says_where_to_ask_and_what_it_costs(name, kind, endpoint, model, price):
    provider = build(name, NONE, KEYED)
    info = provider.info
    assert isinstance(provider, Provider)
    assert (info.name, info.kind, info.endpoint, info.model, info.price.kind) == (
        name,
        kind,
        endpoint,
        model,
        price,
    )


@pytest.mark.requirement("models:name:configured")
def test_configured_endpoints_have_names_a_default_and_other_models():
    table = {
        "default": "work",
        "endpoints": {
            "work": {
                "url": "https://llm.example/v1",
                "model": "big",
                "price": {"input": 1, "output": 2},
                "context_tokens": 32000,
                "idle_s": 9,
            },
            "free": {"url": "https://llm.example/v1", "model": "tiny", "price": "free"},
        },
    }
    settings = read_settings(table)
    assert build(None, settings, KEYED).info.name == "work"
    assert build("free", settings, KEYED).info.price.kind is PriceKind.FREE
    other = build("work#small", settings, KEYED)
    assert (other.info.model, other.info.context_tokens, other.wire.timeouts.idle_s) == ("small", 32000, 9)
    assert isinstance(build("work", settings, Surroundings(gate=CapGate(1.0))), Metered)


def test_the_version_may_be_left_out_of_an_address():
    for url in ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"):
        assert build(f"{url}#m", NONE, KEYED).wire.base_url == "http://127.0.0.1:8080/v1"
    assert build("http://127.0.0.1:8080/api/v3#m", NONE, KEYED).wire.base_url.endswith("/api/v3")


@pytest.mark.parametrize(
    ("name", "table", "code"),
    [
        (None, {}, "no_model"),
        ("wrok", {"endpoints": {"work": {"url": "https://x/v1", "model": "m"}}}, "model_unknown"),
        ("openai:", {}, "model_unknown"),
        ("banana:x", {}, "model_unknown"),
        ("editor", {}, "no_model"),
        ("https://gate.example/v1", {}, "model_settings_invalid"),
        ("https://u:p@gate.example/v1#m", {}, "endpoint_invalid"),
        ("local:/nowhere/x.gguf", {}, "local_model_missing"),
        ("hub:owner/repo/x.gguf", {}, "local_download_needs_consent"),
        ("hub:../../x.gguf", {}, "model_unknown"),
        ("scripted:/nowhere.json", {}, "script_invalid"),
        (
            "it",
            {"endpoints": {"it": {"url": "https://x/v1", "model": "m", "api_key_env": "UNSET"}}},
            "key_missing",
        ),
        ("it", {"endpoints": {"it": {"kind": "local"}}}, "model_settings_invalid"),
        (
            "it",
            {"endpoints": {"it": {"url": "https://x/v1", "model": "m", "price": "cheap"}}},
            "price_invalid",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_a_clear_error(name, table, code):
    with pytest.raises(ModelError) as caught:
        build(name, read_settings(table), Surroundings())
    assert caught.value.code == code and caught.value.hint


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(ModelError, match="did you mean 'work'"):
        build(
            "wrok",
            read_settings({"endpoints": {"work": {"url": "https://x/v1", "model": "m"}}}),
            Surroundings(),
        )


@pytest.mark.asyncio
async def test_a_script_file_is_a_provider(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps(
            [
                {"when": "weather", "text": {"rain": True}},
                {"text": "else", "times": None},
                {"text": "", "outcome": "overloaded"},
            ]
        ),
        encoding="utf-8",
    )
    provider = build(f"scripted:{script}", NONE, Surroundings())
    ask = [Request(messages=(Message.of("user", text),)) for text in ("the weather", "x", "the weather")]
    assert [(await provider.complete(request)).text for request in ask] == ['{"rain": true}', "else", "else"]


@pytest.mark.requirement("models:discover:what-answers")
@pytest.mark.asyncio
async def test_discovery_tells_model_servers_from_other_programs_and_from_silence():
    models = {
        "object": "list",
        "data": [{"id": "a", "max_model_len": 4096}, {"id": "b", "meta": {"n_ctx": 2048}}],
    }
    async with (
        Loopback([json_reply(models)]) as server,
        Loopback([json_reply({"hello": "world"})]) as other,
        Loopback([error(401, {"error": {"message": "Invalid API Key"}})]) as locked,
        Loopback([chat("x")]) as silent,
    ):
        gone = silent.url
        await silent.__aexit__()
        targets = [
            Target(name=name, url=url)
            for name, url in (
                ("it", server.url),
                ("other", other.url),
                ("locked", locked.url),
                ("gone", gone),
            )
        ]
        found = await discover(targets, usual=False)
    assert [entry.answers for entry in found] == [True, False, False, False]
    assert found[0].models == (FoundModel("a", 4096), FoundModel("b", 2048)) and found[0].latency_s > 0
    assert [entry.problem for entry in found[1:]] == [
        "what answers there is no model server (HTTP 200)",
        "it wants a key",
        "nothing listens there",
    ]


@pytest.mark.asyncio
async def test_discovery_sends_the_key_of_its_endpoint_only():
    async with Loopback([json_reply({"data": []})]) as server:
        found = await look_at(
            Target(name="x", url=server.url, key=Key("canary-000111", server.url), anthropic=True)
        )
    assert found.answers and found.models == ()
    assert server.asked[0].headers["x-api-key"] == "canary-000111" and server.asked[0].path == "/v1/models"


def json_reply(body) -> Reply:
    return Reply([json.dumps(body).encode()], headers={"content-type": "application/json"})


@pytest.mark.requirement("models:structured:found-out-once")
def test_what_was_found_out_survives_processes_damage_and_a_disk_that_refuses(tmp_path):
    path = tmp_path / "endpoints.json"
    first, second = EndpointMemory(path), EndpointMemory(path)
    first.learn("http://a", "m", dialect=Dialect(refused=frozenset({"json_schema"})))
    second.learn("http://b", "m", context_tokens=4096, speed=Speed(tokens_per_second=9, calls=1))
    third = EndpointMemory(path)
    assert third.facts("http://a", "m").dialect.structured == "json_object"
    assert second.facts("http://b", "m").context_tokens == 4096
    assert third.facts("http://b", "m").context_tokens is None, "the server may have a larger one by now"
    assert third.facts("http://b", "m").speed.tokens_per_second == 9
    path.write_text("{damaged", encoding="utf-8")
    assert EndpointMemory(path).facts("http://a", "m").dialect == Dialect()
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    EndpointMemory(blocked / "endpoints.json").learn("http://a", "m", context_tokens=1)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith("endpoints.json")] == [
        "endpoints.json"
    ]
