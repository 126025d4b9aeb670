"""`treewright`: the group of commands, and how errors and interruptions leave it."""

import difflib
import importlib
import io
import os
import sys
import traceback
from typing import Any

import click

from treewright import __version__
from treewright.data.codes import ExitClass, code_meanings, exit_class
from treewright.errors import TreewrightError
from treewright.surfaces.cli.naming import RUN_HELP
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
    "completion": "completion:completion",
    "skills": "skills:skills",
}
"""Command to `module:object` in `treewright.surfaces.cli.commands`."""

SECTIONS = {
    "Grow": ("audit", "brainstorm", "attack", "design", "tree", "chain", "search", "deliberate"),
    "Runs": ("runs", "show", "report", "resume", "stop", "recover"),
    "Findings": ("accept", "dismiss", "reopen"),
    "Set up": ("doctor", "models", "validate", "cap", "completion"),
    "Editors and agents": ("lsp", "mcp", "skills"),
}
"""The commands as `treewright --help` groups them."""

_EPILOG = """\b
First steps:
  treewright audit PATH            # findings in a file or folder; no model, no network
  treewright show last             # what was found; show last D1 shows one whole
  treewright doctor                # what is here, what is missing, and how to mend it
  treewright COMMAND --help        # the options of a command
"""


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one."""
        name = args[0]
        if not ctx.resilient_parsing and name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            meant = f" Did you mean {near[0]}?" if near else " treewright --help lists them."
            raise click.UsageError(f"There is no command {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups."""
        width = max(len(name) for name in COMMANDS)
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = []
                for name in names:
                    command = self.get_command(ctx, name)
                    assert command is not None
                    room = formatter.width - width - 6
                    rows.append((name.ljust(width), command.get_short_help_str(room)))
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="treewright")
@click.option("--debug", is_flag=True, help="Show a traceback when something goes wrong.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Grow trees of thought you can check: audit code without a model; brainstorm, attack a text, design with one."""
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
        _show(fault)
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
    except ModuleNotFoundError:
        raise  # an installation that is not whole; told by whoever started us
    except Exception as fault:  # noqa: BLE001 - the last resort: a crash is told without a traceback
        if debug:
            traceback.print_exc()
        say(f"treewright: internal error: {type(fault).__name__}: {fault}", err=True)
        say("Run it again with --debug to see where, and report it.", err=True)
        code = ExitClass.STORAGE
    sys.exit(int(code))


def _show(fault: click.ClickException) -> None:
    text = io.StringIO()
    fault.show(text)
    say(text.getvalue(), err=True, nl=False)
    if isinstance(fault, click.MissingParameter) and fault.param is not None and fault.param.name == "run":
        say(RUN_HELP, err=True)


def _check_text(args: list[str]) -> None:
    for argument in args:
        if not writable_as_text(argument):
            raise click.UsageError(f"{argument!r} is not UTF-8; rename the file, or start from its folder.")


def told(fault: TreewrightError) -> None:
    """Print an error as one line, and what to do about it as another."""
    say(f"treewright: {' '.join(fault.message.split())}", err=True)
    meaning = code_meanings().get(fault.code)
    if act := fault.hint or (meaning.act if meaning else ""):
        say(f"  {act}", err=True)
