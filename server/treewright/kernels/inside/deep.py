# ruff: noqa: PTH118
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""A Jupyter kernel that is ready but for its sockets. Runs in the zygote, then in each kernel forked from it.

The parent imports ipykernel, builds the application, the interactive shell and the kernel object, runs one
throw-away cell and rehearses the making of sockets, but keeps no socket, thread or loop; the child makes those.
Written against ipykernel 7; `rehearse` fails in the parent, not in a child, when that changes.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_CHANNELS = ("shell", "stdin", "control", "iopub")


def _parts() -> Any:
    """The classes of ipykernel that are made anew in each child; they carry no types."""
    from types import SimpleNamespace

    from ipykernel.control import ControlThread
    from ipykernel.iostream import IOPubThread, OutStream

    return SimpleNamespace(ControlThread=ControlThread, IOPubThread=IOPubThread, OutStream=OutStream)


class DeepKernel:
    """The part of a kernel that can be built before the fork."""

    def __init__(self) -> None:
        # The debugger costs a socket, an object and threads; a kernel that is made to be judged needs none.
        sys.modules["debugpy"] = None  # type: ignore[assignment]  # None is how an import is blocked
        from ipykernel import debugger
        from ipykernel.ipkernel import IPythonKernel
        from ipykernel.kernelapp import IPKernelApp
        from IPython.core.history import HistoryManager
        from IPython.core.profiledir import ProfileDir
        from jupyter_client.session import Session
        from traitlets.config import Config

        del sys.modules["debugpy"]
        debugger._is_debugpy_available = False
        history: Any = HistoryManager
        history.enabled = False
        config = Config()
        config.HistoryManager.enabled = False
        config.IPKernelApp.capture_fd_output = False
        config.InteractiveShell.colors = "nocolor"
        app: Any = IPKernelApp.instance(config=config)
        app.log_level = 50
        app.user_ns = {}
        profiles: Any = ProfileDir
        app.profile_dir = profiles.create_profile_dir(
            os.path.join(os.environ["IPYTHONDIR"], "profile_default")
        )
        app.session = Session(key=b"rehearsal", config=config, parent=app)
        app.configure_tornado_logger()
        self.app = app
        self.kernel: Any = IPythonKernel.instance(
            parent=app, session=app.session, log=app.log, profile_dir=app.profile_dir, user_ns=app.user_ns
        )
        self.shell = shell = self._shell()
        shell.configurables.append(app)
        app.kernel, app.shell = self.kernel, shell
        shell.run_cell("1 + 1\n", store_history=False, silent=True)
        shell.reset(new_session=True)
        shell.execution_count = 1
        self._rehearse()

    def _shell(self) -> Any:
        return self.kernel.shell

    def _rehearse(self) -> None:
        """Make and unmake what a child will make, so that its first time is not anybody's first time."""
        import zmq
        from tornado.ioloop import IOLoop
        from zmq.eventloop.zmqstream import ZMQStream

        parts = _parts()
        session = self.app.session
        context = zmq.Context()
        socket = context.socket(zmq.XPUB)
        socket.bind("inproc://rehearsal")
        iopub = parts.IOPubThread(socket, pipe=False, session=session)
        control = parts.ControlThread(daemon=True)
        stream = ZMQStream(context.socket(zmq.ROUTER), control.io_loop)
        out = parts.OutStream(session, iopub, "stdout", watchfd=False)
        frames = session.serialize(session.msg("status", {"execution_state": "idle"}))
        session.deserialize(session.feed_identities(frames)[1])
        stream.close()
        control.io_loop.close()
        loop = IOLoop(make_current=False)
        loop.close()
        for one in (iopub._event_puller, iopub._xpub_stream):
            one.close()
        iopub.io_loop.close()
        iopub.thread = out = None
        del out
        context.destroy(linger=0)

    def become(self, connection: dict[str, Any], ready: Any, names: dict[str, Any]) -> None:
        """Make sockets, threads and the loop, and serve until shut down.

        Args:
            connection: `transport`, `ip`, `key`, `signature_scheme` and the five ports; `heartbeat` false leaves
                that out.
            ready: called without arguments when the sockets are bound.
            names: put into the user's namespace.
        """
        import signal

        app = self.app
        app.transport, app.ip = connection["transport"], connection["ip"]
        for name in (*_CHANNELS, "hb"):
            setattr(app, f"{name}_port", int(connection[f"{name}_port"]))
        self._new_session(connection)
        self._bind()
        if connection.get("heartbeat", True):
            app.init_heartbeat()
        app.init_io()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._connect()
        self.shell.user_ns.update(names)
        ready()
        app.start()

    def _new_session(self, connection: dict[str, Any]) -> None:
        import uuid

        session = self.app.session
        session.key = str(connection["key"]).encode("ascii")
        session.signature_scheme = connection.get("signature_scheme", "hmac-sha256")
        session.session = uuid.uuid4().hex
        session.pid = os.getpid()

    def _bind(self) -> None:
        import zmq

        app, parts = self.app, _parts()
        app.context = context = zmq.Context()
        for name in _CHANNELS:
            socket = context.socket(zmq.XPUB if name == "iopub" else zmq.ROUTER)
            socket.linger = 1000
            if name != "iopub":
                socket.router_handover = 1
            setattr(app, f"{name}_port", app._bind_socket(socket, getattr(app, f"{name}_port")))
            setattr(app, f"{name}_socket", socket)
        app.control_thread = parts.ControlThread(daemon=True)
        app.iopub_thread = parts.IOPubThread(app.iopub_socket, pipe=False, session=app.session)
        app.iopub_thread.start()
        app.iopub_socket = app.iopub_thread.background_socket

    def _connect(self) -> None:
        """Hand the sockets to the kernel object, as its constructor would have."""
        from zmq.eventloop.zmqstream import ZMQStream

        app, kernel, shell = self.app, self.kernel, self.shell
        kernel._stdout, kernel._stderr = sys.stdout, sys.stderr
        kernel.iopub_thread, kernel.iopub_socket = app.iopub_thread, app.iopub_socket
        kernel.stdin_socket = app.stdin_socket
        kernel.control_thread = app.control_thread
        kernel.shell_stream = ZMQStream(app.shell_socket)
        kernel.control_stream = ZMQStream(app.control_socket, app.control_thread.io_loop)
        app.control_thread.start()
        kernel.record_ports({f"{name}_port": getattr(app, f"{name}_port") for name in (*_CHANNELS, "hb")})
        app.displayhook.get_execution_count = lambda: kernel.execution_count
        for one in (shell.displayhook, shell.display_pub):
            one.session, one.pub_socket = app.session, app.iopub_socket
        shell.displayhook.topic = kernel._topic("execute_result")
