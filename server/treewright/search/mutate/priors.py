"""Prior probabilities of edit operators and the siblings of well-known functions, read from data.

`data/search/priors.toml` holds, for each operator, its cost in bits: the lower, the more often such an edit
repairs a small bug. `data/search/siblings.toml` groups functions and methods that are mistaken for each other.
"""

from __future__ import annotations

import tomllib
from functools import cache

from treewright.data import data_path


@cache
def operator_costs() -> dict[str, float]:
    """Cost in bits by operator id (`family.operator`)."""
    data = tomllib.loads(data_path("search", "priors.toml").read_text(encoding="utf-8"))
    return {f"{family}.{name}": float(cost) for family, costs in data.items() for name, cost in costs.items()}


@cache
def operator_hints() -> dict[str, tuple[tuple[str, float], ...]]:
    """Bits to take off an operator's cost by what was observed (`data/search/hints.toml`)."""
    data = tomllib.loads(data_path("search", "hints.toml").read_text(encoding="utf-8"))
    return {
        symptom: tuple((name, float(bits)) for name, bits in table.items()) for symptom, table in data.items()
    }


@cache
def _groups() -> dict[str, tuple[tuple[str, float], ...]]:
    data = tomllib.loads(data_path("search", "siblings.toml").read_text(encoding="utf-8"))
    found: dict[str, dict[str, float]] = {}
    for extra, groups in (("close", data["close"]), ("loose", data["loose"])):
        for group in groups:
            for name in group:
                for other in group:
                    if other != name:
                        found.setdefault(name, {}).setdefault(other, 0.0 if extra == "close" else 1.5)
    return {name: tuple(others.items()) for name, others in found.items()}


def siblings(name: str) -> tuple[tuple[str, float], ...]:
    """Functions (or `.methods`) that are mistaken for this one, with an extra cost in bits."""
    return _groups().get(name, ())
