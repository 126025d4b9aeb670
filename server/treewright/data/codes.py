"""What each error code means to the surfaces, read from `data/errors/*.toml`.

Each file is an area; each `[code]` table holds `exit` (the command line's exit class, 0 to 130, see
`ExitClass`), `summary` (one sentence for the reference page), `act` (one that says what to do, which a surface shows
where the error itself brings no hint) and optionally `jsonrpc` (an integer).
"""

import tomllib
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from treewright.data import data_path


class ExitClass(IntEnum):
    """Exit codes of the command line (contract: design, Errors)."""

    DONE = 0
    NOT_AS_ASKED = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    STORAGE = 5
    MODEL = 6
    KERNEL = 7
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class CodeMeaning:
    """What one error code means to a surface."""

    code: str
    area: str
    exit: ExitClass
    summary: str
    act: str
    jsonrpc: int


@cache
def code_meanings() -> dict[str, CodeMeaning]:
    """Return every known code with its meaning.

    Raises:
        ValueError: a code is defined twice.
    """
    found: dict[str, CodeMeaning] = {}
    for path in sorted(data_path("errors").glob("*.toml")):
        for code, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if code in found:
                raise ValueError(f"error code {code} is defined in {found[code].area} and {path.stem}")
            found[code] = CodeMeaning(
                code=code,
                area=path.stem,
                exit=ExitClass(entry["exit"]),
                summary=entry["summary"],
                act=entry.get("act", ""),
                jsonrpc=entry.get("jsonrpc", -32000),
            )
    return found


def exit_class(code: str) -> ExitClass:
    """Return the exit class of a code; an unknown code is a usage fault."""
    meaning = code_meanings().get(code)
    return meaning.exit if meaning else ExitClass.USAGE
