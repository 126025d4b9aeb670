"""A finding as the rest of the project sees it: plain data, no analysis."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of a file, verbatim: `path` is POSIX from the workspace, lines are 1-based and inclusive."""

    path: str
    start: int
    end: int
    text: str

    @property
    def where(self) -> str:
        """`path:line` or `path:start-end`, as citations are written."""
        return (
            f"{self.path}:{self.start}" if self.start == self.end else f"{self.path}:{self.start}-{self.end}"
        )


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of an exploit path: what happens, and the line where it does."""

    quote: Quote
    what: str


@dataclass(frozen=True, slots=True)
class Mitigation:
    """Evidence that the finding cannot be exploited.

    Attributes:
        kind: `sanitiser`, `guard`, `form` (the safe form of the call), `prefix`, `configuration`.
    """

    quote: Quote
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement: lines 1-based, columns in characters 0-based, end exclusive. `old` is what stood there."""

    path: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Scores:
    """The five dimensions of code-audit, 0 to 3 each."""

    severity: int
    position: int
    reproducibility: int
    fixability: int
    likelihood: int

    @property
    def total(self) -> int:
        """Sum, at most 15."""
        return self.severity + self.position + self.reproducibility + self.fixability + self.likelihood

    def by_key(self) -> dict[str, int]:
        """By the preset's dimension keys S, P, R, F, X."""
        return {
            "S": self.severity,
            "P": self.position,
            "R": self.reproducibility,
            "F": self.fixability,
            "X": self.likelihood,
        }


@dataclass(slots=True)
class Finding:
    """One finding with what each of the 12 fields of code-audit needs.

    `quotes` are all citations, the position first. `symbol` and `position.text` are the fingerprint's inputs
    beside the rule, so that a finding keeps its identity when lines move.
    """

    rule: str
    framing: str
    cwe: int
    title: str
    statement: str
    position: Quote
    symbol: str
    root_cause: str
    assumptions: list[str]
    exploit_path: list[FlowStep]
    mitigations: list[Mitigation]
    searched: str
    alternatives: list[str]
    fix: str
    edits: list[Edit]
    edits_verified: bool
    entry: str
    threat: str
    related: list[str]
    scores: Scores
    verdict: str
    fingerprint: str = ""
    place: tuple[int, int, int, int] | None = None
    """Start line, end line, start column, end column of the exact expression."""
    tags: tuple[str, ...] = ()
    quotes: list[Quote] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FramingRecord:
    """What one framing examined: the honest answer when it found nothing (contract: exploration, 10)."""

    framing: str
    questions: tuple[str, ...]
    sites: int
    guards: int
    findings: int


@dataclass(slots=True)
class Audit:
    """The outcome over a workspace."""

    findings: list[Finding]
    records: list[FramingRecord]
    files: int
    lines: int
    not_read: list[tuple[str, str]]
    root: dict[str, list[tuple[str, list[Quote]]]] = field(default_factory=dict)
    """Each root field of code-audit: sentences with their citations."""
