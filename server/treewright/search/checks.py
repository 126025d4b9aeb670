"""A single check, the plan a branch executes, and the verdict on what it showed.

A check says *what to evaluate* (that part travels to the kernel) and *what to expect* (that part stays here).
How checks are read from asserts, doctests, pairs and test files is in `splitting`, `doctests`, `pairs` and
`pytests`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator

from treewright.search.compare import distance, holds
from treewright.search.plain import decode, encode

Operator = Literal[
    "==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not", "truth", "falsity", "close"
]


class CheckKind(StrEnum):
    """How a check reaches its verdict; the guarantee a host can give depends on it."""

    VALUE = "value"
    """The kernel evaluates one expression, we compare."""
    RAISES = "raises"
    """The kernel evaluates, we look at the type of what was raised."""
    STATEMENT = "statement"
    """Statements with asserts inside (a loop, say) run in the kernel and must not raise."""
    STDOUT = "stdout"
    """The program or the statements run in the kernel, we compare what was printed."""
    TEXT = "text"
    """A doctest whose expectation is a text: the kernel's repr and output, compared here."""
    PYTEST = "pytest"
    """A test node run by pytest beside the candidate."""


_PLAIN = "__plain__"
"""Key that marks an encoded plain value in JSON."""


class Check(BaseModel):
    """One check that can pass or fail alone.

    Attributes:
        id: `c1`, `c2`, ... in the order of the source.
        kind: how the verdict is reached.
        source: the check as its author wrote it, for people.
        context: statements to run first, in a namespace of this check's own.
        evaluate: an expression (value, raises, text) or statements (statement, stdout); for pytest a node id.
        right: a second expression for the kernel, when what is expected cannot be read without running it.
        operator: how the value is compared.
        expected: the plain value expected, the exception's name (raises) or the text (stdout, text).
        rel: relative tolerance.
        absolute: absolute tolerance.
        json_values: compare as JSON does: tuples, lists and iterators alike.
        flags: doctest option flags (text).
        holdout: kept out of generation and revision, measured at the end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: CheckKind
    source: str
    context: str = ""
    evaluate: str
    right: str | None = None
    operator: Operator = "=="
    expected: Any = None
    rel: float = Field(default=0.0, ge=0)
    absolute: float = Field(default=0.0, ge=0)
    json_values: bool = False
    flags: int = 0
    holdout: bool = False

    @field_serializer("expected", when_used="json")
    def _write_expected(self, value: Any) -> dict[str, Any]:
        """Tuples, sets, bytes and NaN survive a journal."""
        return {_PLAIN: encode(value)}

    @field_validator("expected", mode="before")
    @classmethod
    def _read_expected(cls, value: Any) -> Any:
        return decode(value[_PLAIN]) if isinstance(value, dict) and set(value) == {_PLAIN} else value


class Plan(BaseModel):
    """What a host runs against each program: the programs see only the evaluating half of the checks.

    Attributes:
        checks: in order; each must report.
        setup: statements (imports, constants, functions of the checks' file) run after the program.
        stdin: what standard input holds (only programs judged by their output read it).
        per_branch_timeout_s: wall clock for a whole branch.
        per_check_timeout_s: wall clock for one check; 0 means only the branch's limit counts.
        trace_lines: report which lines of the program each check executed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    checks: tuple[Check, ...]
    setup: str = ""
    stdin: str = ""
    per_branch_timeout_s: float = Field(default=60.0, gt=0)
    per_check_timeout_s: float = Field(default=0.0, ge=0)
    trace_lines: bool = False


class ObservedStatus(StrEnum):
    """What became of one evaluation; a missing report is `absent`, which fails."""

    VALUE = "value"
    RAISED = "raised"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    ABSENT = "absent"


class Observation(BaseModel):
    """What a branch showed for one check. Nothing here is a verdict.

    Attributes:
        check_id: the check's id.
        status: see `ObservedStatus`.
        value: encoded plain value (see `plain.encode`), for `value`.
        right: encoded value of the check's second expression.
        error: name of the exception's class, for `raised`.
        message: its text, at most 2,000 characters.
        error_line: line of the program where it was raised, if in the program.
        stdout: what was printed during the check.
        lines: lines of the program that the check executed, when the plan asked for them.
        passed: only for pytest checks, reported on the host's own channel.
        cpu_s: CPU seconds of the check, 0 when the host does not say.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    check_id: str
    status: ObservedStatus
    value: Any = None
    right: Any = None
    error: str = ""
    message: str = ""
    error_line: int | None = None
    stdout: str = ""
    lines: tuple[int, ...] = ()
    passed: bool | None = None
    cpu_s: float = 0.0


class Verdict(BaseModel):
    """Whether one check passed, and by how much it missed.

    Attributes:
        check_id: the check's id.
        passed: the verdict.
        status: what was observed.
        actual: the value, exception or output, as a text of at most 400 characters.
        gap: 0.0 (passed) to 1.0 (nothing came back); orders near misses, means nothing else.
        error: name of the exception's class, or empty.
        message: the exception's text.
        error_line: where in the program it was raised.
    """

    model_config = ConfigDict(frozen=True)

    check_id: str
    passed: bool
    status: ObservedStatus
    actual: str = ""
    gap: float = 0.0
    error: str = ""
    message: str = ""
    error_line: int | None = None


_ACTUAL_CHARS = 400
_GAP_RAISED, _GAP_TIMEOUT, _GAP_CRASHED = 0.97, 0.99, 1.0


def judge(check: Check, observed: Observation | None) -> Verdict:
    """Compare what was observed with what the check expects; an absent observation fails."""
    if observed is None:
        return Verdict(check_id=check.id, passed=False, status=ObservedStatus.ABSENT, gap=_GAP_CRASHED)
    if observed.status is ObservedStatus.RAISED:
        return _judge_raised(check, observed)
    if observed.status is not ObservedStatus.VALUE:
        gap = _GAP_TIMEOUT if observed.status is ObservedStatus.TIMEOUT else _GAP_CRASHED
        return Verdict(check_id=check.id, passed=False, status=observed.status, gap=gap)
    if check.kind in (CheckKind.VALUE, CheckKind.RAISES):
        return _judge_value(check, observed)
    if check.kind is CheckKind.PYTEST:
        passed = observed.passed is True
    elif check.kind is CheckKind.STDOUT:
        passed = same_output(observed.stdout, str(check.expected))
    elif check.kind is CheckKind.TEXT:
        passed = _text_matches(check, observed)
    else:
        passed = True
    return Verdict(
        check_id=check.id,
        passed=passed,
        status=observed.status,
        actual=observed.stdout[:_ACTUAL_CHARS],
        gap=0.0 if passed else distance(observed.stdout, str(check.expected or "")),
    )


def _judge_raised(check: Check, observed: Observation) -> Verdict:
    passed = check.kind is CheckKind.RAISES and observed.error in str(check.expected).split("|")
    return Verdict(
        check_id=check.id,
        passed=passed,
        status=observed.status,
        actual=f"{observed.error}: {observed.message}"[:_ACTUAL_CHARS],
        gap=0.0 if passed else _GAP_RAISED,
        error=observed.error,
        message=observed.message,
        error_line=observed.error_line,
    )


def _judge_value(check: Check, observed: Observation) -> Verdict:
    try:
        actual = decode(observed.value)
        expected = decode(observed.right) if check.right is not None else check.expected
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return Verdict(check_id=check.id, passed=False, status=ObservedStatus.ABSENT, gap=_GAP_CRASHED)
    passed = check.kind is CheckKind.VALUE and holds(
        check.operator, actual, expected, rel=check.rel, absolute=check.absolute, json=check.json_values
    )
    gap = 0.0
    if not passed:
        gap = distance(actual, expected) if check.operator in ("==", "close") else 0.6
    return Verdict(
        check_id=check.id,
        passed=passed,
        status=observed.status,
        actual=_short(actual),
        gap=gap if passed else max(gap, 0.01),
    )


def _short(value: Any) -> str:
    try:
        return repr(value)[:_ACTUAL_CHARS]
    except ValueError:
        return "<a number of thousands of digits>"


def same_output(actual: str, expected: str) -> bool:
    """Compare printed output: line by line, blanks at line ends and blank lines at the end do not count."""
    left = [line.rstrip() for line in actual.rstrip().splitlines()]
    return left == [line.rstrip() for line in expected.rstrip().splitlines()]


def _text_matches(check: Check, observed: Observation) -> bool:
    import doctest

    try:
        value = decode(observed.value)
        got = observed.stdout + ("" if value is None else f"{value!r}\n")
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return False
    return doctest.OutputChecker().check_output(str(check.expected), got, check.flags)
