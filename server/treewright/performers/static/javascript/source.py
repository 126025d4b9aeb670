"""One JavaScript or TypeScript file: its text, its tree, where its imports lead."""

import posixpath
import re
from dataclasses import dataclass, field

from treewright.performers.static.javascript.node import Node

SUFFIXES = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"})
_TYPED = (".ts", ".mts", ".cts")
_PARTED = re.compile(r"([\w$]+)\s*(?:\?\.|\.|\[)")
_SCRIPT = re.compile(r"<script\b(?P<head>[^>]*)>(?P<body>.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_KNOWN_SUFFIX = re.compile(r"\.(d\.)?(js|jsx|mjs|cjs|ts|tsx|mts|cts|vue|svelte)$")
_TEST_FILE = re.compile(r"(^|[._/-])(test|tests|spec|e2e|bench|benchmark)\.[cm]?[jt]sx?$|(^|/)test[_-][^/]*$")
_TEST_FOLDER = re.compile(r"(^|/)(tests?|__tests__|spec|specs|e2e|benchmarks?|cypress|__mocks__|fixtures?)/")


@dataclass(slots=True)
class Source:
    """A parsed file.

    Attributes:
        module: its name in the project, see `module_name`. language: `javascript` or `typescript`.
        broken: first line that did not parse, or 0. script: the text that was parsed, as long as `text`.
        in_parts: names of which something reads or writes a member, and perhaps more.
    """

    path: str
    module: str
    text: str
    root: Node
    language: str
    broken: int = 0
    library: bool = False
    is_test: bool = False
    script: str = ""
    lines: list[str] = field(default_factory=list)
    in_parts: frozenset[str] = frozenset()


def module_name(path: str) -> str:
    """The project name of a file: its path without suffix and `/index`; always with a slash, so that no Python name is like it."""
    stem = _KNOWN_SUFFIX.sub("", path)
    stem = stem.removesuffix("/index")
    stem = stem.replace(".", "_")
    return stem if "/" in stem else f"./{stem}"


def resolve(path: str, wanted: str) -> str:
    """What an import's text means: a project module for a relative one, else the package's dotted name."""
    if wanted.startswith("."):
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))
        return module_name("index" if joined == "." else joined.removeprefix("./"))
    if wanted.startswith(("@/", "~/")):
        return module_name("src/" + wanted[2:])
    return wanted.removeprefix("node:").replace("/", ".")


def parse(path: str, text: str) -> Source:
    """Parse a file; tree-sitter always gives a tree, `broken` tells whether all of it was understood."""
    script, typed = text, path.endswith(_TYPED)
    if path.endswith((".vue", ".svelte")):
        script, typed = embedded(text)
    grammars = ["tsx"] if path.endswith(".tsx") else ["typescript", "tsx"] if typed else ["javascript", "tsx"]
    best: tuple[Node, int, int] | None = None
    for grammar in grammars:
        root = _tree(script, grammar)
        faults, line = _faults(root)
        if best is None or faults < best[1]:
            best = (root, faults, line)
        if not faults:
            break
    assert best is not None
    language = "typescript" if typed or path.endswith(".tsx") else "javascript"
    source = Source(path, module_name(path), text, best[0], language, best[2], script=script)
    source.lines = re.split(r"\r\n|\r|\n", text)
    source.is_test = looks_like_test(path)
    source.in_parts = frozenset(_PARTED.findall(script))
    return source


def _tree(text: str, grammar: str) -> Node:
    from ast_grep_py import SgRoot

    return Node(SgRoot(text, grammar).root())


def _faults(root: Node) -> tuple[int, int]:
    found = root.raw.find_all({"rule": {"kind": "ERROR"}})
    return len(found), found[0].range().start.line + 1 if found else 0


def embedded(text: str) -> tuple[str, bool]:
    """The script blocks of a component file with everything else blanked, so that lines and columns stay; and whether they are typed."""
    kept = [char if char in "\r\n" else " " for char in text]
    typed = False
    for block in _SCRIPT.finditer(text):
        typed = typed or re.search(r"lang\s*=\s*[\"']tsx?[\"']", block["head"]) is not None
        kept[block.start("body") : block.end("body")] = block["body"]
    return "".join(kept), typed


def looks_like_test(path: str) -> bool:
    """A test by its name or folder: what runs there is not deployed."""
    return _TEST_FILE.search(path) is not None or _TEST_FOLDER.search(path) is not None
