"""What one branch may use, and how a host enforces it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Limits of one branch (contract: search, 3).

    Attributes:
        memory_bytes: address space beyond what a fresh kernel has mapped, and resident memory of all the branch's
            processes together.
        cpu_s: CPU seconds of each process; None leaves only the wall clock.
        processes: most processes alive at one time, the kernel among them.
        file_bytes: largest file.
        open_files: most descriptors of one process.
        output_bytes: most text printed; what lies beyond is cut off with a mark and ends the branch.
        network: share the host's network; otherwise only a loopback of its own, where the system can do that.
        sealed: everything but the branch's own folder is read-only, where the system can do that.
        grace_s: how long a branch may take to end beyond its wall clock.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_bytes: int = Field(default=1 << 30, ge=1 << 24)
    cpu_s: float | None = Field(default=None, gt=0)
    processes: int = Field(default=32, ge=1)
    file_bytes: int = Field(default=64 << 20, ge=0)
    open_files: int = Field(default=512, ge=32)
    output_bytes: int = Field(default=1 << 20, ge=0)
    network: bool = False
    sealed: bool = True
    grace_s: float = Field(default=2.0, ge=0)

    def for_box(self) -> dict[str, Any]:
        """What `inside/contain` enforces."""
        return {
            "processes": self.processes,
            "resident": self.memory_bytes,
            "file_bytes": self.file_bytes,
            "open_files": self.open_files,
        }

    def for_guard(self, wall_s: float) -> dict[str, Any]:
        """What `inside/guard` sets on its own process before a candidate runs.

        Args:
            wall_s: the branch's wall clock; without `cpu_s` of its own a process may use as much CPU.
        """
        return {
            "memory_bytes": self.memory_bytes,
            "cpu_s": self.cpu_s or wall_s + 1,
            "file_bytes": self.file_bytes,
        }
