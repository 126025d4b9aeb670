"""Which models can be named, and which of them answer; nothing is asked over any network unless the user wants it."""

from dataclasses import dataclass

from treewright.app.context import Context
from treewright.app.performers import STATIC

_PREFIXES = {"Ollama": "ollama", "LM Studio": "lmstudio", "llama.cpp": "llamacpp", "vLLM": "vllm"}


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model as a list shows it.

    Attributes:
        name: what a request's `model` takes.
        kind: `static`, `editor`, a configured provider's kind, or the server that offers it.
        detail: one phrase about it.
        ready: it answered, or needs nobody to answer; False when that is not known.
    """

    name: str
    kind: str
    detail: str
    ready: bool


def listed_models(context: Context) -> tuple[list[ModelEntry], str]:
    """Return what is known without asking anybody, and the configured default (may be empty)."""
    settings = context.configuration().settings
    found = [ModelEntry(STATIC, "static", "code audits without a language model", ready=True)]
    if context.ask_editor is not None:
        found.append(ModelEntry("editor", "editor", "the editor's own model", ready=True))
    for name, provider in settings.providers.items():
        where = provider.endpoint or provider.kind
        detail = f"{provider.model} at {where}" if provider.model else where
        found.append(ModelEntry(name, provider.kind, detail, ready=False))
    return found, settings.models.default


async def answering_models() -> list[ModelEntry]:
    """Ask the usual ports of this machine which models they offer; only ever on the user's wish."""
    from treewright.models.discover import discover

    found = []
    for server in await discover(usual=True, timeout_s=2.0):
        prefix = _PREFIXES.get(server.name)
        if server.answers and prefix:
            found += [
                ModelEntry(f"{prefix}:{model.name}", prefix, f"{server.name} on this machine", ready=True)
                for model in server.models
            ]
    return found
