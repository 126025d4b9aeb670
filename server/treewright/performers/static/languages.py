"""The languages that are read, by the suffixes of their files."""

from pathlib import Path

from treewright.performers.static.facts import FileFacts

PYTHON = frozenset({".py", ".pyw"})
JAVASCRIPT = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"})
SUFFIXES = PYTHON | JAVASCRIPT
NAMES = {"python": "Python", "javascript": "JavaScript", "typescript": "TypeScript"}
"""Languages as facts name them, and as a reader does."""


def is_read(path: Path) -> bool:
    """Tell whether a file is of a language that is audited."""
    return path.suffix.lower() in SUFFIXES


def is_javascript(path: str) -> bool:
    """Tell whether a file is JavaScript, TypeScript or a component with scripts in it."""
    return path[path.rfind(".") :].lower() in JAVASCRIPT


def analyse(path: str, text: str, digest: str, roots: frozenset[str], library: bool) -> FileFacts:
    """Establish the facts of one file.

    Args:
        path: POSIX path from the workspace. text: decoded. digest: of the file's bytes.
        roots: first names of the project's Python modules. library: whether it belongs to a package that others import.
    """
    if is_javascript(path):
        from treewright.performers.static.javascript.analyse import analyse as javascript

        return javascript(path, text, digest, library)
    from treewright.performers.static.python.analyse import analyse as python

    return python(path, text, digest, roots, library)
