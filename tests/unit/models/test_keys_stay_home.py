"""A key reaches its own endpoint and nothing else: no other endpoint, log, error, representation or file."""

import json
import logging
import pickle

import pytest

from tests.unit.models.loopback import Loopback, Reply, chat, data, error, provider_at
from treewright.errors import ModelError, TreewrightError
from treewright.models.discover import Target, discover
from treewright.models.memory import EndpointMemory
from treewright.models.provider import Message, Outcome, Request
from treewright.models.registry import Surroundings, build, read_settings
from treewright.models.secrets import Key, Origin, redact
from treewright.models.structured import ask

CANARY = "canary-5f1d0c77a9e84b21"
ASK = Request(messages=(Message.of("user", "Say hi."),), schema={"type": "object", "properties": {}})


@pytest.mark.asyncio
@pytest.mark.requirement("models:key:never-shown")
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_canary_key_appears_in_no_log_error_detail_file_or_representation(kind, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    echo = {
        "error": {
            "message": f"Incorrect API key provided: {CANARY}. Bearer {CANARY}",
            "type": "invalid_request_error",
        }
    }
    replies = [
        error(401, echo),
        error(400, echo),
        error(500, f"<html>{CANARY}</html>"),
        Reply([data(echo)]),
        Reply([b"<html>"], headers={"content-type": "text/html"}),
        error(302, "", location=f"https://elsewhere.example/?key={CANARY}"),
    ]
    shown: list[str] = []
    memory = EndpointMemory(tmp_path / "endpoints.json")
    for reply in replies:
        async with Loopback([reply]) as server:
            settings = read_settings(
                {"endpoints": {"it": {"kind": kind, "url": server.url, "model": "m", "api_key": CANARY}}}
            )
            provider = build("it", settings, Surroundings(memory=memory))
            done = await provider_with_fast_retries(provider).complete(ASK)
            assert done.outcome is not Outcome.COMPLETE
            header = "x-api-key" if kind == "anthropic" else "authorization"
            assert CANARY in server.asked[0].headers[header]
            assert CANARY not in server.asked[0].path and CANARY not in json.dumps(server.asked[0].body)
            shown += [
                repr(done),
                done.detail,
                repr(provider),
                repr(provider.wire),
                repr(settings),
                str(settings),
            ]
            try:
                await ask(provider, ASK)
            except TreewrightError as caught:
                shown += [str(caught), repr(caught), caught.hint, json.dumps(caught.details)]
            await provider.close()
    memory.save()
    shown += [record.getMessage() for record in caplog.records]
    shown += [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert caplog.records, "the log that must not hold the key is really written"
    assert not [text for text in shown if CANARY in text]


def provider_with_fast_retries(provider):
    from tests.unit.models.loopback import FakeClock

    provider.wire.clock = FakeClock()
    return provider


@pytest.mark.requirement("models:key:bound-to-endpoint")
@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://api.example.com:8443/v1",
        "http://api.example.com/v1",
        "https://api.example.com.evil.net/v1",
        "https://evil.net/api.example.com/v1",
        "https://xapi.example.com/v1",
    ],
)
def test_a_key_is_not_handed_out_for_another_scheme_host_or_port(elsewhere):
    key = Key(CANARY, "https://API.example.com./v1")
    assert key.value_for("https://api.example.com:443/v1/other") == CANARY
    with pytest.raises(ModelError) as caught:
        key.value_for(elsewhere)
    assert caught.value.code == "key_bound_elsewhere" and CANARY not in str(caught.value)
    assert CANARY not in repr(key) and CANARY not in f"{key}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


@pytest.mark.asyncio
@pytest.mark.requirement("models:key:bound-to-endpoint")
async def test_a_redirect_is_not_followed_and_the_other_endpoint_sees_nothing():
    async with (
        Loopback([chat("stolen")]) as thief,
        Loopback([error(307, "", location=thief.url + "/chat/completions")]) as server,
    ):
        provider = provider_at(server.url, key=CANARY)
        done = await provider.complete(ASK)
        await provider.close()
        assert done.outcome is Outcome.BAD_REQUEST and "redirects" in done.detail
        assert thief.asked == []


@pytest.mark.asyncio
@pytest.mark.requirement("models:key:bound-to-endpoint")
async def test_of_two_endpoints_each_gets_its_own_key_and_one_without_gets_none():
    async with Loopback([chat("{}")]) as one, Loopback([chat("{}")]) as two, Loopback([chat("{}")]) as three:
        table = {
            "one": {"url": one.url, "model": "m", "api_key_env": "ONE_KEY"},
            "two": {"url": two.url, "model": "m"},
            "three": {"url": three.url, "model": "m"},
        }
        around = Surroundings(
            environment={"ONE_KEY": CANARY, "OPENAI_API_KEY": "vendor-key-0001"},
            handed_keys={"two": "handed-key-0002"},
        )
        for name in table:
            provider = build(name, read_settings({"endpoints": table}), around)
            await provider.complete(ASK)
            await provider.close()
        found = await discover([Target(name="three", url=three.url)], usual=False)
    assert one.asked[0].headers["authorization"] == f"Bearer {CANARY}"
    assert two.asked[0].headers["authorization"] == "Bearer handed-key-0002"
    assert all("authorization" not in asked.headers for asked in three.asked)
    assert len(found) == 1


@pytest.mark.requirement("models:key:encrypted")
def test_a_key_is_not_sent_unencrypted_to_another_machine_unless_that_is_allowed():
    table = {"url": "http://10.0.0.5:8000/v1", "model": "m", "api_key": CANARY}
    with pytest.raises(ModelError) as caught:
        build("lan", read_settings({"endpoints": {"lan": table}}), Surroundings())
    assert caught.value.code == "endpoint_insecure" and CANARY not in str(caught.value)
    build("lan", read_settings({"endpoints": {"lan": {**table, "allow_plain_http": True}}}), Surroundings())
    build("lan", read_settings({"endpoints": {"lan": {**table, "api_key": None}}}), Surroundings())


@pytest.mark.parametrize("value", ["", "  ", "two words", "line\nbreak", "schlüssel", "tab\there", "nul\0"])
def test_a_key_that_no_header_may_hold_is_refused_without_being_shown(value):
    with pytest.raises(ModelError) as caught:
        Key(value, "https://api.example.com")
    assert caught.value.code == "key_invalid"
    assert not value.strip() or value not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/v1",
        "api.example.com",
        "https://",
        "https://user:pw@host/v1",
        "https://host/v1?key=abc",
        "https://host:99999/",
        "https://[::1",
        "file:///x",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(url):
    with pytest.raises(ModelError) as caught:
        Origin.of(url)
    assert caught.value.code == "endpoint_invalid" and "pw" not in caught.value.message.split()


def test_what_looks_like_a_key_is_hidden_even_when_it_is_not_ours():
    text = redact("Incorrect key sk-proj-abcdefghijklmnop1234 and sk-ab****wxyz, Bearer abcdefgh12345")
    assert "abcdefghijklmnop" not in text and "wxyz" not in text and "abcdefgh12345" not in text


def test_header_values_of_the_settings_are_hidden_like_keys():
    table = {"url": "https://gate.example/v1", "model": "m", "headers": {"x-team": CANARY}}
    settings = read_settings({"endpoints": {"it": table}})
    provider = build("it", settings, Surroundings())
    assert CANARY not in repr(settings) and CANARY not in provider.wire.hide(f"no: {CANARY}")
    assert CANARY not in repr(provider.wire)


def test_a_fault_in_the_settings_never_shows_a_value():
    with pytest.raises(ModelError) as caught:
        read_settings({"endpoints": {"it": {"url": "https://x/v1", "api_key": [CANARY]}}})
    assert CANARY not in str(caught.value) and "api_key" in caught.value.message
    with pytest.raises(ModelError) as caught:
        read_settings({"endpoints": {"it": {"apikey": CANARY}}})
    assert caught.value.hint == "Did you mean api_key?" and CANARY not in str(caught.value)
