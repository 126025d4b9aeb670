"""`tree.html`: one file that opens anywhere and lets a person fold, filter and read the tree.

Nothing is fetched; the one script is allowed by its digest; text from performers is only ever set as text.
"""

import base64
import hashlib
import html
import json
from collections.abc import Iterator
from functools import cache

from treewright.data import data_path
from treewright.explore.ports import Bodies
from treewright.explore.reports.document import node_json, run_json
from treewright.explore.reports.picture import colours
from treewright.explore.reports.record import in_tree_order, node_record
from treewright.presets.schema import Preset
from treewright.tree.fold import Tree
from treewright.tree.visible import visible


@cache
def _parts() -> tuple[str, str]:
    """Return the page before its data and after it."""
    script = data_path("reports", "tree.js").read_text(encoding="utf-8")
    page = data_path("reports", "tree.html").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    named = " ".join(f"--{role}: {colour};" for role, colour in colours().items()) + " --none: #d0d7de;"
    page = (
        page.replace("%DIGEST%", digest)
        .replace("%COLOURS%", named)
        .replace("%BLOCKED%", colours()["blocked"])
    )
    head, _, rest = page.partition("%DATA%")
    return head, rest.replace("%SCRIPT%", script)


def page(tree: Tree, preset: Preset, bodies: Bodies, title: str) -> Iterator[str]:
    """Yield the page piece by piece."""
    head, tail = _parts()
    language = tree.started.language.output if tree.started else "en"
    yield head.replace("%TITLE%", html.escape(visible(title))).replace("%LANGUAGE%", html.escape(language))
    yield _embedded({**run_json(tree, preset), "title": title})[:-1] + ',"tree":[\n'
    first = True
    for node in in_tree_order(tree):
        text = _embedded(node_json(node_record(preset, bodies, node)))
        yield text if first else ",\n" + text
        first = False
    yield "\n]}" + tail


def _shown(value: object) -> object:
    """Return a value whose texts a reader sees as they are: no mark of direction can make code look like other code."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _shown(each) for key, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list | tuple) else value


def _embedded(value: object) -> str:
    """Return JSON that cannot close the element it stands in."""
    return (
        json.dumps(_shown(value), ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
