"""The commands that start an exploration: audit, brainstorm, attack, design, tree."""

import re
from pathlib import Path
from typing import Any

import click

from treewright.app.request import ExplorationRequest
from treewright.app.standing import BASELINE, baseline_of, read_baseline, write_baseline
from treewright.app.treewright import Treewright
from treewright.counted import counted
from treewright.errors import RunError
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.asking import terminal_ask
from treewright.surfaces.cli.drive import announce, drive
from treewright.surfaces.cli.naming import complete_preset

VERDICTS = ("confirmed", "marginal", "refuted", "incomplete_forbidden")
"""What `--fail-on` takes: the labels of the shipped code-audit; a mistyped one would be a gate that never closes."""

_FILE_NAME = re.compile(r"\S*\.(md|markdown|txt|rst|adoc|tex|toml|json|ya?ml|py)")
"""One word that ends so is a file's name, mistyped perhaps, and no prompt."""


def _start(
    preset: str,
    root: str,
    form: str,
    *,
    quiet: bool,
    fail_on: tuple[str, ...] = (),
    baseline: str = "",
    new_baseline: str = "",
    no_questions: bool = False,
    **given: Any,
) -> int:
    given.pop("min_frameworks", None)
    for name in ("out", "glossary", "seed_from"):
        given[name] = str(Path(given[name]).expanduser().absolute()) if given.get(name) else ""
    request = ExplorationRequest(preset=preset, root=root, base=str(Path.cwd()), **given)
    kept = read_baseline(Path(baseline).expanduser()) if baseline else None
    app = Treewright("cli")
    growing = app.start(request, terminal_ask(form, quiet=quiet, no_questions=no_questions))
    if kept is not None:
        write_baseline(growing.folder / BASELINE, kept)
    announce(f"{preset}: {growing.folder}", form, quiet=quiet)
    if estimate := growing.estimate():
        announce(estimate.text(), form, quiet=quiet)
    code = drive(app, growing, form, quiet=quiet, fail_on=fail_on)
    if new_baseline:
        view = app.view(str(growing.folder))
        standing = baseline_of(view.reader.tree, view.preset, view.reader, view.decided())
        write_baseline(Path(new_baseline).expanduser().absolute(), standing)
        announce(f"{counted(len(standing.findings), 'finding')} written to {new_baseline}", form, quiet=quiet)
    return code


@click.command(short_help="Audit a file or folder of code; no model, no network.")
@click.argument("path", default=".", type=click.Path())
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(VERDICTS, case_sensitive=False),
    metavar="VERDICT",
    help="Exit 1 when a finding has this verdict, such as confirmed.",
)
@click.option(
    "--changed-since", default="", metavar="REV", help="Audit only what changed since this revision."
)
@click.option(
    "--baseline", default="", type=click.Path(), metavar="FILE", help="Accept the findings in this file."
)
@click.option(
    "--write-baseline",
    "new_baseline",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="Write the findings that stand, for --baseline.",
)
@flags.exploring
def audit(path: str, form: str, quiet: bool, fail_on: tuple[str, ...], **given: Any) -> int:
    """Audit a file or folder of code; offline unless a model is named.

    \b
    treewright audit src                                 # what is wrong in src
    treewright audit . --changed-since main              # only what a branch changes
    treewright audit . --fail-on confirmed -q            # a gate: exit 1 on a confirmed finding
    """
    return _start("code-audit", path, form, quiet=quiet, fail_on=fail_on, **given)


@click.command(short_help="Grow ideas on a topic.")
@click.argument("topic", nargs=-1)
@click.option(
    "--mode", type=click.Choice(["research", "problem"]), default=None, help="Default: by the topic."
)
@flags.exploring
def brainstorm(topic: tuple[str, ...], form: str, quiet: bool, mode: str | None, **given: Any) -> int:
    """Grow ideas on a topic; without one, on what the project suggests.

    \b
    treewright brainstorm ways to cut our cold start --model ollama:NAME
    treewright brainstorm --mode problem the queue backs up at noon --rounds 2
    """
    return _start("brainstorm", " ".join(topic), form, quiet=quiet, mode=mode or "", **given)


@click.command(short_help="Grow critiques of a document: claims, method, evidence.")
@click.argument("file", type=click.Path())
@click.option("--focus", default="", help="A section, claim or equation to narrow it to.")
@flags.exploring
def attack(file: str, form: str, quiet: bool, **given: Any) -> int:
    """Attack a document: claims, method, evidence.

    \b
    treewright attack paper.md --model ollama:NAME
    treewright attack plan.md --focus "section 3" --field distributed-systems
    """
    return _start("attack", file, form, quiet=quiet, **given)


@click.command(short_help="Grow design options for a prompt or a file.")
@click.argument("prompt", nargs=-1, required=True)
@flags.exploring
def design(prompt: tuple[str, ...], form: str, quiet: bool, **given: Any) -> int:
    """Grow design options for a prompt, or a file that holds one.

    \b
    treewright design "Share a build cache between laptops; no new server" --model ollama:NAME
    treewright design prompt.md --width 40
    """
    if len(prompt) == 1 and _FILE_NAME.fullmatch(prompt[0]) and not Path(prompt[0]).expanduser().exists():
        raise RunError(
            "root_unparseable",
            f"There is no file {prompt[0]!r}, and as a prompt it says nothing.",
            "Name a file that exists, or write the prompt in words.",
        )
    return _start("design", " ".join(prompt), form, quiet=quiet, **given)


@click.command()
@click.argument("root")
@click.option(
    "--preset",
    required=True,
    shell_complete=complete_preset,
    help="A shipped preset, one of yours, or a path.",
)
@click.option("--mode", default="", help="The preset's mode, where it has several.")
@click.option("--focus", default="", help="Narrows an artifact.")
@flags.exploring
def tree(root: str, preset: str, form: str, quiet: bool, **given: Any) -> int:
    """Grow a tree with any preset.

    \b
    treewright tree paper.md --preset attack
    treewright tree "what we could build next" --preset ./my-preset.md
    """
    return _start(preset, root, form, quiet=quiet, **given)
