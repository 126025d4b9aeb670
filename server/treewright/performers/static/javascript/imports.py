"""What a module takes in and gives out: imports by name, exports as aliases that the linker follows."""

import re
from typing import TYPE_CHECKING

from treewright.performers.static.javascript.node import Node, bare, property_name, string_of
from treewright.performers.static.javascript.source import resolve
from treewright.performers.static.python.value import Value

if TYPE_CHECKING:
    from treewright.performers.static.javascript.unit import Unit

_WEB = re.compile(r"^(express|koa|fastify|@hapi|hapi|restify|next|@nestjs|hono|polka|@koa|connect|http|https|body-parser|cors|helmet|sails|@fastify)\b")  # fmt: skip
_SERVER = re.compile(
    r"^(fs|path|http|https|child_process|net|os|express|koa|fastify|crypto|mysql2?|pg|mongodb|mongoose|sequelize|@nestjs|next\.server|util|process|dotenv)\b"
)


def read(unit: "Unit") -> None:
    """Learn the file's imports, `require`s and exports before anything is interpreted."""
    for statement in unit.source.root.named:
        if statement.kind == "import_statement":
            _imported(unit, statement)
        elif statement.kind == "export_statement":
            _exported(unit, statement)
        elif statement.kind in {"lexical_declaration", "variable_declaration"}:
            _required(unit, statement)
    for name in (*unit.local_names.values(), *_bare_requires(unit)):
        plain = name.removesuffix(".default")
        if _WEB.match(plain):
            root = plain.partition(".")[0].lstrip("@")
            if not unit.web or root in {"express", "koa", "fastify"}:
                unit.web = "koa" if root == "koa" else root
        if _SERVER.match(plain):
            unit.browser = False
    if re.search(r"\brequire\(|module\.exports|process\.(env|argv)", unit.source.text):
        unit.browser = False


def _bare_requires(unit: "Unit") -> list[str]:
    found = re.findall(r"""require\(\s*['"]([\w@./:-]+)['"]\s*\)""", unit.source.text)
    return [resolve(unit.source.path, name) for name in found]


def _imported(unit: "Unit", statement: Node) -> None:
    wanted = string_of(statement.field("source"))
    clause = next((part for part in statement.named if part.kind == "import_clause"), None)
    for part in statement.named:
        if part.kind == "import_require_clause" and len(part.named) == 2:
            _keep(
                unit,
                part.named[0].text,
                resolve(unit.source.path, string_of(part.named[1]) or ""),
                statement.line,
            )
    if wanted is None or clause is None:
        return
    module = resolve(unit.source.path, wanted)
    for part in clause.named:
        if part.kind == "identifier":
            _keep(unit, part.text, f"{module}.default" if "/" in module else module, statement.line)
        elif part.kind == "namespace_import" and part.named:
            _keep(unit, part.named[0].text, module, statement.line)
        elif part.kind == "named_imports":
            for entry in part.named:
                name = entry.need("name").text
                _keep(
                    unit,
                    (entry.field("alias") or entry.need("name")).text,
                    f"{module}.{name}",
                    statement.line,
                )


def _keep(unit: "Unit", local: str, qualified: str, line: int) -> None:
    unit.local_names[local] = qualified
    unit.facts.imports.append((local, qualified, line))


def _required(unit: "Unit", statement: Node) -> None:
    """`const x = require("y")`, `const { a, b: c } = require("y")`."""
    for part in statement.named:
        value, target = part.field("value"), part.field("name")
        if value is None or target is None:
            continue
        value = bare(value)
        tail = ""
        if value.kind == "member_expression" and value.field("property") is not None:
            tail, value = f".{value.need('property').text}", bare(value.need("object"))
        function, listed = value.field("function"), value.field("arguments")
        if function is None or function.text != "require" or listed is None or not listed.named:
            continue
        wanted = string_of(listed.named[0])
        if wanted is None:
            continue
        module = resolve(unit.source.path, wanted) + tail
        if target.kind == "identifier":
            _keep(unit, target.text, module, statement.line)
            continue
        for entry in target.named:
            if entry.kind == "shorthand_property_identifier_pattern":
                _keep(unit, entry.text, f"{module}.{entry.text}", statement.line)
            elif entry.kind == "pair_pattern":
                name = property_name(entry.need("key")) or ""
                _keep(unit, entry.need("value").text, f"{module}.{name}", statement.line)


def _exported(unit: "Unit", statement: Node) -> None:
    module, declared = unit.source.module, statement.field("declaration")
    wanted = string_of(statement.field("source"))
    if declared is not None:
        for name in _declared(declared):
            unit.exported.add(f"{module}.{name}")
            if statement.has("default"):
                unit.facts.imports.append(("default", f"{module}.{name}", statement.line))
    elif statement.field("value") is not None:
        unit.exported.add(f"{module}.default")
    clause = next((part for part in statement.named if part.kind == "export_clause"), None)
    origin = resolve(unit.source.path, wanted) if wanted is not None else module
    for entry in clause.named if clause is not None else []:
        name, alias = entry.need("name").text, (entry.field("alias") or entry.need("name")).text
        target = unit.local_names.get(name, f"{origin}.{name}") if wanted is None else f"{origin}.{name}"
        unit.exported.add(target)
        if target != f"{module}.{alias}":
            unit.facts.imports.append((alias, target, statement.line))
    if wanted is not None and clause is None:
        unit.facts.bases.setdefault(module, []).append(origin)


def _declared(node: Node) -> list[str]:
    name = node.field("name")
    if name is not None:
        return [name.text]
    return [part.need("name").text for part in node.named if part.kind == "variable_declarator"]


def export(unit: "Unit", name: str, value: Value, line: int) -> None:
    """Record that a value leaves the module under a name, so that a call from elsewhere finds it."""
    module = unit.source.module
    if name == "default" and value.entries is not None:
        unit.facts.imports.append(("default", module, line))
    for key, entry in (value.entries or {}).items():
        if "/" in entry.name:
            export(unit, str(key), entry, line)
    target = value.name.removesuffix("()")
    if "/" not in target:
        return
    if value.name.endswith("()") or name == "default":
        unit.facts.bases.setdefault(module, []).append(target)
    unit.exported.add(target)
    if target in {d.qualified for d in unit.facts.definitions if d.kind == "class"}:
        unit.exported |= {d.qualified for d in unit.facts.definitions if d.qualified.startswith(target + ".")}
    if target != f"{module}.{name}":
        unit.facts.imports.append((name, target, line))
