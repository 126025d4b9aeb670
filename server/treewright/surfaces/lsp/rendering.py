"""Findings as diagnostics: plain values, made once a finding, so that an edit costs only new ranges."""

from typing import Any

from treewright.app.findings import Finding
from treewright.surfaces.lsp.speech import say
from treewright.surfaces.lsp.uris import to_uri, virtual_uri
from treewright.tree.run import Role
from treewright.workspace.positions import LineIndex, Position, Units, units_before

ERROR, WARNING, INFORMATION, HINT = 1, 2, 3, 4
_STRUCK = 2
"""`DiagnosticTag.Deprecated`, which editors strike through."""
SOURCE = "treewright"
SEVERE = 2
"""Severity score from which a confirmed finding is an error."""

Range = dict[str, dict[str, int]]


def severity_of(finding: Finding) -> int:
    """Return a diagnostic's severity from the finding's role and severity score."""
    if finding.role is Role.ADVANCES:
        return ERROR if finding.severity >= SEVERE else WARNING
    return WARNING if finding.severity > SEVERE else INFORMATION


class Look:
    """How a client shows diagnostics."""

    def __init__(
        self, *, struck: bool, related: bool, linked: bool, units: Units, language: str = ""
    ) -> None:
        """Take what the client said it can do.

        Args:
            struck: it strikes through what is tagged so.
            related: it shows related information.
            linked: it makes the code a link.
            units: what a column counts.
            language: that the user reads.
        """
        self.language = language
        self.struck = struck
        self.related = related
        self.linked = linked
        self.units = units

    def diagnostic(self, finding: Finding) -> dict[str, Any]:
        """Return a finding's diagnostic without its range."""
        made: dict[str, Any] = {
            "range": None,
            "severity": severity_of(finding),
            "code": finding.node,
            "source": SOURCE,
            "message": finding.statement,
            "data": {"run": finding.run, "node": finding.node},
        }
        if self.linked:
            made["codeDescription"] = {"href": virtual_uri(finding.run, "node", f"{finding.node}.md")}
        if self.related and finding.evidence:
            made["relatedInformation"] = [
                {
                    "location": {
                        "uri": to_uri(finding.workspace / each.path),
                        "range": whole_lines(each.start, each.end),
                    },
                    "message": each.field.replace("_", " ") or "evidence",
                }
                for each in finding.evidence
            ]
        return made

    def stale(self, diagnostic: dict[str, Any]) -> dict[str, Any]:
        """Return the same for code that was changed since."""
        made = {
            **diagnostic,
            "severity": HINT,
            "message": say(self.language, "{0} (the code was changed since)", diagnostic["message"]),
        }
        if self.struck:
            made["tags"] = [_STRUCK]
        return made

    def range(self, start: Position, end: Position, index: LineIndex) -> Range:
        """Return a range in the client's units from positions in code points."""
        return {"start": self.position(start, index), "end": self.position(end, index)}

    def position(self, at: Position, index: LineIndex) -> dict[str, int]:
        """Return a position in the client's units."""
        return {"line": at.line, "character": units_before(index.line(at.line), at.column, self.units)}


def whole_lines(start: int, end: int) -> Range:
    """Return the range of whole lines, given from 1 and inclusive, of a text that is not at hand."""
    return {"start": {"line": start - 1, "character": 0}, "end": {"line": max(start, end), "character": 0}}
