"""The page of the command line: every command with its arguments and options."""

import argparse
import inspect
from collections.abc import Iterable, Iterator
from functools import cache

import click

from tools.reference.markdown import code, page, table
from tools.reference.words import Words
from treewright.data.codes import ExitClass
from treewright.surfaces.cli.main import SECTIONS, cli
from treewright.surfaces.lsp.launch import parser as lsp_parser
from treewright.surfaces.mcp.launch import parser as mcp_parser

_PARSERS = {"lsp": lsp_parser, "mcp": mcp_parser}
"""Commands that read their arguments themselves, since nothing may be printed before the wire is taken."""
_EXITS = {
    ExitClass.DONE: "done, or ended at a cap that you set",
    ExitClass.NOT_AS_ASKED: "done, but not what was asked: the best so far, an early stop, `--fail-on` met, something missing",
    ExitClass.USAGE: "the command line, a setting or a file of yours is at fault",
    ExitClass.REFUSED: "refused or paused by a cap, or by another process at work",
    ExitClass.NOT_FOUND: "a file, run, node or preset was not found",
    ExitClass.STORAGE: "reading or writing failed",
    ExitClass.MODEL: "a language model is missing or failed",
    ExitClass.KERNEL: "a kernel is missing or failed",
    ExitClass.INTERRUPTED: "interrupted; what was done is kept",
}
_INTRODUCTION = """\
`treewright --help` and `treewright COMMAND --help` say the same at the terminal. RUN is an id, the beginning of one, a
folder, or `last`. `--debug` may stand anywhere and shows a traceback when something goes wrong. Results go to stdout,
progress and errors to stderr. [Settings](settings.md) hold where no option is given; [errors](errors.md) lists what can go
wrong.
"""


_GROWING = ("audit", "brainstorm", "attack", "design", "tree", "chain")
_SHARED = "Options that every command which grows a tree takes"


def commands_page(words: Words) -> str:
    """Return the page."""
    context = click.Context(cli, info_name="treewright")
    parts = [words(_INTRODUCTION)]
    for title, names in SECTIONS.items():
        parts.append(f"## {words(title)}")
        for name in names:
            command = cli.get_command(context, name)
            assert command is not None
            parts += _command(command, name, context, words)
    parts += [f"## {words(_SHARED)}", _options(_shared(), context, words)]
    told = [(str(int(each)), words(text)) for each, text in _EXITS.items()]
    exits = table((words("exit"), words("meaning")), told)
    return page("Commands", "commands.md", words, *parts, f"## {words('Exit codes')}", exits)


def _command(command: click.Command, name: str, parent: click.Context, words: Words) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield f"### {context.command_path}"
    if name in _PARSERS:
        yield from _parsed(_PARSERS[name](), words)
        return
    yield f"```text\n{' '.join(' '.join([context.command_path, *command.collect_usage_pieces(context)]).split())}\n```"
    yield _prose(command.help or "", words)
    shared = {each.name for each in _shared()} if name in _GROWING else set()
    own = [each for each in command.params if isinstance(each, click.Option) and each.name not in shared]
    yield _options(own, context, words)
    if shared:
        anchor = words(_SHARED).lower().replace(" ", "-")
        yield words("And the [options that every command which grows a tree takes](#SHARED).").replace(
            "SHARED", anchor
        )
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _command(found, inner, context, words)


@cache
def _shared() -> tuple[click.Option, ...]:
    """Return the options that all commands which grow a tree have in common."""
    context = click.Context(cli, info_name="treewright")
    commands = [command for name in _GROWING if (command := cli.get_command(context, name))]
    common = set.intersection(*({each.name for each in command.params} for command in commands))
    return tuple(
        each for each in commands[0].params if isinstance(each, click.Option) and each.name in common
    )


def _prose(text: str, words: Words) -> str:
    """Return a command's help with its marks for the terminal (do not wrap) as preformatted text."""
    parts = [part.strip("\n") for part in inspect.cleandoc(text).split("\n\n")]
    return "\n\n".join(
        f"```sh\n{part[2:].strip(chr(10))}\n```" if part.startswith("\b") else words(part) for part in parts
    )


def _options(options: Iterable[click.Option], context: click.Context, words: Words) -> str:
    return table((words("option"), words("meaning")), [_option(each, context, words) for each in options])


def _option(option: click.Option, context: click.Context, words: Words) -> tuple[str, str]:
    names = ", ".join(code(each) for each in [*option.opts, *option.secondary_opts])
    bounded = isinstance(option.type, (click.IntRange, click.FloatRange)) and not option.metavar
    shown = "N" if bounded else option.make_metavar(context)
    value = "" if option.is_flag or option.count else f" {shown}"
    about = words((option.help or "").strip())
    if option.required:
        about = f"{about} {words('Required.')}".strip()
    elif option.show_default and not isinstance(option.default, bool):
        about = f"{about} {words('Default:')} `{option.default}`{words('.')}".strip()
    return (f"{names}{f' {code(value.strip())}' if value else ''}", about)


def _parsed(parser: argparse.ArgumentParser, words: Words) -> Iterator[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    yield f"```text\n{usage}\n```"
    yield words(parser.description or "")
    rows = []
    for action in parser._actions:
        if "--help" in action.option_strings:
            continue
        names = ", ".join(code(each) for each in action.option_strings)
        rows.append(
            (
                f"{names} {code(action.metavar)}" if isinstance(action.metavar, str) else names,
                words(action.help or ""),
            )
        )
    yield table((words("option"), words("meaning")), rows)
