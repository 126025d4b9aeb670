"""Keeps LICENSE-NOTICES true: every package that is installed or shipped stands in it, with the licence that it states.

    python tools/licences.py            say what is missing or wrong; exit 1 when something is
    python tools/licences.py --write    write the list of what the extension carries anew

What Python packages state is read from their installed metadata; those of other systems are not installed here and are only
looked for by name. What the extension's bundle carries comes from its lock file.
"""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTICES = "LICENSE-NOTICES"
BEGIN = "The extension's bundle (extension/dist) carries code of these packages, at the versions in extension/package-lock.json:"
END = "Two are under the Mozilla Public License"
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==", re.MULTILINE)
_ROW = re.compile(r"^(\S+) {2,}(\S.*)$", re.MULTILINE)


def bundled(root: Path) -> dict[str, str]:
    """Return the licence of each package that the extension needs when it runs, by name."""
    lock = json.loads((root / "extension" / "package-lock.json").read_text(encoding="utf-8"))
    return {
        path.rpartition("node_modules/")[2]: str(entry.get("license", ""))
        for path, entry in sorted(lock["packages"].items())
        if path and not entry.get("dev")
    }


def stated(name: str) -> str:
    """Return the licence expression in an installed package's metadata; empty when it has none or is not installed."""
    try:
        return str(metadata.metadata(name).json.get("license_expression", ""))
    except metadata.PackageNotFoundError:
        return ""


def section(root: Path) -> str:
    """Return the part of the notices about the extension's bundle."""
    found = bundled(root)
    width = max(map(len, found))
    return "\n".join([BEGIN, "", *(f"{name:<{width}}  {licence}" for name, licence in found.items()), "", ""])


def faults(root: Path) -> list[str]:
    """Return what is missing or wrong in the notices, a sentence each."""
    text = (root / NOTICES).read_text(encoding="utf-8")
    rows = dict(_ROW.findall(text))
    pins = _PIN.findall((root / "requirements" / "runtime.txt").read_text(encoding="utf-8"))
    told = [f"{name} is installed with us and stands not in {NOTICES}" for name in pins if name not in rows]
    for name in pins:
        said = stated(name)
        if said and name in rows and said.lower() != rows[name].strip().lower():
            told.append(f"{name} states {said}, and {NOTICES} says {rows[name]}")
    told += [
        f"{name} states no licence in the lock file" for name, licence in bundled(root).items() if not licence
    ]
    if section(root) not in text:
        told.append(f"what {NOTICES} says of the extension's bundle is not what its lock file says")
    return told


def written(root: Path) -> str:
    """Return the notices with the part about the bundle made anew."""
    text = (root / NOTICES).read_text(encoding="utf-8")
    start = text.find(BEGIN)
    if start >= 0:
        text = text[:start] + text[text.index(END, start) :]
    at = text.index(END)
    return text[:at] + section(root) + text[at:]


def main() -> int:
    """Check or write, and return the exit code."""
    if "--write" in sys.argv[1:]:
        (ROOT / NOTICES).write_text(written(ROOT), encoding="utf-8")
    told = faults(ROOT)
    for each in told:
        sys.stderr.write(f"{each}\n")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
