"""What `treewright doctor` says of the packages that Treewright is installed with."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from treewright.app.checkup import Checkup
from treewright.app.context import Context
from treewright.counted import counted

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def packages(_: Context) -> Iterator[Checkup]:
    """Look whether every package that Treewright cannot do without is installed."""
    wanted = needed()
    absent = [name for name in wanted if not _installed(name)]
    if absent:
        mend = f"{sys.executable} -m pip install {' '.join(absent)}"
        yield Checkup("packages", "missing", f"not installed: {', '.join(absent)}", mend)
    elif wanted:
        yield Checkup("packages", "good", f"{counted(len(wanted), 'package')}, all installed")


def needed() -> list[str]:
    """Return the names of the packages that are no extra; none when Treewright runs without being installed."""
    try:
        told = requires("treewright") or []
    except PackageNotFoundError:
        return []
    return [found[0] for each in told if "extra ==" not in each and (found := _NAME.match(each))]


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
