"""Finding runs and looking at them, without a lock and whoever drives them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.app.context import Context, utc_now
from treewright.app.describe import describe_run, is_search
from treewright.app.latest import latest_run
from treewright.app.materials import load_for
from treewright.app.rows import LISTED, no_such_node
from treewright.app.standing import decided
from treewright.errors import RunError, StoreError, TreewrightError
from treewright.explore.reports.document import node_json, run_json
from treewright.explore.reports.markdown import node_markdown, outline_line
from treewright.explore.reports.record import in_tree_order, node_record
from treewright.explore.reports.report import report
from treewright.explore.reports.sarif import sarif
from treewright.presets.schema import Preset
from treewright.store.config import Configuration
from treewright.store.durable import shown
from treewright.store.index import IndexEntry
from treewright.store.locks import request_stop, run_holder
from treewright.store.paths import OUTPUT_FOLDER
from treewright.store.recover import recover_run
from treewright.store.run_folder import JOURNAL, RunReader
from treewright.tree.event import Grounded
from treewright.tree.run import RunKind
from treewright.workspace.decode import Unreadable, read_source


@dataclass(frozen=True, slots=True)
class Found:
    """A run that was found: its folder, and its index entry when the index knows it."""

    folder: Path
    entry: IndexEntry | None = None


def list_runs(context: Context, workspace: Path | None = None) -> list[IndexEntry]:
    """Return known runs and sessions, the latest first; those of a workspace when one is given."""
    configuration = context.configuration()
    entries = list(context.index(configuration).read().entries.values())
    if workspace is not None:
        known = {entry.path for entry in entries}
        journals = workspace.glob(f"{OUTPUT_FOLDER}/*/*/{JOURNAL}")
        # Only what the index does not know is opened: a large run takes seconds.
        found = (describe_run(path.parent) for path in journals if path.parent.absolute() not in known)
        entries = [e for e in entries if e.workspace == str(workspace)]
        entries += [e for e in found if e is not None and e.path not in known]
    return sorted((e for e in entries if e.path.exists()), key=lambda e: e.updated, reverse=True)


def find_run(context: Context, reference: str, configuration: Configuration | None = None) -> Found:
    """Return the run that a user means.

    Args:
        context: the surroundings.
        reference: a run's id or the beginning of one, its folder, or `last` (see `latest.latest_run`).
        configuration: when known already.

    Raises:
        RunError: `run_not_found`, or `run_ambiguous` with the ids that fit.
    """
    if folder := _as_folder(reference):
        return Found(folder)
    entries = context.index(configuration).read().entries
    there = [entry for entry in entries.values() if entry.path.exists()]
    if reference == "last" and there:
        latest = latest_run(context, there)
        return Found(latest.path, latest)
    fits = [entry for run, entry in entries.items() if reference and run.startswith(reference)]
    if len(fits) == 1:
        return Found(fits[0].path, fits[0])
    if fits:
        ids = ", ".join(sorted(entry.id for entry in fits)[:8])
        raise RunError("run_ambiguous", f"{reference!r} fits several runs: {ids}.", "Give more of the id.")
    if not there:
        raise RunError(
            "run_not_found",
            f"There is no run {reference!r}, nor any other yet.",
            "Start one: treewright audit PATH. A run in a folder elsewhere can be named by that folder.",
            {"reference": reference},
        )
    raise RunError(
        "run_not_found",
        f"There is no run {reference!r}.",
        "`treewright runs` lists the known ones; a run's folder will do too.",
        {"reference": reference},
    )


def _as_folder(reference: str) -> Path | None:
    """Return the folder that a reference names by its path, or by the path of its journal."""
    try:
        path = Path(reference).expanduser()
        if (path / JOURNAL).is_file():
            return path.absolute()
        return path.absolute().parent if path.name == JOURNAL and path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None  # no disk can hold the name, or its `~user` is nobody


def not_begun(reader: RunReader) -> TreewrightError:
    """Return the error for a run whose first event cannot be read: it is damaged, or it was never written."""
    if reader.damage:
        return StoreError(
            "journal_damaged",
            f"{shown(reader.folder / JOURNAL)} is damaged at line {reader.damage[0]}, and how the run began cannot be read.",
            "Try `treewright recover` on the run; it keeps the original beside what it can mend.",
        )
    return RunError(
        "run_empty", "This run was cut off before it began.", "Start it again.", {"path": str(reader.folder)}
    )


class RunView:
    """A run to look at."""

    def __init__(self, context: Context, reference: str) -> None:
        """Open a run for reading.

        Raises:
            RunError: it cannot be found, or was cut off before it began.
            StoreError: it cannot be read.
        """
        configuration = context.configuration()
        self.folder = find_run(context, reference, configuration).folder
        self._decisions = configuration.root.decisions
        self.reader = RunReader(self.folder)
        started = self.reader.tree.started
        if started is None and is_search(self.folder):
            raise RunError(
                "not_an_exploration", "This run is a code-branch search.", "`treewright show` shows it."
            )
        if started is None:
            raise not_begun(self.reader)
        self.preset: Preset = load_for(started, configuration.root.folder, to_look=True).materials.preset

    def summary(self) -> dict[str, Any]:
        """Return the run's figures, who drives it, and damaged lines of its journal."""
        holder = run_holder(self.folder)
        return {
            **run_json(self.reader.tree, self.preset),
            "folder": str(self.folder),
            "driven_by": holder.named() if holder else "",
            "damaged_lines": self.reader.damage,
        }

    def node(self, node: str) -> dict[str, Any]:
        """Return a node with its bodies.

        Raises:
            RunError: `node_not_found`.
        """
        return node_json(node_record(self.preset, self.reader, self._node(node)))

    def node_markdown(self, node: str) -> str:
        """Return a node as a Markdown document.

        Raises:
            RunError: `node_not_found`.
        """
        return node_markdown(node_record(self.preset, self.reader, self._node(node)), level=1)

    def outline(self) -> str:
        """Return the tree as an indented outline, a line a node."""
        return "".join(outline_line(self.preset, node) for node in in_tree_order(self.reader.tree))

    def not_read(self) -> int:
        """Return how many files under the root were left out because they could not be read."""
        at = self.reader.tree.grounded_at
        event = self.reader.read(at) if at >= 0 else None
        return len(event.unread) if isinstance(event, Grounded) else 0

    def sarif(self) -> str:
        """Return the findings as SARIF 2.1.0.

        Raises:
            RequestError: `not_code` when the run is no audit of code.
        """
        return "".join(sarif(self.reader.tree, self.preset, self.reader, self.decided()))

    def decided(self) -> dict[str, str]:
        """Return node id to why a finding does not count any more: a decision of the user's, or the run's baseline.

        Raises:
            StoreError: the decisions cannot be read.
        """
        return decided(self.folder, self.reader.tree, self.preset, self.reader, self._decisions)

    def standing(self) -> dict[str, int]:
        """Return how many nodes each verdict's label has, decided findings left out."""
        counts: dict[str, int] = dict(run_json(self.reader.tree, self.preset)["verdicts"])
        for node in self.decided():
            label = node_record(self.preset, self.reader, self.reader.tree.nodes[node]).label
            if counts.get(label):
                counts[label] -= 1
        return counts

    def report(self) -> str:
        """Return the report as it stands now; a chain's is the one that it wrote."""
        started = self.reader.tree.started
        if started is not None and started.kind is RunKind.CHAIN:
            read = read_source(self.folder / "CHAIN_REPORT.md")
            return "" if isinstance(read, Unreadable) else read.text
        return "".join(report(self.reader.tree, self.preset, self.reader, self.decided()))

    def _node(self, node: str) -> Any:
        found = self.reader.tree.nodes.get(node)
        if found is None:
            raise no_such_node(node, LISTED)
        return found


def stop_run(context: Context, reference: str, reason: str = "") -> str:
    """Ask whoever drives a run to stop it, and return who that is.

    Raises:
        RunError: `run_not_found`, or `run_idle` when nobody drives it.
    """
    folder = find_run(context, reference).folder
    holder = run_holder(folder) if folder.is_dir() else None
    if holder is None:
        raise RunError("run_idle", "Nobody drives this run at the moment.", "Nothing has to be stopped.")
    request_stop(folder, context.surface, reason)
    return holder.named()


def recover(context: Context, reference: str) -> dict[str, Any]:
    """Repair a run's damaged journal and return what was done; the original is kept beside it.

    Raises:
        RunError: `run_not_found`.
        StoreError: `run_locked`, or the disk refused.
    """
    folder = find_run(context, reference).folder
    done = recover_run(folder, context.surface, now=utc_now())
    return {key: str(value) if isinstance(value, Path) else value for key, value in done._asdict().items()}
