"""The preset, the framings and the field profile of a run, found and loaded."""

from dataclasses import dataclass
from pathlib import Path

from treewright.app.request import Notice
from treewright.errors import RunError
from treewright.explore.materials import Materials
from treewright.explore.settle import Priority
from treewright.presets.framings import CROSS_CHECK, all_framings, framing
from treewright.presets.loader import find_preset, load_preset_file
from treewright.presets.profiles import Profile, find_profile, priority
from treewright.presets.schema import Preset
from treewright.tree.body import Derivation
from treewright.tree.event import RunStarted
from treewright.tree.node import Node


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
    if not profile:
        return Loaded(Materials(preset, framings), source, Priority())
    found, warning = find_profile(profile, root)
    if found is None:
        told = f"{warning}; the run goes on without it"
        notice = Notice(code="FIELD_PROFILE_NOT_FOUND", message=told, severity="warning")
        return Loaded(Materials(preset, framings), source, Priority(), (notice,))
    notes = {letter: text for letter in framings if (text := found.notes_for(letter))}
    return Loaded(Materials(preset, framings, notes), source, ProfilePriority(found, preset))


class ProfilePriority(Priority):
    """Moves nodes that a field looks at first up in the frontier; it relaxes no rule."""

    def __init__(self, profile: Profile, preset: Preset) -> None:
        """Take a profile.

        Args:
            profile: the field's.
            preset: whose dimensions the scores are.
        """
        self._profile = profile
        self._preset = preset

    def of(self, node: Node, body: Derivation) -> float:
        """Return what is added to the node's score when the frontier is ordered."""
        return priority(self._profile, self._preset, body.scores, node.statement)


def load_for(started: RunStarted, root: Path, *, to_look: bool = False) -> Loaded:
    """Load what a run was started with.

    Args:
        started: how it began.
        root: the store's root folder.
        to_look: nothing will be grown: the preset as it stands now will do, for its words.

    Raises:
        RunError: `preset_changed` when the preset is not the one the run was started with.
        PresetError: it cannot be found or used any more.
    """
    loaded = load_materials(started.preset_source or started.preset, root, Path(), started.field_profile)
    if loaded.materials.preset.digest != started.preset_digest and not to_look:
        raise RunError(
            "preset_changed",
            f"The preset {started.preset} has changed since this run was started.",
            "Put the former preset back, or start a new run.",
            {"preset": started.preset},
        )
    return loaded
