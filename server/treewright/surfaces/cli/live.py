"""The live view while a run grows: a table on a terminal, plain lines elsewhere, nothing when quiet."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from treewright.app.explorations import Growing
from treewright.app.request import Listener, Progress
from treewright.counted import counted
from treewright.explore.convergence import FRAMINGS, conditions
from treewright.surfaces.cli.saying import say
from treewright.tree.event import RoundClosed, RoundStarted, VerdictGiven
from treewright.tree.run import Role
from treewright.tree.state import Spend
from treewright.tree.visible import visible

if TYPE_CHECKING:
    from rich.panel import Panel

_REDRAW_S = 0.1
_FIRST = "reading the root first; a large folder takes minutes"
"""Said until the root is read: nothing else can be told of it till then."""


@contextlib.contextmanager
def live_view(growing: Growing, *, quiet: bool) -> Iterator[Listener | None]:
    """Give a listener that shows a run as it grows.

    Args:
        growing: the run.
        quiet: show nothing.
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _table(growing) as listener:
            yield listener
    else:
        yield _lines(growing)


def _lines(growing: Growing) -> Listener:
    if growing.writer.tree.grounded_at < 0:
        say(_FIRST, err=True)

    def listen(progress: Progress) -> None:
        tree = growing.writer.tree
        for event in progress.events:
            if isinstance(event, RoundStarted):
                say(f"round {event.number}: {len(event.frontier)} to expand", err=True)
            elif isinstance(event, RoundClosed):
                open_ones = [state.name for state in event.conditions if not state.met]
                why = f"; not converged: {', '.join(open_ones)}" if open_ones else ""
                spend = f"; {_spend(tree.spend)}" if tree.spend.calls else ""
                say(
                    f"round {event.number} closed: {event.new_nodes} new, {counted(len(tree.nodes) - 1, 'node')}{spend}{why}",
                    err=True,
                )

    return listen


@contextlib.contextmanager
def _table(growing: Growing) -> Iterator[Listener]:
    from rich.console import Console
    from rich.live import Live

    drawn = time.monotonic()
    latest: list[str] = []
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def draw(in_flight: int) -> None:
            live.update(_panel(growing, latest, in_flight), refresh=True)

        def listen(progress: Progress) -> None:
            nonlocal drawn
            latest.extend(_said(growing, progress))
            del latest[:-8]
            if time.monotonic() - drawn >= _REDRAW_S:
                drawn = time.monotonic()
                draw(progress.in_flight)

        draw(0)
        yield listen


def _spend(spend: Spend, cap: str = "") -> str:
    tokens = spend.prompt_tokens + spend.completion_tokens
    return f"{spend.usd:.4f}{cap} USD, {counted(tokens, 'token')} in {counted(spend.calls, 'call')}"


def _said(growing: Growing, progress: Progress) -> list[str]:
    nodes = growing.writer.tree.nodes
    return [
        f"{event.node:<12} {event.label:<16} {sum(event.scores):>2}  {visible(nodes[event.node].statement)}"
        for event in progress.events
        if isinstance(event, VerdictGiven)
    ]


def _panel(growing: Growing, latest: list[str], in_flight: int) -> "Panel":
    from rich.panel import Panel
    from rich.text import Text

    tree = growing.writer.tree
    preset = growing.loaded.materials.preset
    counts = {role: sum(1 for n in tree.nodes.values() if n.role is role and n.counts) for role in Role}
    fired = "".join(letter if letter in tree.root_fired else "·" for letter in FRAMINGS)
    lines = [
        f"round {len(tree.rounds)}  nodes {len(tree.nodes) - 1}  in flight {in_flight}  root framings {fired}",
        "  ".join(f"{preset.label(role)} {counts[role]}" for role in Role),
    ]
    if tree.spend.calls:
        cap = f" of {tree.caps.spend_usd:.2f}" if tree.caps.spend_usd is not None and tree.spend.usd else ""
        lines.append(f"spend {_spend(tree.spend, cap)}")
    if tree.grounded_at < 0:
        lines.append(_FIRST)
    if tree.rounds:
        why = [state.name for state in conditions(tree) if not state.met]
        lines.append("not converged yet: " + ("; ".join(why) if why else "-"))
    text = Text("\n".join([*lines, "", *latest]), no_wrap=True, overflow="ellipsis")
    return Panel(
        text, title=f"{preset.name}: {growing.folder.name}", subtitle="Ctrl-C stops and keeps everything"
    )
