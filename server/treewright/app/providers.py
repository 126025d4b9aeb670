"""From the settings and a name to a provider, with its key, its price and the spend cap before it."""

import os
from pathlib import Path
from typing import Any

from treewright.app.context import Context
from treewright.errors import CapError
from treewright.models.memory import EndpointMemory
from treewright.models.prices import PriceKind
from treewright.models.provider import Provider
from treewright.models.registry import EndpointSettings, ModelsSettings, Surroundings, build
from treewright.models.spend import SpendGate
from treewright.store.config import Configuration
from treewright.store.settings import ProviderSection

_MEMORY_FILE = "endpoints.json"


def models_settings(configuration: Configuration) -> ModelsSettings:
    """Return the providers of a configuration as the registry takes them."""
    settings = configuration.settings
    endpoints = {name: _endpoint(section) for name, section in settings.providers.items()}
    return ModelsSettings(
        default=settings.models.default or None,
        folder=configuration.root.folder / "models",
        endpoints=endpoints,
    )


def _endpoint(section: ProviderSection) -> EndpointSettings:
    given: dict[str, Any] = {"kind": section.kind, "model": section.model}
    if section.kind in ("local", "scripted"):
        given |= {"path": Path(section.model), "model": ""}
    if section.endpoint:
        given["url"] = section.endpoint
    if key := section.api_key.get_secret_value():
        given["api_key"] = key
    if section.api_key_env:
        given["api_key_env"] = section.api_key_env
    if section.headers:
        given["headers"] = {name: value.get_secret_value() for name, value in section.headers.items()}
    if section.free:
        given["price"] = "free"
    elif section.price_in_usd is not None and section.price_out_usd is not None:
        given["price"] = {"input": float(section.price_in_usd), "output": float(section.price_out_usd)}
    if section.context_tokens:
        given["context_tokens"] = section.context_tokens
    if section.concurrency:
        given["concurrency"] = section.concurrency
    given |= {name: value for name in ("slots", "threads") if (value := getattr(section, name))}
    given["allow_plain_http"] = section.allow_plain_http
    given["first_token_s"] = section.timeout_s
    given["total_s"] = max(900.0, section.timeout_s)
    return EndpointSettings(**given)


def open_provider(
    context: Context, configuration: Configuration, name: str, *, gate: SpendGate | None = None
) -> Provider:
    """Return the provider of a name; nothing is sent or started yet.

    Args:
        context: gives the environment, the editor's model and the keys it keeps.
        configuration: names providers and the default.
        name: see `models.registry`; empty for the default.
        gate: the spend cap.

    Raises:
        ModelError: as `models.registry.build`.
    """
    around = Surroundings(
        environment=context.environ if context.environ is not None else dict(os.environ),
        handed_keys=context.keys,
        ask_editor=context.ask_editor,
        memory=EndpointMemory(configuration.root.cache / _MEMORY_FILE),
        gate=gate,
        models_folder=configuration.root.folder / "models",
    )
    return build(name or None, models_settings(configuration), around)


def refuse_unknown_price(provider: Provider) -> None:
    """Refuse a provider whose price is not known: no cap could hold (contract: search, 5).

    Raises:
        CapError: `price_unknown`.
    """
    if provider.info.price.kind is PriceKind.UNKNOWN:
        raise CapError(
            "price_unknown",
            f"What {provider.info.name} costs is not known, so the spend cap cannot hold; nothing was sent.",
            "Say it in its table: price_in_usd and price_out_usd (USD for a million tokens), or free = true.",
            {"provider": provider.info.name, "model": provider.info.model},
        )
