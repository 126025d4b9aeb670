"""What configures an engine: the preset, the framings, what a field profile adds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from treewright.presets.framings import Framing
from treewright.presets.schema import Preset


@dataclass(frozen=True, slots=True)
class Materials:
    """What the engine works with beside the tree.

    Attributes:
        preset: the preset in force.
        framings: by letter.
        profile_notes: by framing letter, from the field profile.
    """

    preset: Preset
    framings: Mapping[str, Framing]
    profile_notes: Mapping[str, str] = field(default_factory=dict)
