"""The preset's own files: primary, secondary, and one for each entry where the preset asks for it."""

from collections.abc import Iterator

from treewright.explore.ports import Bodies
from treewright.explore.reports.markdown import node_markdown, one_line
from treewright.explore.reports.record import node_record, ranked, standing
from treewright.explore.rules.text import as_text
from treewright.presets.schema import Preset, SecondarySelector
from treewright.tree.fold import Tree
from treewright.tree.node import Node
from treewright.tree.run import Role

INTRODUCTIONS: dict[str, str] = {
    "advances": "Nodes with the verdict {label}, best first.",
    "kept": "Nodes with the verdict {label}: sound, but below the line or held back by a gate.",
    "refuted": "Nodes with a shown defense; what was only scored low stands in tree.md.",
    "pruned": "Nodes with the verdict {label}.",
    "blocked": "Nodes that could not be filled in, with what is missing.",
}


def deliverables(tree: Tree, preset: Preset, bodies: Bodies) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield each file's name and its text, piece by piece."""
    artifacts = preset.output_artifacts
    primary = ranked(preset, standing(tree, Role.ADVANCES))
    yield artifacts.primary, _file(preset, bodies, "advances", primary, table=artifacts.table)
    for selector, name in artifacts.secondary.items():
        yield name, _file(preset, bodies, selector, selected(tree, preset, selector))
    if artifacts.each:
        for node in primary:
            name = artifacts.each.replace("<id>", node.id)
            record = node_record(preset, bodies, node)
            yield name, iter([node_markdown(record, level=1)])


def selected(tree: Tree, preset: Preset, selector: SecondarySelector) -> list[Node]:
    """Return the nodes of a secondary file, sorted."""
    match selector:
        case "kept":
            nodes = standing(tree, Role.KEPT)
        case "pruned":
            nodes = standing(tree, Role.PRUNED)
        case "refuted":
            because = {gate.because for gate in preset.gate("defense_shown")}
            nodes = [n for n in standing(tree, Role.PRUNED) if because & set(n.reasons)]
        case "blocked":
            nodes = [n for n in tree.descendants() if n.unresolved or (n.role is Role.BLOCKED and n.counts)]
    return ranked(preset, nodes)


def _file(
    preset: Preset, bodies: Bodies, selector: str, nodes: list[Node], table: tuple[str, ...] = ()
) -> Iterator[str]:
    role = Role(selector) if selector in set(Role) else Role.PRUNED
    title = f"{preset.subject_label.capitalize()}s: {preset.label(role)}"
    yield f"# {title}\n\n{INTRODUCTIONS[selector].format(label=preset.label(role))}\n\n"
    if not nodes:
        yield f"None: no {preset.subject_label} has this verdict.\n"
        return
    if table:
        yield from _table(preset, bodies, nodes, table)
    for node in nodes:
        yield node_markdown(node_record(preset, bodies, node)) + "\n"


def _table(preset: Preset, bodies: Bodies, nodes: list[Node], columns: tuple[str, ...]) -> Iterator[str]:
    yield "| id | sum | " + " | ".join(columns) + " |\n"
    yield "| --- | --- | " + " | ".join("---" for _ in columns) + " |\n"
    for node in nodes:
        record = node_record(preset, bodies, node)
        cells = [one_line(as_text(record.fields.get(name, ""))) for name in columns]
        yield f"| {node.id} | {node.total} | " + " | ".join(cells) + " |\n"
    yield "\n"
