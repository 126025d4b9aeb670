"""From what the facade gives to the rows of our messages."""

from treewright.app.rows import NodeRow
from treewright.store.index import IndexEntry
from treewright.store.locks import run_holder
from treewright.surfaces.lsp.messages.runs import RunRow
from treewright.surfaces.lsp.messages.trees import NodeLine
from treewright.tree.run import Status


def run_row(entry: IndexEntry, driven_here: bool) -> RunRow:
    """Return a run as a list shows it; looks at its folder for who drives it."""
    driven_by = ""
    if not driven_here and entry.kind != "deliberation":
        holder = run_holder(entry.path)
        driven_by = holder.named() if holder else ""
    status = entry.status
    if status == Status.GROWING.value and not driven_here and not driven_by:
        status = Status.STOPPED.value  # whoever drove it is dead; it can be gone on with
    return RunRow(
        id=entry.id,
        kind=entry.kind,
        status=status,
        preset=entry.preset,
        title=entry.title,
        created=entry.created,
        updated=entry.updated,
        folder=str(entry.path),
        workspace=entry.workspace,
        driven_here=driven_here,
        driven_by=driven_by,
    )


def node_line(row: NodeRow) -> NodeLine:
    """Return a node's row as a message."""
    return NodeLine.model_construct(**row._asdict())
