"""Checks citations and numbers. Only this code does: what a performer says about its own counts for nothing (contract: exploration, 5).

Files are read again for each check, so that a file changed meanwhile is judged as it is now. Addresses are fetched only when the run is
online; numbers are executed only where a kernel is to be had; what cannot be checked is unverified, never assumed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from treewright.explore.ports import Performance
from treewright.explore.tasks import Brief, VerifyResult
from treewright.tree.citation import CheckedCitation, Citation, CitationState, NumericCheck, NumericOutcome
from treewright.workspace.citations import CitationChecker, same_up_to_space

Fetch = Callable[[str], Awaitable["Page"]]
"""Fetches an address and returns what stands there."""

_ALLOWED_LENGTH = 20_000


class Page(Protocol):
    """A fetched page.

    Attributes:
        status: the HTTP status.
        text: its text, markup removed.
        problem: why there is none; empty when there is.
    """

    status: int
    text: str
    problem: str


class NumberCheck(Protocol):
    """Executes numeric checks."""

    async def evaluate(self, checks: Sequence[NumericCheck]) -> list[NumericOutcome]:
        """Return one outcome a check, in order."""
        ...


class CommandCheck(Protocol):
    """Runs allowed read-only tools."""

    async def run(self, command: str) -> tuple[int, str] | None:
        """Return exit code and output, or None when the command is not an allowed one."""
        ...


class Verifier:
    """Performs `verify` tasks.

    Attributes:
        name: `verify`.
    """

    name = "verify"

    def __init__(
        self,
        workspace: Path,
        *,
        fetch: Fetch | None = None,
        numbers: NumberCheck | None = None,
        commands: CommandCheck | None = None,
    ) -> None:
        """Prepare.

        Args:
            workspace: citations of files are relative to it and may not leave it.
            fetch: for addresses; None when the run is offline.
            numbers: for numeric checks; None when there is no kernel.
            commands: for command output; None when nothing may be run.
        """
        self._files = CitationChecker(workspace)
        self._fetch = fetch
        self._numbers = numbers
        self._commands = commands

    async def perform(self, brief: Brief) -> Performance:
        """Check what the task asks for, and return one list of states a list of citations."""
        if all(citation.kind == "file" for group in brief.checks for citation in group):
            checked = iter(self._files.check_all(citation for group in brief.checks for citation in group))
            groups = [[next(checked) for _ in group] for group in brief.checks]
        else:
            groups = [await self._group(group) for group in brief.checks]
        numerics = await self._numerics(brief.numeric_checks)
        return Performance(result=VerifyResult(citations=groups, numerics=numerics))

    async def _group(self, citations: Sequence[Citation]) -> list[CheckedCitation]:
        return list(await asyncio.gather(*(self._one(citation) for citation in citations)))

    async def _one(self, citation: Citation) -> CheckedCitation:
        match citation.kind:
            case "file":
                return self._files.check(citation)
            case "url":
                return await self._address(citation)
            case "command":
                return await self._command(citation)

    async def _address(self, citation: Citation) -> CheckedCitation:
        if self._fetch is None:
            return _unverified(citation, "the run is offline")
        page = await self._fetch(citation.url)
        if page.problem or page.status != 200:
            return _unverified(citation, page.problem or f"status {page.status}")
        quote = same_up_to_space(citation.quote)
        if not quote:
            return CheckedCitation(
                citation=citation, state=CitationState.WEAK, reason="the page is there, nothing is quoted"
            )
        if quote in same_up_to_space(page.text):
            return CheckedCitation(citation=citation, state=CitationState.VERIFIED)
        return _unverified(citation, "the quote is not on the page")

    async def _command(self, citation: Citation) -> CheckedCitation:
        ran = await self._commands.run(citation.command) if self._commands else None
        if ran is None:
            return _unverified(citation, "the command is not one that the engine may run")
        code, output = ran
        kept = output[:_ALLOWED_LENGTH]
        if same_up_to_space(citation.quote) in same_up_to_space(output) and citation.quote.strip():
            return CheckedCitation(citation=citation, state=CitationState.VERIFIED, output=kept)
        reason = f"exit {code}; the quote is not in the output"
        return CheckedCitation(citation=citation, state=CitationState.UNVERIFIED, reason=reason, output=kept)

    async def _numerics(self, checks: Sequence[NumericCheck]) -> list[NumericOutcome]:
        if not checks:
            return []
        if self._numbers is None:
            return [
                NumericOutcome(check=check, state="not_executed", observed="no kernel") for check in checks
            ]
        return await self._numbers.evaluate(checks)


def _unverified(citation: Citation, reason: str) -> CheckedCitation:
    return CheckedCitation(citation=citation, state=CitationState.UNVERIFIED, reason=reason)
