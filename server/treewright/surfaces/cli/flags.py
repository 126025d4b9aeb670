"""The flags that all exploring commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from treewright.surfaces.cli.naming import complete_field, complete_model

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = click.Choice(["text", "json", "sarif"])
_ABOUT = "What stdout gets."

text_or_json = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help=_ABOUT
)
any_format = click.option("--format", "form", type=FORMATS, default="text", show_default=True, help=_ABOUT)


def caps(command: Command) -> Command:
    """Add the caps: none of them is set by default."""
    for option in reversed(
        [
            click.option("--width", type=click.IntRange(min=1), help="Most terminal nodes. Default: no cap."),
            click.option(
                "--depth", type=click.IntRange(min=1), help="Most levels below the root. Default: no cap."
            ),
            click.option("--rounds", type=click.IntRange(min=1), help="Most rounds. Default: no cap."),
            click.option(
                "--max-branches",
                type=click.IntRange(min=12),
                help="Most children of a node and round, at least 12. Default: no cap.",
            ),
            click.option(
                "--spend-cap",
                "spend_cap_usd",
                type=click.FloatRange(min=0),
                metavar="USD",
                help="Most dollars for models that cost. Default: [explore] spend_cap_usd (2.00).",
            ),
            click.option(
                "--min-novelty-ratio",
                type=click.FloatRange(min=0, max=1),
                help="Share of advancing new nodes below which two rounds count as settled. Default: 0.15.",
            ),
            click.option(
                "--concurrency", type=click.IntRange(min=1, max=64), help="Tasks in flight. Default: 6."
            ),
            click.option(
                "--model",
                default="",
                shell_complete=complete_model,
                help="Provider name or specification; `static` for none.",
            ),
            click.option("--lang", help="Language of the prose: a tag such as zh, or auto. Default: en."),
        ]
    ):
        command = option(command)
    return command


def output(command: Command) -> Command:
    """Add what is shown and how."""
    for option in reversed(
        [
            any_format,
            click.option("--quiet", "-q", is_flag=True, help="Show no progress."),
        ]
    ):
        command = option(command)
    return command


def exploring(command: Command) -> Command:
    """Add the flags of a new exploration."""
    for option in reversed(
        [
            click.option(
                "--out", type=click.Path(), help="Output folder. Default: a new one in the workspace."
            ),
            click.option("--glossary", type=click.Path(), help="Term list to settle the root's terms with."),
            click.option("--no-grill", is_flag=True, help="Skip the glossary step."),
            click.option(
                "--no-questions", is_flag=True, help="Ask nothing; take the glossary step's recommendations."
            ),
            click.option(
                "--field", default="", shell_complete=complete_field, help="Field profile, such as security."
            ),
            click.option(
                "--seed-from",
                "--from-prior",
                "seed_from",
                type=click.Path(),
                help="Start from a prior deliverable.",
            ),
            click.option("--online/--no-online", default=None, help="Check addresses on the network."),
            click.option(
                "--min-frameworks",
                type=click.IntRange(min=12, max=12),
                default=12,
                show_default=True,
                help="Framings that must fire on the root; never fewer than 12.",
            ),
            click.option("--python", default="", help="Interpreter whose packages checks import."),
        ]
    ):
        command = option(command)
    return output(caps(command))
