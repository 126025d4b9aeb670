"""The command line as a real process."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[3]


class Ran:
    """A finished command.

    Attributes:
        code: its exit code.
        out, err: what it printed.
    """

    def __init__(self, done: "subprocess.CompletedProcess[str]") -> None:
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def json(self) -> Any:
        """Return stdout as JSON."""
        return json.loads(self.out)


Command = Callable[..., Ran]


def command(*arguments: str | Path) -> list[str]:
    """Return the command line that starts ours."""
    return [sys.executable, "-m", "treewright", *map(str, arguments)]


FLAWED = """import sqlite3
from flask import Flask, request

app = Flask(__name__)


@app.route("/find")
def find():
    name = request.args["name"]
    rows = sqlite3.connect("a.db").execute(f"SELECT * FROM t WHERE name = '{name}'")
    return str(list(rows))
"""

CLEAN = '''"""Adds."""


def add(left: int, right: int) -> int:
    """Return the sum."""
    return left + right
'''
