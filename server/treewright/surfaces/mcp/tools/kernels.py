"""The six kernel tools. Each execution has limits of its own; its names live on between calls."""

import asyncio
from typing import Any

from treewright.counted import counted
from treewright.errors import KernelError
from treewright.surfaces.mcp.calls import Call
from treewright.surfaces.mcp.directive import Correction, Reply, done, refused

_TIMEOUT_S, _TIMEOUT_MOST_S = 60.0, 600.0
_SESSION_MOST = 64


def _session(call: Call) -> str:
    name: str = call.get("session", "default")
    if len(name) > _SESSION_MOST:
        raise Correction(
            "session", "it is too long", f"a name of at most {_SESSION_MOST} characters", "default"
        )
    return name


def _restarted(found: Any) -> str:
    if not found.kernel_restarted:
        return ""
    return f" kernel_restarted: {found.reason or 'the kernel is a new one'}; earlier names are gone."


async def kernel_exec(call: Call) -> Reply:
    """Execute code."""
    kernels = await call.office.kernels()
    session, code = _session(call), call.arguments["code"]
    if not isinstance(code, str):
        raise Correction("code", "it is no text", "Python code", "1 + 1")
    timeout = min(call.get("timeout_s") or _TIMEOUT_S, _TIMEOUT_MOST_S)

    async def work() -> Reply:
        found = await asyncio.to_thread(kernels.exec, code, session, timeout)
        facts = {"session": session, **found.model_dump(mode="json")}
        facts["outcome"], facts["said"] = facts.pop("status"), facts.pop("message")
        facts["exception"] = facts.pop("error")
        if found.status == "ok":
            return done(f"Executed.{_restarted(found)}", "kernel_exec", **facts)
        told = f"{found.status}: {found.error or ''} {found.message}".strip()
        return refused(
            f"execution_{found.status}",
            f"{told}{_restarted(found)}",
            "kernel_exec",
            kind="execution",
            **facts,
        )

    def stop() -> None:
        asyncio.get_running_loop().run_in_executor(None, _interrupt, kernels, session)

    return await call.long(work(), stop)


def _interrupt(kernels: Any, session: str) -> None:
    try:
        kernels.interrupt(session)
    except KernelError:
        return  # it has ended meanwhile


async def kernel_list_vars(call: Call) -> Reply:
    """List the names of a kernel."""
    kernels, session = await call.office.kernels(), _session(call)
    found = await call.thread(kernels.list_vars, session)
    rows = [each.model_dump(mode="json") for each in found.variables]
    told = f"{counted(len(rows), 'name')}.{_restarted(found)}"
    return done(
        told, "kernel_inspect", session=session, variables=rows, kernel_restarted=found.kernel_restarted
    )


async def kernel_inspect(call: Call) -> Reply:
    """Look closely at one name."""
    kernels, session = await call.office.kernels(), _session(call)
    name = call.arguments["name"]
    found = await call.thread(kernels.inspect, name, session)
    if found.found is None:
        told = f"There is no name {name!r}.{_restarted(found)}"
        return refused("name_unknown", told, "kernel_list_vars", session=session)
    seen = found.found.model_dump(mode="json")
    return done(
        f"{name} is a {found.found.type}.{_restarted(found)}",
        "kernel_exec",
        session=session,
        found=seen,
        kernel_restarted=found.kernel_restarted,
    )


async def kernel_reset(call: Call) -> Reply:
    """Give a session a fresh kernel."""
    kernels, session = await call.office.kernels(), _session(call)
    await call.thread(kernels.reset, session)
    return done("The kernel is fresh; its names are gone.", "kernel_exec", session=session)


async def kernel_interrupt(call: Call) -> Reply:
    """Stop what a kernel executes."""
    kernels, session = await call.office.kernels(), _session(call)
    stopped = await call.thread(kernels.interrupt, session)
    told = "Interrupted." if stopped else "Nothing was being executed."
    return done(told, "kernel_exec", session=session, interrupted=stopped)


async def kernel_install_pkg(call: Call) -> Reply:
    """Install a package for a session."""
    kernels, session = await call.office.kernels(), _session(call)
    package = call.arguments["package"]

    async def work() -> Reply:
        found = await asyncio.to_thread(kernels.install_pkg, package, session)
        return done(
            f"Installed {package}.",
            "kernel_exec",
            session=session,
            package=package,
            wheels=list(found.wheels),
        )

    return await call.long(work())
