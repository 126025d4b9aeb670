"""Set the version, which stands in `server/treewright/__init__.py`, everywhere else that it has to stand.

    python tools/version.py              say which version it is
    python tools/version.py 1.2.0        set it, and date what CHANGELOG.md holds under "Unreleased"

Nothing is written unless all of it can be. Setting the same version again changes nothing but the changelog, when that
does not name it yet.
"""

import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = "server/treewright/__init__.py"
MANIFEST, LOCK = "extension/package.json", "extension/package-lock.json"
CHANGELOG = "CHANGELOG.md"
_STANDS = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
# The editor takes nothing but three numbers, so pre-releases are not to be had.
_VERSION = re.compile(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}")
_IN_JSON = re.compile(r'^(\s*"version": ")[^"]*(")', re.MULTILINE)
_UNRELEASED = "## [Unreleased]\n"


class VersionError(Exception):
    """It cannot be set; the text says why."""


def current(root: Path) -> str:
    """Return the version that a checkout stands at.

    Raises:
        VersionError: the module names none.
    """
    found = _STANDS.search((root / MODULE).read_text(encoding="utf-8"))
    if not found:
        raise VersionError(f"{MODULE} names no version")
    return found.group(1)


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as what it is ordered by.

    Raises:
        VersionError: it is not three numbers.
    """
    if not _VERSION.fullmatch(version):
        raise VersionError(f"{version!r} is no version: three numbers, such as 1.2.0")
    return tuple(int(part) for part in version.split("."))


def dated(changelog: str, version: str, today: str) -> str:
    """Return the changelog with what was unreleased under the version and its date; unchanged when it names it already.

    Raises:
        VersionError: it has no place for it, or nothing to tell.
    """
    if re.search(rf"^## \[{re.escape(version)}\]", changelog, re.MULTILINE):
        return changelog
    before, found, after = changelog.partition(_UNRELEASED)
    if not found:
        raise VersionError(f"{CHANGELOG} has no line {_UNRELEASED.strip()!r}")
    if not re.split(r"^## \[", after, maxsplit=1, flags=re.MULTILINE)[0].strip():
        raise VersionError(f"{CHANGELOG} tells nothing that was not released before")
    return f"{before}{_UNRELEASED}\n## [{version}] - {today}\n{after}"


def in_manifest(text: str, version: str, times: int) -> str:
    """Return JSON with its first `times` versions set: its own, and in a lock file that of the package it is for.

    Raises:
        VersionError: what it would say in the end is not that.
    """
    changed = _IN_JSON.sub(rf"\g<1>{version}\g<2>", text, count=times)
    read = json.loads(changed)
    said = [read["version"], *([read["packages"][""]["version"]] if times > 1 else [])]
    if said != [version] * times:
        raise VersionError("the extension's manifests do not have their version where it is looked for")
    return changed


def set_version(root: Path, version: str, today: str) -> list[str]:
    """Set the version of a checkout.

    Args:
        root: the checkout.
        version: three numbers, no lower than what stands.
        today: the date of the release, as 2026-11-30.

    Returns:
        The files that changed.

    Raises:
        VersionError: it is none, it is lower, or a file has no place for it; nothing was written.
    """
    if numbers(version) < numbers(current(root)):
        raise VersionError(f"{version} is lower than {current(root)}, which it is now")
    said = {name: (root / name).read_text(encoding="utf-8") for name in (MODULE, MANIFEST, LOCK, CHANGELOG)}
    made = {
        MODULE: _STANDS.sub(f'__version__ = "{version}"', said[MODULE], count=1),
        MANIFEST: in_manifest(said[MANIFEST], version, 1),
        LOCK: in_manifest(said[LOCK], version, 2),
        CHANGELOG: dated(said[CHANGELOG], version, today),
    }
    changed = [name for name, text in made.items() if text != said[name]]
    for name in changed:
        (root / name).write_text(made[name], encoding="utf-8")
    return changed


def main(arguments: Sequence[str]) -> int:
    """Set or tell the version; return 0, or 1 with the reason on stderr."""
    try:
        if not arguments or not arguments[0]:
            sys.stdout.write(f"{current(ROOT)}\n")
            return 0
        now = (
            datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
            if "SOURCE_DATE_EPOCH" in os.environ
            else datetime.now(UTC)
        )
        changed = set_version(ROOT, arguments[0], now.date().isoformat())
    except (VersionError, OSError) as error:
        sys.stderr.write(f"[version] {error}\n")
        return 1
    for name in changed:
        sys.stderr.write(f"[version] {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
