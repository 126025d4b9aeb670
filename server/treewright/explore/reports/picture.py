"""`tree.svg`: the radial picture of a run. Rings are depth, colour is the verdict, size the score."""

import tomllib
from collections.abc import Iterator
from functools import cache
from xml.sax.saxutils import escape

from treewright.data import data_path
from treewright.explore.reports.radial import Place, layout
from treewright.presets.schema import Preset
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT
from treewright.tree.node import Node
from treewright.tree.run import Role
from treewright.tree.visible import visible

MARGIN = 70.0
LABELLED = 400
"""Nodes up to which every node bears its id."""


@cache
def colours() -> dict[str, str]:
    """Return the colour of each role, of tagged nodes and of the root."""
    table: dict[str, str] = tomllib.loads(data_path("colours.toml").read_text(encoding="utf-8"))["role"]
    return table


def colour_of(node: Node) -> str:
    """Return a node's colour."""
    table = colours()
    if node.parent is None:
        return table["root"]
    if not node.counts:
        return table["tagged"]
    return table[node.role.value] if node.role else "#d0d7de"


def picture(tree: Tree, preset: Preset, title: str) -> Iterator[str]:
    """Yield the SVG piece by piece."""
    places = layout(tree)
    reach = max(place.radius for place in places.values()) + MARGIN
    side = 2 * reach
    legend = 26.0 * (len(Role) + 2)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-reach:.0f} {-reach:.0f} {side:.0f} {side + legend:.0f}" '
        f'width="{min(side, 1600):.0f}" role="img" font-family="system-ui, sans-serif" font-size="9">\n'
        f"<title>{_text(title)}</title>\n"
        f'<rect x="{-reach:.0f}" y="{-reach:.0f}" width="{side:.0f}" height="{side + legend:.0f}" fill="#ffffff"/>\n'
    )
    for radius in sorted({place.radius for place in places.values() if place.radius}):
        yield f'<circle r="{radius:.1f}" fill="none" stroke="#e6e8eb"/>\n'
    for node in tree.descendants():
        yield _edge(places[node.parent or ROOT], places[node.id])
    labelled = len(places) <= LABELLED
    for node in tree.nodes.values():
        yield _dot(preset, node, places[node.id], labelled=labelled)
    yield _legend(tree, preset, -reach + 20, reach + 16)
    yield "</svg>\n"


def _text(text: str) -> str:
    return escape(visible(" ".join(text.split())), {'"': "&quot;"})


def _edge(start: Place, end: Place) -> str:
    """Draw from parent to child, leaving the parent outwards and reaching the child inwards."""
    from math import cos, sin

    middle = (start.radius + end.radius) / 2
    first = (middle * sin(start.angle), -middle * cos(start.angle)) if start.radius else (0.0, 0.0)
    second = (middle * sin(end.angle), -middle * cos(end.angle))
    return (
        f'<path d="M{start.x:.1f},{start.y:.1f} C{first[0]:.1f},{first[1]:.1f} {second[0]:.1f},{second[1]:.1f} '
        f'{end.x:.1f},{end.y:.1f}" fill="none" stroke="#c9ced6"/>\n'
    )


def _dot(preset: Preset, node: Node, place: Place, *, labelled: bool) -> str:
    size = 9.0 if node.parent is None else 3.5 + node.total / 5
    label = node.tag or (preset.label(node.role) if node.role else "")
    about = f"{node.id} {label} {node.total if node.scores else ''} {node.statement}"
    dash = "" if node.counts else ' stroke-dasharray="2 2"'
    stroke = ' stroke="#ffffff"' if node.counts else f' stroke="{colour_of(node)}"'
    fill = colour_of(node) if node.counts else "#ffffff"
    dot = (
        f'<circle cx="{place.x:.1f}" cy="{place.y:.1f}" r="{size:.1f}" fill="{fill}"{stroke}{dash}>'
        f"<title>{_text(about)}</title></circle>\n"
    )
    if not labelled or node.parent is None:
        return dot
    outwards = place.radius + size + 3
    from math import cos, degrees, pi, sin

    x, y = outwards * sin(place.angle), -outwards * cos(place.angle)
    turn = degrees(place.angle) - 90
    anchor = "start"
    if place.angle > pi:
        turn += 180
        anchor = "end"
    return dot + (
        f'<text transform="translate({x:.1f},{y:.1f}) rotate({turn:.1f})" text-anchor="{anchor}" dy="3" '
        f'fill="#57606a">{_text(node.id.rpartition(".")[2])}</text>\n'
    )


def _legend(tree: Tree, preset: Preset, x: float, y: float) -> str:
    rows = [(colours()[role.value], f"{preset.label(role)}: {_count(tree, role)}", "") for role in Role]
    tagged = sum(1 for node in tree.descendants() if not node.counts)
    rows.append(
        (colours()["tagged"], f"merged, superseded or unresolved: {tagged}", ' stroke-dasharray="2 2"')
    )
    parts = []
    for number, (colour, text, dash) in enumerate(rows):
        top = y + 24 * number
        fill = colour if not dash else "#ffffff"
        parts.append(f'<circle cx="{x:.0f}" cy="{top:.0f}" r="7" fill="{fill}" stroke="{colour}"{dash}/>')
        parts.append(
            f'<text x="{x + 16:.0f}" y="{top + 5:.0f}" font-size="14" fill="#24292f">{_text(text)}</text>'
        )
    return "\n".join(parts) + "\n"


def _count(tree: Tree, role: Role) -> int:
    return sum(1 for node in tree.descendants() if node.role is role and node.counts)
