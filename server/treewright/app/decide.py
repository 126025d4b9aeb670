"""What the user decides about a finding: kept with the workspace, respected by later runs."""

from typing import Literal

from treewright.app.context import Context, timestamp
from treewright.app.findings import Finding, one_finding
from treewright.store.decisions import Decision, Decisions

Chosen = Literal["accepted", "dismissed", "reopened"]


def decide(context: Context, run: str, node: str, verdict: Chosen, reason: str) -> tuple[Finding, str]:
    """Record a decision; it is on the disk when this returns.

    Args:
        context: the surroundings.
        run, node: the finding.
        verdict: `accepted` risk, `dismissed` as a false alarm, or `reopened`.
        reason: the user's words; may be empty only when it is reopened.

    Returns:
        The finding, and a note for the user when the file of decisions had to be mended; else empty.

    Raises:
        RunError: there is no such finding.
        StoreError: the disk refused.
    """
    finding = one_finding(context, run, node)
    key = finding.key
    decision = Decision(
        rule=key.rule,
        symbol=key.symbol,
        quote=key.quote,
        ordinal=key.ordinal,
        verdict=verdict,
        reason=reason.strip(),
        path=finding.path,
        at=timestamp(),
    )
    note = Decisions(context.configuration().root.decisions, finding.workspace).record(decision)
    return finding, note
