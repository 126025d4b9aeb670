"""Findings as SARIF 2.1.0, for code scanning and editors (contract: exploration, 8)."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from treewright import __version__
from treewright.errors import RequestError
from treewright.explore.ports import Bodies
from treewright.explore.reports.record import NodeRecord, node_record, ranked
from treewright.explore.rules.text import as_text
from treewright.presets.schema import Preset
from treewright.tree.citation import CheckedCitation, Citation, Edit
from treewright.tree.fold import Tree
from treewright.tree.node import Node, Phase
from treewright.tree.run import Role

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
BASE = "WORKSPACE"
SPEAKS_OF_ANOTHER = "worst"
"""Fact of a node that speaks about a finding which has a node of its own: no second result for it."""
SECURITY_SEVERITY = ("1.0", "4.0", "6.5", "9.0")
"""CVSS-like figure by severity score 0 to 3, as code scanning sorts by it."""

_POSITION = re.compile(r"^(?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?$")


def sarif(
    tree: Tree, preset: Preset, bodies: Bodies, accepted: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield a SARIF log piece by piece: one result a confirmed or kept finding that stands for itself.

    Args:
        tree: of a code root.
        preset: its preset.
        bodies: reads events back.
        accepted: node id or fingerprint to the reason why the finding is accepted; such results are suppressed.

    Raises:
        RequestError: `not_code` when the root is no code.
    """
    if preset.root_kind != "code":
        raise RequestError(
            "not_code", f"SARIF holds findings in code; {preset.name} has none.", "Use --format json instead."
        )
    found = (node_record(preset, bodies, node) for node in ranked(preset, list(_reported(tree))))
    records = [record for record in found if not record.facts.get(SPEAKS_OF_ANOTHER)]
    results = [_result(preset, record, accepted or {}) for record in records]
    rules = {rule["id"]: rule for rule in (_rule(preset, record) for record in records)}
    started = tree.started
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Treewright",
                        "semanticVersion": __version__,
                        "rules": [rules[key] for key in sorted(rules)],
                    }
                },
                "automationDetails": {"id": f"treewright/{preset.name}/"},
                "columnKind": "utf16CodeUnits",
                "originalUriBaseIds": {BASE: {"description": {"text": "The folder that was audited in."}}},
                "properties": {
                    "status": tree.status.value,
                    "run": started.run if started else "",
                    "performer": started.performer if started else "",
                },
                "results": results,
            }
        ],
    }
    yield json.dumps(log, ensure_ascii=False, indent=1)
    yield "\n"


def _reported(tree: Tree) -> Iterator[Node]:
    for node in tree.descendants():
        if node.counts and node.phase is Phase.SETTLED and node.role in (Role.ADVANCES, Role.KEPT):
            yield node


def rule_id(record: NodeRecord) -> str:
    """Return a finding's rule: the performer's own, else its weakness, else its framing."""
    return str(record.facts.get("rule") or record.node.cwe or f"framing-{record.node.framing}")


def fingerprint(preset: Preset, record: NodeRecord) -> str:
    """Return what stays the same when lines move: from the rule, the path, the symbol and the quoted code."""
    known = record.facts.get("fingerprint")
    if known:
        return str(known)
    position = preset.parts.position or ""
    quoted = next((c.citation for c in record.citations if c.citation.field == position), None)
    parts = [
        rule_id(record),
        quoted.path if quoted else "",
        " ".join((quoted.quote if quoted else record.node.statement).split()),
    ]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def level(record: NodeRecord) -> str:
    """Return the SARIF level of a finding from its role and severity."""
    severity = record.scores.get("S", 1)
    if record.node.role is Role.ADVANCES:
        return "error" if severity >= 2 else "warning"
    return "warning" if severity >= 3 else "note"


def _rule(preset: Preset, record: NodeRecord) -> dict[str, Any]:
    found = rule_id(record)
    tags = ["security"] if record.node.cwe else ["correctness"]
    if record.node.cwe:
        tags.append(f"external/cwe/{record.node.cwe.lower()}")
    title = str(record.facts.get("title") or record.node.statement)
    rule: dict[str, Any] = {
        "id": found,
        "shortDescription": {"text": title[:250]},
        "fullDescription": {"text": as_text(record.fields.get(preset.parts.evidence or "", "")) or title},
        "properties": {"tags": tags, "precision": "high" if record.node.role is Role.ADVANCES else "medium"},
    }
    if record.node.cwe:
        number = record.node.cwe.rpartition("-")[2]
        rule["helpUri"] = f"https://cwe.mitre.org/data/definitions/{number}.html"
        rule["properties"]["security-severity"] = SECURITY_SEVERITY[record.scores.get("S", 1)]
    return rule


def _result(preset: Preset, record: NodeRecord, accepted: Mapping[str, str]) -> dict[str, Any]:
    mark = fingerprint(preset, record)
    position = _position(preset, record)
    others = [
        c for c in record.citations if c.state.holds and c.citation.kind == "file" and c.citation != position
    ]
    result: dict[str, Any] = {
        "ruleId": rule_id(record),
        "level": level(record),
        "message": {"text": record.node.statement},
        "locations": [_location(position)] if position else [],
        "partialFingerprints": {"treewright/v1": mark},
        "properties": {
            "verdict": record.label,
            "node": record.id,
            "scores": record.scores,
            "fix": as_text(record.fields.get(preset.parts.fix or "", "")),
        },
    }
    if others:
        result["relatedLocations"] = [
            {"id": number, **_location(c.citation), "message": {"text": c.citation.field or "evidence"}}
            for number, c in enumerate(others, 1)
        ]
    if record.edits:
        result["fixes"] = [_fix(record.edits)]
    reason = accepted.get(record.id) or accepted.get(mark)
    if reason:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]
    return result


def _position(preset: Preset, record: NodeRecord) -> Citation | None:
    field = preset.parts.position
    checked: list[CheckedCitation] = [
        c for c in record.citations if c.citation.kind == "file" and c.state.holds
    ]
    own = next((c.citation for c in checked if c.citation.field == field), None)
    if own or checked:
        return own or checked[0].citation
    match = _POSITION.match(record.node.position)
    if not match:
        return None
    start = int(match["start"])
    return Citation(path=match["path"], start=start, end=int(match["end"] or start))


def _location(citation: Citation) -> dict[str, Any]:
    region: dict[str, Any] = {
        "startLine": max(1, citation.start),
        "endLine": max(1, citation.start, citation.end),
    }
    if citation.quote:
        region["snippet"] = {"text": citation.quote}
    return {"physicalLocation": {"artifactLocation": _artifact(citation.path), "region": region}}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path, safe="/"), "uriBaseId": BASE}


def _fix(edits: list[Edit]) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        insertion = edit.end < edit.start
        region = (
            {"startLine": edit.start, "startColumn": 1, "endLine": edit.start, "endColumn": 1}
            if insertion
            else {"startLine": edit.start, "startColumn": 1, "endLine": edit.end + 1, "endColumn": 1}
        )
        changes.setdefault(edit.path, []).append(
            {"deletedRegion": region, "insertedContent": {"text": edit.new}}
        )
    return {
        "description": {"text": "Proposed by Treewright"},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }
