"""Printing: whatever a file, a model or a name holds, the terminal is shown it and is not steered by it."""

import contextlib
import errno
import io
import os
import shlex
import sys
from pathlib import Path

import click

from treewright.tree.visible import visible


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text with its control characters written out.

    Args:
        text: what to print; paths and numbers too.
        err: to stderr.
        nl: end the line.

    Raises:
        BrokenPipeError: whoever read it has gone.
        StoreError: it cannot be written, because the disk behind it is full for example.
    """
    try:
        click.echo(visible(str(text)), err=err, nl=nl)
    except BrokenPipeError:
        raise
    except OSError as fault:
        from treewright.store.durable import storage_error

        raise storage_error(fault, Path("stderr" if err else "stdout"), "write to") from fault


def warn(text: str) -> None:
    """Say a sentence on stderr, beside the answer."""
    say(f"treewright: {text}", err=True)


def short_path(path: Path) -> Path:
    """Return a path as it is shortest for a person: below the current folder, else whole."""
    with contextlib.suppress(ValueError, OSError):
        return path.relative_to(Path.cwd())
    return path


def go_on(folder: Path) -> str:
    """Return the line that names the command by which a stopped run goes on, to be pasted into a shell."""
    return f"Go on with: treewright resume {shlex.quote(str(folder))}"


def warn_of_damage(lines: list[int], run: str) -> None:
    """Say on stderr that what is shown of a run is not all of it (contract: design, "The store").

    Args:
        lines: numbers of its journal's damaged lines; nothing is said when there are none.
        run: as the user named it.
    """
    if lines:
        named = ", ".join(map(str, lines[:5])) + (" and more" if len(lines) > 5 else "")
        say(f"warning: the journal is damaged at line {named}; what stood there is not shown.", err=True)
        say(f"  Mend it with: treewright recover {shlex.quote(run)}", err=True)


def prepare_streams() -> None:
    """Make the standard streams safe to use, however we were started.

    A closed one is opened on nothing: else the next file opened, a journal perhaps, would take its number and get what
    programs that we start print. What the locale's encoding cannot hold is written as an escape.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError as fault:
            if fault.errno != errno.EBADF:
                continue
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")
