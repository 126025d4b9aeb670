"""How a search ended, and what it found, also when it has not ended."""

from dataclasses import dataclass, field
from pathlib import Path

from treewright.app.request import Notice
from treewright.data.codes import ExitClass
from treewright.errors import KernelError
from treewright.search.engine import SearchEngine
from treewright.search.events import SearchEvent
from treewright.search.ports import BranchOutcome, Trace
from treewright.search.report import SearchReport, report


@dataclass(slots=True)
class SearchOutcome:
    """How driving a search ended.

    Attributes:
        run: its id.
        folder: where it is.
        status: `verified`, `best_so_far`, `spend_cap_reached`, `stopped` or `paused`.
        reason: why it stopped or paused; may be empty.
        report: what was found.
        outputs: names of the files written, most important first.
        notices: what the user should know.
    """

    run: str
    folder: Path
    status: str
    reason: str
    report: SearchReport
    outputs: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @property
    def exit(self) -> ExitClass:
        """The exit class: 0 verified, 1 best so far, others as for every command (contract: search, 6)."""
        if self.status == "verified":
            return ExitClass.DONE
        if self.status == "stopped":
            return ExitClass.INTERRUPTED
        if self.status == "paused":
            return ExitClass.MODEL
        if self.report.chosen is None and self.report.halted and self.report.reason != "timeout":
            return ExitClass.REFUSED
        return ExitClass.NOT_AS_ASKED


def best_so_far(events: list[SearchEvent], seconds: float) -> SearchReport:
    """Report a search, also one that has not ended: as if it were halted here."""
    engine = SearchEngine(events)
    if not engine.done:
        engine.halt("cancelled", "it was stopped")
        engine.conclude()
    return report(engine.state, round(seconds, 3))


def lost(trace: Trace) -> bool:
    """Whether a branch's kernel was lost."""
    return trace.outcome is BranchOutcome.KERNEL_LOST


def refuse_all_lost(engine: SearchEngine) -> None:
    """Kernels that give nothing at all are no result (contract: search, 7).

    Raises:
        KernelError: E052.
    """
    traces = [one.trace for one in engine.state.distinct() if one.trace is not None]
    if traces and all(lost(one) for one in traces):
        raise KernelError(
            "E052",
            f"No branch could be executed: {traces[-1].message or 'every kernel was lost'}.",
            "`treewright doctor` tells what is missing.",
        )
