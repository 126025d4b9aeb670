"""What the kernel operations answer."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class ExecStatus(StrEnum):
    """How an execution ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    OUTPUT_LIMIT = "output_limit"
    DIED = "died"


class ExecResult(BaseModel):
    """What one execution showed.

    Attributes:
        status: how it ended.
        stdout: printed text, cut off with a mark.
        stderr: likewise.
        result: text of the last expression's value.
        displays: MIME bundles that were displayed, at most 1 MiB in all.
        error: class of the exception.
        message: its text, or what killed the kernel.
        traceback: its lines, without colours.
        kernel_restarted: the kernel is a new one; nothing of the earlier state is there.
        reason: why it is a new one.
        execution_count: as Jupyter counts.
        wall_s: seconds.
    """

    model_config = ConfigDict(frozen=True)

    status: ExecStatus
    stdout: str = ""
    stderr: str = ""
    result: str = ""
    displays: tuple[dict[str, str], ...] = ()
    error: str = ""
    message: str = ""
    traceback: tuple[str, ...] = ()
    kernel_restarted: bool = False
    reason: str = ""
    execution_count: int | None = None
    wall_s: float = 0.0


class Variable(BaseModel):
    """One name of a session's namespace."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    size: int | None = None
    value: str = ""


class Inspection(Variable):
    """One name, seen closely; texts are cut at 4,000 characters."""

    module: str = ""
    doc: str = ""
    signature: str = ""
    source: str = ""
    members: tuple[str, ...] = ()


class Variables(BaseModel):
    """Names of a session, and whether its kernel is a new one."""

    model_config = ConfigDict(frozen=True)

    variables: tuple[Variable, ...]
    kernel_restarted: bool = False
    reason: str = ""


class Inspected(BaseModel):
    """One name of a session; None when there is no such name."""

    model_config = ConfigDict(frozen=True)

    found: Inspection | None
    kernel_restarted: bool = False
    reason: str = ""


class Installed(BaseModel):
    """What was installed, for one session."""

    model_config = ConfigDict(frozen=True)

    package: str
    wheels: tuple[str, ...]
