"""`treewright`: the group of commands, and how errors and interruptions leave it."""

import importlib
import io
import os
import sys
import traceback
from typing import Any

import click

from treewright import __version__
from treewright.data.codes import ExitClass, exit_class
from treewright.errors import TreewrightError
from treewright.surfaces.cli.saying import prepare_streams, say
from treewright.tree.visible import writable_as_text

COMMANDS = {
    "audit": "exploration:audit",
    "brainstorm": "exploration:brainstorm",
    "attack": "exploration:attack",
    "design": "exploration:design",
    "tree": "exploration:tree",
    "search": "search:search",
    "deliberate": "deliberate:deliberate",
    "resume": "resume:resume",
    "stop": "stop:stop",
    "runs": "runs:runs",
    "show": "show:show",
    "report": "report:report",
    "accept": "decide:accept",
    "dismiss": "decide:dismiss",
    "reopen": "decide:reopen",
    "recover": "recover:recover",
    "validate": "validate:validate",
    "cap": "cap:cap",
    "mcp": "mcp:mcp",
    "chain": "chain:chain",
    "models": "models:models",
    "doctor": "doctor:doctor",
    "lsp": "lsp:lsp",
}
"""Command to `module:object` in `treewright.surfaces.cli.commands`."""


class LazyGroup(click.Group):
    """Imports a command when it is called, so that `treewright --help` and `treewright lsp` start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a command, importing its module."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        loaded = importlib.import_module(f"treewright.surfaces.cli.commands.{module}")
        command: click.Command = getattr(loaded, name)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="treewright")
@click.option("--debug", is_flag=True, help="Show a traceback when something goes wrong.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Grow trees of thought you can check: brainstorm, attack, design, audit."""
    ctx.obj = {"debug": debug}


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with the exit class of what happened."""
    prepare_streams()
    args = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in args
    args = [argument for argument in args if argument != "--debug"]  # it may stand anywhere
    try:
        _check_text(args)
        result: Any = cli.main(args=args, prog_name="treewright", standalone_mode=False)
        code = result if isinstance(result, int) else ExitClass.DONE
    except click.exceptions.Exit as leaving:
        code = leaving.exit_code
    except click.ClickException as fault:
        text = io.StringIO()
        fault.show(text)
        say(text.getvalue(), err=True, nl=False)
        code = ExitClass.USAGE
    except (click.Abort, KeyboardInterrupt):
        say("Interrupted.", err=True)
        code = ExitClass.INTERRUPTED
    except TreewrightError as fault:
        if debug:
            traceback.print_exc()
        told(fault)
        code = exit_class(fault.code)
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitClass.NOT_AS_ASKED
    except Exception as fault:  # noqa: BLE001 - the last resort: a crash is told without a traceback
        if debug:
            traceback.print_exc()
        say(f"treewright: internal error: {type(fault).__name__}: {fault}", err=True)
        say("Run it again with --debug to see where, and report it.", err=True)
        code = ExitClass.STORAGE
    sys.exit(int(code))


def _check_text(args: list[str]) -> None:
    for argument in args:
        if not writable_as_text(argument):
            raise click.UsageError(f"{argument!r} is not UTF-8; rename the file, or start from its folder.")


def told(fault: TreewrightError) -> None:
    """Print an error as one line, and what to do about it as another."""
    say(f"treewright: {' '.join(fault.message.split())}", err=True)
    if fault.hint:
        say(f"  {fault.hint}", err=True)
