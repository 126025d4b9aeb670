"""Which providers answer, with what, and what a first answer takes: `treewright models`."""

import asyncio
import os
import time
from dataclasses import dataclass

from treewright.app.context import Context
from treewright.app.providers import models_settings, open_provider
from treewright.errors import ModelError
from treewright.models.discover import Found, Target, discover
from treewright.models.prices import PriceKind
from treewright.models.provider import Message, Outcome, Provider, Request
from treewright.models.registry import VENDOR_VARIABLES, EndpointSettings, with_version
from treewright.models.secrets import find_key
from treewright.store.config import Configuration

_PROBE_TOKENS = 64
_PROBE_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One provider.

    Attributes:
        name: what `--model` takes.
        kind: its protocol.
        model: the model's name; may be empty.
        where: address or file, without any key.
        default: whether it is the configured default.
        price: in words.
        context_tokens: None when it is not known.
        answers: None when nobody asked it.
        detail: why it does not answer, or how it did.
    """

    name: str
    kind: str
    model: str
    where: str
    default: bool
    price: str
    context_tokens: int | None
    answers: bool | None
    detail: str


async def model_rows(context: Context, *, probe: bool, look: bool = True) -> list[ModelRow]:
    """Return the configured providers and the servers of this machine.

    Args:
        context: tells the configuration and the keys.
        probe: ask each configured provider for a short answer; free ones only, unless they are asked for by name.
        look: ask endpoints for their lists of models.

    Raises:
        StoreError: the configuration is at fault.
    """
    configuration = context.configuration()
    settings = models_settings(configuration)
    targets = {}
    for name, table in settings.endpoints.items():
        target = _target(context, name, table)
        if target is not None:
            targets[name] = target
    found = await discover(list(targets.values()), usual=True) if look else []
    by_name = {each.name: each for each in found}
    rows = [
        await _configured(context, configuration, name, table, by_name.get(name), probe=probe)
        for name, table in settings.endpoints.items()
    ]
    rows += [row for each in found if each.name not in targets for row in _served(each)]
    return rows


def _target(context: Context, name: str, table: EndpointSettings) -> Target | None:
    if table.kind not in ("openai", "anthropic") or not table.url:
        return None
    try:
        key = find_key(
            with_version(table.url),
            name=name,
            settings={"api_key": table.api_key, "api_key_env": table.api_key_env},
            handed=context.keys,
            environment=os.environ if context.environ is None else context.environ,
            vendor_variables=VENDOR_VARIABLES,
        )
    except ModelError:
        return None  # the row tells it
    return Target(
        name=name, url=table.url, key=key, anthropic=table.kind == "anthropic", headers=table.headers
    )


async def _configured(
    context: Context,
    configuration: Configuration,
    name: str,
    table: EndpointSettings,
    seen: Found | None,
    *,
    probe: bool,
) -> ModelRow:
    default = configuration.settings.models.default == name
    try:
        provider = open_provider(context, configuration, name)
    except ModelError as fault:
        return ModelRow(name, table.kind, table.model, "", default, "", None, False, fault.message)
    info = provider.info
    answers, detail = (None, "") if seen is None else (seen.answers, seen.problem or _offer(seen))
    if probe:
        if info.price.costs:
            detail = f"{detail}; not probed: it costs money".lstrip("; ")
        else:
            answers, detail = await _probed(provider)
    await provider.close()
    context_tokens = (
        info.context_tokens or next((m.context_tokens for m in seen.models), None)
        if seen
        else info.context_tokens
    )
    return ModelRow(
        name,
        table.kind,
        info.model,
        info.endpoint,
        default,
        _price(provider),
        context_tokens,
        answers,
        detail,
    )


async def _probed(provider: Provider) -> tuple[bool, str]:
    begun = time.monotonic()
    request = Request(
        messages=(Message.of("user", 'Answer with {"ready": true}.'),),
        schema=_PROBE_SCHEMA,
        max_tokens=_PROBE_TOKENS,
        temperature=0.0,
    )
    try:
        done = await asyncio.wait_for(provider.complete(request), 300)
    except TimeoutError:
        return False, "no answer within 300 s"
    except ModelError as fault:
        return False, fault.message
    took = time.monotonic() - begun
    if done.outcome is not Outcome.COMPLETE:
        return False, f"{done.outcome.value.replace('_', ' ')}: {done.detail}".rstrip(": ")
    return True, f"answered in {took:.1f} s, structured by {done.structured}"


def _offer(seen: Found) -> str:
    names = ", ".join(model.name for model in seen.models[:5])
    more = f" and {len(seen.models) - 5} more" if len(seen.models) > 5 else ""
    return f"offers {names}{more}" if names else "offers no model"


def _price(provider: Provider) -> str:
    price = provider.info.price
    match price.kind:
        case PriceKind.FREE:
            return "free"
        case PriceKind.UNMETERED:
            return "not metered in money"
        case PriceKind.UNKNOWN:
            return "unknown: set price_in_usd and price_out_usd, or free = true"
        case _:
            return f"{price.input:g} in, {price.output:g} out USD per million tokens"


_PREFIXES = {"Ollama": "ollama", "LM Studio": "lmstudio", "llama.cpp": "llamacpp", "vLLM": "vllm"}


def _served(found: Found) -> list[ModelRow]:
    """Return the models of a server that is not configured; one that does not answer is no row."""
    prefix = _PREFIXES.get(found.name)
    if not found.answers or prefix is None:
        return []
    return [
        ModelRow(
            f"{prefix}:{model.name}",
            prefix,
            model.name,
            found.url,
            False,
            "free",
            model.context_tokens,
            True,
            f"{found.name} on this machine",
        )
        for model in found.models
    ]
