"""The environment variables of a kernel: made, never inherited."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Windows programs do not start without these.
_WINDOWS = ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR")


def scrubbed(python: str, home: Path, scratch: Path) -> dict[str, str]:
    """Return an environment that holds nothing of the user's.

    Args:
        python: interpreter whose folder leads PATH.
        home: becomes HOME.
        scratch: becomes TMPDIR.
    """
    found = {
        "PATH": os.pathsep.join([str(Path(python).parent), *os.defpath.split(os.pathsep)]),
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        # A plot must not wait for a window, nor one branch use every core.
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    if sys.platform == "win32":
        found |= {name: os.environ[name] for name in _WINDOWS if name in os.environ}
        found |= {"TEMP": str(scratch), "TMP": str(scratch), "USERPROFILE": str(home)}
    return found
