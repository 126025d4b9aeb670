"""A search on disk: its journal, its audit log, its place in the index, what it puts out.

    <root>/runs/<day>__<slug>-<run>/journal.jsonl     the only truth
    <root>/audit/search-<run>-<day>.jsonl              the trajectory
    <run's folder>/result.json, report.md, chosen.py, change.diff

A line of the journal holds `opened` (what was asked), `event` (of the engine) or `answer` (what a model said, kept the
moment it came, so that an answer that was paid for is never asked for again).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from treewright.app.context import timestamp, utc_now
from treewright.app.search_request import Opened
from treewright.errors import StoreError
from treewright.parsing import load_json
from treewright.regular import LARGEST_STORED, read_regular
from treewright.search.events import SearchEvent
from treewright.search.state import SearchState
from treewright.search.tasks import Generated
from treewright.search.trajectory import audit_line, audit_name
from treewright.store.durable import make_folder, sync_file, telling
from treewright.store.index import IndexEntry
from treewright.store.journal import JournalWriter
from treewright.store.journal_reader import JournalReader
from treewright.store.locks import RunLock, clear_stop
from treewright.store.paths import Root, slug
from treewright.store.run_folder import JOURNAL

_EVENT: TypeAdapter[SearchEvent] = TypeAdapter(SearchEvent)
_SUMMARY_CHARS = 120


@dataclass(slots=True)
class Logged:
    """What a search's journal holds.

    Attributes:
        folder: the run's.
        opened: the latest record of what was asked.
        events: of the engine, in order.
        answers: what models said, by task.
        created, updated: times of the first and last record, ISO 8601 in UTC.
        stopped: why it last stopped without an end; empty while it runs or when it ended.
        seconds: time spent on it in earlier sittings.
        damage: numbers of damaged lines.
        newer: records of another version, which cannot be read.
    """

    folder: Path
    opened: Opened | None = None
    events: list[SearchEvent] = field(default_factory=list)
    answers: dict[str, Generated] = field(default_factory=dict)
    created: str = ""
    updated: str = ""
    stopped: str = ""
    seconds: float = 0.0
    damage: list[int] = field(default_factory=list)
    newer: int = 0

    @property
    def run(self) -> str:
        """The run's id; empty before the first event."""
        first = self.events[0] if self.events else None
        return first.run if first is not None and first.kind == "search_started" else ""

    def state(self) -> SearchState:
        """Fold the events."""
        state = SearchState()
        for event in self.events:
            state.fold(event)
        return state


def read_search(folder: Path) -> Logged:
    """Read a search's journal, without a lock.

    Raises:
        StoreError: `journal_missing`, or the disk refused.
    """
    return _read(JournalReader(folder / JOURNAL), folder)


def _read(reader: JournalReader, folder: Path) -> Logged:
    found = Logged(folder)
    for line in reader.lines():
        record = line.event()
        at = str(record.get("at", ""))
        found.created = found.created or at
        found.updated = at or found.updated
        try:
            _take(found, record)
        except (ValidationError, ValueError, TypeError):
            found.newer += 1
    found.damage = sorted({one.number for one in reader.damage})
    return found


def _take(found: Logged, record: dict[str, Any]) -> None:
    if "opened" in record:
        found.opened = Opened.model_validate(record["opened"])
        found.stopped = ""
    elif "event" in record:
        found.events.append(_EVENT.validate_python(record["event"]))
    elif "answer" in record:
        answer = Generated.model_validate(record["answer"])
        found.answers[answer.task_id] = answer
    elif "stopped" in record:
        found.stopped = str(record["stopped"])
        found.seconds += float(record.get("seconds", 0.0))


class SearchWriter:
    """A search that this process drives. Holds the run's lock until closed.

    Attributes:
        folder: the run's.
        logged: what the journal holds.
    """

    def __init__(self, folder: Path, lock: RunLock, root: Root) -> None:
        """Go on with a search; use `create` or `open`.

        Raises:
            StoreError: `journal_damaged`, `journal_newer`.
        """
        self.folder = folder
        self._lock = lock
        self._root = root
        try:
            reader = JournalReader(folder / JOURNAL)
            self.logged = _read(reader, folder)
            if self.logged.newer:
                raise StoreError(
                    "journal_newer",
                    "The search was written by another version of Treewright.",
                    "Use the version that wrote it, or a newer one.",
                )
            self._journal = JournalWriter.continue_from(reader)
        except BaseException:
            lock.release()
            raise
        self._audited = 0

    @classmethod
    def create(cls, root: Root, run: str, title: str, surface: str) -> "SearchWriter":
        """Begin a search in a new folder.

        Raises:
            StoreError: the disk refused.
        """
        root.prepare()
        name = f"{utc_now().date().isoformat()}__{slug(title)}-{run}"
        folder = make_folder(root.runs / name, private=True)
        lock = RunLock.take(folder, surface)
        try:
            JournalWriter.create(folder / JOURNAL, private=True).close()
        except BaseException:
            lock.release()
            raise
        return cls(folder, lock, root)

    @classmethod
    def open(cls, folder: Path, root: Root, surface: str) -> "SearchWriter":
        """Go on with a search.

        Raises:
            StoreError: `journal_missing`, `run_locked`, `journal_damaged`, `journal_newer`.
        """
        JournalReader(folder / JOURNAL)
        lock = RunLock.take(folder, surface)
        try:
            clear_stop(folder)
        except BaseException:
            lock.release()
            raise
        return cls(folder, lock, root)

    def opened(self, opened: Opened) -> None:
        """Record what was asked."""
        self._append([{"opened": opened.model_dump(mode="json")}])

    def answer(self, answer: Generated) -> None:
        """Keep what a model said."""
        self._append([{"answer": answer.model_dump(mode="json")}])

    def stopped(self, why: str, seconds: float) -> None:
        """Record that this sitting is over.

        Args:
            why: `cancelled`, `paused` and a reason, or empty when the search ended.
            seconds: how long it took.
        """
        self._append([{"stopped": why, "seconds": round(seconds, 3)}])

    def events(self, events: Iterable[SearchEvent]) -> None:
        """Make events durable, all of them or none, then add them to the audit log.

        Raises:
            StoreError: the disk refused.
        """
        new = list(events)
        if new:
            self._append([{"event": event.model_dump(mode="json")} for event in new])
            self.audit()

    def _append(self, records: list[dict[str, Any]]) -> None:
        stamped = [{**record, "at": timestamp()} for record in records]
        self._journal.append_many(stamped)
        for record in stamped:
            _take(self.logged, record)
            self.logged.created = self.logged.created or record["at"]
            self.logged.updated = record["at"]

    def audit(self) -> None:
        """Bring the audit log up to the journal; what a crash left out is added."""
        run = self.logged.run
        if not run:
            return
        make_folder(self._root.audit, private=True)
        if not self._audited:
            self._audited = _lines_of(self._root.audit, run)
        lines = [
            audit_line(event, run, timestamp(), self._scope()) + "\n"
            for event in self.logged.events[self._audited :]
        ]
        path = self._root.audit / audit_name(run, utc_now().date())
        with telling(path, "append to"), path.open("a+b") as stream:
            if stream.tell() and _torn(stream):
                stream.write(b"\n")
            stream.write("".join(lines).encode("utf-8"))
            stream.flush()
            path.chmod(0o600)
            if any(event.kind == "search_concluded" for event in self.logged.events[self._audited :]):
                sync_file(stream.fileno())
        self._audited += len(lines)

    def _scope(self) -> str:
        opened = self.logged.opened
        return Path(opened.workspace).name or "local" if opened else "local"

    def close(self) -> None:
        """Close the journal and give the lock back; harmless when repeated."""
        self._journal.close()
        self._lock.release()


def _torn(stream: Any) -> bool:
    stream.seek(-1, 2)
    return bool(stream.read(1) != b"\n")


def _lines_of(folder: Path, run: str) -> int:
    """How many events of a run the audit log holds, over all its days; torn lines do not count."""
    count = 0
    for path in folder.glob(f"search-{run}-*.jsonl"):
        for line in read_regular(path, LARGEST_STORED).splitlines():
            try:
                load_json(line)
            except ValueError:
                continue
            count += 1
    return count


def status_of(logged: Logged, *, driven: bool) -> str:
    """Return where a search stands: `growing`, `verified`, `best_so_far`, `spend_cap_reached`, `stopped` or `paused`.

    Args:
        logged: its journal.
        driven: whether a living process works on it.
    """
    if driven:
        return "growing"
    state = logged.state()
    if state.concluded is not None:
        if state.concluded.verified:
            return "verified"
        return "spend_cap_reached" if state.halted == "spend_cap" else "best_so_far"
    return "paused" if logged.stopped.startswith("paused") else "stopped"


def entry_of_search(logged: Logged, *, driven: bool = False) -> IndexEntry | None:
    """Return the index entry of a search; None when it was cut off before it began."""
    if logged.opened is None or not logged.run:
        return None
    request = logged.opened.request
    target = Path(logged.opened.path).name if logged.opened.path else ""
    named = ":".join(part for part in (target, request.function) if part)
    title = " ".join((request.statement or named or "search").split())
    return IndexEntry(
        id=logged.run,
        kind="search",
        path=logged.folder.absolute(),
        status=status_of(logged, driven=driven),
        title=(f"{named}: {title}" if request.statement and named else title)[:_SUMMARY_CHARS],
        created=logged.created,
        updated=logged.updated,
        workspace=logged.opened.workspace,
    )


def describe_search(folder: Path) -> IndexEntry | None:
    """Return the index entry of a search's folder, or None when it holds none that can be read."""
    try:
        return entry_of_search(read_search(folder))
    except (StoreError, OSError):
        return None
