"""Which providers answer, with what models, and how fast. Only ever when the user asked for it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from treewright.models.anthropic import API_VERSION
from treewright.models.registry import KNOWN_URLS, with_version
from treewright.models.secrets import Key
from treewright.models.wire import Wire

USUAL_SERVERS = {
    "Ollama": KNOWN_URLS["ollama"],
    "LM Studio": KNOWN_URLS["lmstudio"],
    "llama.cpp": KNOWN_URLS["llamacpp"],
    "vLLM": KNOWN_URLS["vllm"],
}
"""Servers at their usual ports on this machine."""

_MODELS_SHOWN_MOST = 200


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that an endpoint offers; the context size is None when it does not say."""

    name: str
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of looking at one endpoint.

    Attributes:
        name: the server's or the endpoint's name.
        url: where it was looked for.
        answers: whether a language model server answered.
        models: what it offers.
        latency_s: seconds until its list of models was there.
        problem: why it does not answer, in words without any key.
    """

    name: str
    url: str
    answers: bool
    models: tuple[FoundModel, ...] = ()
    latency_s: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An endpoint to look at."""

    name: str
    url: str
    key: Key | None = None
    anthropic: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


async def discover(
    targets: Sequence[Target] = (), *, usual: bool = True, timeout_s: float = 3.0
) -> list[Found]:
    """Look at endpoints, all at once.

    Args:
        targets: configured endpoints.
        usual: look at the usual ports of this machine too.
        timeout_s: seconds for each.
    """
    local = [Target(name=name, url=url) for name, url in USUAL_SERVERS.items()] if usual else []
    known = {target.url for target in targets}
    wanted = [*targets, *(target for target in local if target.url not in known)]
    return list(await asyncio.gather(*(look_at(target, timeout_s=timeout_s) for target in wanted)))


async def look_at(target: Target, *, timeout_s: float = 3.0) -> Found:
    """Ask one endpoint for its models."""
    import httpx

    headers = {"anthropic-version": API_VERSION} if target.anthropic else {}
    wire = Wire(
        base_url=with_version(target.url),
        key=target.key,
        key_header="x-api-key" if target.anthropic else "Authorization",
        headers={**headers, **target.headers},
    )
    begun = monotonic()
    try:
        status, body = await wire.get_json("/models", timeout_s=timeout_s)
    except httpx.HTTPError as error:
        return _absent(target, "nothing listens there" if _is_refusal(error) else _brief(wire, error))
    finally:
        await wire.close()
    if status in {401, 403}:
        return _absent(target, "it answers, but does not accept the key" if target.key else "it wants a key")
    models = _models_of(body)
    if status != 200 or models is None:
        return _absent(target, f"what answers there is no model server (HTTP {status})")
    return Found(name=target.name, url=target.url, answers=True, models=models, latency_s=monotonic() - begun)


def _absent(target: Target, problem: str) -> Found:
    return Found(name=target.name, url=target.url, answers=False, problem=problem)


def _is_refusal(error: Exception) -> bool:
    import httpx

    return isinstance(error, httpx.ConnectError)


def _brief(wire: Wire, error: Exception) -> str:
    return wire.hide(" ".join(str(error).split()) or type(error).__name__)


def _models_of(body: Any) -> tuple[FoundModel, ...] | None:
    """Return the models of a list, None when it is no such list: other programs use these ports too."""
    rows = body.get("data") if isinstance(body, Mapping) else None
    if rows is None and isinstance(body, Mapping) and body.get("object") == "list":
        rows = []
    if not isinstance(rows, list):
        return None
    named = [row for row in rows if isinstance(row, Mapping) and isinstance(row.get("id"), str)]
    if rows and not named:
        return None
    return tuple(FoundModel(row["id"], _context_of(row)) for row in named[:_MODELS_SHOWN_MOST])


def _context_of(row: Mapping[str, Any]) -> int | None:
    """Return the context size under the names that vLLM, LM Studio, llama.cpp and hosted lists use."""
    meta = row.get("meta")
    sources = [row, meta if isinstance(meta, Mapping) else {}]
    for source in sources:
        for name in ("max_model_len", "loaded_context_length", "n_ctx", "context_length", "max_input_tokens"):
            value = source.get(name)
            if isinstance(value, int) and value > 0:
                return value
    return None
