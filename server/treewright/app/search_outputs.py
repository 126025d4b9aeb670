"""What a search puts out: the result as data, a report to read, the chosen program and the change it makes."""

import json
from collections.abc import Iterator
from pathlib import Path

from treewright.search.checks import Verdict
from treewright.search.framings import trace_report
from treewright.search.report import SearchReport
from treewright.search.state import Branch, SearchState
from treewright.search.task import visible
from treewright.store.artifacts import write_artifact

RESULT, REPORT, CHOSEN, CHANGE = "result.json", "report.md", "chosen.py", "change.diff"


def write_outputs(folder: Path, found: SearchReport, state: SearchState) -> list[str]:
    """Write a search's outputs and return their names, most important first.

    Raises:
        StoreError: the disk refused; no file is half-written.
    """
    names = [REPORT, RESULT]
    write_artifact(folder / REPORT, search_markdown(found, state), private=True)
    write_artifact(folder / RESULT, json.dumps(found.model_dump(mode="json"), indent=1) + "\n", private=True)
    for name, text in ((CHOSEN, found.chosen.code if found.chosen else ""), (CHANGE, _diff(found))):
        if text:
            write_artifact(folder / name, text, private=True)
            names.append(name)
        else:
            (folder / name).unlink(missing_ok=True)
    return names


def _diff(found: SearchReport) -> str:
    return found.chosen.diff if found.chosen else ""


def headline(found: SearchReport) -> str:
    """Return how a search ended, in one line."""
    chosen = found.chosen
    if chosen is None:
        return f"nothing was executed ({found.reason or 'no candidates'})"
    passed = f"{chosen.passed} of {chosen.total} checks pass"
    if found.holdout_total:
        held = "not measured" if found.holdout_passed is None else f"{found.holdout_passed}"
        passed += f", held out: {held} of {found.holdout_total}"
    word = "verified" if found.verified else "best so far"
    halted = f", halted: {found.reason}" if found.halted else ""
    return f"{word}: {chosen.id} ({chosen.generator}), {passed}{halted}"


def branch_line(found: SearchReport, number: int) -> str:
    """Return one branch in one line."""
    one = found.branches[number]
    mark = "*" if found.chosen and one.id == found.chosen.id else " "
    origin = f" from {one.parent}" if one.parent else ""
    twin = f" (same as {one.duplicate_of})" if one.duplicate_of else ""
    return (
        f"{mark} {one.id:<4} {one.passed}/{one.total}  {one.outcome:<13} {one.generator}{origin}"
        f"{' ' + one.framing if one.framing else ''}{twin}"
    )


def search_outline(found: SearchReport) -> str:
    """Return a search as an outline: a line for the whole, and a line a branch."""
    lines = [headline(found), *(branch_line(found, number) for number in range(len(found.branches)))]
    return "\n".join(lines) + "\n"


def search_markdown(found: SearchReport, state: SearchState) -> str:
    """Return the report of a search."""
    return "\n".join(_report_lines(found, state)) + "\n"


def _report_lines(found: SearchReport, state: SearchState) -> Iterator[str]:
    task = state.task
    yield f"# Search: {task.statement.splitlines()[0] if task.statement else task.entry_point or task.path}"
    yield ""
    yield f"{headline(found)[0].upper()}{headline(found)[1:]}."
    yield ""
    if found.tie_break:
        yield f"Between branches that pass as many checks, this decided: {found.tie_break.replace('_', ' ')}."
        yield ""
    for sentence in found.advice:
        yield f"> {sentence}"
        yield ""
    if found.not_guaranteed:
        yield f"The host could not guarantee: {', '.join(found.not_guaranteed)}."
        yield ""
    if found.chosen and found.chosen.diff:
        yield from ("## The change", "", "```diff", found.chosen.diff.rstrip("\n"), "```", "")
    elif found.chosen:
        yield from ("## The program", "", "```python", found.chosen.code.rstrip("\n"), "```", "")
    yield from ("## Branches", "", "| branch | from | by | checks | outcome | lines | CPU s | USD |")
    yield "|---|---|---|---|---|---|---|---|"
    for one in found.branches:
        mark = " **chosen**" if found.chosen and one.id == found.chosen.id else ""
        yield (
            f"| {one.id}{mark} | {one.parent or ''} | {one.generator} {one.framing} | {one.passed}/{one.total} | "
            f"{one.outcome} | {one.lines} | {one.cpu_s:.2f} | {one.spend_usd:.4f} |"
        )
    chosen = state.branches.get(found.chosen.id) if found.chosen else None
    if chosen is not None and not chosen.complete:
        yield from ("", "## What fails", "", trace_report(visible(state.plan).checks, chosen.verdicts))
    yield from ("", f"{found.duration_s:.1f} s, {found.spend_usd:.4f} USD, run {found.run}.")


def branch_markdown(state: SearchState, branch: Branch) -> str:
    """Return one branch whole: where it comes from, what its execution showed, its program."""
    proposed, trace = branch.proposed, branch.trace
    checks = visible(state.plan).checks
    by_id = {check.id: check for check in checks}
    lines = [f"# Branch {branch.id}", ""]
    origin = f" from {proposed.parent}" if proposed.parent else ""
    lines.append(f"{proposed.generator}{origin} {proposed.framing}".strip() + ".")
    if trace is None:
        lines += ["", "It was not executed."]
    else:
        lines += [
            "",
            f"{trace.outcome.value}: {branch.passed} of {len(checks)} checks pass. {trace.message}".strip(),
        ]
        lines += ["", "| check | passed | what it gave |", "|---|---|---|"]
        lines += [
            f"| `{_cell(by_id[one.check_id].source)}` | {'yes' if one.passed else 'no'} | {_cell(_gave(one))} |"
            for one in branch.verdicts
            if one.check_id in by_id
        ]
        if trace.stdout:
            lines += ["", "Printed:", "", "```", trace.stdout[:4000].rstrip("\n"), "```"]
    lines += ["", "```python", branch.code.rstrip("\n"), "```", ""]
    return "\n".join(lines)


def _gave(verdict: Verdict) -> str:
    return f"{verdict.error}: {verdict.message}" if verdict.error else verdict.actual or verdict.status.value


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")[:160]
