"""What a stage means to both engines, read from `data/deliberate/stages.toml`."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
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


def lens_rotation(
    stage: str, configured: Sequence[str] | Mapping[str, Sequence[str]], known: Iterable[str]
) -> list[str]:
    """Return every known lens once, in the order in which a stage tries them.

    Args:
        stage: the stage's name.
        configured: `[serial] default_lenses`: the order for what the stage does not name itself, or, by stage,
            what the stage tries first.
        known: names of the lenses that exist.

    Returns:
        The stage's own, then the configured order, then any others by name; names that do not exist are
        left out.
    """
    table = stage_table()
    existing = set(known)
    if isinstance(configured, Mapping):
        own, order = _of_stage(stage, {**table.lenses, **configured}), table.lens_order
    else:
        own, order = _of_stage(stage, table.lenses), tuple(configured) or table.lens_order
    wanted = [*own, *order, *sorted(existing)]
    return [name for name in dict.fromkeys(wanted) if name in existing]


def _of_stage(stage: str, lenses: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return what a stage names for itself, in any letter case; the last entry of a name counts."""
    found = [names for named, names in lenses.items() if named.casefold() == stage.casefold()]
    return found[-1] if found else ()
