"""Nodes and trees as Markdown.

Text from a performer is data: it is shown as it is, but cannot open headings, raw HTML or links that run commands.
"""

import re
from collections.abc import Iterator

from treewright.explore.ports import Bodies
from treewright.explore.reports.inert import inert, inert_line
from treewright.explore.reports.record import (
    STATE_MARKS,
    NodeRecord,
    in_tree_order,
    node_record,
)
from treewright.presets.schema import Preset
from treewright.tree.body import FieldValue
from treewright.tree.citation import CheckedCitation
from treewright.tree.fold import Tree
from treewright.tree.node import Node
from treewright.tree.visible import visible

LONG_FIELD = 100
"""Lines from which a field goes to a file of its own (contract: exploration, 8)."""


def one_line(text: str) -> str:
    """Return prose on one line, inert, for headings, tables and lists."""
    return inert_line(text).replace("|", "\\|")


def field_text(value: FieldValue) -> str:
    """Return a field's value: prose as it is, items as a list."""
    if isinstance(value, str):
        return inert(value)
    return "\n".join(f"- {inert(item).replace(chr(10), chr(10) + '  ')}" for item in value)


def code_span(text: str) -> str:
    """Return text as a code span that its own backquotes cannot close."""
    flat = visible(" ".join(text.split()))
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}" if flat else ""


def citation_line(checked: CheckedCitation) -> str:
    """Return a citation as a list item: its place, its state, the quote."""
    citation = checked.citation
    line = f"- {code_span(citation.label())} — {STATE_MARKS[checked.state]}"
    if checked.reason:
        line += f" ({one_line(checked.reason)})"
    if citation.field:
        line += f", for {citation.field}"
    if citation.quote:
        line += f": {code_span(citation.quote)}"
    return line


def node_markdown(record: NodeRecord, level: int = 2, *, files: bool = False) -> str:
    """Return a node as a section.

    Args:
        record: the node.
        level: of its heading, 1 to 5.
        files: long fields stand in `nodes/<id>.md` and are only pointed to.
    """
    node = record.node
    parts = ["#" * level + f" {node.id}", "", one_line(node.statement), ""]
    parts += [f"- {fact}" for fact in _facts(record)]
    for name, value in record.fields.items():
        text = field_text(value)
        if files and text.count("\n") >= LONG_FIELD:
            text = f"See [nodes/{node.id}.md](nodes/{node.id}.md)."
        parts += ["", f"**{name}**", "", text]
    parts += _evidence(record)
    return "\n".join(parts).rstrip() + "\n"


def _facts(record: NodeRecord) -> Iterator[str]:
    node = record.node
    yield f"verdict: **{record.state or 'none yet'}**" + (f" ({record.label})" if node.tag else "")
    if record.scores:
        shown = " ".join(f"{key}={value}" for key, value in record.scores.items())
        yield f"scores: {shown}, sum {sum(record.scores.values())}"
    if node.parent is not None:
        yield f"parent: {node.parent}, framing {node.framing}"
    if node.position:
        yield f"position: {code_span(node.position)}"
    if node.cwe:
        yield f"weakness: {node.cwe}"
    if node.rerouted_from:
        yield f"replaces: {node.rerouted_from}"
    if node.reasons:
        yield "because: " + one_line("; ".join(node.reasons))
    if node.children:
        yield "children: " + ", ".join(node.children)


def _evidence(record: NodeRecord) -> list[str]:
    parts: list[str] = []
    if record.citations:
        parts += ["", "**citations**", "", *map(citation_line, record.citations)]
    if record.external:
        parts += ["", "**external cross-check**", "", *map(citation_line, record.external)]
    if record.numerics:
        parts += ["", "**numeric checks**", ""]
        parts += [
            f"- {code_span(n.check.expression)} = {code_span(n.check.expected)}: {n.state}"
            + (f", observed {code_span(n.observed)}" if n.observed else "")
            for n in record.numerics
        ]
    if record.violations:
        parts += ["", "**violations**", ""]
        parts += [f"- {v.rule} {v.field}: {one_line(v.message)}" for v in record.violations]
    if record.edits:
        parts += ["", "**edits**", ""]
        parts += [diff_block(edit.path, edit.start, edit.old, edit.new) for edit in record.edits]
    return parts


def diff_block(path: str, start: int, old: str, new: str) -> str:
    """Return a change as a fenced diff."""
    body = [f"--- {path}", f"+++ {path}", f"@@ -{start} @@"]
    body += [f"-{line}" for line in old.splitlines()]
    body += [f"+{line}" for line in new.splitlines()]
    body = [visible(line) for line in body]
    ticks = "`" * max(3, max((len(r) + 1 for line in body for r in re.findall(r"`{3,}", line)), default=3))
    return f"{ticks}diff\n" + "\n".join(body) + f"\n{ticks}"


def tree_markdown(tree: Tree, preset: Preset, bodies: Bodies, title: str) -> Iterator[str]:
    """Yield `tree.md` piece by piece: an outline, then every node."""
    yield f"# {one_line(title)}\n\n"
    for node in in_tree_order(tree):
        yield outline_line(preset, node)
    yield "\n"
    for node in in_tree_order(tree):
        yield node_markdown(node_record(preset, bodies, node), files=True) + "\n"


def outline_line(preset: Preset, node: Node) -> str:
    """Return a node as one line of an indented outline."""
    indent = "  " * node.depth
    label = node.tag or (
        preset.label(node.role) if node.role else "root" if node.parent is None else node.phase.value
    )
    score = f" {node.total}" if node.scores else ""
    return f"{indent}- {node.id} [{label}{score}] {one_line(node.statement)}\n"


def long_fields(record: NodeRecord) -> bool:
    """Tell whether a node needs a file of its own."""
    return any(field_text(value).count("\n") >= LONG_FIELD for value in record.fields.values())
