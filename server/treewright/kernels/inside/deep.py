"""A Jupyter kernel that is ready but for its sockets. Runs in the zygote, then in each kernel forked from it.

The parent imports ipykernel, builds the application and the interactive shell and runs one throw-away cell, but
makes no socket, no thread and no loop; the child makes those. Written against ipykernel 7.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def _no_debugger() -> None:
    """The debugger costs a socket, an object and an import; a kernel that is forked to be judged needs none."""
    from ipykernel import debugger

    debugger._is_debugpy_available = False


class DeepKernel:
    """The part of a kernel that can be built before the fork."""

    def __init__(self) -> None:
        from IPython.core.history import HistoryManager
        from ipykernel.kernelapp import IPKernelApp
        from ipykernel.zmqshell import ZMQInteractiveShell
        from traitlets.config import Config

        _no_debugger()
        config = Config()
        config.HistoryManager.enabled = False
        config.IPKernelApp.capture_fd_output = False
        config.InteractiveShell.colors = "nocolor"
        HistoryManager.enabled = False
        app: Any = IPKernelApp.instance(config=config)
        app.log_level = 50
        self.app = app
        # What IPKernelApp.initialize would read from disk at each start is nobody's but the user's.
        app.init_crash_handler()
        app.user_ns = {}
        from IPython.core.profiledir import ProfileDir

        self._profile = os.environ.get("IPYTHONDIR", "")
        app.profile_dir = ProfileDir.create_profile_dir(os.path.join(self._profile, "profile_default"))
        self.shell: Any = ZMQInteractiveShell.instance(config=config, profile_dir=app.profile_dir, user_ns=app.user_ns)
        self._warm()

    def _warm(self) -> None:
        """One throw-away cell fills the caches that the first execution would."""
        import asyncio  # noqa: F401  imported before the fork
        import tornado.ioloop
        import tornado.platform.asyncio
        import zmq.eventloop.zmqstream  # noqa: F401

        shell = self.shell
        shell.run_cell("1 + 1\n", store_history=False, silent=True)
        shell.reset(new_session=True)
        shell.execution_count = 1

    def become(self, connection: dict[str, Any], ready: Any, names: dict[str, Any]) -> None:
        """Make sockets, threads, the kernel object and the loop, and serve until shut down.

        Args:
            connection: `transport`, `ip`, `key`, `signature_scheme` and the five ports.
            ready: called without arguments when the sockets are bound.
            names: put into the user's namespace.
        """
        import signal

        from jupyter_client.session import Session

        app, shell = self.app, self.shell
        app.transport, app.ip = connection["transport"], connection["ip"]
        for name in ("shell", "iopub", "stdin", "control", "hb"):
            setattr(app, f"{name}_port", int(connection[f"{name}_port"]))
        app.session = Session(key=str(connection["key"]).encode("ascii"), config=app.config, parent=app)
        app.session.signature_scheme = connection.get("signature_scheme", "hmac-sha256")
        app.init_sockets()
        # One thread fewer: nobody opens subshells in a kernel that is thrown away.
        app.shell_channel_thread = None
        if connection.get("heartbeat", True):
            app.init_heartbeat()
        app.log_connection_info()
        app.init_io()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        shell.kernel = None
        app.init_kernel()
        kernel = app.kernel
        shell.kernel = kernel
        shell.parent = kernel
        shell.configurables.append(app)
        app.shell = shell
        shell.user_ns.update(names)
        sys.stdout.flush()
        sys.stderr.flush()
        ready()
        app.start()
