"""The outside, as the search sees it: a host of branches, a screener, a spend cap, a clock, generators."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from treewright.search.checks import Observation, Plan


class BranchOutcome(StrEnum):
    """How a branch ended. Each is a value; none is an exception."""

    FINISHED = "finished"
    LOAD_ERROR = "load_error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"
    TAMPERED = "tampered"
    KERNEL_LOST = "kernel_lost"


class Trace(BaseModel):
    """What the execution of one branch showed.

    Attributes:
        outcome: how it ended.
        observations: one a check that reported, in any order.
        error: name of the exception that loading the program raised, for `load_error`.
        message: its text, or what else there is to say.
        error_line: line of the program.
        stdout: what was printed, truncated with a mark.
        stderr: likewise.
        wall_s: seconds from start to end.
        cpu_s: CPU seconds of the branch and all its processes.
        peak_memory_bytes: most memory held at one time.
        not_guaranteed: guarantees of the contract that this host could not give, by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: BranchOutcome
    observations: tuple[Observation, ...] = ()
    error: str = ""
    message: str = ""
    error_line: int | None = None
    stdout: str = ""
    stderr: str = ""
    wall_s: float = Field(default=0.0, ge=0)
    cpu_s: float = Field(default=0.0, ge=0)
    peak_memory_bytes: int = Field(default=0, ge=0)
    not_guaranteed: tuple[str, ...] = ()


class KernelHost(Protocol):
    """Runs one program in a fresh kernel."""

    def run_branch(self, program: str, plan: Plan) -> Trace:
        """Run every check of the plan against the program in a kernel in which nothing ran before.

        Raises:
            KernelError: kernels are unavailable (E052); a kernel that dies is a trace, not an error.
        """
        ...


class Screener(Protocol):
    """Runs many programs in bare forks: quick, under the same limits, good enough to sort out what fails."""

    def screen(self, programs: Sequence[str], plan: Plan) -> list[Trace]:
        """Run the plan against each program; one trace a program, in order."""
        ...


class Reserved(BaseModel):
    """A granted reservation."""

    model_config = ConfigDict(frozen=True)

    reservation_id: str
    estimate_usd: float
    remaining_usd: float


class Refused(BaseModel):
    """A refused reservation; `error` is `spend_cap_exceeded`, `candidate_limit_exceeded`, `branch_timeout`
    or `capability_disabled`."""

    model_config = ConfigDict(frozen=True)

    error: str
    message: str


class Settled(BaseModel):
    """What a settlement charged."""

    model_config = ConfigDict(frozen=True)

    reservation_id: str
    charged_usd: float
    remaining_usd: float


class SpendCap(Protocol):
    """The ledger: check and admission are one step, whoever else spends."""

    def reserve(self, run: str, estimate_usd: float) -> Reserved | Refused:
        """Hold an amount before a branch is dispatched."""
        ...

    def settle(self, run: str, reservation_id: str, actual_usd: float, *, failed: bool) -> Settled | Refused:
        """Charge what was spent and release the hold."""
        ...


class Clock(Protocol):
    """Seconds that only go forward."""

    def now(self) -> float:
        """Seconds since some fixed point."""
        ...


class Span(Protocol):
    """One open span of a tracer."""

    def set(self, name: str, value: str | float | bool) -> None:
        """Set an attribute."""
        ...

    def end(self) -> None:
        """Close the span."""
        ...


class Tracer(Protocol):
    """Opens spans, when the user configured a tracer."""

    def start(self, name: str, parent: Span | None = None) -> Span:
        """Open a span."""
        ...
