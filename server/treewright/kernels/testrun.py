"""A trusted copy of test files, with canaries, and what pytest's records of them mean."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.parsing import parse_program
from treewright.regular import read_regular
from treewright.search.checks import Check, CheckKind, Plan

_WORDS = [
    "basic",
    "edges",
    "order",
    "empty",
    "single",
    "pairs",
    "limits",
    "large",
    "mixed",
    "sample",
    "typical",
    "repeat",
]


@dataclass(slots=True)
class TestRun:
    """One run of pytest over a trusted copy.

    Attributes:
        folder: the trusted copy, outside the candidate's folder.
        config: name of the empty configuration file, so that pytest looks for no other.
        files: every file of the copy, by path, with its text.
        nodes: check id to node id.
        passes: node ids of canaries that pass.
        fails: node ids of canaries that fail.
    """

    # Not a test class, whatever its name makes pytest think.
    __test__ = False

    folder: Path
    config: str
    files: dict[str, str]
    nodes: dict[str, str]
    passes: list[str] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)

    @classmethod
    def prepare(cls, folder: Path, tests: Mapping[str, str], plan: Plan) -> TestRun:
        """Write the copy and its canaries.

        Args:
            folder: empty, read-only to the kernel where that can be had.
            tests: text by path.
            plan: its pytest checks are looked up in the files.
        """
        nodes = {
            check.id: _node(check.evaluate, tests) for check in plan.checks if check.kind is CheckKind.PYTEST
        }
        run = cls(folder, f"{secrets.token_hex(4)}.ini", {**tests}, nodes)
        run.files[run.config] = "[pytest]\n"
        run._add_canaries(tests)
        for name, text in run.files.items():
            target = (folder / name).resolve()
            if not target.is_relative_to(folder.resolve()):
                raise ValueError(f"{name!r} leads out of the tests' folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
            target.chmod(0o444)
        return run

    def _add_canaries(self, tests: Mapping[str, str]) -> None:
        """Two files that look like the others: one runs before, one after the real tests."""
        stems = [Path(name).stem for name in tests if Path(name).name.startswith("test")] or ["test_solution"]
        for _ in range(2):
            name = f"{secrets.choice(stems)}_{secrets.choice(_WORDS)}_{secrets.randbelow(90) + 10}.py"
            first, second = secrets.randbelow(80) + 3, secrets.randbelow(80) + 3
            words = secrets.SystemRandom().sample(_WORDS, 2)
            bodies = [
                f"def test_{words[0]}():\n    items = [{first}, {second}]\n    assert sum(items) == {first + second}\n",
                f"def test_{words[1]}():\n    items = [{first}, {second}]\n    assert sum(items) == {first + second + 1}\n",
            ]
            if secrets.randbelow(2):
                bodies.reverse()
            self.files[name] = "\n\n".join(bodies)
            self.passes.append(f"{name}::test_{words[0]}")
            self.fails.append(f"{name}::test_{words[1]}")

    def message(self) -> dict[str, Any]:
        """What `inside/pytests` needs."""
        before, after = (node.partition("::")[0] for node in self.passes)
        real = list(dict.fromkeys(node.partition("::")[0] for node in self.nodes.values()))
        return {
            "folder": str(self.folder),
            "arguments": [before, *real, after],
            "nodes": [*self.nodes.values(), *self.passes, *self.fails],
            "config": self.config,
            "plugins": [],
        }

    def tampered(self, records: dict[str, dict[str, Any]], *, whole: bool) -> str:
        """Why this run cannot be believed; empty when nothing speaks against it.

        Args:
            records: what was reported, by node id.
            whole: the run came to its end, so that an absent report counts too.
        """
        for nodes, answer, name in ((self.passes, True, "pass"), (self.fails, False, "fail")):
            for node in nodes:
                if (whole or node in records) and (records.get(node) or {}).get("passed") is not answer:
                    return f"a test that is known to {name} did not"
        for name, text in self.files.items():
            try:
                same = read_regular(self.folder / name) == text.encode("utf-8")
            except (OSError, ValueError):
                same = False
            if not same:
                return f"the trusted copy of {name} was changed"
        return ""

    def record(self, check: Check, records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
        """The record of a check: that of its node, or of all the node's parameters together."""
        node = self.nodes[check.id]
        found = [
            one for name, one in records.items() if name == node or name.startswith((f"{node}[", f"{node}::"))
        ]
        if not found:
            return None
        failed = next((one for one in found if one.get("passed") is not True), None)
        lines = sorted({line for one in found for line in one.get("lines") or () if type(line) is int})
        return {**(failed or found[0]), "lines": lines}


def _node(name: str, tests: Mapping[str, str]) -> str:
    """The node id with its file; a bare one is looked for in every file."""
    if name.partition("::")[0] in tests:
        return name
    first = name.partition("::")[0].partition("[")[0]
    for file, text in tests.items():
        try:
            tree = parse_program(text)
        except (SyntaxError, ValueError):
            continue
        if any(getattr(node, "name", None) == first for node in tree.body):
            return f"{file}::{name}"
    return f"{next(iter(tests))}::{name}"
