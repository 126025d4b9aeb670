"""Runs the read-only commands whose output may stand as evidence (contract: exploration, 5).

Only git is among them, and of git only what `data/workspace/commands.toml` lists: no shell, no option that writes or names a program, no
path out of the workspace. Everything is answered from what the repository holds, never from the working tree, so that no
filter of it runs.
"""

import functools
import re
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.data import data_path
from treewright.workspace.git import run_git

_REVISION = re.compile(r"[A-Za-z0-9_][\w./~^@{}-]*(?::\./[^\0]+)?")
_COUNT = re.compile(r"-\d{1,6}|-n\d{1,6}")
_LINES = re.compile(r"-L\d{1,7},\+?\d{1,7}(?::[^:\0]+)?")
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class _Subcommand:
    always: tuple[str, ...]
    options: frozenset[str]
    count: bool = False
    lines: bool = False
    pattern: bool = False
    revision: bool = False


@functools.cache
def _subcommands() -> dict[str, _Subcommand]:
    table: dict[str, dict[str, Any]] = tomllib.loads(
        data_path("workspace", "commands.toml").read_text(encoding="utf-8")
    )
    return {
        name: _Subcommand(
            **{**entry, "always": tuple(entry["always"]), "options": frozenset(entry["options"])}
        )
        for name, entry in table.items()
    }


def read_only_command(workspace: Path, command: str) -> str | None:
    """Run one allowed command in the workspace.

    Args:
        workspace: where it runs; a path in the command is relative to it and may not leave it.
        command: one line as a shell would take it; nothing of a shell but quoting works.

    Returns:
        What it printed (UTF-8, other bytes replaced), or None when it is not allowed or failed.
    """
    if len(command) > _LONGEST or "\0" in command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) < 2 or words[0] != "git" or words[1] not in _subcommands():
        return None
    arguments = _arguments(workspace, words[1], words[2:])
    answer = run_git(workspace, *arguments) if arguments else None
    return None if answer is None else answer.decode("utf-8", "replace")


def _arguments(workspace: Path, name: str, words: Sequence[str]) -> list[str] | None:
    """Return git's arguments for a subcommand and its words when all of them are allowed."""
    known, always = _subcommands()[name], list(_subcommands()[name].always)
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word.startswith("-")]
    plain = [word for word in words[:end] if not word.startswith("-")]
    if not all(_allowed(option, known) for option in options):
        return None
    if known.pattern:
        if not plain:
            return None
        options += ["-e", plain.pop(0)]
    # as git does it: a word that is the name of a file is a path
    revisions = [word for word in plain if not (workspace / word).exists()]
    paths = [word for word in plain if word not in revisions] + list(words[end + 1 :])
    if not all(_REVISION.fullmatch(one) and _inside(one.partition(":")[2]) for one in revisions):
        return None
    if not all(_inside(path) for path in paths):
        return None
    if known.pattern and not revisions:
        always.append("--cached")
    if known.revision and not revisions:
        revisions = ["HEAD"]
    # these two name their own file; for any other, what lies outside the workspace is left out
    named = any(":" in one for one in revisions) or any(one[:2] == "-L" and ":" in one for one in options)
    return [name, *always, *options, *revisions, *([] if named else ["--", *(paths or ["."])])]


def _allowed(option: str, known: _Subcommand) -> bool:
    if known.count and _COUNT.fullmatch(option):
        return True
    if known.lines and _LINES.fullmatch(option):
        return _inside(option.partition(":")[2])
    name = option.partition("=")[0] if option.startswith("--") else option
    if name in known.options:
        return True
    return option[:2] in known.options and option[:2] in {"-S", "-G"}


def _inside(path: str) -> bool:
    """Tell whether a path stays in the workspace; git's own magic (`:/`, `:(top)`) reaches out of it."""
    if path.startswith(("/", ":", "~", "\\")) or ":" in path[:2]:
        return False
    return ".." not in path.replace("\\", "/").split("/")
