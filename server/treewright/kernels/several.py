"""Several programs in one process, seen from outside: what travels, and what its records say (see `inside/several`)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treewright.kernels.limits import Limits
from treewright.kernels.trace import OUTCOMES, BranchTrace, Ending
from treewright.kernels.wire import observation
from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Plan, judge


@dataclass(frozen=True, slots=True)
class Sieve:
    """A plan for several programs as it travels, and the key to its answers.

    Attributes:
        message: JSON object for `inside/several`.
        checks: random id to check.
        output: checks about what loading the program prints; they do not travel.
        secret: leads every record.
    """

    message: dict[str, Any]
    checks: dict[str, Check]
    output: tuple[Check, ...]
    secret: str


def wire_several(
    programs: Sequence[str], path: str, plan: Plan, limits: Limits, defines: tuple[str, ...], wall_s: float
) -> Sieve:
    """Make the message; what is expected stays here, as it does for a single branch.

    Args:
        programs: source texts.
        path: where each program's file is, as it sees it.
        plan: checks of any kind but pytest.
        limits: of the process.
        defines: builtin names that the programs are expected to define.
        wall_s: wall clock of all of them together.
    """
    output = tuple(one for one in plan.checks if one.kind is CheckKind.STDOUT and not one.evaluate.strip())
    checks = {secrets.token_hex(6): one for one in plan.checks if one not in output}
    secret = secrets.token_hex(16)
    message = {
        "secret": secret,
        "path": path,
        "programs": list(programs),
        "module": "__main__" if output else "solution",
        "setup": plan.setup,
        "stdin": plan.stdin,
        "defines": list(defines),
        "check_s": plan.per_check_timeout_s or None,
        "timer": "cpu",
        "hurry": True,
        "lines": plan.trace_lines,
        "limits": limits.for_guard(wall_s),
        "output_bytes": limits.output_bytes,
        "checks": [
            {"id": name, "context": one.context, "evaluate": one.evaluate, "right": one.right}
            for name, one in checks.items()
        ],
    }
    return Sieve(message, checks, output, secret)


def read_several(sieve: Sieve, data: bytes) -> tuple[list[BranchTrace | None], bool]:
    """Read what a child said.

    Returns:
        The traces of the programs that reported, in order, None for one that has to be run alone to be known;
        and whether the child came to its own end.
    """
    found: list[BranchTrace | None] = []
    ended = False
    rights: dict[str, Any] = {}
    secret = sieve.secret.encode("ascii")
    for line in data.split(b"\n")[:-1]:
        record = _read(line, secret)
        if record is None:
            break
        if record.get("k") == "right":
            rights.setdefault(str(record.get("id")), record.get("right"))
        elif record.get("k") == "program":
            if record.get("number") != len(found):
                break
            found.append(_trace(sieve, record, rights))
        ended = ended or record.get("k") == "end"
    return found, ended


def _read(line: bytes, secret: bytes) -> dict[str, Any] | None:
    if not line.startswith(secret):
        return None
    try:
        record = json.loads(line[len(secret) :])
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _trace(sieve: Sieve, record: dict[str, Any], rights: dict[str, Any]) -> BranchTrace | None:
    loaded = record["loaded"] if isinstance(record.get("loaded"), dict) else {}
    status = loaded.get("status")
    if record.get("over") or record.get("stdin") or status in ("exited", "output", None):
        return None
    if loaded.get("error") == "MemoryError":
        return None
    ending = {"value": Ending.COMPLETED, "timeout": Ending.TIMEOUT}.get(str(status), Ending.EXCEPTION)
    observations, cpu = _observations(sieve, record.get("checks"), rights)
    if status == "value":
        printed = str(loaded.get("stdout") or "")
        observations += [
            Observation(check_id=one.id, status=ObservedStatus.VALUE, stdout=printed) for one in sieve.output
        ]
    line = loaded.get("error_line")
    return BranchTrace(
        outcome=OUTCOMES[ending],
        ending=ending,
        observations=tuple(observations),
        error=str(loaded.get("error") or "")[:200],
        message=str(loaded.get("message") or "")[:2000],
        error_line=line if type(line) is int else None,
        cpu_s=sum(cpu.values()),
        check_cpu_s=cpu,
    )


def _observations(
    sieve: Sieve, records: Any, rights: dict[str, Any]
) -> tuple[list[Observation], dict[str, float]]:
    found: list[Observation] = []
    cpu: dict[str, float] = {}
    for one in records if isinstance(records, list) else ():
        name = str(one.get("id"))
        check = sieve.checks.get(name)
        if check is None:
            continue
        found.append(observation(check, {**one, "right": rights[name]} if name in rights else one))
        used = one.get("cpu")
        cpu[check.id] = float(used) if isinstance(used, (int, float)) and used >= 0 else 0.0
    return found, cpu


def hung(program_wall_s: float) -> BranchTrace:
    """The trace of a program that said nothing for as long as it may run."""
    return BranchTrace(
        outcome=OUTCOMES[Ending.TIMEOUT],
        ending=Ending.TIMEOUT,
        message="the wall clock ran out",
        wall_s=program_wall_s,
    )


def passes(plan: Plan, trace: BranchTrace) -> bool:
    """Whether every check passed, which a run alone has to confirm."""
    by_id = {one.check_id: one for one in trace.observations}
    return all(judge(check, by_id.get(check.id)).passed for check in plan.checks)
