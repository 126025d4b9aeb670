"""Ruff as one more witness: run once over the files that were read, isolated from the project's configuration."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from treewright.parsing import load_json
from treewright.performers.static.cache import FactsCache
from treewright.performers.static.facts import FileFacts, Match, Place
from treewright.performers.static.rulebook import table
from treewright.workspace.decode import Unreadable, read_bytes

_TIMEOUT = 60.0


def ruff_program() -> str | None:
    """The ruff beside this Python, else the one on the path."""
    beside = Path(sys.executable).parent / "ruff"
    return str(beside) if beside.is_file() else shutil.which("ruff")


def add_lints(root: Path, facts: dict[str, FileFacts], cache: FactsCache) -> bool:
    """Add what ruff says to the files' facts as matches of the table's rules.

    Args:
        root: the folder that paths are relative to. facts: by path; files with a fault are not asked about.
        cache: what ruff said of the same bytes before is not asked again.

    Returns:
        Whether ruff ran or had nothing new to look at; without it the audit goes on and the records say so.
    """
    program = ruff_program()
    paths = [
        path
        for path, file in facts.items()
        if file.language == "python" and not (file.fault or file.is_test or file.decoding)
    ]
    if program is None or not paths:
        return False
    keys = {path: f"{path}\0{facts[path].digest}\0{_version(program)}" for path in paths}
    cache.expect("lints", keys.values())
    said = {path: cache.get("lints", key) for path, key in keys.items()}
    unknown = [path for path, matches in said.items() if not isinstance(matches, list)]
    found = _look(program, root, unknown)
    for path, matches in found.items():
        said[path] = matches
        if _still(root / path, facts[path].digest):
            cache.put("lints", keys[path], matches)
    for path, matches in said.items():
        _add(facts[path], matches or [])
    return len(found) == len(unknown)


def _version(program: str) -> str:
    """Changes when another ruff is installed."""
    status = Path(program).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _still(path: Path, digest: str) -> bool:
    """Whether a file, which ruff reads for itself, still holds the bytes that the audit has read."""
    data = read_bytes(path)
    return not isinstance(data, Unreadable) and hashlib.sha256(data).hexdigest() == digest


def _look(program: str, root: Path, paths: list[str]) -> dict[str, list[Match]]:
    """What ruff says, by path; paths that it could not be asked about are left out."""
    codes = table("python", "lints")["codes"]
    said: dict[str, list[Match]] = {}
    for batch in _batches(paths, 2000):
        found = _run(program, root, batch, sorted(codes))
        if found is None:
            break
        said |= {path: [] for path in batch}
        for entry in found:
            path, match = _match(root, codes, entry)
            if match is not None and path in said:
                said[path].append(match)
    return said


def _batches(paths: list[str], size: int) -> Iterable[list[str]]:
    return (paths[start : start + size] for start in range(0, len(paths), size))


def _run(program: str, root: Path, paths: list[str], codes: list[str]) -> list[dict[str, object]] | None:
    command = [program, "check", "--isolated", "--no-cache", "--preview", "--quiet", "--exit-zero", "--no-respect-gitignore",
               "--output-format", "json", "--select", ",".join(codes), "--", *paths]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=_TIMEOUT, check=False)
        loaded = load_json(done.stdout or b"[]")
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return loaded if isinstance(loaded, list) else None


def _match(root: Path, codes: dict[str, str], entry: dict[str, object]) -> tuple[str, Match | None]:
    """One thing that ruff said, with the path of its file."""
    name = Path(str(entry.get("filename", "")))
    try:
        path = name.relative_to(root.resolve()).as_posix() if name.is_absolute() else name.as_posix()
    except ValueError:
        return "", None
    rule, start, end = codes.get(str(entry.get("code"))), entry.get("location"), entry.get("end_location")
    if rule is None or not isinstance(start, dict) or not isinstance(end, dict):
        return path, None
    place = Place(int(start["row"]), int(end["row"]), int(start["column"]) - 1, int(end["column"]) - 1)
    message = str(entry.get("message", "")).replace("`", "")
    what = f"{entry.get('code')}: {message}"[:100]
    strength = -1 if rule == "comparison-without-effect" else 0
    return path, Match(rule, place, what, strength=strength, facts=(("shown", message[:80]),))


def _add(file: FileFacts, matches: list[Match]) -> None:
    """Add matches where the file's own analysis has none of the same rule and line."""
    known = {(match.rule, match.place.line) for match in file.matches}
    for match in matches:
        if (match.rule, match.place.line) not in known:
            known.add((match.rule, match.place.line))
            file.matches.append(match)
