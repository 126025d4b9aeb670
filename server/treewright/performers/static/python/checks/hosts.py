"""Hosts that are checked by a piece of their text."""

import ast
import re
from typing import TYPE_CHECKING

from treewright.performers.static.python.checks.registry import check

if TYPE_CHECKING:
    from treewright.performers.static.python.unit import Unit


@check("host-checked-by-substring", ast.Compare)
def substring_host(unit: "Unit", node: ast.Compare) -> None:
    """`"example.com" in url`."""
    if (
        len(node.ops) == 1
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
        and isinstance(node.left, ast.Constant)
    ):
        text = node.left.value
        subject = unit.source.segment(node.comparators[0])
        if (
            isinstance(text, str)
            and re.fullmatch(r"(https?://)?([\w-]+\.)+(com|org|net|io|edu|gov|dev|app|co|local)/?", text)
            and re.search(
                r"(?i)url|uri|host|link|target|referer|redirect|domain|origin|netloc|next|address", subject
            )
        ):
            unit.report(
                "host-checked-by-substring",
                node,
                what=unit.source.segment(node)[:60],
                facts=(("shown", text),),
            )


@check("host-checked-by-substring", ast.Call)
def suffix_host(unit: "Unit", node: ast.Call) -> None:
    """`url.startswith("https://example.com")`, `host.endswith("example.com")`."""
    if (
        not isinstance(node.func, ast.Attribute)
        or node.func.attr not in {"startswith", "endswith"}
        or not node.args
    ):
        return
    argument = node.args[0]
    text = argument.value if isinstance(argument, ast.Constant) else None
    subject = unit.source.segment(node.func.value)
    if not isinstance(text, str) or not re.search(
        r"(?i)url|uri|host|link|target|domain|netloc|origin|redirect|next|referer", subject
    ):
        return
    if (node.func.attr == "startswith" and re.fullmatch(r"https?://[\w.-]+\.\w{2,}", text)) or (
        node.func.attr == "endswith"
        and re.fullmatch(r"[\w-]+(\.[\w-]+)+", text)
        and text.rpartition(".")[2] in {"com", "org", "net", "io", "edu", "gov", "local"}
    ):
        unit.report(
            "host-checked-by-substring", node, what=unit.source.segment(node)[:60], facts=(("shown", text),)
        )
