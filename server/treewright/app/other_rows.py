"""Searches and sessions as rows of a list: branches below what they were made from, and stages, thoughts and rounds."""

from collections.abc import Iterator
from typing import Any

from treewright.app.looking import SearchLook, SessionLook
from treewright.app.rows import LARGEST_PAGE, NodeFilter, NodeRow, Page, no_such_node, short, with_ways
from treewright.tree.ids import ROOT

_STATES = {
    "committed": "advances",
    "done": "kept",
    "current": "waiting",
    "open": "waiting",
    "ahead": "pruned",
}


def other_page(
    look: SearchLook | SessionLook, node: str, wanted: NodeFilter, offset: int, limit: int, *, flat: bool
) -> Page:
    """Return a page of a search's or a session's rows.

    Args:
        look: at the run.
        node: whose children; `0` is the run itself.
        wanted: which rows.
        offset, limit: of the page.
        flat: every row that matches, wherever it is.

    Raises:
        RunError: `node_not_found`.
    """
    rows = {row.id: row for row in (_branches(look) if isinstance(look, SearchLook) else _points(look))}
    if node != ROOT and node not in rows:
        raise no_such_node(node)

    def above(each: str) -> str | None:
        parent = rows[each].parent
        return parent if parent in rows else None

    matches = {row.id for row in rows.values() if _fits(row, wanted)}
    shown = with_ways(matches, above)
    own = [r for r in rows.values() if (r.id in matches if flat else r.parent == node and r.id in shown)]
    below: dict[str | None, int] = {}
    for each in shown:
        below[rows[each].parent] = below.get(rows[each].parent, 0) + 1
    page = own[offset : offset + min(limit, LARGEST_PAGE)]
    found = [r._replace(children=below.get(r.id, 0), matches=r.id in matches) for r in page]
    return Page(found, len(own), offset, 0)


def _fits(row: NodeRow, wanted: NodeFilter) -> bool:
    if wanted.framings or (wanted.states and row.state not in wanted.states):
        return False
    text = f"{row.id}\n{row.statement}\n{row.label}".casefold()
    return all(word in text for word in wanted.text.casefold().split())


def _branches(look: SearchLook) -> Iterator[NodeRow]:
    """Yield a search's branches, in the order in which they came."""
    concluded = look.state.concluded
    for branch in look.state.branches.values():
        proposed = branch.proposed
        if branch.complete:
            state = "advances"
        elif branch.trace is None and proposed.duplicate_of is None:
            state = "waiting"
        else:
            state = "pruned"
        passed = f"{branch.passed} of {len(branch.verdicts)} checks" if branch.verdicts else ""
        chosen = "chosen" if concluded is not None and concluded.chosen == branch.id else ""
        same = f"the same as {proposed.duplicate_of}" if proposed.duplicate_of else ""
        by = f"{proposed.generator} {proposed.framing}".strip()
        yield _row(
            branch.id,
            proposed.parent or ROOT,
            by,
            state,
            ", ".join(part for part in (chosen, same or passed) if part),
            branch.depth + 1,
        )


def _points(look: SessionLook) -> Iterator[NodeRow]:
    """Yield a session's stages, thoughts and rounds."""
    prefix = f"{look.session.id}/"

    def below(parent: Any, parent_id: str, depth: int) -> Iterator[NodeRow]:
        for node in parent.children:
            own = node.id.removeprefix(prefix).replace("/", ".")
            label = node.state if node.score is None else f"{node.state}, {node.score:.2f}"
            yield _row(own, parent_id, node.label, _STATES.get(node.state, "kept"), label, depth)
            yield from below(node, own, depth + 1)

    return below(look.tree, ROOT, 1)


def _row(node: str, parent: str, statement: str, state: str, label: str, depth: int) -> NodeRow:
    return NodeRow(
        id=node,
        parent=parent,
        statement=short(statement),
        state=state,
        label=label,
        role="",
        total=-1,
        framing="",
        depth=depth,
        round=0,
        position="",
        cwe="",
        children=0,
        matches=True,
    )
