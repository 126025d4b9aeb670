"""What the execution of one branch showed, with the finer ending that a kernel knows."""

from __future__ import annotations

import signal
from enum import StrEnum

from pydantic import Field

from treewright.search.ports import BranchOutcome, Trace


class Ending(StrEnum):
    """How a branch's kernel came to its end. Each is a value, none an exception."""

    COMPLETED = "completed"
    EXCEPTION = "exception"
    EXITED = "exited"
    TIMEOUT = "timeout"
    CPU = "cpu_limit"
    MEMORY = "memory_limit"
    OUTPUT = "output_limit"
    PROCESSES = "process_limit"
    KILLED = "killed"
    CRASHED = "crashed"
    STDIN = "stdin_requested"
    TAMPERED = "tampered"
    MISSING = "missing"
    LOST = "kernel_lost"


OUTCOMES: dict[Ending, BranchOutcome] = {
    Ending.COMPLETED: BranchOutcome.FINISHED,
    Ending.EXCEPTION: BranchOutcome.LOAD_ERROR,
    Ending.EXITED: BranchOutcome.CRASHED,
    Ending.TIMEOUT: BranchOutcome.TIMEOUT,
    Ending.CPU: BranchOutcome.TIMEOUT,
    Ending.MEMORY: BranchOutcome.OUT_OF_MEMORY,
    Ending.OUTPUT: BranchOutcome.OUTPUT_LIMIT,
    Ending.PROCESSES: BranchOutcome.CRASHED,
    Ending.KILLED: BranchOutcome.CRASHED,
    Ending.CRASHED: BranchOutcome.CRASHED,
    Ending.STDIN: BranchOutcome.LOAD_ERROR,
    Ending.TAMPERED: BranchOutcome.TAMPERED,
    Ending.MISSING: BranchOutcome.KERNEL_LOST,
    Ending.LOST: BranchOutcome.KERNEL_LOST,
}

CUT_MARK = "\n[output cut off here]\n"


class BranchTrace(Trace):
    """A trace with what only the kernel's host knows.

    Attributes:
        ending: how the kernel came to its end, finer than `outcome`.
        exit_code: of the kernel's process, when it ended by itself; negative for a signal.
        frames: `(file, line, function)` of the exception that loading raised, innermost last.
        load_lines: lines of the program that loading it executed, when the plan asked for lines.
        check_cpu_s: CPU seconds by check id.
        notes: facts that do not decide anything.
    """

    ending: Ending
    exit_code: int | None = None
    frames: tuple[tuple[str, int, str], ...] = ()
    load_lines: tuple[int, ...] = ()
    check_cpu_s: dict[str, float] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()


def ending_of_exit(code: int | None) -> Ending:
    """Name what a process's exit code means.

    Args:
        code: as `os.waitstatus_to_exitcode` gives it; None when nobody knows.
    """
    if code is None:
        return Ending.LOST
    if code >= 0:
        return Ending.EXITED
    names = {
        signal.SIGKILL: Ending.KILLED,
        signal.SIGTERM: Ending.KILLED,
    }
    if hasattr(signal, "SIGXCPU") and -code == signal.SIGXCPU:
        return Ending.CPU
    return (
        names.get(signal.Signals(-code), Ending.CRASHED) if -code in list(signal.Signals) else Ending.CRASHED
    )
