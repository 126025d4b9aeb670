"""Writes what a run puts out: the views while it grows, everything at each stop."""

from collections.abc import Iterator
from pathlib import Path

from treewright.app.standing import decided
from treewright.explore.glossary import anchors_markdown
from treewright.explore.ports import Bodies
from treewright.explore.reports.deliverables import deliverables
from treewright.explore.reports.document import tree_json
from treewright.explore.reports.markdown import long_fields, node_markdown, tree_markdown
from treewright.explore.reports.page import page
from treewright.explore.reports.picture import picture
from treewright.explore.reports.record import in_tree_order, node_record
from treewright.explore.reports.report import report
from treewright.explore.reports.sarif import sarif
from treewright.presets.schema import Preset
from treewright.store.artifacts import write_artifact
from treewright.tree.event import GlossarySettled
from treewright.tree.fold import Tree


def write_views(folder: Path, tree: Tree, preset: Preset, bodies: Bodies) -> None:
    """Write `tree.json` and `tree.md`.

    Raises:
        StoreError: the disk refused; what was there before stands.
    """
    title = tree.root.statement or preset.name
    write_artifact(folder / "tree.json", tree_json(tree, preset, bodies))
    write_artifact(folder / "tree.md", tree_markdown(tree, preset, bodies, title))


def write_outputs(
    folder: Path, tree: Tree, preset: Preset, bodies: Bodies, decisions: Path | None = None
) -> list[str]:
    """Write everything a stopped run puts out and return the names, most important first.

    Args:
        decisions: folder of what users decided about findings; None respects none.

    Raises:
        StoreError: the disk refused; files written before are whole.
    """
    names = ["REPORT.md"]
    settled = decided(folder, tree, preset, bodies, decisions) if decisions is not None else {}
    for name, pieces in deliverables(tree, preset, bodies):
        write_artifact(folder / name, pieces)
        names.append(name)
    write_views(folder, tree, preset, bodies)
    for name, text in _long_nodes(tree, preset, bodies):
        write_artifact(folder / name, text)
    if tree.glossary_at >= 0:
        event = bodies.read(tree.glossary_at)
        assert isinstance(event, GlossarySettled)
        write_artifact(folder / "glossary-anchors.md", anchors_markdown(event))
        names.append("glossary-anchors.md")
    title = tree.root.statement or preset.name
    names += ["tree.html", "tree.svg", "tree.md", "tree.json"]
    write_artifact(folder / "tree.svg", picture(tree, preset, title))
    write_artifact(folder / "tree.html", page(tree, preset, bodies, title))
    if preset.root_kind == "code":
        write_artifact(folder / "findings.sarif", sarif(tree, preset, bodies, settled))
        names.append("findings.sarif")
    write_artifact(folder / "REPORT.md", report(tree, preset, bodies, settled))
    return names


def _long_nodes(tree: Tree, preset: Preset, bodies: Bodies) -> Iterator[tuple[str, str]]:
    for node in in_tree_order(tree):
        record = node_record(preset, bodies, node)
        if long_fields(record):
            yield f"nodes/{node.id}.md", node_markdown(record, level=1)
