"""What travels to a kernel for one branch, and what its records mean.

A plan leaves without anything that is expected; the ids in it are random, so that canaries look like checks.
Records come back as one line of JSON each, led by a secret; whatever does not parse or does not know the secret
is counted as forged.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from treewright.kernels.canary import Canary, bracket
from treewright.kernels.limits import Limits
from treewright.kernels.testrun import TestRun
from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Plan

_LONGEST_RECORD = 32 << 20


@dataclass(slots=True)
class Wired:
    """A plan as it travels, and the key to its answers.

    Attributes:
        message: JSON object for `inside/guard`.
        checks: random id to check.
        canaries: random id to canary.
        secret: leads every record.
        program_output: ids of checks about what loading the program prints; they do not travel.
    """

    message: dict[str, Any]
    checks: dict[str, Check]
    canaries: dict[str, Canary]
    secret: str
    program_output: list[Check] = field(default_factory=list)
    tests: TestRun | None = None


def _travelling(name: str, check: Check | None, canary: Canary | None) -> dict[str, Any]:
    """The part of a check or a canary that a kernel sees."""
    if check is None:
        return {"id": name, "evaluate": canary.evaluate if canary else "", "apart": True}
    return {"id": name, "context": check.context, "evaluate": check.evaluate, "right": check.right}


def wire_plan(program: str, path: str, plan: Plan, limits: Limits, defines: tuple[str, ...] = ()) -> Wired:
    """Make the message of the checks that the guard evaluates (all kinds but pytest).

    Args:
        program: source text.
        path: where the program's file is, as the kernel sees it.
        plan: what to check.
        limits: of this branch.
        defines: builtin names that the program is expected to define.
    """
    checks: dict[str, Check] = {}
    output: list[Check] = []
    for check in plan.checks:
        if check.kind is CheckKind.STDOUT and not check.evaluate.strip():
            output.append(check)
        elif check.kind is not CheckKind.PYTEST:
            checks[secrets.token_hex(6)] = check
    before, after = bracket([check.evaluate for check in checks.values()])
    canaries = {secrets.token_hex(6): canary for canary in (*before, *after)}
    ids = list(canaries)
    order = [*ids[: len(before)], *checks, *ids[len(before) :]]
    secret = secrets.token_hex(16)
    message = {
        "secret": secret,
        "path": path,
        "source": program,
        "module": "__main__" if output else "solution",
        "setup": plan.setup,
        "stdin": plan.stdin,
        "defines": list(defines),
        "check_s": plan.per_check_timeout_s or None,
        "lines": plan.trace_lines,
        "limits": limits.for_guard(plan.per_branch_timeout_s),
        "output_bytes": limits.output_bytes,
        "checks": [_travelling(one, checks.get(one), canaries.get(one)) for one in order],
    }
    return Wired(message, checks, canaries, secret, output)


def wire_tests(program: str, path: str, plan: Plan, limits: Limits, tests: TestRun) -> Wired:
    """Make the message of the checks that pytest runs.

    Args:
        program: source text.
        path: where the program's file is, as the kernel sees it.
        plan: what to check.
        limits: of this branch.
        tests: the trusted copy, with its canaries.
    """
    secret = secrets.token_hex(16)
    message = {
        "secret": secret,
        "path": path,
        "source": program,
        "check_s": plan.per_check_timeout_s or None,
        "lines": plan.trace_lines,
        "limits": limits.for_guard(plan.per_branch_timeout_s),
        "output_bytes": limits.output_bytes,
        "pytest": tests.message(),
    }
    checks = {check.id: check for check in plan.checks if check.kind is CheckKind.PYTEST}
    return Wired(message, checks, {}, secret, tests=tests)


class Records:
    """Collects the records of one branch from the bytes that arrive.

    Attributes:
        forged: lines that were no record of ours.
        ended: the last record was seen.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode("ascii")
        self._rest = b""
        self._by_id: dict[str, dict[str, Any]] = {}
        self._rights: dict[str, Any] = {}
        self._single: dict[str, dict[str, Any]] = {}
        self.tests: dict[str, dict[str, Any]] = {}
        self.uncollected: list[dict[str, Any]] = []
        self.forged = 0

    @property
    def ended(self) -> bool:
        """Whether the guard said that it was done."""
        return "end" in self._single

    @property
    def cut(self) -> bool:
        """Whether the guard stopped early because too much was printed."""
        return bool((self._single.get("end") or {}).get("over"))

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces."""
        self._rest += data
        if len(self._rest) > _LONGEST_RECORD:
            self.forged += 1
            self._rest = b""
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        record: Any = None
        if line.startswith(self._secret):
            try:
                record = json.loads(line[len(self._secret) :])
            except (ValueError, RecursionError):
                record = None
        if not isinstance(record, dict) or not isinstance(record.get("k"), str):
            self.forged += 1
            return
        kind = record["k"]
        if kind == "check":
            self._once(self._by_id, record)
        elif kind == "test":
            self._once(self.tests, record)
        elif kind == "right":
            self._rights.setdefault(str(record.get("id")), record.get("right"))
        elif kind == "uncollected":
            self.uncollected.append(record)
        elif kind in self._single:
            self.forged += 1
        else:
            self._single[kind] = record

    def _once(self, where: dict[str, dict[str, Any]], record: dict[str, Any]) -> None:
        name = str(record.get("id"))
        if name in where:
            self.forged += 1
        where.setdefault(name, record)

    def single(self, kind: str) -> dict[str, Any] | None:
        """The record of a kind that comes once: `begin`, `loaded`, `setup`, `end`, `missing`, `collected`."""
        return self._single.get(kind)

    def check(self, name: str) -> dict[str, Any] | None:
        """A check's record, by the random id it travelled under."""
        record = self._by_id.get(name)
        if record is not None and name in self._rights:
            return {**record, "right": self._rights[name]}
        return record


_STATUS = {
    "value": ObservedStatus.VALUE,
    "raised": ObservedStatus.RAISED,
    "exited": ObservedStatus.RAISED,
    "output": ObservedStatus.RAISED,
    "timeout": ObservedStatus.TIMEOUT,
}


def observation(check: Check, record: dict[str, Any]) -> Observation:
    """Turn a record into an observation; a field of the wrong type counts as absent."""
    lines = record.get("lines")
    line = record.get("error_line")
    cpu = record.get("cpu")
    return Observation(
        check_id=check.id,
        status=_STATUS.get(str(record.get("status")), ObservedStatus.ABSENT),
        value=record.get("value"),
        right=record.get("right"),
        error=str(record.get("error") or "")[:200],
        message=str(record.get("message") or "")[:2000],
        error_line=line if type(line) is int else None,
        stdout=str(record.get("stdout") or ""),
        lines=tuple(one for one in lines if type(one) is int) if isinstance(lines, list) else (),
        passed=record.get("passed") is True if check.kind is CheckKind.PYTEST else None,
        cpu_s=float(cpu) if isinstance(cpu, (int, float)) and cpu >= 0 else 0.0,
    )
