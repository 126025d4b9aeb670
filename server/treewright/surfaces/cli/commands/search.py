"""`treewright search`: candidate programs, executed; the best is returned (contract: search, 6)."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treewright.app.request import Notice
from treewright.app.search_request import SearchRequest
from treewright.app.treewright import Treewright
from treewright.counted import counted
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.drive import announce
from treewright.surfaces.cli.saying import say

if TYPE_CHECKING:
    from treewright.app.search_drive import Searching, SearchListener
    from treewright.app.search_outcome import SearchOutcome
    from treewright.search.engine import SearchEngine
    from treewright.search.events import SearchEvent

SEVERAL = ("--checks", "--candidates", "--generator")
"""Options that take every word up to the next option: `--checks a.py b.py`."""


class SeveralValues(click.Command):
    """A command some of whose options take several values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat such an option before each of its values, as click wants it."""
        return super().parse_args(ctx, spread(args))


def spread(args: Sequence[str]) -> list[str]:
    """Write `--checks a b` as `--checks a --checks b`; `--` ends every option."""
    found: list[str] = []
    option, rest = "", False
    for arg in args:
        if rest or arg == "--":
            rest = True
            found.append(arg)
        elif arg.startswith("-") and arg != "-":
            option = arg if arg in SEVERAL else ""
            if not option:
                found.append(arg)
        elif option:
            found += [option, arg]
        else:
            found.append(arg)
    return found


@click.command(short_help="Search for a program that passes every check.", cls=SeveralValues)
@click.argument("target", metavar="FILE[:FUNCTION]", required=False, default="")
@click.option(
    "--checks",
    multiple=True,
    metavar="FILE...",
    help="Asserts, doctests, pairs, tests (also FILE::TEST) or expected output (FILE.out).",
)
@click.option(
    "--check", "check_texts", multiple=True, metavar="TEXT", help='One check, such as "assert f(2) == 4".'
)
@click.option(
    "--generator",
    "generators",
    multiple=True,
    type=click.Choice(["model", "revise", "mutate", "given"]),
    metavar="NAME...",
    help="Who proposes programs: model, revise, mutate, given. Default: what there is.",
)
@click.option("--candidates", multiple=True, metavar="FILE...", help="Programs of yours.")
@click.option("--task", "statement", default="", help="The task in words.")
@click.option(
    "--entry-point", default="", metavar="FUNCTION", help="As FILE:FUNCTION, where there is no file."
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Share of the checks that is only measured at the end.",
)
@click.option(
    "--max-candidates", type=click.IntRange(min=1), help="Most candidates that cost money. Default: 5."
)
@click.option(
    "--spend-cap",
    "spend_cap_usd",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Most dollars for models that cost. Default: [search] spend_cap_usd (0.50).",
)
@click.option(
    "--time-limit", "time_limit_s", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Seconds."
)
@click.option(
    "--branch-timeout",
    "per_branch_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds that one branch may take. Default: 60.",
)
@click.option("--model", default="", help="Provider name or specification; `static` for none.")
@click.option(
    "--python", default="", help="Interpreter whose packages checks import. Default: the project's .venv."
)
@click.option(
    "--finding",
    default="",
    metavar="RUN/NODE",
    help="Search for a verified fix of an audit's finding, with the tests that reach it.",
)
@click.option("--stdin", "stdin_file", type=click.Path(), help="File that programs read as standard input.")
@click.option("--exhaustive", is_flag=True, help="Go on after a branch has passed every check.")
@click.option("--efficiency", is_flag=True, help="Of branches that pass everything, take the quickest.")
@click.option(
    "--apply", "apply_it", is_flag=True, help="Write a verified program to FILE, after showing the change."
)
@flags.text_or_json
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def search(
    target: str,
    checks: tuple[str, ...],
    candidates: tuple[str, ...],
    entry_point: str,
    stdin_file: str | None,
    apply_it: bool,
    finding: str,
    form: str,
    quiet: bool,
    **given: Any,
) -> int:
    """Search for a program that passes every check; each candidate is executed in a fresh kernel.

    Nothing is written to your files without --apply. Exit 0: verified; 1: the best so far.

    \b
    treewright search shop/cart.py:total --checks tests/test_cart.py
    treewright search text.py:slug --check "assert slug('A b') == 'a-b'" --apply
    treewright search --finding last/D1
    """
    from treewright.app.search_sources import read_program, split_target

    base = Path.cwd()
    app = Treewright("cli")
    if finding:
        return run_search(
            app, _fix(app, finding, target, checks, given), form, quiet=quiet, apply_it=apply_it
        )
    if not (target or checks or candidates or given["check_texts"] or given["statement"]):
        raise click.UsageError("Name FILE:FUNCTION and --checks, or --finding RUN/NODE; --help has examples.")
    file, function = split_target(target, base) if target else ("", "")
    if stdin_file:
        given["stdin"] = read_program(base, stdin_file).text
    request = SearchRequest(
        base=str(base),
        file=file,
        function=function or entry_point,
        check_files=checks,
        candidate_files=candidates,
        **given,
    )
    return run_search(app, app.search(request), form, quiet=quiet, apply_it=apply_it)


def _fix(
    app: Treewright, finding: str, target: str, checks: tuple[str, ...], given: dict[str, Any]
) -> "Searching":
    run, slash, node = finding.rpartition("/")
    if not slash or target:
        raise click.UsageError("--finding takes RUN/NODE, and no FILE beside it.")
    named = {name: given[name] for name in ("model", "time_limit_s", "spend_cap_usd")}
    files = tuple(str(Path.cwd() / name) for name in checks)
    return app.search_fix(run, node, checks=files, **named)


def run_search(
    app: Treewright, searching: "Searching", form: str, *, quiet: bool, apply_it: bool = False
) -> int:
    """Drive a search, print what came of it, apply it when that was asked for, and return the exit class."""
    for notice in searching.notices:
        _note(notice)
    announce(f"search: {searching.folder}", form, quiet=quiet)
    try:
        outcome = asyncio.run(_driven(searching, None if quiet else _lines))
    except KeyboardInterrupt:
        searching.close()
        say(f"Go on with: treewright resume {searching.run}", err=True)
        raise
    applied = ""
    if apply_it and outcome.report.verified:
        if form == "text" and outcome.report.chosen and outcome.report.chosen.diff:
            say(outcome.report.chosen.diff, nl=False)
        applied = str(app.apply_search(outcome.run))
    _print(outcome, form, applied=applied, shown=bool(applied))
    if apply_it and not outcome.report.verified:
        say("Nothing was applied: no program passed every check.", err=True)
    return int(outcome.exit)


def _print(outcome: "SearchOutcome", form: str, *, applied: str, shown: bool) -> None:
    from treewright.app.search_outputs import search_outline

    found = outcome.report
    if form == "json":
        notices = [notice.model_dump(mode="json") for notice in outcome.notices]
        shape = {**found.model_dump(mode="json"), "notices": notices, "applied": applied or None}
        say(json.dumps(shape, ensure_ascii=False))
        return
    if found.chosen and not shown:
        say(found.chosen.diff or found.chosen.code, nl=False)
        if not (found.chosen.diff or found.chosen.code).endswith("\n"):
            say()
    say(search_outline(found), nl=False)
    for sentence in found.advice:
        say(sentence)
    if outcome.reason:
        say(f"{outcome.status}: {outcome.reason}")
    if applied:
        say(f"Applied to {applied}.")
    say(f"  {outcome.folder / outcome.outputs[0]}")
    if outcome.status in ("stopped", "paused", "spend_cap_reached"):
        higher = " --spend-cap USD" if outcome.status == "spend_cap_reached" else ""
        say(f"Go on with: treewright resume {outcome.run}{higher}")


async def _driven(searching: "Searching", listener: "SearchListener | None") -> "SearchOutcome":
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM"):
        with contextlib.suppress(NotImplementedError, AttributeError, RuntimeError):
            loop.add_signal_handler(getattr(signal, name), searching.stop)
    return await searching.drive(listener)


def _lines(events: "tuple[SearchEvent, ...]", engine: "SearchEngine") -> None:
    """Tell a person what just happened, a line each, on stderr."""
    state = engine.state
    for event in events:
        line = ""
        if event.kind == "branch_executed":
            branch = state.branches[event.branch_id]
            named = f"{branch.id} {branch.proposed.generator} {branch.proposed.framing}".rstrip()
            line = f"{named}: {branch.passed} of {len(branch.verdicts)} checks, {event.trace.outcome.value}"
        elif event.kind == "task_finished" and event.screened:
            line = f"{event.task_id}: {counted(event.screened, 'edit')} screened, {event.passing} of them {'passes' if event.passing == 1 else 'pass'} every check"
        elif event.kind == "task_finished" and event.failed:
            line = f"{event.task_id}: {event.message}"
        elif event.kind == "reservation_settled" and event.charged_usd:
            line = f"{event.task_id}: {event.charged_usd:.4f} USD"
        elif event.kind == "search_halted":
            line = f"halted: {event.reason.replace('_', ' ')}: {event.message}"
        if line:
            say(" ".join(line.split()), err=True)


def _note(notice: Notice) -> None:
    say(f"{notice.severity}: {notice.message}", err=True)
