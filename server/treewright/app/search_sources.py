"""From what a user named to what a search needs: programs, checks, and the project's files beside them."""

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from treewright.errors import RequestError, WorkspaceError
from treewright.parsing import parse_program
from treewright.regular import read_regular
from treewright.search.task import CheckSource
from treewright.store.durable import shown
from treewright.workspace.decode import Decoded, Unreadable, decode_bytes, read_bytes, read_source

MOST_FILES, MOST_BYTES = 400, 4 << 20
"""Of the project's own files that are laid beside a program."""

_SKIPPED = frozenset(
    {".git", ".venv", "venv", "node_modules", "__pycache__", ".treewright", "build", "dist", ".tox"}
)


@dataclass(frozen=True, slots=True)
class StartFile:
    """The starting program and where it stands.

    Attributes:
        path: absolute, links followed.
        decoded: the text and its encoding.
        digest: SHA-256 of the file's bytes.
        text: the text with LF line ends.
    """

    path: Path
    decoded: Decoded
    digest: str
    text: str


def read_program(base: Path, named: str) -> StartFile:
    """Read a program's file.

    Raises:
        WorkspaceError: `root_unparseable` when it is missing or cannot be read as text.
    """
    path = (base / Path(named).expanduser()).absolute()
    data = read_bytes(path)
    found = data if isinstance(data, Unreadable) else decode_bytes(data)
    if isinstance(found, Unreadable) or isinstance(data, Unreadable):
        raise WorkspaceError(
            "root_unparseable",
            f"{shown(path)} cannot be read: {_why(found)}.",
            "Name a file that holds Python.",
            {"path": str(path)},
        )
    return StartFile(path.resolve(), found, hashlib.sha256(data).hexdigest(), plain_ends(found.text))


def _why(found: Decoded | Unreadable) -> str:
    if isinstance(found, Unreadable):
        return "it does not exist" if found.reason == "gone" else found.detail or found.reason
    return "it is no text"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, empty when it cannot be read."""
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return ""


def plain_ends(text: str) -> str:
    """Return a text with LF line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_target(target: str, base: Path) -> tuple[str, str]:
    """Divide `FILE:FUNCTION`; a colon that belongs to the file's name, or to a drive, stays."""
    head, colon, tail = target.rpartition(":")
    named = all(part.isidentifier() for part in tail.split(".")) and bool(tail)
    if not colon or not named or not head or (base / target).exists():
        return target, ""
    if len(head) == 1 and head.isalpha():
        return target, ""
    return head, tail


@dataclass(slots=True)
class ReadChecks:
    """Checks as a search takes them, and the trusted test files that pytest will need.

    Attributes:
        sources: texts of checks.
        tests: text by path, of test files and the conftest files above them.
    """

    sources: list[CheckSource] = field(default_factory=list)
    tests: dict[str, str] = field(default_factory=dict)


def read_checks(base: Path, named: Iterable[str], texts: Iterable[str], workspace: Path) -> ReadChecks:
    """Read every file and text of checks.

    Raises:
        WorkspaceError: `root_unparseable`, a file is missing or cannot be read.
        RequestError: `search_bad_checks`, a file does not hold the test that was named.
    """
    found = ReadChecks()
    for name in named:
        file, _, node = name.partition("::")
        start = read_program(base, file)
        text = _only(start.text, node, name) if node else start.text
        found.sources.append(CheckSource(text=text, name=start.path.name))
        if _looks_like_tests(text):
            found.tests |= _trusted(start.path, start.text, workspace)
    for number, text in enumerate(texts, 1):
        found.sources.append(CheckSource(text=text))
        if _looks_like_tests(text):
            found.tests[f"test_given_{number}.py"] = text
    return found


def _looks_like_tests(text: str) -> bool:
    return "def test" in text or "class Test" in text or "unittest" in text


def _only(text: str, node: str, named: str) -> str:
    """Return a test file with one of its tests; fixtures, helpers and imports stay."""
    wanted = node.partition("[")[0].split("::")
    try:
        tree = parse_program(text)
    except (SyntaxError, ValueError) as fault:
        raise RequestError("search_bad_checks", f"{named} is no Python that can be read: {fault}.") from fault
    tree.body = [one for one in tree.body if not _is_test(one) or getattr(one, "name", "") == wanted[0]]
    holder = next((one for one in tree.body if getattr(one, "name", "") == wanted[0]), None)
    if isinstance(holder, ast.ClassDef) and len(wanted) > 1:
        holder.body = [
            one for one in holder.body if not _is_test(one) or getattr(one, "name", "") == wanted[1]
        ]
        holder = next((one for one in holder.body if getattr(one, "name", "") == wanted[1]), None)
    if holder is None:
        raise RequestError(
            "search_bad_checks",
            f"There is no test {node} in {named.partition('::')[0]}.",
            "Check the node id.",
        )
    return ast.unparse(tree) + "\n"


def _is_test(node: ast.stmt) -> bool:
    name = getattr(node, "name", "")
    return isinstance(name, str) and name.startswith(("test", "Test"))


def _trusted(path: Path, text: str, workspace: Path) -> dict[str, str]:
    """The test file and the conftest files from the workspace down to it, by path below the workspace."""
    inside = path.is_relative_to(workspace)
    name = path.relative_to(workspace).as_posix() if inside else path.name
    found = {name: text}
    folder = path.parent
    while inside:
        conftest = read_source(folder / "conftest.py")
        if isinstance(conftest, Decoded):
            found[(folder / "conftest.py").relative_to(workspace).as_posix()] = plain_ends(conftest.text)
        if folder == workspace:
            break
        folder = folder.parent
    return found


# --- the project's files beside the program -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """How a program stands among its project's files.

    Attributes:
        files: text by path; the program's own place holds a loader of `solution.py`, whatever candidate that is.
        package: dotted package that relative imports are relative to; empty for a module at the top.
        left_out: how many files were too many or too large.
    """

    files: dict[str, str]
    package: str = ""
    left_out: int = 0


def lay_out(path: Path, workspace: Path) -> Layout:
    """Collect what a program may import from its own project.

    Args:
        path: the program's file.
        workspace: its project.
    """
    top = path.parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    own = path.relative_to(top)
    folder = top / own.parts[0] if len(own.parts) > 1 else top
    files: dict[str, str] = {}
    left_out = size = 0
    for each in _sources(folder, deep=len(own.parts) > 1):
        found = read_source(each)
        text = plain_ends(found.text) if isinstance(found, Decoded) else None
        if text is None or len(files) >= MOST_FILES or size + len(text) > MOST_BYTES:
            left_out += 1
            continue
        size += len(text)
        files[each.relative_to(top).as_posix()] = text
    files[own.as_posix()] = loader(own.as_posix())
    if path.is_relative_to(workspace) and (below := path.relative_to(workspace)) != own:
        files.setdefault(below.as_posix(), loader(below.as_posix()))
    parents = own.parts[:-1]
    return Layout(files, ".".join(parents), left_out)


def _sources(folder: Path, *, deep: bool) -> Iterable[Path]:
    """Python files of a folder, in order; those below it too when it is a package. Links are not followed."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or entry.name in _SKIPPED:
            continue
        if entry.is_file() and entry.suffix == ".py":
            yield entry
        elif entry.is_dir() and (deep or (entry / "__init__.py").is_file()):
            yield from _sources(entry, deep=True)


def loader(name: str) -> str:
    """Return a module that stands for `solution.py` under another name, so that tests import it as they are used to.

    Args:
        name: its path below the folder that `solution.py` is in.
    """
    ups = "".join(f'"{part}", ' for part in [".."] * (len(PurePosixPath(name).parts) - 1))
    return (
        "def __treewright_load():\n"
        "    import os\n"
        f"    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), {ups}'solution.py')\n"
        "    here = os.path.normpath(here)\n"
        "    with open(here, encoding='utf-8') as file:\n"
        "        code = compile(file.read(), here, 'exec', dont_inherit=True)\n"
        "    exec(code, globals())\n"
        "\n\n"
        "__treewright_load()\n"
    )
