"""How long a test waits: as long as on a quiet machine, longer where the machine is shared with much else."""

import os

_MOST = 8.0


def within(seconds: float) -> float:
    """Return the bound of a wait that takes at most so many seconds on a quiet machine; at most eight times that."""
    return seconds * min(_MOST, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
