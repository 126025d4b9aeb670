"""What the analysis of one file establishes; the same shape for every language.

A file is analysed alone, so its facts depend on its bytes only and can be kept by content digest. What needs
other files is left symbolic: a value that came out of a call to a function elsewhere carries a `ret` label,
one that went in stands in `CallOut.arguments`. `link` resolves the two.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

FACTS_VERSION = 4
"""Raised with every change of these shapes or of what fills them, so that a cache is not misread."""

ALL = "*"
"""The mark kind that stands for every sink kind: the value cannot carry an attack at all."""


class Place(NamedTuple):
    """Lines of the file, 1-based and inclusive; columns in characters, 0-based, end exclusive."""

    line: int
    end: int
    column: int = 0
    end_column: int = 0


class Label(NamedTuple):
    """Where a value came from.

    Kinds: `source` (key: `<source id>@line:col`), `param` (key: the parameter's name), `ret` (key: number of
    the call in the function), `field` (key: `Class.attribute`), `global` (key: module-level name), `opaque`.
    """

    kind: str
    key: str


class Mark(NamedTuple):
    """Something that makes a value harmless for some sink kinds: a sanitiser, a guard, a fixed prefix.

    `token` defers the answer to another function: `call:<qualified name>#<argument>` for a predicate that was
    true, `pass:<qualified name>#<argument>` for a validator that returned normally.
    """

    kinds: frozenset[str]
    line: int
    why: str
    token: str = ""


class Step(NamedTuple):
    """One station of a value on its way: a line of this file and what happens there."""

    line: int
    what: str


class Flow(NamedTuple):
    """A label with the way it took inside one function."""

    label: Label
    steps: tuple[Step, ...] = ()
    marks: tuple[Mark, ...] = ()


class SinkHit(NamedTuple):
    """A call or statement where a value would do harm.

    Attributes:
        rule: rule id. kind: sink kind. what: the sink as a reader names it (`cursor.execute`).
        flows: what reaches it. safe: why this very use is harmless (a bound parameter), or empty.
        facts: extra words for the templates.
    """

    rule: str
    kind: str
    place: Place
    what: str
    flows: tuple[Flow, ...]
    safe: str = ""
    facts: tuple[tuple[str, str], ...] = ()


class Match(NamedTuple):
    """A structural rule's hit that needs no flow.

    Attributes:
        safe: why it is harmless (then the finding is refuted with this line quoted), or empty.
        safe_line: the line of that evidence, 0 for the match itself.
        strength: -1, 0 or 1, added to reproducibility and likelihood by what was found around it.
        edits: edits as (start line, start column, end line, end column, new text).
        imports: statements that the edits need.
    """

    rule: str
    place: Place
    what: str
    safe: str = ""
    safe_line: int = 0
    strength: int = 0
    facts: tuple[tuple[str, str], ...] = ()
    edits: tuple[tuple[int, int, int, int, str], ...] = ()
    imports: tuple[str, ...] = ()


class CallOut(NamedTuple):
    """A call to a function that may be part of the project.

    `arguments` holds (position as text or keyword, flows) of those that carry any flow.
    """

    number: int
    callee: str
    line: int
    arguments: tuple[tuple[str, tuple[Flow, ...]], ...]


class Source(NamedTuple):
    """A place where foreign data enters: its id in the table, strength 1 to 3, and wording."""

    key: str
    line: int
    strength: int
    what: str


@dataclass(slots=True)
class FunctionFacts:
    """One function, method, or the module body (`<module>`)."""

    name: str
    place: Place
    params: tuple[str, ...] = ()
    entry: str = ""
    """How it is reached from outside (`flask route /x`), or empty."""
    entry_strength: int = 0
    """Of its parameters: 3 remote, 2 local, 1 public by convention, 0 internal."""
    public: bool = False
    sources: list[Source] = field(default_factory=list)
    sinks: list[SinkHit] = field(default_factory=list)
    calls: list[CallOut] = field(default_factory=list)
    returns: list[Flow] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    predicate: list[tuple[str, frozenset[str], int, str]] = field(default_factory=list)
    """(parameter, kinds, line, why) that hold when the function returns something true."""
    validates: list[tuple[str, frozenset[str], int, str]] = field(default_factory=list)
    """The same for any normal return."""


@dataclass(slots=True)
class Definition:
    """A class or function by its qualified name within the project."""

    qualified: str
    kind: str
    place: Place
    public: bool


@dataclass(slots=True)
class FileFacts:
    """Everything the analysis of one file established."""

    path: str
    digest: str
    language: str
    module: str
    lines: int
    decoding: str = ""
    fault: str = ""
    fault_line: int = 0
    functions: list[FunctionFacts] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    imports: list[tuple[str, str, int]] = field(default_factory=list)
    """(local name, qualified name, line)."""
    field_writes: dict[str, list[tuple[str, Flow]]] = field(default_factory=dict)
    """`Class.attribute` to (function name, flow) pairs."""
    bases: dict[str, list[str]] = field(default_factory=dict)
    examined: dict[str, int] = field(default_factory=dict)
    """How many sites each rule looked at."""
    guards: int = 0
    is_test: bool = False
    suppressions: list[tuple[int, str]] = field(default_factory=list)
    asked: dict[str, bool] = field(default_factory=dict)
    """First names of modules that the analysis asked the project about, and whether they are its own."""
