"""Read-only questions to git about a workspace, asked so that a cloned repository cannot act.

A repository's own configuration can name programs that git runs (hooks, fsmonitor, external diff, pagers,
filters). All of these are switched off here, nothing takes a lock, and only plumbing that prints is used. A
missing git, a folder without a repository, and a failing command all give the same answer: nothing known.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SAFE_OPTIONS = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "diff.external=",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.sshCommand=false",
    "-c",
    "core.askPass=",
    "-c",
    "log.showSignature=false",
    # a repository's own format (`format.pretty`, `%G?`) may ask for signatures, and so for this program
    "-c",
    "gpg.program=false",
    "-c",
    "gpg.openpgp.program=false",
    "-c",
    "gpg.x509.program=false",
    "-c",
    "gpg.ssh.program=false",
    "-c",
    "core.quotePath=false",
]
_SAFE_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_EXTERNAL_DIFF": "",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines `start` to `end` of a file, 1-based, both included."""

    start: int
    end: int

    def touches(self, start: int, end: int) -> bool:
        """Tell whether it shares a line with `start` to `end`."""
        return self.start <= end and start <= self.end


def run_git(
    folder: Path, *arguments: str, timeout: float = _TIMEOUT, settings: Mapping[str, str] | None = None
) -> bytes | None:
    """Run one read-only git command in a folder.

    Args:
        folder: where to run.
        arguments: the subcommand and its arguments.
        timeout: seconds until it is killed.
        settings: configuration on top, by key; passed beside the arguments, since a key may hold any character.

    Returns:
        What it printed (bytes: paths and diffs need not be UTF-8), or None when git is absent, says no or hangs.
    """
    program = shutil.which("git")
    if program is None:
        return None
    keep = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            [program, *_SAFE_OPTIONS, *arguments],
            cwd=folder,
            env=keep | _SAFE_ENVIRONMENT | _as_environment(settings or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    entries = {"GIT_CONFIG_COUNT": str(len(settings))} if settings else {}
    for number, (key, value) in enumerate(settings.items()):
        entries |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return entries


def _no_filters(folder: Path) -> dict[str, str] | None:
    """Return the settings that make every filter of the repository do nothing; None when they are not to be had.

    A filter is a program that git runs on the content of a file it compares, and the repository names it. There is no
    option against all of them, but an empty command is none (gitattributes, "filter").
    """
    # `core.pager` is set above, so that there is an answer without filters too
    answer = run_git(folder, "config", "--null", "--name-only", "--get-regexp", r"^(filter\..*|core\.pager)$")
    if answer is None:
        return None
    keys = {os.fsdecode(key) for key in answer.split(b"\0") if key.startswith(b"filter.")}
    drivers = sorted({key.removeprefix("filter.").rpartition(".")[0] for key in keys})
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"filter.{driver}.{name}": value for driver in drivers for name, value in off.items()}


def head_commit(folder: Path) -> str | None:
    """Return the full id of the commit that is checked out, or None."""
    answer = run_git(folder, "rev-parse", "--verify", "-q", "HEAD")
    return answer.decode("ascii", "replace").strip() if answer else None


def churn(folder: Path, commits: int = 400) -> dict[str, int]:
    """Count in how many of the last commits each file below `folder` changed.

    Args:
        folder: inside a repository.
        commits: how far back to look.

    Returns:
        POSIX path from `folder` to a count; empty when nothing is known.
    """
    answer = run_git(
        folder,
        "log",
        f"-{commits}",
        "--format=",
        "--name-only",
        "--no-renames",
        "--relative",
        "-z",
        "--",
        ".",
    )
    if not answer:
        return {}
    names = (os.fsdecode(name.strip(b"\n")) for name in answer.split(b"\0"))
    return dict(Counter(name for name in names if name))


def changed_ranges(folder: Path, revision: str) -> dict[str, list[LineRange]] | None:
    """Return which lines of which files differ from `revision`, the working tree counted, new files whole.

    Args:
        folder: inside a repository; paths are relative to it.
        revision: anything git understands as a commit.

    Returns:
        POSIX path to ranges in the file as it is now; None when git or the revision is not to be had.
    """
    if revision.startswith("-"):
        return None  # would be read as an option
    commit = run_git(folder, "rev-parse", "--verify", "-q", "--end-of-options", revision + "^{commit}")
    if not commit:
        return None
    base = commit.decode("ascii").strip()
    settings = _no_filters(folder)
    if settings is None:
        return None
    diff = run_git(
        folder, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--no-renames", "-U0",
        "--ignore-submodules=all", base, "--", ".", settings=settings,
    )  # fmt: skip
    if diff is None:
        return None
    ranges = _parse_diff(diff)
    new = run_git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    for name in (new or b"").split(b"\0"):
        if name:
            ranges[os.fsdecode(name)] = [LineRange(1, 10**9)]
    return ranges


def _parse_diff(diff: bytes) -> dict[str, list[LineRange]]:
    """Take file names and new-side hunk ranges from a unified diff of zero context, bytes as they come."""
    ranges: dict[str, list[LineRange]] = {}
    for part in re.split(rb"(?m)^diff --git ", diff)[1:]:
        head = re.search(rb"(?m)^\+\+\+ (.*)$", part)
        if head is None:
            continue
        name = _unquote(head.group(1).rstrip(b"\t\r"))
        if name is None:
            continue
        found = ranges.setdefault(name, [])
        for hunk in _HUNK.finditer(part, head.end()):
            start, count = int(hunk.group(1)), int(hunk.group(2) or 1)
            if count:
                found.append(LineRange(start, start + count - 1))
    return ranges


def _unquote(raw: bytes) -> str | None:
    """Undo git's C-style quoting of a name and its `b/` prefix; None for a deleted file."""
    if raw == b"/dev/null":
        return None
    if raw.startswith(b'"') and raw.endswith(b'"'):
        plain = raw[1:-1].decode("latin-1").encode("latin-1").decode("unicode_escape")
        raw = plain.encode("latin-1")
    return os.fsdecode(raw[2:] if raw.startswith(b"b/") else raw)
