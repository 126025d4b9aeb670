"""Who fills tasks in: chosen by the preset, the request and the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.app.request import Notice
from treewright.errors import ModelError
from treewright.explore.ports import Performer
from treewright.presets.schema import Preset
from treewright.store.config import Configuration

STATIC = "static"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A performer, and what the user should know about the choice."""

    performer: Performer
    notices: tuple[Notice, ...] = ()


def choose_performer(preset: Preset, model: str, configuration: Configuration, workspace: Path) -> Chosen:
    """Return who performs a run's tasks.

    Args:
        preset: code roots can be audited without a model.
        model: a provider's name or specification; `static` for none; empty for the configured default.
        configuration: names providers and the default.
        workspace: what the run is about.

    Raises:
        ModelError: `no_model` when the preset needs one and none is configured.
    """
    wanted = model or configuration.settings.models.default
    if preset.root_kind == "code" and wanted in ("", STATIC):
        from treewright.performers.static.performer import StaticPerformer

        return Chosen(StaticPerformer(workspace, cache=configuration.root.cache))
    if not wanted or wanted == STATIC:
        raise ModelError(
            "no_model",
            f"The preset {preset.name} needs a language model and none is configured.",
            "Name one with --model, or set [models] default; `treewright models` shows what answers here.",
        )
    raise ModelError("no_model", f"There is no provider {wanted!r}.", "See `treewright models`.")


def choose_verifier(workspace: Path, options: Mapping[str, Any]) -> Performer:  # noqa: ARG001 - online checks
    """Return who checks citations and numbers: always our own code."""
    from treewright.performers.verify import Verifier

    return Verifier(workspace)
