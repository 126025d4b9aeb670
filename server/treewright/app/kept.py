"""Answers of tasks that are not done yet, kept beside the journal, so that a run that was cut off pays for none twice.

A task of several calls is journalled when its last call has answered. What the calls before it brought lies here until then. The file
is a cache: a torn line, a disk that refuses, or its absence costs nothing but asking again.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from treewright.parsing import load_json
from treewright.regular import LARGEST_STORED, read_regular_text
from treewright.tree.event import SpendRecorded

KEPT_FILE = "answers.jsonl"


class AnswerFile:
    """Answers by task and part, appended to a file of the run's folder."""

    def __init__(self, folder: Path) -> None:
        """Read what is kept.

        Args:
            folder: the run's.
        """
        self._path = folder / KEPT_FILE
        self._kept: dict[str, tuple[Any, SpendRecorded | None]] = {}
        with contextlib.suppress(OSError, UnicodeDecodeError):
            for line in read_regular_text(self._path, LARGEST_STORED).splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            entry = load_json(line)
            if "accounted" in entry:
                self._mark(entry["accounted"])
            else:
                self._kept[str(entry["key"])] = (entry["value"], SpendRecorded(**entry["spent"]))
        except (ValueError, KeyError, TypeError, ValidationError):
            return  # torn by a crash: that answer is asked for again

    def _mark(self, keys: list[str]) -> None:
        for key in keys:
            if key in self._kept:
                self._kept[key] = (self._kept[key][0], None)

    def get(self, key: str) -> tuple[Any, SpendRecorded | None] | None:
        """Return an answer, and what it cost when no journal tells that yet."""
        return self._kept.get(key)

    def put(self, key: str, value: Any, spent: SpendRecorded) -> None:
        """Keep an answer."""
        self._kept[key] = (value, spent)
        self._append({"key": key, "value": value, "spent": spent.model_dump()})

    def accounted(self, keys: list[str]) -> None:
        """Remember that the cost of answers stands in the journal."""
        self._mark(keys)
        self._append({"accounted": list(keys)})

    def forget(self) -> None:
        """Remove the file: the run has ended."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _append(self, entry: dict[str, Any]) -> None:
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
