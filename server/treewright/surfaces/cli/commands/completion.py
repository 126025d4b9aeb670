"""`treewright completion`: let the shell complete commands, options, runs, presets and models."""

import os
from pathlib import Path
from typing import NamedTuple

import click
from click.shell_completion import get_completion_class

from treewright.surfaces.cli.saying import say


class Place(NamedTuple):
    """Where a shell looks for completions.

    Attributes:
        variable: the environment variable that names the folder.
        usual: the folder below home where it is not set.
        below: the file in there.
        then: what the user still has to do; empty for nothing.
    """

    variable: str
    usual: str
    below: str
    then: str


PLACES = {
    "bash": Place(
        "XDG_DATA_HOME", ".local/share", "bash-completion/completions/treewright",
        "It is found by itself where the package bash-completion is installed. Elsewhere add to ~/.bashrc: source {path}",
    ),
    "zsh": Place(
        "ZDOTDIR", "", ".zfunc/_treewright",
        "Once, in ~/.zshrc and before compinit: fpath+=({folder}); autoload -Uz compinit && compinit",
    ),
    "fish": Place("XDG_CONFIG_HOME", ".config", "fish/completions/treewright.fish", ""),
}  # fmt: skip


@click.command()
@click.argument("shell", type=click.Choice(list(PLACES)))
@click.option("--install", is_flag=True, help="Write it where the shell looks, and say what is left to do.")
def completion(shell: str, install: bool) -> None:
    """Print the completion script of a shell, or install it.

    \b
    treewright completion bash --install
    treewright completion zsh --install
    treewright completion fish --install
    """
    found = get_completion_class(shell)
    assert found is not None
    from treewright.surfaces.cli.main import cli

    made = found(cli, {}, "treewright", "_TREEWRIGHT_COMPLETE")
    text = made.source_vars() and made.source_template % made.source_vars()
    if not install:
        say(text)
        return
    path = _write(PLACES[shell], text)
    say(f"Written to {path}.")
    if told := PLACES[shell].then:
        say(told.format(path=path, folder=path.parent))
    say("It works in a new shell: type treewright and press Tab.")


def _write(place: Place, text: str) -> Path:
    from treewright.store.durable import make_folder, replace_file

    base = os.environ.get(place.variable, "")
    path = (Path(base) if base else Path.home() / place.usual) / place.below
    make_folder(path.parent)
    replace_file(path, [f"{text.rstrip()}\n".encode()])
    return path
