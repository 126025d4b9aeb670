"""What a run executes to check its evidence: numbers and programs in a kernel, and read-only commands.

The kernel is started when the first of them is due; without one, numbers and programs are not executed and say so.
"""

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treewright.errors import TreewrightError
from treewright.tree.citation import NumericCheck, NumericOutcome

_PYTHON = {"python", "python3"}
_WALL_S = 10.0


class Execution:
    """Executes numeric checks and commands, one after another, each program in a fresh kernel."""

    def __init__(self, workspace: Path) -> None:
        """Start nothing yet.

        Args:
            workspace: where commands run. Programs run in a folder of their own and see nothing of it.
        """
        self._workspace = workspace
        self._host: Any = None
        self._problem = ""
        self._turn = asyncio.Lock()

    async def evaluate(self, checks: Sequence[NumericCheck]) -> list[NumericOutcome]:
        """Return one outcome a numeric check, in order."""
        async with self._turn:
            return [await asyncio.to_thread(self._number, check) for check in checks]

    async def run(self, command: str) -> tuple[int, str] | None:
        """Run `python -c PROGRAM` in a kernel, or one of the read-only commands of git in the workspace.

        Returns:
            Exit code and output, or None when the command is not allowed, or there is no kernel for it.
        """
        from treewright.workspace.commands import read_only_command

        program = _program(command)
        if program is None:
            output = await asyncio.to_thread(read_only_command, self._workspace, command)
            return None if output is None else (0, output)
        async with self._turn:
            return await asyncio.to_thread(self._output, program)

    async def close(self) -> None:
        """End the kernels; harmless when repeated."""
        host, self._host = self._host, None
        if host is not None:
            await asyncio.to_thread(host.close)

    def _number(self, check: NumericCheck) -> NumericOutcome:
        from treewright.kernels.numeric import NumericStatus, evaluate_numeric

        host = self._kernel()
        if host is None:
            return NumericOutcome(check=check, state="not_executed", observed=self._problem)
        try:
            found = evaluate_numeric(host, check.expression, check.expected)
        except (TreewrightError, OSError, ValueError) as fault:
            return NumericOutcome(
                check=check, state="not_executed", observed=f"{type(fault).__name__}: {fault}"[:400]
            )
        # what was executed and gave no number does not show what the text says
        passed = found.status is NumericStatus.HOLDS
        return NumericOutcome(
            check=check, state="passed" if passed else "failed", observed=found.value or found.reason
        )

    def _output(self, program: str) -> tuple[int, str] | None:
        from treewright.search.checks import Plan
        from treewright.search.ports import BranchOutcome

        host = self._kernel()
        if host is None:
            return None
        try:
            trace = host.run_branch(program, Plan(checks=(), per_branch_timeout_s=_WALL_S))
        except (TreewrightError, OSError, ValueError):
            return None
        fault = f"{trace.error}: {trace.message}" if trace.error else ""
        text = "\n".join(part for part in (trace.stdout, trace.stderr, fault) if part)
        return (0 if trace.outcome is BranchOutcome.FINISHED else 1, text)

    def _kernel(self) -> Any:
        if self._host is None and not self._problem:
            try:
                from treewright.kernels.host import choose_host

                host = choose_host(preload=())
                host.start()
                self._host = host
            except (ImportError, TreewrightError, OSError, RuntimeError) as fault:
                self._problem = f"no kernel: {fault}"
        return self._host


def _program(command: str) -> str | None:
    """Return the program of `python -c PROGRAM`, or None when the command is another one."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return words[2] if len(words) == 3 and words[0] in _PYTHON and words[1] == "-c" else None
