"""The command line as a process that a fault is planted in: its disk fails, its clock jumps, its loading is cut off."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "0"\n',
    "requirements.txt": "flask==3.1.0\n",
    "app.py": """import sqlite3
import subprocess
from flask import Flask, request

app = Flask(__name__)


@app.route("/find")
def find():
    name = request.args["name"]
    rows = sqlite3.connect("a.db").execute(f"SELECT * FROM t WHERE name = '{name}'")
    return str(list(rows))


@app.route("/ping")
def ping():
    return subprocess.check_output("ping -c 1 " + request.args["host"], shell=True)
""",
}
_START = "\nimport sys\nfrom treewright.__main__ import main\nsys.argv[0] = 'treewright'\nmain()\n"

FAILING_DISK = """
import os
_real_write, _real_open, _syncs = os.write, os.open, [0]
_real_sync = getattr(os, "fdatasync", os.fsync)
def _fails():
    return _syncs[0] >= {after}
def _sync(descriptor):
    _syncs[0] += 1
    if _fails():
        raise OSError({errno}, os.strerror({errno}))
    return _real_sync(descriptor)
def _write(descriptor, data):
    if _fails() and descriptor > 2:
        if {errno} == 28 and len(data) > 7:  # a full disk takes a part first
            _real_write(descriptor, bytes(data)[:7])
        raise OSError({errno}, os.strerror({errno}))
    return _real_write(descriptor, data)
def _open(path, flags, *more, **named):
    if _fails() and flags & os.O_CREAT and "{folder}" in os.fspath(path):
        raise OSError({errno}, os.strerror({errno}), os.fspath(path))
    return _real_open(path, flags, *more, **named)
os.fdatasync, os.write, os.open = _sync, _write, _open
"""
"""From the n-th sync on every write to `folder` and every sync is refused; `after`, `errno` and `folder` are filled in."""

SLOW_DISK = """
import os, time
_real_sync = os.fdatasync
def _sync(descriptor):
    time.sleep(0.02)
    return _real_sync(descriptor)
os.fdatasync = _sync
"""

JUMPING_CLOCK = """
import datetime, time
_jumps = [0, {first}, {second}]
_calls = [0]
def _jump():
    _calls[0] += 1
    return _jumps[_calls[0] % 3]
class _Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=_jump())
datetime.datetime = _Clock
_real_time = time.time
time.time = lambda: _real_time() + _jump()
"""
"""Every reading of the wall clock jumps to and fro by `first` and `second` seconds."""

CUT_LOADING = """
import sys
class _Cut:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
        return None
sys.meta_path.insert(0, _Cut())
"""
"""Ctrl-C comes while a module is being imported."""


class Done(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


def planted_command(prelude: str, *arguments: object) -> list[str]:
    """Return the command line of a process that runs a prelude first."""
    return [sys.executable, "-c", prelude + _START, *map(str, arguments)]


def run_planted(*arguments: object, prelude: str, cwd: Path, timeout: float, **environ: str) -> Done:
    """Run the command line behind a prelude, and return how it ended."""
    done = subprocess.run(
        planted_command(prelude, *arguments),
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def nodes(folder: Path) -> list[tuple[Any, ...]]:
    """Return what matters of a finished run's nodes."""
    tree = json.loads((folder / "tree.json").read_text(encoding="utf-8"))
    return [(n["id"], n["statement"], n["verdict"], n["sum"], n["tag"], n["fields"]) for n in tree["tree"]]
