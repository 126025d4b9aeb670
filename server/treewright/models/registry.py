"""From settings and a name to a provider.

A name is an endpoint of the settings, or says by itself where to ask: `openai:MODEL`, `anthropic:MODEL`,
`ollama:MODEL`, `lmstudio:MODEL`, `llamacpp:MODEL`, `vllm:MODEL`, `http://host:port/v1#MODEL`, `local:/path.gguf`,
`hub:owner/repository/file.gguf`, `scripted:/path.json`, `editor` or `editor:MODEL`. `NAME#MODEL` takes another model
at a configured endpoint.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treewright.errors import ModelError
from treewright.models.anthropic import API_VERSION, AnthropicProvider
from treewright.models.editor import EditorProvider
from treewright.models.http_provider import HttpProvider
from treewright.models.memory import EndpointMemory
from treewright.models.openai import OpenAIProvider
from treewright.models.prices import FREE, Price, listed_price, price_from_setting
from treewright.models.provider import EditorCall, Provider, ProviderInfo
from treewright.models.secrets import Key, Origin, find_key
from treewright.models.spend import Metered, SpendGate
from treewright.models.wire import Timeouts, Wire

KNOWN_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
VENDOR_VARIABLES = {"api.openai.com": "OPENAI_API_KEY", "api.anthropic.com": "ANTHROPIC_API_KEY"}

Kind = Literal["openai", "anthropic", "local", "hub", "scripted", "editor"]


class EndpointSettings(BaseModel):
    """One endpoint; `[providers.NAME]` of the configuration, as `app.providers` hands it on.

    Attributes:
        kind: the protocol; with `url` alone it is `openai`.
        url: address up to the version, such as `http://127.0.0.1:11434/v1`; `/v1` may be left out.
        model: the model's name there.
        path: the file of a `local` or `scripted` one.
        api_key, api_key_env: the key, or the variable that holds it.
        allow_plain_http: send the key unencrypted to another machine on a network that you trust.
        headers: further headers; their values are kept out of every log like keys.
        price: `"free"`, or USD per million tokens: `{ input, output, cached_input?, cache_write? }`.
        context_tokens: the model's context size.
        concurrency: calls together.
        slots, threads: of a `local` one.
        connect_s, first_token_s, idle_s, total_s: time limits, seconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind = "openai"
    url: str | None = None
    model: str = ""
    path: Path | None = None
    api_key: str | None = Field(default=None, repr=False)
    api_key_env: str | None = None
    allow_plain_http: bool = False
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    price: str | dict[str, float] | None = None
    context_tokens: int | None = Field(default=None, ge=256)
    concurrency: int = Field(default=4, ge=1, le=256)
    slots: int = Field(default=2, ge=1, le=32)
    threads: int = Field(default=0, ge=0)
    connect_s: float = Field(default=10, gt=0)
    first_token_s: float = Field(default=180, gt=0)
    idle_s: float = Field(default=60, gt=0)
    total_s: float = Field(default=900, gt=0)

    @property
    def timeouts(self) -> Timeouts:
        """The time limits."""
        return Timeouts(
            connect_s=self.connect_s,
            first_token_s=self.first_token_s,
            idle_s=self.idle_s,
            total_s=self.total_s,
        )


class ModelsSettings(BaseModel):
    """The table `[models]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: str | None = None
    folder: Path | None = None
    endpoints: dict[str, EndpointSettings] = Field(default_factory=dict)


def read_settings(table: Mapping[str, Any]) -> ModelsSettings:
    """Return the settings that a `[models]` table holds.

    Raises:
        ModelError: `model_settings_invalid`; names the key, the nearest valid one, and never a value.
    """
    try:
        return ModelsSettings.model_validate(dict(table))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in ("models", *first["loc"]))
        hint = _nearest_key(str(first["loc"][-1])) if first["type"] == "extra_forbidden" else ""
        said = "is no setting" if hint or first["type"] == "extra_forbidden" else first["msg"].lower()
        raise ModelError("model_settings_invalid", f"{where}: {said}.", hint) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What providers need from outside.

    Attributes:
        environment: environment variables, for keys.
        handed_keys: keys by endpoint name, from the editor's secret storage.
        ask_editor: asks the editor's model; None without an editor.
        memory: what was found out about endpoints.
        gate: the spend cap; None sends without one.
        today: the day for which prices are looked up.
        models_folder: where downloaded models lie.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    handed_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    ask_editor: EditorCall | None = None
    memory: EndpointMemory = field(default_factory=EndpointMemory)
    gate: SpendGate | None = None
    today: date | None = None
    models_folder: Path | None = None


def build(name: str | None, settings: ModelsSettings, around: Surroundings) -> Provider:
    """Return the provider that a name stands for; nothing is sent or started yet.

    Args:
        name: see the module; None takes the default.
        settings: the `[models]` table.
        around: keys, editor, memory, spend gate.

    Raises:
        ModelError: `no_model`, `model_unknown`, `model_settings_invalid`, `endpoint_invalid`, `endpoint_insecure`,
            `key_missing`, `key_invalid`, `price_invalid`, or one of the local ones.
    """
    wanted = name or settings.default
    if not wanted:
        raise ModelError(
            "no_model",
            "This needs a language model, and none is configured.",
            "Name one with --model (see treewright models), or set [models] default. "
            "code-audit works without any model.",
        )
    endpoint, table = resolve_name(wanted, settings)
    provider = _provider(wanted, endpoint, table, settings, around)
    return provider if around.gate is None else Metered(provider, around.gate)


def resolve_name(name: str, settings: ModelsSettings) -> tuple[str, EndpointSettings]:
    """Return the endpoint's name (empty when the name is an address of its own) and its settings.

    Raises:
        ModelError: `model_unknown`.
    """
    if name in settings.endpoints:
        return name, settings.endpoints[name]
    base, _, model = name.partition("#")
    if base in settings.endpoints:
        return base, settings.endpoints[base].model_copy(update={"model": model})
    if name.startswith(("http://", "https://")):
        Origin.of(base)
        return "", EndpointSettings(url=base, model=model)
    scheme, colon, rest = name.partition(":")
    if scheme == "editor":
        return "", EndpointSettings(kind="editor", model=rest)
    if colon and rest and scheme in KNOWN_URLS:
        kind: Kind = "anthropic" if scheme == "anthropic" else "openai"
        return "", EndpointSettings(kind=kind, url=KNOWN_URLS[scheme], model=rest)
    if colon and rest and scheme in {"local", "scripted"}:
        return "", EndpointSettings(kind="local" if scheme == "local" else "scripted", path=Path(rest))
    if colon and rest and scheme == "hub":
        return "", EndpointSettings(kind="hub", model=rest)
    raise _unknown(name, settings)


def _unknown(name: str, settings: ModelsSettings) -> ModelError:
    near = difflib.get_close_matches(name, [*settings.endpoints, *(f"{kind}:" for kind in KNOWN_URLS)], 1)
    known = ", ".join(settings.endpoints) or "none"
    return ModelError(
        "model_unknown",
        f"There is no model {name!r}" + (f"; did you mean {near[0]!r}?" if near else "."),
        f"Configured endpoints: {known}. Or write openai:MODEL, anthropic:MODEL, ollama:MODEL, "
        "http://host:port/v1#MODEL, or local:/path/to/model.gguf.",
    )


def _provider(
    name: str, endpoint: str, table: EndpointSettings, settings: ModelsSettings, around: Surroundings
) -> Provider:
    if table.kind == "editor":
        return _editor(table, around)
    if table.kind in {"local", "hub"}:
        return _local(name, table, settings, around)
    if table.kind == "scripted":
        from treewright.models.scripted import ScriptedProvider

        return ScriptedProvider.from_file(_path_of(table), name=name)
    return _over_http(name, endpoint, table, around)


def _editor(table: EndpointSettings, around: Surroundings) -> Provider:
    if around.ask_editor is None:
        raise ModelError(
            "no_model",
            "The editor's model can only be used from the editor, and the editor must offer one.",
            "Choose another model with --model.",
        )
    return EditorProvider(
        around.ask_editor,
        model=table.model,
        context_tokens=table.context_tokens,
        timeout_s=table.total_s,
        concurrency=table.concurrency,
    )


def _local(name: str, table: EndpointSettings, settings: ModelsSettings, around: Surroundings) -> Provider:
    from treewright.models.local import LocalProvider, LocalSettings

    path = _hub_path(table, settings, around) if table.kind == "hub" else _path_of(table)
    run = LocalSettings(
        path=path, context_tokens=table.context_tokens or 8192, slots=table.slots, threads=table.threads
    )
    return LocalProvider(run, name=name, memory=around.memory)


def _hub_path(table: EndpointSettings, settings: ModelsSettings, around: Surroundings) -> Path:
    """Return where a model of the hub lies; downloading is a separate act, see `download.download`."""
    from treewright.models.download import HubModel

    folder = settings.folder or around.models_folder
    model = HubModel.parse(table.model)
    path = None if folder is None else model.path_in(folder.expanduser())
    if path is None or not path.exists():
        raise ModelError(
            "local_download_needs_consent",
            f"{model.file} is not on this machine.",
            f"Download it with: treewright models --download hub:{table.model}",
            {"url": model.url()},
        )
    return path


def _path_of(table: EndpointSettings) -> Path:
    if table.path is None:
        raise ModelError(
            "model_settings_invalid", f"A {table.kind} model needs a file.", "Set model to its path."
        )
    return table.path.expanduser()


def _over_http(name: str, endpoint: str, table: EndpointSettings, around: Surroundings) -> Provider:
    url = with_version(table.url or KNOWN_URLS[table.kind])
    origin = Origin.of(url)
    if not table.model and not origin.is_loopback:
        raise ModelError(
            "model_settings_invalid", f"{name} names no model.", "Set model, or write the name after '#'."
        )
    key = find_key(
        url,
        name=endpoint,
        settings={"api_key": table.api_key, "api_key_env": table.api_key_env},
        handed=around.handed_keys,
        environment=around.environment,
        vendor_variables=VENDOR_VARIABLES,
    )
    unencrypted = origin.scheme == "http" and not origin.is_loopback
    if (key is not None or table.headers) and unencrypted and not table.allow_plain_http:
        raise ModelError(
            "endpoint_insecure",
            f"The key of {name} would go unencrypted to {origin}.",
            "Use https, or set allow_plain_http = true on a network that you trust.",
        )
    wire = _wire(table, url, key)
    info = ProviderInfo(
        name=name,
        kind=table.kind,
        model=table.model,
        endpoint=str(origin),
        price=_price(table, origin, around),
        context_tokens=table.context_tokens,
        concurrency=table.concurrency,
        call_limit_s=wire.call_limit_s,
    )
    kind: type[HttpProvider] = AnthropicProvider if table.kind == "anthropic" else OpenAIProvider
    return kind(info, wire, around.memory)


def _wire(table: EndpointSettings, url: str, key: Key | None) -> Wire:
    anthropic = table.kind == "anthropic"
    headers = {"anthropic-version": API_VERSION, **table.headers} if anthropic else dict(table.headers)
    return Wire(
        base_url=url,
        key=key,
        key_header="x-api-key" if anthropic else "Authorization",
        headers=headers,
        timeouts=table.timeouts,
        extra_secrets=tuple(Key(value, url) for value in table.headers.values() if _is_secret(value)),
    )


def with_version(url: str) -> str:
    """Return an address with `/v1` when it names a host only, as every server of this kind wants."""
    origin = Origin.of(url)
    return f"{origin}/v1" if urlsplit(url).path in {"", "/"} else url


def _price(table: EndpointSettings, origin: Origin, around: Surroundings) -> Price:
    """A price that the user set, else free on this machine, else the vendor's list, else unknown."""
    if table.price is not None:
        return price_from_setting(table.price)
    if origin.is_loopback:
        return FREE
    today = around.today or datetime.now(UTC).date()
    return listed_price(origin.host, table.model, today)


def _is_secret(value: str) -> bool:
    return len(value) >= 8 and value.isascii() and value.isprintable() and " " not in value


def _nearest_key(key: str) -> str:
    known = [*ModelsSettings.model_fields, *EndpointSettings.model_fields]
    near = difflib.get_close_matches(key, known, 1)
    return f"Did you mean {near[0]}?" if near else f"Known settings: {', '.join(known)}."
