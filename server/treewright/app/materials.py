"""The preset, the framings and the field profile of a run, found and loaded."""

from dataclasses import dataclass
from pathlib import Path

from treewright.app.request import Notice
from treewright.errors import RunError
from treewright.explore.materials import Materials
from treewright.explore.settle import Priority
from treewright.presets.framings import CROSS_CHECK, all_framings, framing
from treewright.presets.loader import find_preset, load_preset_file
from treewright.tree.event import RunStarted


@dataclass(frozen=True, slots=True)
class Loaded:
    """What configures a run's engine.

    Attributes:
        materials: for the engine.
        source: the preset's file.
        priority: orders the frontier.
        notices: what the user should know.
    """

    materials: Materials
    source: Path
    priority: Priority
    notices: tuple[Notice, ...] = ()


def load_materials(reference: str, root: Path, base: Path, profile: str = "") -> Loaded:
    """Load what a new run needs.

    Args:
        reference: a preset's name or path.
        root: the store's root folder.
        base: where relative paths start.
        profile: a field profile's name; empty for none.

    Raises:
        PresetError: the preset cannot be found or used.
    """
    source = find_preset(reference, root, base)
    preset = load_preset_file(source)
    framings = {each.letter: each for each in all_framings()} | {CROSS_CHECK: framing(CROSS_CHECK)}
    return Loaded(Materials(preset, framings), source, Priority(), tuple(_profile_notices(profile)))


def _profile_notices(profile: str) -> list[Notice]:
    if not profile:
        return []
    return [
        Notice(
            code="FIELD_PROFILE_NOT_FOUND",
            message=f"[FIELD_PROFILE_NOT_FOUND] there is no field profile {profile!r}; the run goes on without it",
            severity="warning",
        )
    ]


def load_for(started: RunStarted, root: Path) -> Loaded:
    """Load what a run was started with.

    Raises:
        RunError: `preset_changed` when the preset is not the one the run was started with.
        PresetError: it cannot be found or used any more.
    """
    loaded = load_materials(started.preset_source or started.preset, root, Path(), started.field_profile)
    if loaded.materials.preset.digest != started.preset_digest:
        raise RunError(
            "preset_changed",
            f"The preset {started.preset} has changed since this run was started.",
            "Put the former preset back, or start a new run.",
            {"preset": started.preset},
        )
    return loaded
