"""Ruff as one more witness: run once over the files that were read, isolated from the project's configuration."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from treewright.performers.static.facts import FileFacts, Match, Place
from treewright.performers.static.rulebook import table

_TIMEOUT = 60.0


def ruff_program() -> str | None:
    """The ruff beside this Python, else the one on the path."""
    beside = Path(sys.executable).parent / "ruff"
    return str(beside) if beside.is_file() else shutil.which("ruff")


def add_lints(root: Path, facts: dict[str, FileFacts]) -> bool:
    """Add what ruff says to the files' facts as matches of the table's rules.

    Args:
        root: the folder that paths are relative to. facts: by path; files with a fault are not asked about.

    Returns:
        Whether ruff ran; without it the audit goes on and the records say so.
    """
    program = ruff_program()
    paths = [
        path
        for path, file in facts.items()
        if file.language == "python" and not (file.fault or file.is_test or file.decoding)
    ]
    if program is None or not paths:
        return False
    codes = table("python", "lints")["codes"]
    for batch in _batches(paths, 2000):
        found = _run(program, root, batch, sorted(codes))
        if found is None:
            return False
        for entry in found:
            _add(root, facts, codes, entry)
    return True


def _batches(paths: list[str], size: int) -> Iterable[list[str]]:
    return (paths[start : start + size] for start in range(0, len(paths), size))


def _run(program: str, root: Path, paths: list[str], codes: list[str]) -> list[dict[str, object]] | None:
    command = [program, "check", "--isolated", "--no-cache", "--preview", "--quiet", "--exit-zero", "--no-respect-gitignore",
               "--output-format", "json", "--select", ",".join(codes), "--", *paths]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=_TIMEOUT, check=False)
        loaded = json.loads(done.stdout or b"[]")
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return loaded if isinstance(loaded, list) else None


def _add(root: Path, facts: dict[str, FileFacts], codes: dict[str, str], entry: dict[str, object]) -> None:
    name = Path(str(entry.get("filename", "")))
    try:
        path = name.relative_to(root.resolve()).as_posix() if name.is_absolute() else name.as_posix()
    except ValueError:
        return
    file, rule = facts.get(path), codes.get(str(entry.get("code")))
    start, end = entry.get("location"), entry.get("end_location")
    if file is None or rule is None or not isinstance(start, dict) or not isinstance(end, dict):
        return
    place = Place(int(start["row"]), int(end["row"]), int(start["column"]) - 1, int(end["column"]) - 1)
    message = str(entry.get("message", "")).replace("`", "")
    if any(known.rule == rule and known.place.line == place.line for known in file.matches):
        return
    file.matches.append(
        Match(
            rule,
            place,
            f"{entry.get('code')}: {message}"[:100],
            strength=-1 if rule == "comparison-without-effect" else 0,
            facts=(("shown", message[:80]),),
        )
    )
