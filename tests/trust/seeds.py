"""How long the fault matrix and the fuzzing go on, and by which chance: `make soak MINUTES=30` sets both anew each round."""

import os
import random

SEED = int(os.environ.get("TREEWRIGHT_TRUST_SEED", "1"))
_TIMES = int(os.environ.get("TREEWRIGHT_TRUST_TIMES", "1"))


def chance(name: str) -> random.Random:
    """Return the chance of one test."""
    return random.Random(f"{SEED} {name}")


def examples(count: int) -> int:
    """Return how many examples a property is tried with: the number given, in a longer round more."""
    return count * _TIMES
