"""From a finding's lines, as they were when it was checked, to an anchor that finds its code again.

What stood around the code tells equal lines apart. It is known for certain only while the file is as it was when the
audit looked at it; then the anchor is made, and kept (in the cache) for later sessions, whatever has become of the
file by then.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from treewright.app.context import Context
from treewright.app.findings import Finding
from treewright.errors import StoreError
from treewright.regular import LARGEST_STORED, read_regular
from treewright.store.durable import make_folder, replace_file
from treewright.workspace.anchors import Anchor, make_anchor
from treewright.workspace.citations import same_up_to_space
from treewright.workspace.decode import Decoded, split_lines


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore")

    format: int = 1
    anchors: dict[str, Anchor] = {}


class AnchorBook:
    """Anchors by run and node, kept in the cache. Safe among threads; another process's book of a run is as good."""

    def __init__(self, context: Context) -> None:
        """Nothing is read yet."""
        self._folder = context.configuration().root.cache / "anchors"
        self._turn = threading.Lock()
        self._runs: dict[str, dict[str, Anchor]] = {}
        self._unsaved: set[str] = set()

    def anchors(self, file: Path, text: Decoded | None, findings: Sequence[Finding]) -> dict[str, Anchor]:
        """Return the anchors of a file's findings, by run and node.

        Args:
            file: where it is.
            text: as it is on the disk; None when it cannot be read.
            findings: of this file.
        """
        with self._turn:
            return {name_of(finding): self._anchor(file, text, finding) for finding in findings}

    def save(self) -> None:
        """Keep what was learnt; a cache that cannot be written to is no fault."""
        with self._turn:
            for run in self._unsaved:
                kept = _Kept(anchors=self._runs[run])
                try:
                    make_folder(self._folder, private=True)
                    replace_file(
                        self._folder / f"{run}.json",
                        [kept.model_dump_json().encode()],
                        durable=False,
                        private=True,
                    )
                except StoreError:
                    continue
            self._unsaved.clear()

    def _anchor(self, file: Path, text: Decoded | None, finding: Finding) -> Anchor:
        known = self._run(finding.run).get(finding.node)
        if known is not None and known.quote.strip() and _same_code(known, finding):
            return known
        if text is not None and _unchanged(file, finding):
            made = _made(text.text, finding)
            if made is not None:
                self._runs[finding.run][finding.node] = made
                self._unsaved.add(finding.run)
                return made
        return Anchor(quote=finding.quote, line=finding.start)

    def _run(self, run: str) -> dict[str, Anchor]:
        if run not in self._runs:
            try:
                read = _Kept.model_validate_json(read_regular(self._folder / f"{run}.json", LARGEST_STORED))
            except (OSError, ValidationError):
                read = _Kept()
            self._runs[run] = dict(read.anchors)
        return self._runs[run]


def name_of(finding: Finding) -> str:
    """Return what a finding's anchor is called."""
    return f"{finding.run}/{finding.node}"


def _made(text: str, finding: Finding) -> Anchor | None:
    lines = split_lines(text)
    stands = "\n".join(lines[finding.start - 1 : finding.end])
    if same_up_to_space(stands) != same_up_to_space(finding.quote):
        return None
    return make_anchor(text, finding.start, finding.end)


def _same_code(anchor: Anchor, finding: Finding) -> bool:
    return same_up_to_space(anchor.quote) == same_up_to_space(finding.quote)


def _unchanged(file: Path, finding: Finding) -> bool:
    """Tell whether a file is as it was when the finding was checked, by its time."""
    try:
        return finding.checked_at > 0 and file.stat().st_mtime <= finding.checked_at
    except OSError:
        return False
