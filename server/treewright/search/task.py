"""What a search is asked: a statement, perhaps a starting program, and the checks that decide."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from treewright.errors import RequestError
from treewright.parsing import parse_program
from treewright.search.checks import Check, CheckKind, Plan
from treewright.search.doctests import docstring_checks, split_doctest
from treewright.search.functions import stub_body
from treewright.search.pairs import read_pairs
from treewright.search.pytests import split_pytest
from treewright.search.splitting import Split, split_asserts
from treewright.search.written import written_checks

CheckFormat = Literal["asserts", "doctest", "pairs", "json_pairs", "pytest", "stdout"]


class CheckSource(BaseModel):
    """One text of checks.

    Attributes:
        text: the checks as written.
        format: how to read them; None finds out from the text and the name.
        name: the file's name, for messages and for finding out the format.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    format: CheckFormat | None = None
    name: str = ""


class SearchTask(BaseModel):
    """What to search for.

    Attributes:
        statement: the task in words; may be empty when a starting program is given.
        start: the starting program, or empty.
        path: the starting program's file name, for diffs.
        entry_point: the function under test; `Class.method` names a method.
        check_sources: texts of checks (plain texts are read as asserts, doctests or pytest, whichever they hold).
        docstring_examples: also use the doctest examples in the starting program's docstrings; where there is
            nothing else to check by, those that its docstring gives in words.
        holdout: share of the checks, 0 to below 1, that are only measured at the end.
        stdin: standard input of programs that are judged by their output.
        per_branch_timeout_s: wall clock of one branch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    statement: str = ""
    start: str = ""
    path: str = "program.py"
    entry_point: str | None = None
    check_sources: tuple[CheckSource | str, ...] = ()
    docstring_examples: bool = True
    holdout: float = Field(default=0.0, ge=0.0, lt=1.0)
    stdin: str = ""
    per_branch_timeout_s: float = Field(default=60.0, gt=0)

    @property
    def stub(self) -> bool:
        """Whether the starting program only says what is to be written: the function under test has no body yet."""
        return stub_body(self.start, self.entry_point) > 0

    @property
    def program(self) -> str:
        """The starting program as something to change; empty for none, and for a stub."""
        return "" if not self.start.strip() or self.stub else self.start


def plan_of(task: SearchTask) -> Plan:
    """Split every text of checks into single checks.

    Returns:
        The plan, checks numbered `c1`, `c2`, ..., repeated checks kept once, a share of them marked as held
        out when the task asks for it.

    Raises:
        RequestError: `search_no_checks` when nothing can be checked, `search_bad_checks` when a text cannot be
            read, `search_bad_start` when the starting program does not parse.
    """
    tree = _parse_start(task)
    provided = _provided(tree, task.entry_point)
    split = Split()
    for source in task.check_sources:
        given = CheckSource(text=source) if isinstance(source, str) else source
        one = _read(given, task, provided)
        split.checks.extend(one.checks)
        split.setup.extend(one.setup)
    if task.docstring_examples and tree is not None:
        split.checks.extend(
            docstring_checks(tree, task.entry_point)
            or ([] if split.checks else written_checks(tree, task.entry_point))
        )
    checks = _numbered(split.checks)
    if not checks:
        raise RequestError(
            "search_no_checks",
            "There is nothing to check a program by.",
            "Give at least one assert, doctest example, (call, expected) pair, test or expected output.",
        )
    return Plan(
        checks=_held_out(checks, task.holdout),
        setup="\n".join(dict.fromkeys(split.setup)),
        stdin=task.stdin,
        per_branch_timeout_s=task.per_branch_timeout_s,
    )


def visible(plan: Plan) -> Plan:
    """The plan without the checks that are held out."""
    return plan.model_copy(update={"checks": tuple(check for check in plan.checks if not check.holdout)})


def held_out(plan: Plan) -> Plan | None:
    """The plan of only the checks that are held out, or None when there are none."""
    checks = tuple(check for check in plan.checks if check.holdout)
    return plan.model_copy(update={"checks": checks}) if checks else None


def _parse_start(task: SearchTask) -> ast.Module | None:
    if not task.start.strip():
        return None
    try:
        return parse_program(task.start)
    except (SyntaxError, ValueError) as error:
        where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        raise RequestError(
            "search_bad_start",
            f"The starting program does not parse{where}.",
            "Search starts from a program that Python can read; fix the syntax first.",
        ) from error


def _provided(tree: ast.Module | None, entry_point: str | None) -> frozenset[str]:
    names = {entry_point.split(".")[0]} if entry_point else set()
    for node in tree.body if tree else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(names)


def _read(source: CheckSource, task: SearchTask, provided: frozenset[str]) -> Split:
    kind = source.format or _format_of(source)
    try:
        match kind:
            case "doctest":
                return Split(checks=split_doctest(source.text))
            case "pairs" | "json_pairs":
                return Split(checks=read_pairs(source.text, task.entry_point))
            case "pytest":
                return split_pytest(source.text, provided)
            case "stdout":
                return Split(checks=[stdout_check(source.text)])
            case _:
                return split_asserts(source.text, task.entry_point, provided)
    except (SyntaxError, ValueError) as error:
        raise RequestError(
            "search_bad_checks",
            f"{source.name or 'The checks'} cannot be read as {kind}: {error}",
            "Checks are assert lines, doctest examples, (call, expected) pairs, a pytest file or expected output.",
        ) from error


def _format_of(source: CheckSource) -> CheckFormat:
    name, text = source.name.lower(), source.text.lstrip()
    if name.endswith((".json", ".jsonl")) or text[:1] in "[{(":
        return "pairs"
    if name.endswith((".out", ".stdout", ".expected")):
        return "stdout"
    if ">>>" in text and "assert" not in text:
        return "doctest"
    if "import pytest" in text or "unittest" in text or "def test" in text or "class Test" in text:
        return "pytest"
    return "asserts"


def stdout_check(expected: str) -> Check:
    """The check that the program, run as a script, prints this."""
    return Check(
        id="c0", kind=CheckKind.STDOUT, source="printed output", evaluate="__program__", expected=expected
    )


def _numbered(checks: Iterable[Check]) -> list[Check]:
    """Give ids in order; a check that says the same as an earlier one is left out."""
    seen: set[str] = set()
    found: list[Check] = []
    for check in checks:
        key = repr((check.kind, check.context, check.evaluate, check.right, check.operator, check.expected))
        if key not in seen:
            seen.add(key)
            found.append(check.model_copy(update={"id": f"c{len(found) + 1}"}))
    return found


def _held_out(checks: Sequence[Check], share: float) -> tuple[Check, ...]:
    """Mark a share of the checks, chosen by a digest of their text so that it never depends on their order."""
    count = min(round(len(checks) * share), len(checks) - 1)
    ranked = sorted(
        checks, key=lambda check: hashlib.sha256(check.source.encode("utf-8", "replace")).hexdigest()
    )
    chosen = {check.id for check in ranked[: max(count, 0)]}
    return tuple(
        check.model_copy(update={"holdout": True}) if check.id in chosen else check for check in checks
    )


def values(checks: Iterable[Check]) -> list[Any]:
    """What the checks expect, for showing them."""
    return [check.expected for check in checks]
