"""What is put into a list or a keyed store of this function, and what of it comes out again."""

import ast
from typing import Any

from treewright.performers.static.python.parts import path_key
from treewright.performers.static.python.patterns import Arguments
from treewright.performers.static.python.value import Value, merge_flows

_MUTATORS = frozenset(
    ["append", "add", "extend", "insert", "update", "appendleft", "setdefault", "put", "put_nowait", "write", "writelines",
     "push", "attach", "set", "add_header"]
)  # fmt: skip
_REORDERS = frozenset(["sort", "reverse", "clear", "remove", "update"])
_MAX_ITEMS = 32


def store(run: Any, node: ast.Call, arguments: Arguments) -> Value | None:
    """Follow a call that changes its receiver.

    Args:
        run: the function's interpreter.

    Returns:
        What the call gives back, where that is known (`items.pop(0)`), else None.
    """
    if not isinstance(node.func, ast.Attribute) or run.unit.quiet:
        return None
    key, attr = path_key(node.func.value), node.func.attr
    if key is None or key not in run.env.vars:
        return None
    old: Value = run.env.vars[key]
    given = arguments.all()
    if attr == "pop" and old.items and old.name == "":
        return _popped(run, key, old, arguments)
    if attr in _REORDERS and old.items is not None:
        old = run.env.vars[key] = Value(old.flows, name=old.name)
    if attr not in _MUTATORS:
        return None
    keyed = _keyed(given[:-1]) if attr == "set" else None
    if keyed is not None:
        run.env.vars[f"{key}[{keyed!r}]"] = given[-1][1]
    added = merge_flows(*(value.flows for _, value in given)) if given else ()
    items = _grown(old, attr, arguments)
    if not added and items is None and old.items is None:
        return None
    flows = merge_flows(old.flows, run.effective(added))
    entries = None if attr in {"update", "setdefault"} else old.entries
    run.env.vars[key] = Value(flows, name=old.name, composed=old.composed, items=items, entries=entries)
    return None


def fetched(run: Any, node: ast.Call, arguments: Arguments) -> Value | None:
    """What `store.get("section", "key")` gives when this function put it there."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
        return None
    key, keyed = path_key(node.func.value), _keyed(arguments.positional[:2])
    if key is None or keyed is None:
        return None
    known: Value | None = run.env.vars.get(f"{key}[{keyed!r}]")
    return known


def _keyed(given: list[tuple[ast.expr, Value]]) -> tuple[Any, ...] | None:
    """Two constant keys, or None."""
    if len(given) != 2 or not all(value.is_const for _, value in given):
        return None
    return tuple(value.const for _, value in given)


def _grown(old: Value, attr: str, arguments: Arguments) -> tuple[Value, ...] | None:
    if old.items is None or len(old.items) >= _MAX_ITEMS or arguments.open:
        return None
    values = [value for _, value in arguments.positional]
    if attr == "append" and len(values) == 1:
        return (*old.items, values[0])
    if attr == "extend" and len(values) == 1:
        return (*old.items, *(values[0].items or (Value(values[0].flows),)))
    if attr == "insert" and len(values) == 2 and values[0].const == 0:
        return (values[1], *old.items)
    return None


def _popped(run: Any, key: str, old: Value, arguments: Arguments) -> Value | None:
    items = old.items or ()
    index = arguments.positional[0][1].const if arguments.positional else -1
    if not isinstance(index, int) or not -len(items) <= index < len(items):
        return None
    left = [item for at, item in enumerate(items) if at != index % len(items)]
    flows = merge_flows(*(item.flows for item in left)) if left else ()
    run.env.vars[key] = Value(flows, name=old.name, items=tuple(left))
    return items[index]
