"""What users decided about findings of a workspace: accepted risks, false alarms, refutations. Later runs respect it.

One append-only file a workspace, in the journal's format; the last word on a finding counts. A finding is known by
its rule, the symbol around it, its quoted code up to white space, and which of several equal ones it is: so a
decision survives edits elsewhere in the file, and no longer holds once the code itself changes.
"""

import datetime
import hashlib
import os
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from treewright.store.durable import make_folder
from treewright.store.journal import JournalWriter
from treewright.store.journal_reader import JournalReader
from treewright.store.recover import mend_journal
from treewright.store.turns import exclusive

Verdict = Literal["accepted", "dismissed", "refuted", "reopened"]


class FindingKey(NamedTuple):
    """How a finding is known again.

    Attributes:
        rule: the rule's id.
        symbol: the dotted name of the enclosing function or class; empty at the top of a module.
        quote: the quoted code, white space made single.
        ordinal: which of several findings with the same rule, symbol and quote, from 0.
    """

    rule: str
    symbol: str
    quote: str
    ordinal: int


class Decision(BaseModel):
    """One decision.

    Attributes:
        rule: the rule's id.
        symbol: the dotted name of the enclosing function or class.
        quote: the quoted code, white space made single.
        ordinal: which of several equal ones, from 0.
        verdict: `accepted` risk, `dismissed` as a false alarm, `refuted` by evidence, or `reopened`.
        reason: the user's or the engine's words.
        path: where the finding was, for people to read; it is no part of the key.
        at: when, ISO 8601 in UTC.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    rule: str
    symbol: str = ""
    quote: str
    ordinal: int = 0
    verdict: Verdict
    reason: str = ""
    path: str = ""
    at: str

    @property
    def key(self) -> FindingKey:
        """What the decision is about."""
        return finding_key(self.rule, self.symbol, self.quote, self.ordinal)


def finding_key(rule: str, symbol: str, quote: str, ordinal: int = 0) -> FindingKey:
    """Return how a finding is known again; see `FindingKey`."""
    return FindingKey(rule, symbol, " ".join(quote.split()), ordinal)


def workspace_hash(workspace: Path) -> str:
    """Return the name of a workspace's decisions: 16 hexadecimal digits of its real path."""
    return hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:16]


class Decisions:
    """The decisions about one workspace. Safe among threads and processes."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        """Name them; nothing is touched yet.

        Args:
            folder: `Root.decisions`.
            workspace: the workspace's folder.
        """
        self.path = folder / f"{workspace_hash(workspace)}.jsonl"

    def record(self, decision: Decision) -> str:
        """Add a decision; it is on the disk when this returns.

        Returns:
            Empty, or one sentence for the user: the file was damaged and was mended.

        Raises:
            StoreError: the disk refused, or a text is no valid Unicode (`not_storable`).
        """
        folder = make_folder(self.path.parent, private=True)
        with exclusive(folder / f"{self.path.name}.lock"):
            if not self.path.exists():
                JournalWriter.create(self.path, private=True).close()
            reader, note = self._read(), ""
            if reader.damage:
                recovery = mend_journal(self.path, now=datetime.datetime.now(datetime.UTC))
                note = f"The decisions were damaged; {recovery.kept} were kept, the original is {recovery.original}."
                reader = self._read()
            with JournalWriter.continue_from(reader) as writer:
                writer.append(decision.model_dump())
        return note

    def all(self) -> dict[FindingKey, Decision]:
        """Return the last decision on each finding; reopened ones are left out.

        Raises:
            StoreError: the disk refused.
        """
        found: dict[FindingKey, Decision] = {}
        if not self.path.exists():
            return found
        for line in JournalReader(self.path).lines():
            try:
                decision = Decision.model_validate_json(line.payload)
            except ValidationError:
                continue  # written by a later version
            found.pop(decision.key, None)
            if decision.verdict != "reopened":
                found[decision.key] = decision
        return found

    def _read(self) -> JournalReader:
        reader = JournalReader(self.path)
        for _ in reader.lines():
            pass
        return reader
