"""The Jupyter seam: a provisioner that starts kernels by forking them from a warm parent.

Any program that uses jupyter_client can have it: a kernelspec whose metadata names `treewright-zygote`, after
`register()` in the same process or through the package's entry point.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import threading
from typing import Any

from jupyter_client.connect import LocalPortCache
from jupyter_client.localinterfaces import is_local_ip, local_ips
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from treewright.kernels.limits import Limits
from treewright.kernels.warm import Forked, Zygote

NAME = "treewright-zygote"
_PORTS = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")

_zygotes: dict[str, Zygote] = {}
_lock = threading.Lock()


def _zygote(python: str | None) -> Zygote:
    """The warm parent of an interpreter, one a process."""
    with _lock:
        found = _zygotes.get(python or "")
        if found is None:
            found = _zygotes[python or ""] = Zygote(python)
        return found


@atexit.register
def close_zygotes() -> None:
    """End the warm parents of this process."""
    with _lock:
        for zygote in _zygotes.values():
            zygote.close()
        _zygotes.clear()


class ZygoteProvisioner(KernelProvisionerBase):
    """Forks a kernel where others start a process.

    The kernelspec's `config` may hold `python` (interpreter of the warm parent) and `limits` (see `Limits`).
    Over TCP a kernel must share the host's network; over `ipc` it gets none.
    """

    python: str | None = None
    limits: dict[str, Any] = {}  # noqa: RUF012  traitlets hands configuration over by plain attribute

    _forked: Forked | None = None
    _code: int | None = None
    _ports_chosen = False

    def __init__(self, **kwargs: Any) -> None:
        self.python = kwargs.pop("python", None)
        self.limits = kwargs.pop("limits", {})
        super().__init__(**kwargs)

    @property
    def has_process(self) -> bool:
        """Whether there is a kernel."""
        return self._forked is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Choose ports and write the connection file, as jupyter_client's own provisioner does."""
        manager: Any = self.parent
        if manager is not None:
            if manager.transport == "tcp" and not is_local_ip(manager.ip):
                raise RuntimeError(
                    f"Kernels are forked on this machine only; its addresses are {local_ips()}."
                )
            if manager.cache_ports and manager.transport == "tcp" and not self._ports_chosen:
                cache = LocalPortCache.instance()
                for name in _PORTS:
                    setattr(manager, name, cache.find_available_port(manager.ip))
                # A restarted kernel is found by its clients where it was.
                self._ports_chosen = True
            elif manager.transport == "ipc":
                for number, name in enumerate(_PORTS, 1):
                    setattr(manager, name, getattr(manager, name) or number)
            manager.write_connection_file()
            self.connection_info = manager.get_connection_info()
        return await super().pre_launch(cmd=kwargs.pop("cmd", None) or [], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:  # noqa: ARG002  the seam's signature
        """Fork a kernel that serves the connection information."""
        info: dict[str, Any] = dict(self.connection_info)
        key = info.get("key", b"")
        info["key"] = key.decode("ascii") if isinstance(key, bytes) else str(key)
        tcp = info.get("transport") == "tcp"
        limits = Limits.model_validate({"sealed": False, "network": tcp, **self.limits})
        self._code = None

        def fork() -> Forked:
            forked = _zygote(self.python).fork(limits, connection=info, lasting=True)
            try:
                forked.wait_ready()
            except BaseException:
                forked.close()
                raise
            return forked

        self._forked = await asyncio.to_thread(fork)
        for stream in (self._forked.out, self._forked.err):
            threading.Thread(target=_drain, args=(os.dup(stream),), daemon=True).start()
        return self.connection_info

    async def poll(self) -> int | None:
        """None while the kernel lives, else its exit code."""
        if self._forked is None:
            return 0 if self._code is None else self._code
        self._forked.control.setblocking(False)
        try:
            self._forked.control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            # Its end, with a message of ours unread; the last words are still to be heard.
            self._forked.control.setblocking(True)
        words = self._forked.hear()
        self._code = (words.get("end") or {}).get("code")
        self._code = 1 if self._code is None else self._code
        self._close()
        return self._code

    async def wait(self) -> int | None:
        """Wait for the kernel's end."""
        while (code := await self.poll()) is None:  # noqa: ASYNC110  the far end is a socket, polled
            await asyncio.sleep(0.02)
        return code

    async def send_signal(self, signum: int) -> None:
        """Interrupt it, or end it; other signals do not reach it."""
        if self._forked is None or signum == 0:
            return
        if signum == signal.SIGINT:
            self._forked.say(do="interrupt")
        else:
            await self.kill()

    async def kill(self, restart: bool = False) -> None:  # noqa: ARG002  the seam's signature
        """End the kernel and everything it started."""
        if self._forked is not None:
            self._forked.say(do="kill")
            await asyncio.wait_for(self.wait(), 10)

    async def terminate(self, restart: bool = False) -> None:
        """End it; there is nothing softer that would be surer."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Leave nothing."""
        await self.kill(restart)
        self._close()

    def _close(self) -> None:
        if self._forked is not None:
            self._forked.close()
            self._forked = None


def _drain(number: int) -> None:
    """Read a pipe to its end, so that a kernel never blocks on a full one."""
    with open(number, "rb", buffering=0) as pipe:
        while pipe.read(1 << 16):
            pass


def register() -> None:
    """Make the provisioner known to jupyter_client in this process, without the package's entry point."""
    from importlib.metadata import EntryPoint

    value = f"{ZygoteProvisioner.__module__}:{ZygoteProvisioner.__name__}"
    entry = EntryPoint(NAME, value, KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[NAME] = entry
