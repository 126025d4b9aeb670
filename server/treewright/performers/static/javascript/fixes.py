"""Candidate changes for a finding: from the table, and a few that need the syntax tree."""

import re
from collections.abc import Iterator

from treewright.performers.static.finding import Finding
from treewright.performers.static.javascript.node import Node, bare, string_of
from treewright.performers.static.javascript.source import Source
from treewright.performers.static.rulebook import table

RawEdit = tuple[int, int, int, int, str]
"""start line, start column, end line, end column, new text: lines from 1, columns in characters."""
_FOREIGN = frozenset({"identifier", "member_expression", "subscript_expression", "call_expression", "non_null_expression", "as_expression"})  # fmt: skip
_MOST = 8


def candidates(source: Source, finding: Finding, in_page: bool) -> Iterator[list[RawEdit]]:
    """Changes to try, the most fitting first.

    Args:
        in_page: the file runs in a browser.
    """
    node = node_at(source, finding)
    if node is None:
        return
    if finding.rule == "sql-text-built-from-input":
        yield from _bound(source, node)
    if finding.rule == "shell-command-from-input":
        yield from _without_shell(node)
    yield from _guarded(source, finding, node)
    yield from _swaps(finding, node, in_page)
    yield from _wraps(finding, node, in_page)


def node_at(source: Source, finding: Finding) -> Node | None:
    """The outermost node that begins and ends exactly where the finding stands."""
    if finding.place is None:
        return None
    line, end, column, end_column = finding.place
    for node in source.root.walk():
        if (node.line, node.end, node.column, node.end_column) == (line, end, column, end_column):
            return node
    return None


def replaced(node: Node, text: str) -> RawEdit:
    """Put a text in a node's place."""
    return (node.line, node.column, node.end, node.end_column, text)


def _fits(row: dict[str, object], in_page: bool) -> bool:
    return not ((row.get("node") and in_page) or (row.get("browser") and not in_page))


def _swaps(finding: Finding, node: Node, in_page: bool) -> Iterator[list[RawEdit]]:
    shown = re.search(r"`([^`]+)`", finding.statement)
    env = re.search(r"process\.env\.(\w+)", finding.fix)
    words = {"shown": re.escape(shown.group(1)) if shown else "", "env": env.group(1) if env else "SECRET"}
    for row in table("javascript", "fixes")["swap"]:
        if row["rule"] != finding.rule or not _fits(row, in_page):
            continue
        find, new = row["find"], row["text"]
        for word, value in words.items():
            find, new = find.replace(f"{{{word}}}", value), new.replace(f"{{{word}}}", value)
        text = node.text
        changed = re.sub(find, new, text, count=1)
        if changed != text:
            yield [replaced(node, changed)]


def _wraps(finding: Finding, node: Node, in_page: bool) -> Iterator[list[RawEdit]]:
    rows = [
        r for r in table("javascript", "fixes")["wrap"] if r["rule"] == finding.rule and _fits(r, in_page)
    ]
    parts = _parts(node)[:_MOST]
    for row in rows:
        every = []
        for part in parts:
            if row.get("unless_quoted") and _quoted(part):
                continue
            edit = replaced(part, row["text"].replace("{{", "\0").replace("}}", "\1").replace("{x}", part.text).replace("\0", "{").replace("\1", "}"))  # fmt: skip
            every.append(edit)
            yield [edit]
        if len(every) > 1:
            yield every


def _parts(node: Node) -> list[Node]:
    """The expressions inside a sink that may carry the foreign value: operands and arguments, outermost first, no callees."""
    found: list[Node] = []
    listed = node.field("arguments")
    starts = listed.named if listed is not None else []
    if node.kind in {"assignment_expression", "augmented_assignment_expression"}:
        starts = [node.need("right")]
    if node.kind == "jsx_attribute":
        starts = node.named[1:]
    stack = list(reversed(starts))
    while stack:
        part = stack.pop()
        if part.kind in _FOREIGN:
            found.append(part)
            inner = part.field("arguments")
            stack.extend(reversed(inner.named if inner is not None else []))
        elif part.kind in {"pair", "variable_declarator"}:
            value = part.field("value")
            stack.extend([value] if value is not None else [])
        elif part.kind not in {"arrow_function", "function_expression", "string", "regex"}:
            stack.extend(reversed(part.named))
    return found


def _quoted(part: Node) -> bool:
    """Whether a template or concatenation puts quotes around a part."""
    parent = part.raw.parent()
    before = (
        parent.prev() if parent is not None and parent.kind() == "template_substitution" else part.raw.prev()
    )
    return before is not None and before.text().rstrip("+ ").endswith(("'", '"', "'\"", "\"'"))


_CALLEE = re.compile(r"\b(pg|postgres|Pool|Client)\b")


def _bound(source: Source, call: Node) -> Iterator[list[RawEdit]]:
    """The statement's text with a placeholder for each value, and the values as the second argument."""
    listed = call.field("arguments")
    if call.kind != "call_expression" or listed is None or not listed.named:
        return
    first = bare(listed.named[0])
    text = first
    if first.kind == "identifier":
        text = _assigned(source, first) or first
    made = _statement(text, "$" if _CALLEE.search(source.text) and "pg" in source.text else "?")
    if made is None:
        return
    statement, values = made
    second = listed.named[1] if len(listed.named) > 1 else None
    if second is not None and bare(second).kind not in {
        "arrow_function",
        "function_expression",
        "identifier",
    }:
        return
    end = listed.named[0]
    at = (end.end, end.end_column)
    added = f", [{', '.join(values)}]"
    if text is first:
        yield [replaced(listed.named[0], statement + added)]
    else:
        yield [replaced(text, statement), (*at, *at, added)]


def _assigned(source: Source, name: Node) -> Node | None:
    """The one text that a local name is declared with before a line, or None."""
    found = [
        node.need("value")
        for node in source.root.walk()
        if node.kind == "variable_declarator"
        and node.need("name").text == name.text
        and node.field("value")
        and node.line <= name.line
    ]
    return bare(found[-1]) if found else None


def _statement(text: Node, mark: str) -> tuple[str, list[str]] | None:
    """A constant statement and its values, from a template or a concatenation; None when a part cannot be a value."""
    pieces = _pieces(text)
    if pieces is None or not any(isinstance(piece, Node) for piece in pieces):
        return None
    values: list[str] = []
    made = ""
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            made += (
                piece.removeprefix("'").removeprefix('"')
                if index and values and made.endswith("\0")
                else piece
            )
            made = made.replace("\0", "")
            continue
        if re.search(r"(?i)(order by|group by|from|into|update|table|join|limit|asc|desc)\s*$", made):
            return None
        quoted = made.endswith(("'", '"', "'%", "%"))
        if made.endswith("%"):
            return None
        if quoted:
            made = made[:-1]
        values.append(piece.text)
        made += (f"${len(values)}" if mark == "$" else "?") + ("\0" if quoted else "")
    made = made.replace("\0", "")
    if "'" in made and "`" not in made:
        quote = '"' if '"' not in made and "\n" not in made else "`"
    else:
        quote = "'" if "\n" not in made else "`"
    return f"{quote}{made}{quote}", values


def _pieces(node: Node) -> list[str | Node] | None:
    node = bare(node)
    if node.kind == "template_string":
        found: list[str | Node] = []
        for part in node.named:
            if part.kind == "template_substitution" and part.named:
                found.append(part.named[0])
            else:
                found.append(part.text)
        return found
    text = string_of(node)
    if text is not None:
        return [text]
    if node.kind == "binary_expression" and node.need("operator").text == "+":
        left, right = _pieces(node.need("left")), _pieces(node.need("right"))
        return None if left is None or right is None else left + right
    return [node] if node.kind in _FOREIGN else None


def _without_shell(call: Node) -> Iterator[list[RawEdit]]:
    """`exec("ping " + host)` as `execFile("ping", [host])`; `shell: true` taken out of `spawn`'s options."""
    listed, function = call.field("arguments"), call.field("function")
    if call.kind != "call_expression" or listed is None or function is None or not listed.named:
        return
    changed = re.sub(r"shell\s*:\s*true", "shell: false", call.text, count=1)
    if changed != call.text:
        yield [replaced(call, changed)]
    name = function.text.rpartition(".")[2]
    pieces = _pieces(listed.named[0])
    if name not in {"exec", "execSync"} or pieces is None or not isinstance(pieces[0], str):
        return
    words = _words(pieces)
    if words is None:
        return
    program, rest = words[0], ", ".join(words[1:])
    edits = [
        replaced(function, f"require('child_process').{name.replace('exec', 'execFile')}"),
        replaced(listed.named[0], f"{program}, [{rest}]"),
    ]
    yield edits


def _words(pieces: list[str | Node]) -> list[str] | None:
    """The words of a command as source texts; None when a shell's own characters stand in it."""
    words: list[list[str | Node]] = [[]]
    for piece in pieces:
        if isinstance(piece, Node):
            words[-1].append(piece)
            continue
        plain = piece.replace("'", "").replace('"', "")
        if re.search(r"[|&;<>$`*?~#()\\]", plain):
            return None
        for index, part in enumerate(re.split(r"\s+", plain)):
            if index:
                words.append([])
            if part:
                words[-1].append(part)
    written = []
    for word in words:
        if not word:
            continue
        texts = [part if isinstance(part, str) else f"${{{part.text}}}" for part in word]
        if len(word) == 1 and isinstance(word[0], Node):
            written.append(word[0].text)
        elif all(isinstance(part, str) for part in word):
            written.append(f"'{''.join(texts)}'")
        else:
            written.append(f"`{''.join(texts)}`")
    return written if len(written) > 1 and written[0].startswith("'") else None


def _guarded(source: Source, finding: Finding, node: Node) -> Iterator[list[RawEdit]]:
    """A line in front: keys refused in a loop, the origin of a message compared."""
    if finding.rule == "merge-reaches-prototype":
        loop = next((a for a in node.raw.ancestors() if a.kind() == "for_in_statement"), None)
        head = Node(loop) if loop is not None else node
        body = head.field("body") if loop is not None else None
        key = re.search(r"(\w+)\s+(in|of)\b", head.text)
        if body is not None and body.kind == "statement_block" and key is not None:
            test = " || ".join(
                f"{key.group(1)} === '{name}'" for name in ("__proto__", "constructor", "prototype")
            )
            yield [_first_in(source, body, f"if ({test}) continue;")]
    if finding.rule == "message-origin-unchecked":
        for part in node.walk():
            body = part.field("body") if part.kind in {"arrow_function", "function_expression"} else None
            if body is not None and body.kind == "statement_block":
                listed = part.field("parameter") or (part.need("parameters").named or [part])[0]
                yield [
                    _first_in(source, body, f"if ({listed.text}.origin !== window.location.origin) return;")
                ]
                return
    if finding.rule == "prototype-reached-by-key" and node.kind == "subscript_expression":
        inner = bare(node.need("object"))
        statement = next((a for a in node.raw.ancestors() if a.kind() == "expression_statement"), None)
        if statement is not None and inner.kind == "subscript_expression":
            at, key_text = Node(statement), inner.need("index").text
            test = (
                f"if ({key_text} === '__proto__' || {key_text} === 'constructor') throw new Error('bad key');"
            )
            indent = source.lines[at.line - 1][: at.column]
            yield [(at.line, at.column, at.line, at.column, f"{test}\n{indent}")]


def _first_in(source: Source, body: Node, line: str) -> RawEdit:
    indent = re.match(r"\s*", source.lines[body.line - 1])
    inner = (indent.group(0) if indent else "") + ("\t" if "\t" in source.lines[body.line - 1][:1] else "  ")
    at = (body.line, body.column + 1)
    return (*at, *at, f"\n{inner}{line}" if body.end > body.line else f" {line}")
