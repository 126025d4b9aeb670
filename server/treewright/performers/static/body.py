"""From a finding to what the exploration engine takes: proposals, derivations, citations, edits."""

import re
from collections.abc import Callable, Iterable

from treewright.performers.static import finding as found
from treewright.presets.schema import Preset
from treewright.tree.body import Derivation, FieldValue, Proposal
from treewright.tree.citation import Citation, Edit

NOTHING = "NONE"


class Located:
    """Rewrites the paths of one audit so that they are relative to the workspace.

    Args:
        prefix: POSIX path from the workspace to the audited folder; empty when they are the same.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = "" if prefix in ("", ".") else prefix.rstrip("/") + "/"

    def path(self, path: str) -> str:
        """Return a path from the workspace."""
        return self._prefix + path

    def text(self, text: str, paths: Iterable[str]) -> str:
        """Return a sentence with the places it names rewritten."""
        if not self._prefix:
            return text
        for path in sorted(set(paths), key=len, reverse=True):
            text = re.sub(rf"(?<![\w/.-]){re.escape(path)}(?=:\d|\)|$)", self._prefix + path, text)
        return text

    def where(self, quote: found.Quote) -> str:
        """Return a place as citations are written."""
        return self._prefix + quote.where

    def citation(self, quote: found.Quote, field: str = "") -> Citation:
        """Return a quote as a citation of a field."""
        return Citation(
            path=self.path(quote.path), start=quote.start, end=quote.end, quote=quote.text, field=field
        )


def proposal(item: found.Finding, at: Located) -> Proposal:
    """Return a finding as a proposal; its performer finds it again by the fingerprint."""
    paths = [quote.path for quote in item.quotes]
    return Proposal(
        statement=at.text(item.statement, paths),
        position=at.where(item.position),
        evidence=at.text(item.root_cause, paths),
        assumptions=item.assumptions,
        predictions=[at.text(step.what, paths) for step in item.exploit_path],
        defense=_mitigation(item, at),
        citations=[at.citation(item.position)],
        facts={"fingerprint": item.fingerprint, "rule": item.rule, "title": item.title},
    )


def derivation(
    preset: Preset, item: found.Finding, at: Located, lines: Callable[[str], list[str]]
) -> Derivation:
    """Return a finding as a body.

    Args:
        preset: the code-audit preset, or one with the same parts.
        item: the finding.
        at: rewrites paths.
        lines: gives a file's lines by its path in the audit.
    """
    paths = [quote.path for quote in item.quotes]
    steps = _steps(item, at)
    values: dict[str, FieldValue] = {
        "finding_statement": at.text(item.statement, paths),
        "code_position": f"{at.where(item.position)} in `{item.symbol}`",
        "root_cause": at.text(item.root_cause, paths),
        "assumptions": item.assumptions,
        "exploit_path": steps,
        "mitigation_present": _mitigation(item, at),
        "alternative_interpretations": [at.text(text, paths) for text in item.alternatives],
        "proposed_fix": at.text(item.fix, paths) if item.fix else NOTHING,
        "threat_model_context": at.text(item.threat, paths),
        "related_findings": [at.text(text, _places(item.related)) for text in item.related] or NOTHING,
    }
    citations = [at.citation(item.position, "code_position"), at.citation(item.position, "root_cause")]
    citations += [at.citation(step.quote, "exploit_path") for step in item.exploit_path]
    citations += [at.citation(m.quote, "mitigation_present") for m in item.mitigations]
    related = [_related(text, at, lines) for text in item.related]
    return Derivation(
        fields={name: values[name] for name in preset.node_schema if name in values},
        scores=item.scores.by_key(),
        citations=list(dict.fromkeys([*citations, *(c for c in related if c)])),
        defense_shown=bool(item.mitigations),
        edits=whole_line_edits(item.edits, at, lines) if item.edits_verified else [],
        cwe=f"CWE-{item.cwe}" if item.cwe else "",
        facts={
            "fingerprint": item.fingerprint,
            "rule": item.rule,
            "title": item.title,
            "symbol": item.symbol,
            "entry": item.entry,
        },
    )


def _steps(item: found.Finding, at: Located) -> list[str]:
    paths = [quote.path for quote in item.quotes]
    steps = [
        f"{at.text(step.what, paths).rstrip('.')} ({at.where(step.quote)})." for step in item.exploit_path
    ]
    if len(steps) < 2:
        steps.insert(
            0, f"The program runs `{item.symbol}`, which holds the line ({at.where(item.position)})."
        )
    return steps


def _mitigation(item: found.Finding, at: Located) -> str:
    if item.mitigations:
        return "\n".join(f"{m.why} ({m.kind}, {at.where(m.quote)})." for m in item.mitigations)
    looked = item.searched or "a guard, a validator, a sanitiser"
    return f"Nothing stands on the way. Looked for: {looked}."


_PLACE = re.compile(r"^(?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))? \(")


def _places(related: Iterable[str]) -> list[str]:
    return [match["path"] for text in related if (match := _PLACE.match(text))]


def _related(text: str, at: Located, lines: Callable[[str], list[str]]) -> Citation | None:
    match = _PLACE.match(text)
    if not match:
        return None
    start = int(match["start"])
    end = int(match["end"] or start)
    quoted = "\n".join(lines(match["path"])[start - 1 : end])
    return at.citation(found.Quote(match["path"], start, end, quoted), "related_findings")


def whole_line_edits(edits: list[found.Edit], at: Located, lines: Callable[[str], list[str]]) -> list[Edit]:
    """Return edits of columns as edits of whole lines, one a file.

    Args:
        edits: of one finding; they do not overlap.
        at: rewrites paths.
        lines: gives a file's lines by its path in the audit.
    """
    by_path: dict[str, list[found.Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    made = []
    for path, group in by_path.items():
        start, end = min(e.start_line for e in group), max(e.end_line for e in group)
        old = lines(path)[start - 1 : end]
        new = list(old)
        for edit in sorted(group, key=lambda e: (e.start_line, e.start_column), reverse=True):
            first, last = edit.start_line - start, edit.end_line - start
            joined = new[first][: edit.start_column] + edit.new + new[last][edit.end_column :]
            new[first : last + 1] = joined.split("\n")
        made.append(
            Edit(
                path=at.path(path), start=start, end=end, old="\n".join(old) + "\n", new="\n".join(new) + "\n"
            )
        )
    return made
