"""Proven edits by the content of the file they are in, so that an audit of unchanged code proves nothing twice.

Kept as JSON: a planted file can suggest text, which nobody applies unseen, but it cannot run code. An entry whose old
text does not stand at its place is not used.
"""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from treewright.errors import StoreError
from treewright.performers.static.facts import FACTS_VERSION
from treewright.performers.static.finding import Edit, Finding
from treewright.store.artifacts import write_artifact

_LIMIT = 20_000
"""Entries kept; the oldest go first."""


class Proofs:
    """What was proven, and what could not be.

    Args:
        path: the file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.changed = False
        self.known: dict[str, Any] = {}
        if path is not None:
            with contextlib.suppress(OSError, ValueError):
                loaded = json.loads(path.read_text(encoding="utf-8"))
                self.known = loaded if isinstance(loaded, dict) else {}

    @staticmethod
    def key(finding: Finding, digest: str) -> str:
        """How a proof is found again; empty when the finding's way leads through other files too."""
        path = finding.position.path
        if any(step.quote.path != path for step in finding.exploit_path):
            return ""
        text = f"{FACTS_VERSION}\0{path}\0{digest}\0{finding.rule}\0{finding.place}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def take(self, key: str, finding: Finding, lines: list[str]) -> bool | None:
        """Give a finding its proven edits.

        Returns:
            True when it has them now, False when it is known that none can be proven, None when nothing is known.
        """
        rows = self.known.get(key) if key else None
        if not isinstance(rows, list):
            return None
        try:
            edits = [Edit(finding.position.path, *row) for row in rows]
        except TypeError:
            return None
        if not all(_stands(edit, lines) for edit in edits):
            return None
        if edits:
            finding.edits, finding.edits_verified = edits, True
        return bool(edits)

    def put(self, key: str, finding: Finding) -> None:
        """Keep what was found out about a finding."""
        if not key or self.path is None:
            return
        edits = finding.edits if finding.edits_verified else []
        self.known[key] = [
            [e.start_line, e.start_column, e.end_line, e.end_column, e.old, e.new] for e in edits
        ]
        self.changed = True

    def save(self) -> None:
        """Write by atomic replace; a folder that cannot be written costs the proofs, not the audit."""
        if self.path is None or not self.changed:
            return
        while len(self.known) > _LIMIT:
            self.known.pop(next(iter(self.known)))
        with contextlib.suppress(StoreError):
            write_artifact(self.path, json.dumps(self.known, ensure_ascii=True), private=True)


def _stands(edit: Edit, lines: list[str]) -> bool:
    """Whether the edit's old text is what its place holds now."""
    padded = [*lines, ""]
    rows = padded[edit.start_line - 1 : edit.end_line]
    if not rows:
        return False
    if edit.start_line == edit.end_line:
        return rows[0][edit.start_column : edit.end_column] == edit.old
    return "\n".join([rows[0][edit.start_column :], *rows[1:-1], rows[-1][: edit.end_column]]) == edit.old
