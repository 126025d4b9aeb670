"""Looking at any run, whatever its kind: an exploration, a code-branch search, a deliberation."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from treewright.app.context import Context
from treewright.app.describe import is_search
from treewright.app.rows import LISTED, no_such_node
from treewright.app.runs import RunView, find_run
from treewright.errors import RequestError, RunError
from treewright.store.locks import run_holder


class Look(Protocol):
    """What can be shown of a run."""

    def summary(self) -> dict[str, Any]:
        """Return the run's figures."""
        ...

    def outline(self) -> str:
        """Return the tree as an outline, a line a node."""
        ...

    def node(self, node: str) -> dict[str, Any]:
        """Return a node as data.

        Raises:
            RunError: `node_not_found`.
        """
        ...

    def node_markdown(self, node: str) -> str:
        """Return a node as a Markdown document.

        Raises:
            RunError: `node_not_found`.
        """
        ...

    def report(self) -> str:
        """Return the report as it stands now."""
        ...

    def sarif(self) -> str:
        """Return the findings as SARIF.

        Raises:
            RequestError: `not_code` when the run is no audit of code.
        """
        ...


def look_at_other(context: Context, reference: str) -> "SearchLook | SessionLook | None":
    """Open a search or a session to look at; None for an exploration or a chain, which is not opened.

    Raises:
        RunError: it cannot be found, or was cut off before it began.
        StoreError: it cannot be read.
    """
    found = find_run(context, reference)
    if found.folder.is_file():
        name = found.entry.id if found.entry else found.folder.stem
        return SessionLook(found.folder, context.configuration().root.locks / f"{name}.lock")
    return SearchLook(found.folder) if is_search(found.folder) else None


def look_at(context: Context, reference: str) -> Look:
    """Open a run or session to look at.

    Args:
        context: the surroundings.
        reference: an id or the beginning of one, a folder, or `last`.

    Raises:
        RunError: it cannot be found, or was cut off before it began.
        StoreError: it cannot be read.
    """
    other = look_at_other(context, reference)
    return other if other is not None else RunView(context, str(find_run(context, reference).folder))


def kind_of(context: Context, reference: str) -> str:
    """Return `deliberation`, `search` or `exploration`.

    Raises:
        RunError: it cannot be found.
    """
    folder = find_run(context, reference).folder
    if folder.is_file():
        return "deliberation"
    return "search" if is_search(folder) else "exploration"


class SearchLook:
    """A code-branch search to look at; its nodes are its branches."""

    def __init__(self, folder: Path) -> None:
        """Open a search for reading.

        Raises:
            RunError: `run_empty`.
            StoreError: it cannot be read.
        """
        from treewright.app.search_outcome import best_so_far
        from treewright.app.search_store import read_search

        self.folder = folder
        self._logged = read_search(folder)
        if not self._logged.run:
            raise RunError("run_empty", "This search was cut off before it began.", "Start it again.")
        self.state = self._logged.state()
        self.found = best_so_far(self._logged.events, self._logged.seconds)

    def summary(self) -> dict[str, Any]:
        """Return the search's result, who drives it, and damaged lines of its journal."""
        from treewright.app.search_store import status_of

        holder = run_holder(self.folder)
        return {
            **self.found.model_dump(mode="json"),
            "kind": "search",
            "status": status_of(self._logged, driven=holder is not None),
            "folder": str(self.folder),
            "driven_by": holder.named() if holder else "",
            "damaged_lines": self._logged.damage,
        }

    def outline(self) -> str:
        """Return a line for the whole, and a line a branch."""
        from treewright.app.search_outputs import search_outline

        return search_outline(self.found)

    def node(self, node: str) -> dict[str, Any]:
        """Return a branch with its program, trace and verdicts."""
        branch = self._branch(node)
        return {
            **branch.proposed.model_dump(mode="json", exclude={"kind"}),
            "trace": branch.trace.model_dump(mode="json") if branch.trace else None,
            "verdicts": [verdict.model_dump(mode="json") for verdict in branch.verdicts],
        }

    def node_markdown(self, node: str) -> str:
        """Return a branch as a Markdown document."""
        from treewright.app.search_outputs import branch_markdown

        return branch_markdown(self.state, self._branch(node))

    def report(self) -> str:
        """Return the report as it stands now."""
        from treewright.app.search_outputs import search_markdown

        return search_markdown(self.found, self.state)

    def sarif(self) -> str:
        """Refuse: a search has no findings."""
        raise _not_code("A search")

    def _branch(self, node: str) -> Any:
        branch = self.state.branches.get(node)
        if branch is None:
            raise _no_node(node, ", ".join(self.state.branches))
        return branch


class SessionLook:
    """A deliberation to look at; its nodes are stages, thoughts and rounds."""

    def __init__(self, path: Path, lock: Path) -> None:
        """Open a session for reading.

        Args:
            path: its file, wherever it was moved.
            lock: for the case that it has to be recovered.

        Raises:
            StoreError: it cannot be read.
        """
        from treewright.deliberate.encoding import decode
        from treewright.deliberate.treeview import session_as_tree
        from treewright.store.documents import Document
        from treewright.store.strict_json import decode_object

        def whole(content: bytes) -> bytes:
            decode_object(content)
            return content

        self.path = path
        self.session = decode(Document(path, lock=lock).load(whole).value)
        self.tree = session_as_tree(self.session)

    def summary(self) -> dict[str, Any]:
        """Return the session's figures."""
        session = self.session
        return {
            "run": session.id,
            "kind": "deliberation",
            "status": session.status,
            "mode": session.mode,
            "question": session.question,
            "stage": session.current_stage,
            "stages": list(session.expected_stages),
            "thoughts": len(session.thoughts),
            "committed": sum(1 for thought in session.thoughts if thought.committed),
            "path": str(self.path),
        }

    def outline(self) -> str:
        """Return session, stages, thoughts and rounds as an outline."""
        lines = []
        for depth, node in _with_depth(self.tree, 0):
            score = "" if node.score is None else f"  {node.score:.2f}"
            name = (
                ""
                if node.kind in ("session", "stage")
                else f"{node.id.removeprefix(self.session.id + '/')}  "
            )
            lines.append(f"{'  ' * depth}{name}{node.label} ({node.state}){score}")
        return "\n".join(lines) + "\n"

    def node(self, node: str) -> dict[str, Any]:
        """Return a node as data."""
        return asdict(self._node(node))

    def node_markdown(self, node: str) -> str:
        """Return a node as a Markdown document."""
        found = self._node(node)
        scores = [f"- {name}: {value:.2f}" for name, value in (found.scores or {}).items()]
        return (
            "\n".join([f"# {found.label}", "", f"{found.kind}, {found.state}", "", found.text, "", *scores])
            + "\n"
        )

    def report(self) -> str:
        """Return the transcript."""
        from treewright.deliberate.transcript import transcript

        return transcript(self.session)

    def sarif(self) -> str:
        """Refuse: a session has no findings."""
        raise _not_code("A deliberation")

    def _node(self, node: str) -> Any:
        for found in self.tree.walk():
            own = found.id.removeprefix(f"{self.session.id}/")
            if node in (found.id, own, own.replace("/", ".")):  # an address has no room for more slashes
                return found
        raise _no_node(node, "")


def _with_depth(node: Any, depth: int) -> list[tuple[int, Any]]:
    found = [(depth, node)]
    for child in node.children:
        found += _with_depth(child, depth + 1)
    return found


def _no_node(node: str, there: str) -> RunError:
    return no_such_node(node, f"It has {there}." if there else LISTED)


def _not_code(what: str) -> RequestError:
    return RequestError("not_code", f"{what} has no findings of an audit, so there is no SARIF of it.")
