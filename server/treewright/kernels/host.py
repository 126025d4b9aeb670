"""The one interface of every host of kernels, and the choice between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from treewright.errors import KernelError
from treewright.kernels.forked import ForkedHost
from treewright.kernels.limits import Limits
from treewright.kernels.pool import PoolHost
from treewright.kernels.trace import BranchTrace
from treewright.kernels.warm import can_fork
from treewright.search.checks import Plan

_PROBE = """
import json, sys
try:
    import ipykernel
    version = list(ipykernel.version_info[:2])
except Exception:
    version = None
print(json.dumps({"python": list(sys.version_info[:2]), "ipykernel": version}))
"""
_PROBE_S = 30.0


class BranchHost(Protocol):
    """Runs branches, each in a kernel in which nothing ran before.

    Attributes:
        kind: `forked`, `pool` or `remote`.
        limits: of every branch.
    """

    kind: str
    limits: Limits

    def start(self) -> None:
        """Make ready; called by the first branch otherwise."""
        ...

    def run_branch(
        self,
        program: str,
        plan: Plan,
        *,
        files: Mapping[str, str] | None = None,
        tests: Mapping[str, str] | None = None,
    ) -> BranchTrace:
        """Run every check of a plan against a program."""
        ...

    def guarantees_missing(self) -> tuple[str, ...]:
        """Names of the contract's guarantees that this host could not give."""
        ...

    def close(self) -> None:
        """End everything."""
        ...


def probe_python(python: str) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Ask an interpreter for its version and that of its ipykernel.

    Raises:
        KernelError: E052, it is no Python that runs.
    """
    try:
        done = subprocess.run([python, "-s", "-c", _PROBE], capture_output=True, timeout=_PROBE_S, check=True)
        found = json.loads(done.stdout)
        version = tuple(found["python"])
        kernel = tuple(found["ipykernel"]) if found["ipykernel"] else None
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise KernelError(
            "E052",
            f"{python} does not answer as a Python interpreter does.",
            "Check the path given by --python.",
        ) from error
    return (int(version[0]), int(version[1])), (int(kernel[0]), int(kernel[1])) if kernel else None


def choose_host(
    *,
    python: str | None = None,
    kernel: str | None = None,
    limits: Limits | None = None,
    spares: int = 0,
    preload: Sequence[str] = ("pytest",),
    path: Sequence[str] = (),
    defines: tuple[str, ...] = (),
) -> ForkedHost | PoolHost:
    """The best host for an interpreter or a kernelspec.

    A named kernelspec is served by a pool. An interpreter with ipykernel 7 is served by a zygote of its own, one
    with an older ipykernel by a pool, one without by children of our own kernels. Where forking is not to be
    had, a pool serves.

    Raises:
        KernelError: E052, the interpreter or kernelspec is not to be had, or is older than Python 3.10.
    """
    limits = limits or Limits()
    if kernel is not None:
        return PoolHost(kernel, limits=limits, spares=max(1, spares), path=path, defines=defines)
    child = None
    if python is not None:
        version, ipykernel = probe_python(python)
        if version < (3, 10):
            raise KernelError(
                "E052", f"{python} is Python {version[0]}.{version[1]}; checks need 3.10 or later."
            )
        if ipykernel is not None and ipykernel < (7, 0):
            return PoolHost(python=python, limits=limits, spares=max(1, spares), path=path, defines=defines)
        if ipykernel is None:
            child, python = python, None
    if not can_fork():
        if child is not None:
            raise KernelError(
                "E052", f"{child} has no ipykernel.", f"Install it: {child} -m pip install ipykernel"
            )
        return PoolHost(python=python, limits=limits, spares=max(1, spares), path=path, defines=defines)
    return ForkedHost(
        python, limits=limits, spares=spares, preload=preload, path=path, defines=defines, child=child
    )


class BoundHost:
    """A host together with the files that every branch of one search gets; what the search engine sees.

    Args:
        host: runs the branches; ended by whoever made it.
        files: further files of the candidates', by path below their folder.
        tests: trusted test files and their conftest files, by path.
    """

    def __init__(
        self,
        host: BranchHost,
        *,
        files: Mapping[str, str] | None = None,
        tests: Mapping[str, str] | None = None,
    ) -> None:
        self._host = host
        self._files = dict(files or {})
        self._tests = dict(tests or {})

    def run_branch(self, program: str, plan: Plan) -> BranchTrace:
        """Run every check of a plan against a program in a fresh kernel.

        Raises:
            KernelError: kernels are not to be had, or the plan asks for what this host cannot do.
        """
        return self._host.run_branch(program, plan, files=self._files, tests=self._tests)


@contextlib.asynccontextmanager
async def open_host(host: BranchHost) -> AsyncIterator[BranchHost]:
    """Start a host and end it, from asynchronous code; its blocking calls belong in `asyncio.to_thread`."""
    try:
        await asyncio.to_thread(host.start)
        yield host
    finally:
        await asyncio.shield(asyncio.to_thread(host.close))
