"""What a stage means to both engines, read from `data/deliberate/stages.toml`."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from treewright.data import data_path


@dataclass(frozen=True, slots=True)
class StageTable:
    """The stage defaults of the contract (deliberation, 1 to 3)."""

    default: tuple[str, ...]
    lens_order: tuple[str, ...]
    lenses: dict[str, tuple[str, ...]]
    weights: dict[str, dict[str, float]]
    nash_epsilon: float


@cache
def stage_table() -> StageTable:
    """Return the packaged stage defaults."""
    raw = tomllib.loads(data_path("deliberate", "stages.toml").read_text(encoding="utf-8"))
    return StageTable(
        default=tuple(raw["default"]),
        lens_order=tuple(raw["lens_order"]),
        lenses={stage: tuple(names) for stage, names in raw["lenses"].items()},
        weights={stage: dict(weights) for stage, weights in raw["weights"].items()},
        nash_epsilon=float(raw["nash"]["epsilon"]),
    )


def specialist_weight(stage: str, role: str) -> float:
    """Return how much a specialist's voice counts in a stage; 1.0 unless the table says otherwise."""
    for named_stage, weights in stage_table().weights.items():
        if named_stage.casefold() == stage.casefold():
            for named_role, weight in weights.items():
                if named_role.casefold() == role.casefold():
                    return weight
    return 1.0


def lens_rotation(stage: str, order: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return every known lens once, in the order in which a stage tries them.

    Args:
        stage: the stage's name.
        order: the configured order (`[serial] default_lenses`); empty for the packaged one.
        known: names of the lenses that exist.

    Returns:
        The stage's own, then the configured order, then any others by name; names that do not exist are
        left out.
    """
    table = stage_table()
    existing = set(known)
    own = next((names for named, names in table.lenses.items() if named.casefold() == stage.casefold()), ())
    wanted = [*own, *(order or table.lens_order), *sorted(existing)]
    return [name for name in dict.fromkeys(wanted) if name in existing]
