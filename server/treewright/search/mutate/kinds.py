"""Guesses what kind of value a name or an expression holds, to leave out edits that make no sense.

The guess reads annotations, assignments and uses of one function; `any` stands for "cannot tell" and fits
everything.
"""

from __future__ import annotations

import ast

_CALLS = {
    "len": "num",
    "sum": "num",
    "int": "num",
    "float": "num",
    "abs": "num",
    "round": "num",
    "ord": "num",
    "pow": "num",
    "divmod": "tuple",
    "str": "str",
    "chr": "str",
    "repr": "str",
    "input": "str",
    "bin": "str",
    "hex": "str",
    "list": "list",
    "sorted": "list",
    "tuple": "tuple",
    "set": "set",
    "frozenset": "set",
    "dict": "dict",
    "defaultdict": "dict",
    "Counter": "dict",
    "deque": "list",
    "bool": "bool",
    "isinstance": "bool",
    "any": "bool",
    "all": "bool",
}
_METHODS = {
    "split": "list",
    "splitlines": "list",
    "join": "str",
    "lower": "str",
    "upper": "str",
    "strip": "str",
    "lstrip": "str",
    "rstrip": "str",
    "replace": "str",
    "swapcase": "str",
    "capitalize": "str",
    "title": "str",
    "format": "str",
    "count": "num",
    "index": "num",
    "find": "num",
    "rfind": "num",
    "isupper": "bool",
    "islower": "bool",
    "isdigit": "bool",
    "isalpha": "bool",
    "startswith": "bool",
    "endswith": "bool",
}
_USES = {
    "append": "list",
    "extend": "list",
    "insert": "list",
    "sort": "list",
    "popleft": "list",
    "add": "set",
    "discard": "set",
    "union": "set",
    "intersection": "set",
    "keys": "dict",
    "values": "dict",
    "items": "dict",
    "get": "dict",
    "setdefault": "dict",
    "lower": "str",
    "upper": "str",
    "split": "str",
    "strip": "str",
    "isupper": "str",
    "islower": "str",
    "isdigit": "str",
    "isalpha": "str",
}
_ANNOTATIONS = {
    "int": "num",
    "float": "num",
    "str": "str",
    "bool": "bool",
    "list": "list",
    "List": "list",
    "Sequence": "list",
    "tuple": "tuple",
    "Tuple": "tuple",
    "dict": "dict",
    "Dict": "dict",
    "set": "set",
    "Set": "set",
}

_DISPLAYS: dict[type[ast.expr], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.JoinedStr: "str",
    ast.Compare: "bool",
}

SEQUENCES = frozenset({"list", "str", "tuple"})
COLLECTIONS = SEQUENCES | {"set", "dict"}


def fits(one: str, other: str) -> bool:
    """Whether two kinds may be the same; `seq` fits any sequence, `bool` fits `num`."""
    if one == other or "any" in (one, other):
        return True
    if "seq" in (one, other):
        return bool({one, other} & SEQUENCES)
    return {one, other} == {"num", "bool"}


class Kinds:
    """Kinds of the names of one function."""

    def __init__(self, node: ast.AST, outer: Kinds | None) -> None:
        self._outer = outer
        self._names: dict[str, str] = {}
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                kind = _annotation_kind(arg.annotation)
                if kind != "any":
                    self._names[arg.arg] = kind
        for child in ast.walk(node):
            self._learn(child)

    def of_name(self, name: str) -> str:
        """The kind of a name: `num bool str list tuple set dict seq any`."""
        if name in self._names:
            return self._names[name]
        return self._outer.of_name(name) if self._outer else "any"

    def _set(self, node: ast.AST, kind: str) -> None:
        if isinstance(node, ast.Name) and kind != "any":
            known = self._names.get(node.id)
            if known is None or known == "seq":
                self._names[node.id] = kind

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._learn_assignment(target, value)
            case ast.AnnAssign(target=target, annotation=annotation):
                self._set(target, _annotation_kind(annotation))
            case ast.AugAssign(target=target, value=value):
                self._set(target, self.of(value))
            case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
                self._learn_loop(target, source)
            case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr=attr)) if attr in _USES:
                self._set(owner, _USES[attr])
            case ast.Call(
                func=ast.Name(id="len" | "sorted" | "enumerate" | "reversed"), args=[ast.Name() as name, *_]
            ):
                self._set(name, "seq")
            case ast.Subscript(value=ast.Name() as name, slice=ast.Slice()):
                self._set(name, "seq")
            case ast.BinOp(left=left, op=ast.Sub() | ast.FloorDiv() | ast.Div() | ast.Pow(), right=right):
                self._set(left, "num")
                self._set(right, "num")
            case ast.Compare(
                left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() | ast.Eq()], comparators=[right]
            ):
                self._set(left, self.of(right))
                self._set(right, self.of(left))
            case ast.Call(func=ast.Name(id="range"), args=args):
                for arg in args:
                    self._set(arg, "num")
            case _:
                return

    def _learn_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._set(one, self.of(other))
        else:
            self._set(target, self.of(value))

    def _learn_loop(self, target: ast.expr, source: ast.expr) -> None:
        match source:
            case ast.Call(func=ast.Name(id="range")):
                self._set(target, "num")
            case ast.Call(func=ast.Name(id="enumerate")) if isinstance(target, ast.Tuple):
                self._set(target.elts[0], "num")
            case ast.Name(id=name) if self.of_name(name) == "str":
                self._set(target, "str")
            case _:
                return

    def of(self, node: ast.expr) -> str:
        """The kind of an expression."""
        plain = _DISPLAYS.get(type(node))
        if plain is not None:
            return plain
        match node:
            case ast.Name(id=name):
                return self.of_name(name)
            case ast.Constant(value=value):
                return _constant_kind(value)
            case ast.UnaryOp(op=op):
                return "bool" if isinstance(op, ast.Not) else "num"
            case ast.IfExp(body=body):
                return self.of(body)
            case ast.BinOp():
                return self._of_binary(node)
            case ast.Call():
                return _call_kind(node.func)
            case ast.Subscript(value=value, slice=index):
                held = self.of(value)
                return held if isinstance(index, ast.Slice) or held == "str" else "any"
            case _:
                return "any"

    def _of_binary(self, node: ast.BinOp) -> str:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow)):
            return left if left == "set" else "num"
        for kind in (left, right):
            if kind in COLLECTIONS:
                return kind
        return "num" if "num" in (left, right) else "any"


def _call_kind(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return _CALLS.get(function.id, "any")
    return _METHODS.get(function.attr, "any") if isinstance(function, ast.Attribute) else "any"


def _constant_kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "num"
    return "str" if isinstance(value, str) else "any"


def _annotation_kind(node: ast.expr | None) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return _ANNOTATIONS.get(node.id, "any")
    return _ANNOTATIONS.get(node.attr, "any") if isinstance(node, ast.Attribute) else "any"
