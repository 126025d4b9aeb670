"""Numeric checks in a kernel, started when the first number is due; without one, numbers are not executed and say so."""

import asyncio
from collections.abc import Sequence
from typing import Any

from treewright.errors import TreewrightError
from treewright.tree.citation import NumericCheck, NumericOutcome


class KernelNumbers:
    """Executes numeric checks one after another in fresh kernels."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._host: Any = None
        self._problem = ""
        self._turn = asyncio.Lock()

    async def evaluate(self, checks: Sequence[NumericCheck]) -> list[NumericOutcome]:
        """Return one outcome a check, in order."""
        async with self._turn:
            return [await asyncio.to_thread(self._one, check) for check in checks]

    async def close(self) -> None:
        """End the kernels; harmless when repeated."""
        host, self._host = self._host, None
        if host is not None:
            await asyncio.to_thread(host.close)

    def _one(self, check: NumericCheck) -> NumericOutcome:
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
