"""Who fills tasks in: chosen by the preset, the request and the configuration."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treewright.app.context import Context
from treewright.app.kept import AnswerFile
from treewright.app.providers import open_provider, refuse_unknown_price
from treewright.app.request import Notice
from treewright.app.spending import explore_gate
from treewright.errors import ModelError, RunError
from treewright.explore.ports import Performer
from treewright.models.provider import Provider
from treewright.presets.schema import Preset
from treewright.store.config import Configuration
from treewright.tree.event import RunStarted
from treewright.tree.run import Caps

STATIC = "static"
STATIC_AT_ONCE = 48
"""Tasks in flight of an audit without a model: nobody is waited for, and what lands together is made durable together."""
CALLER, SAMPLING = "caller", "sampling"
GUIDED = (CALLER, SAMPLING)
"""Runs whose tasks an MCP client fills in one by one (`app.guiding`): nothing drives them."""


@dataclass(frozen=True, slots=True)
class Hired:
    """A performer at work, and what has to be released when the run stops."""

    performer: Performer
    close: Callable[[], Awaitable[None]]
    forget: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who performs a run's tasks, known before the run is written.

    Attributes:
        name: as reports show it.
        hire: makes the performer for a run: its folder, its start, its caps and options.
        provider: the model behind it, for estimates; None without one.
        prompts: the version of the prompts; empty without any.
        notices: what the user should know about the choice.
        at_once: tasks in flight where nobody asked for a number; 0 for the configured one.
    """

    name: str
    hire: Callable[[Path, RunStarted, Caps, Mapping[str, Any]], Hired]
    provider: Provider | None = None
    prompts: str = ""
    notices: tuple[Notice, ...] = ()
    at_once: int = 0


def choose_performer(
    context: Context, preset: Preset, model: str, configuration: Configuration, workspace: Path
) -> Chosen:
    """Return who performs a run's tasks.

    Args:
        context: gives the environment.
        preset: code roots can be audited without a model.
        model: a provider's name or specification; `static` for none; empty for the configured default.
        configuration: names providers and the default.
        workspace: what the run is about.

    Raises:
        ModelError: `no_model` when the preset needs one and none is configured; others of the registry.
        RunError: `run_guided` when an MCP client fills the tasks in.
        CapError: `price_unknown`.
    """
    wanted = model or configuration.settings.models.default
    if wanted in GUIDED:
        raise RunError(
            "run_guided",
            "The tasks of this run are filled in by an agent over MCP; there is nobody here to drive it.",
            "Let the agent go on, or name who shall think from now on with --model.",
        )
    if preset.root_kind == "code" and wanted in ("", STATIC):
        return _static(workspace, configuration)
    if not wanted or wanted == STATIC:
        raise ModelError(
            "no_model",
            f"The preset {preset.name} needs a language model and none is configured.",
            "Name one with --model, or set [models] default; `treewright models` shows what answers here.",
        )
    return _model(context, configuration, wanted)


def _static(workspace: Path, configuration: Configuration) -> Chosen:
    from treewright.performers.static.performer import StaticPerformer

    performer = StaticPerformer(workspace, cache=configuration.root.cache)

    return Chosen(performer.name, lambda *_: Hired(performer, _nothing, lambda: None), at_once=STATIC_AT_ONCE)


async def _nothing() -> None:
    """Release nothing."""


def _model(context: Context, configuration: Configuration, wanted: str) -> Chosen:
    from treewright.performers.model.performer import TEMPERATURE, ModelPerformer, sizes_for
    from treewright.performers.model.prompts import prompts_version

    plain = open_provider(context, configuration, wanted)
    refuse_unknown_price(plain)

    def hire(folder: Path, started: RunStarted, caps: Caps, options: Mapping[str, Any]) -> Hired:
        account = str(options.get("spend_account") or started.run)
        gate = explore_gate(configuration, account, caps.spend_usd)
        provider = open_provider(context, configuration, wanted, gate=gate)
        kept = AnswerFile(folder)
        section = configuration.settings.providers.get(wanted.partition("#")[0])
        sizes = sizes_for(provider)
        if section is not None and section.max_tokens:
            sizes = replace(sizes, answer=section.max_tokens)
        asked = section.temperature if section is not None else None
        performer = ModelPerformer(
            provider,
            max_repairs=configuration.settings.models.max_repairs,
            kept=kept,
            lookup=_lookup(configuration, options),
            temperature=TEMPERATURE if asked is None else asked,
            sizes=sizes,
        )
        return Hired(performer, performer.close, kept.forget)

    return Chosen(f"model {plain.info.name}", hire, plain, prompts_version())


def _lookup(configuration: Configuration, options: Mapping[str, Any]) -> Any:
    if not options.get("online"):
        return None
    from treewright.app.online import shared_web

    return shared_web(configuration.settings.online.search_url)


def choose_verifier(workspace: Path, options: Mapping[str, Any], configuration: Configuration) -> Hired:
    """Return who checks citations and numbers: always our own code.

    Args:
        workspace: citations of files are relative to it.
        options: of the run; `online` allows fetching addresses.
        configuration: names a search service.
    """
    from treewright.app.execution import Execution
    from treewright.performers.verify import Verifier

    fetch = None
    if options.get("online"):
        from treewright.app.online import shared_web

        fetch = shared_web(configuration.settings.online.search_url).checked
    execution = Execution(workspace)
    verifier = Verifier(workspace, fetch=fetch, numbers=execution, commands=execution)
    return Hired(verifier, execution.close, lambda: None)
