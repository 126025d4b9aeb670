"""What `[providers.NAME]` says of a model reaches the provider that is built."""

from pathlib import Path

import pytest

from treewright.app.providers import models_settings
from treewright.errors import CapError, ModelError
from treewright.models.provider import Message, Request
from treewright.models.registry import Surroundings, build
from treewright.models.spend import CapGate, Metered
from treewright.store.config import load_config

GGUF = b"GGUF" + b"\0" * 64


def configured(home: Path, text: str):
    folder = home / "treewright"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return models_settings(load_config())


@pytest.mark.requirement("models:settings:local")
def test_a_local_model_s_slots_threads_and_context_are_heeded(isolated_home: Path, tmp_path: Path) -> None:
    model = tmp_path / "small.gguf"
    model.write_bytes(GGUF)
    settings = configured(
        isolated_home,
        f'[providers.laptop]\nkind = "local"\nmodel = "{model.as_posix()}"\n'
        "slots = 3\nthreads = 2\ncontext_tokens = 4096\n",
    )
    endpoint = settings.endpoints["laptop"]
    assert (endpoint.path, endpoint.slots, endpoint.threads) == (model, 3, 2)
    info = build("laptop", settings, Surroundings()).info
    assert (info.concurrency, info.context_tokens) == (3, 4096)


@pytest.mark.requirement("models:settings:hub")
def test_a_hub_model_can_be_configured_and_is_not_downloaded_unasked(isolated_home: Path) -> None:
    settings = configured(
        isolated_home,
        '[providers.hub]\nkind = "hub"\nmodel = "someone/small-gguf/small-q4.gguf"\nslots = 2\n',
    )
    with pytest.raises(ModelError) as fault:
        build("hub", settings, Surroundings(models_folder=isolated_home))
    assert fault.value.code == "local_download_needs_consent"
    assert "hub:someone/small-gguf/small-q4.gguf" in (fault.value.hint or "")


@pytest.mark.requirement("models:settings:plain-http")
def test_a_key_goes_unencrypted_to_another_machine_only_where_the_user_says_so(isolated_home: Path) -> None:
    table = (
        '[providers.lan]\nkind = "openai"\nendpoint = "http://10.0.0.9:8000/v1"\nmodel = "m"\n'
        'api_key = "sk-0123456789"\nfree = true\n'
    )
    with pytest.raises(ModelError) as fault:
        build("lan", configured(isolated_home, table), Surroundings())
    assert fault.value.code == "endpoint_insecure"
    build("lan", configured(isolated_home, table + "allow_plain_http = true\n"), Surroundings())


@pytest.mark.requirement("models:settings:price-hint")
@pytest.mark.asyncio
async def test_the_hint_of_an_unknown_price_names_settings_that_exist(isolated_home: Path) -> None:
    table = '[providers.work]\nkind = "openai"\nendpoint = "https://llm.example.com/v1"\nmodel = "m"\n'
    provider = build("work", configured(isolated_home, table), Surroundings())
    with pytest.raises(CapError) as fault:
        await Metered(provider, CapGate(1.0)).complete(Request(messages=(Message.of("user", "hi"),)))
    assert fault.value.code == "price_unknown"
    for line in ("price_in_usd = 0.5\nprice_out_usd = 1.5\n", "free = true\n"):
        assert all(word.split(" ")[0] in (fault.value.hint or "") for word in line.splitlines())
        assert (
            build("work", configured(isolated_home, table + line), Surroundings()).info.price.kind.value
            != "unknown"
        )
