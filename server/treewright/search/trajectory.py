"""The audit log of a search: one JSON line an event, and spans for a tracer.

The lines go to `audit/search-<run>-<YYYY-MM-DD>.jsonl`; writing them is the store's business. Ids are URNs:
`urn:treewright:search:<scope>:<run>`.
"""

from __future__ import annotations

import json
import re
from datetime import date

from treewright.search.events import (
    BranchExecuted,
    CandidateProposed,
    SearchConcluded,
    SearchEvent,
    SearchStarted,
)
from treewright.search.ports import Span, Tracer
from treewright.search.state import SearchState

_UNSAFE = re.compile(r"[^A-Za-z0-9()+,\-.=@;$_!*']")


def urn(run: str, scope: str = "local", part: str = "") -> str:
    """The URN of a search, or of a part of it such as a branch.

    Args:
        run: the run's id.
        scope: who the run belongs to, such as a workspace's name.
        part: a branch id or a task id.
    """
    named = f"urn:treewright:search:{_UNSAFE.sub('-', scope)}:{_UNSAFE.sub('-', run)}"
    return f"{named}:{_UNSAFE.sub('-', part)}" if part else named


def audit_name(run: str, day: date) -> str:
    """File name of a search's audit log."""
    return f"search-{_UNSAFE.sub('-', run)}-{day.isoformat()}.jsonl"


def audit_line(event: SearchEvent, run: str, at: str, scope: str = "local") -> str:
    """One line of the audit log, without its line end.

    Args:
        event: what happened.
        run: the run's id.
        at: when, as ISO 8601 in UTC.
        scope: see `urn`.
    """
    record: dict[str, object] = {"id": urn(run, scope), "at": at}
    if isinstance(event, (CandidateProposed, BranchExecuted)):
        record["branch"] = urn(run, scope, event.branch_id)
    record["event"] = event.model_dump(mode="json", exclude=_LEFT_OUT.get(type(event)))
    return json.dumps(record, ensure_ascii=True, allow_nan=False, default=str, separators=(",", ":"))


_LEFT_OUT: dict[type, set[str]] = {}


class Spans:
    """Keeps one span a run and one a branch, when there is a tracer; costs nothing without one."""

    def __init__(self, tracer: Tracer | None) -> None:
        self._tracer = tracer
        self._run: Span | None = None
        self._branches: dict[str, Span] = {}

    def take(self, event: SearchEvent) -> None:
        """Open and close spans as events happen."""
        if self._tracer is None:
            return
        match event:
            case SearchStarted():
                self._run = self._tracer.start("treewright.search.run")
                self._run.set("treewright.run", event.run)
            case CandidateProposed():
                span = self._tracer.start("treewright.search.branch", self._run)
                span.set("branch_id", event.branch_id)
                span.set("generator", event.generator)
                self._branches[event.branch_id] = span
            case BranchExecuted():
                span_or_none = self._branches.pop(event.branch_id, None)
                if span_or_none is not None:
                    span_or_none.set("passed", sum(verdict.passed for verdict in event.verdicts))
                    span_or_none.set("outcome", event.trace.outcome.value)
                    span_or_none.end()
            case SearchConcluded():
                pass
            case _:
                return

    def close(self, state: SearchState, duration_ms: float) -> None:
        """Close what is open, with the run's figures."""
        for span in self._branches.values():
            span.end()
        self._branches.clear()
        if self._run is not None:
            self._run.set("n_candidates", len(state.branches))
            self._run.set("chosen_id", (state.concluded.chosen if state.concluded else None) or "")
            self._run.set("total_duration_ms", duration_ms)
            self._run.set("total_cost_usd", state.spend_usd)
            self._run.set("halted", state.halted is not None)
            self._run.end()
            self._run = None
