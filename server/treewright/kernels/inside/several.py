"""Runs many candidates one after the other in one process: a sieve, not a verdict.

Each gets a namespace of its own, and between two of them the process is looked at: when a candidate has changed
anything that the next one could see (builtins, modules, the folder, the environment, signal handlers, random
numbers, threads), nothing more is run here and the rest goes to a fresh process. What passes is run
again alone by whoever asked, so that only a failure may rest on this. Loaded like `guard`, whose `Run` it is given.
"""

from __future__ import annotations

import ast
import gc
import os
import signal
import sys
from collections.abc import Callable
from operator import is_
from typing import Any

guard: Any = globals().get("guard")  # put here by whoever loads this file

_getpid, _exit = os.getpid, os._exit
_getsignal = signal.getsignal

_HARMLESS = frozenset(
    (
        "array.__new__",
        "builtins.id",
        "builtins.input",
        "code.__new__",
        "compile",
        "cpython.run_stdin",
        "exec",
        "gc.get_objects",
        "glob.glob",
        "import",
        "marshal.loads",
        "object.__getattr__",
        "os.listdir",
        "os.scandir",
        "os.walk",
        "sys._current_frames",
        "sys._getframe",
        "time.sleep",
    )
)
"""Audit events (PEP 578) after which the next candidate still sees what this one saw."""

_WATCHED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1)


_SIZED = (dict, list, set)


class Surroundings:
    """What one candidate could leave behind for the next."""

    def __init__(self) -> None:
        self.touched = False
        self._modules: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._sized: list[tuple[Any, int]] = []
        self._numbers: tuple[Any, ...] = ()

    def note(self, before: set[str], imported: list[str]) -> None:
        """Remember how it is now; from here on whatever reaches the system is noticed.

        Args:
            before: names of the modules that were there before anything was imported for the candidates.
            imported: names of those that the candidates import themselves.
        """
        theirs = {name for name in sys.modules if name not in before and not _is_library(name)}
        names = {"builtins", "os", "time", *imported, *theirs} - {"sys", "solution", "__main__"}
        found = [vars(sys.modules[name]) for name in sorted(names & set(sys.modules))]
        self._modules = [(one, dict(one)) for one in found]
        for name in theirs & names:
            self._measure(vars(sys.modules[name]))
        self._numbers = self._look()
        sys.addaudithook(self._heard)

    def _measure(self, space: dict[str, Any]) -> None:
        """Note the sizes of a module's collections and of those in its classes: registers that may be added to."""
        for value in list(space.values()):
            held = list(vars(value).values()) if isinstance(value, type) else [value]
            self._sized += [(one, len(one)) for one in held if type(one) in _SIZED]

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _HARMLESS:
            return
        if event == "open" and isinstance(args[1], str) and not set(args[1]) & set("wax+"):
            return
        self.touched = True

    def changed(self) -> bool:
        """Whether anything is not as it was noted."""
        if self.touched or self._numbers != self._look():
            return True
        if any(len(one) != size for one, size in self._sized):
            return True
        return any(
            len(now) != len(then) or not all(map(is_, now.values(), then.values()))
            for now, then in self._modules
        )

    @staticmethod
    def _look() -> tuple[Any, ...]:
        random, decimal = sys.modules.get("random"), sys.modules.get("decimal")
        context = decimal.getcontext() if decimal else None
        return (
            len(sys.modules),
            tuple(sys.path),
            sys.getrecursionlimit(),
            sys.getprofile(),
            len(sys._current_frames()),
            gc.isenabled(),
            random.getstate() if random else None,
            (context.prec, context.rounding, str(context.traps)) if context else None,
            [_getsignal(number) for number in _WATCHED_SIGNALS],
        )


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _import_ahead(source: str) -> list[str]:
    """Import what a candidate imports when it is loaded, so that none of the others is the first to do so.

    Returns:
        The names of all modules that it imports.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    for name in found:
        try:
            __import__(name)
        except Exception:  # noqa: BLE001 S112 the candidate finds out by itself
            continue
    return found


def run(plan: dict[str, Any], send: Callable[[bytes], None]) -> None:
    """Run a plan against several candidates, until one of them leaves something behind.

    Args:
        plan: see `treewright.kernels.several`; `programs` are the sources.
        send: takes the bytes of one record.
    """
    channel = guard.Channel(send, plan.pop("secret"))
    sources = plan.pop("programs")

    def forward(_stream: str, _text: str) -> None:
        """What is printed is kept check by check; nobody reads it here."""

    with guard.no_running_loop():
        prepared = guard.Run(plan, channel, forward)
        prepared.prepare()
        before = set(sys.modules)
        imported = _import_ahead(sources[0])
        process = _getpid()
        # An empty candidate first: what every run leaves (streams, the module's name) is there from the start.
        guard.Run({**plan, "source": "", "checks": []}, channel, forward, prepared).brief()
        surroundings = Surroundings()
        surroundings.note(before, imported)
        for number, source in enumerate(sources):
            found = guard.Run({**plan, "source": source}, channel, forward, prepared).brief()
            if _getpid() != process:
                _exit(0)
            channel.say({"k": "program", "number": number, **found})
            if _spent(found) or surroundings.changed():
                break
        channel.say({"k": "end"})


def _spent(found: dict[str, Any]) -> bool:
    """Whether a candidate may have used up what the next one needs: memory, or the output of the process."""
    return bool(found["over"]) or any(
        one.get("error") == "MemoryError" for one in (found["loaded"], *found["checks"])
    )
