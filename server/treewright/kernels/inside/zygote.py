# ruff: noqa: PTH100, PTH118, PTH120, PTH123
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""The warm parent: everything imported, nothing opened, one fork a kernel.

Started as `python zygote.py DESCRIPTOR` by `treewright.kernels.warm`. Requests arrive on a socket of messages
(JSON, with descriptors attached); the answer to each comes on the control socket that it carried. The process
has one thread, runs no candidate code and ends when the socket closes. Standard library only but for ipykernel,
so any interpreter with ipykernel will do.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import signal
import socket
import sys
import types
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


GUARD = ("streams", "observe", "guard")
CONTAIN = ("contain", "watch")


def texts_of(names: tuple[str, ...]) -> list[str]:
    """The texts of files beside this one."""
    found = []
    for name in names:
        with open(os.path.join(_HERE, f"{name}.py"), encoding="utf-8") as file:
            found.append(file.read())
    return found


def load_files(*names: str, into: dict[str, Any] | None = None) -> Any:
    """Execute files beside this one, in order and in one namespace, as a module that is nowhere in `sys.modules`.

    Args:
        names: file names without their ending; the last one names the module.
        into: what the module's namespace holds beforehand.
    """
    return load_texts(f"<treewright {names[-1]}>", texts_of(names), into)


def load_texts(name: str, texts: list[str], into: dict[str, Any] | None = None) -> Any:
    """Execute a module's texts with builtins of its own."""
    import builtins

    module = types.ModuleType(name)
    module.__dict__.update(into or {})
    module.__dict__["__builtins__"] = dict(vars(builtins))
    # Dataclasses look their module up while they are made.
    sys.modules[name] = module
    try:
        for text in texts:
            exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102  our own files
    finally:
        del sys.modules[name]
    return module


def receive(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """One request and its descriptors, or None at the end."""
    numbers = array.array("i")
    space = socket.CMSG_SPACE(16 * numbers.itemsize)
    data, ancillary, _, _ = control.recvmsg(1 << 20, space)
    if not data:
        return None
    for level, kind, raw in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(raw[: len(raw) - len(raw) % numbers.itemsize])
    return json.loads(data), list(numbers)


class Zygote:
    """Answers requests to fork.

    Args:
        control: where requests come from.
        plain: text of `treewright.search.plain`.
        preload: modules to import before the first fork.
        bare: fork workers of `screener` instead of Jupyter kernels.
        without: names of what the system gives and is not to be used.
    """

    def __init__(
        self, control: socket.socket, plain: str, preload: list[str], bare: bool, without: list[str]
    ) -> None:
        self._control = control
        self.contain = load_files(*CONTAIN)
        found: dict[str, bool] = self.contain.probe()
        self.gives = {name: given and name not in without for name, given in found.items()}
        self.plain = plain
        self.path: list[str] = []
        encode = load_texts("<treewright plain>", [plain]).encode
        self.missing = [name for name in preload if not _import(name)]
        self._deep: Any = None if bare else load_files("deep").DeepKernel()
        self.guard = load_files(*GUARD, into={"encode": encode})
        self.pytests = load_files("pytests", into={"guard": self.guard})
        several = load_files("several", into={"guard": self.guard})
        self.screener = load_files(
            "screener", into={"guard": self.guard, "pytests": self.pytests, "several": several}
        )

    def serve(self) -> None:
        """Fork until the other side goes away."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.collect()
        gc.freeze()
        self._control.send(
            json.dumps({"gives": self.gives, "missing": self.missing, "version": sys.version}).encode()
        )
        while (asked := receive(self._control)) is not None:
            request, descriptors = asked
            self._fork(request, descriptors)

    def _fork(self, request: dict[str, Any], descriptors: list[int]) -> None:
        control = socket.socket(fileno=descriptors[0])
        try:
            child = self.contain.fork_into_box(self.gives)
        except OSError as error:
            child = -1
            with contextlib.suppress(OSError):
                control.send(json.dumps({"failed": str(error)}).encode())
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            self.contain.guard_box(
                self.gives, request, control, lambda: self._become(request, control, descriptors[1:])
            )
        control.close()
        for number in descriptors[1:]:
            os.close(number)

    def _become(self, request: dict[str, Any], control: socket.socket, descriptors: list[int]) -> None:
        """The kernel's process, before anything of the candidate's."""
        out, err, *channels = descriptors
        null = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(number, target)
        self.contain.close_descriptors([control.fileno(), *channels])
        os.environ.clear()
        os.environ.update(request["env"])
        _fresh_state()
        self.path = request.get("path", [])
        sys.path[:] = [*self.path, *(entry for entry in sys.path if entry != _HERE)]
        if self._deep is None:
            control.close()
            wire = socket.socket(fileno=channels[0])
            self.screener.Screener(wire, request["cwd"], self.gives["processes"]).serve()
            return

        def ready() -> None:
            control.send(json.dumps({"ready": True}).encode())
            control.close()

        if request.get("own_limits"):
            self.guard.limit_process(request["own_limits"])
        names = {"__treewright__": _Entry(self, channels)} if request.get("checks", True) else {}
        self._deep.become(request["connection"], ready, names)


class _Entry:
    """What the execute request of a branch calls; taken out of the namespace before the candidate runs."""

    def __init__(self, zygote: Zygote, channels: list[int]) -> None:
        self._zygote = zygote
        self._channels = channels

    def __call__(self, text: str) -> None:
        plan = json.loads(text)
        self._zygote._deep.shell.user_ns.pop("__treewright__", None)
        if plan.get("python"):
            self._in_child(plan.pop("python"), plan)
            return
        guard = self._zygote.guard
        send = guard.send_to_descriptor(self._channels[0])
        (self._zygote.pytests if plan.get("pytest") else guard).run(plan, send, forward_to_descriptors())

    def _in_child(self, python: str, plan: dict[str, Any]) -> None:
        """Run the plan in a plain interpreter, in this box and on the same channel."""
        import subprocess

        texts = {"guard": texts_of(GUARD), "pytests": texts_of(("pytests",))}
        request = {**texts, "plain": self._zygote.plain, "path": list(self._zygote.path), "plan": plan}
        command = [python, "-s", os.path.join(_HERE, "child.py"), str(self._channels[0])]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=1, stderr=2, pass_fds=self._channels[:1]
        ) as child:
            os.close(self._channels[0])
            child.communicate(json.dumps(request).encode())
        if child.returncode != 0:
            # A plan's own process says how it ended; the kernel around it ends the same way.
            code = child.returncode
            if code < 0:
                signal.signal(-code, signal.SIG_DFL) if -code not in (
                    signal.SIGKILL,
                    signal.SIGSTOP,
                ) else None
                os.kill(os.getpid(), -code)
            os._exit(code)
        os._exit(0)


def forward_to_descriptors() -> Any:
    """Passes printed text to descriptors 1 and 2, whatever `sys.stdout` has become."""
    write = os.write

    def forward(stream: str, text: str) -> None:
        view = memoryview(text.encode("utf-8", "replace"))
        while view:
            view = view[write(1 if stream == "stdout" else 2, view) :]

    return forward


def _fresh_state() -> None:
    """Nothing that one kernel may know of another: random numbers, temporary folder, threads' locks."""
    import random
    import tempfile

    random.seed()
    tempfile.tempdir = None
    tempfile._name_sequence = None  # type: ignore[attr-defined]  # private, and shared by forks otherwise
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(int.from_bytes(os.urandom(4), "little"))


def _import(name: str) -> bool:
    try:
        __import__(name)
    except Exception:  # noqa: BLE001  a broken package must not take the kernels down; it is named instead
        return False
    return True


def main() -> None:
    """Read the settings from the socket, get warm, serve."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    asked = receive(control)
    if asked is None:
        return
    settings = asked[0]
    contain = load_files(*CONTAIN)
    contain.die_with_parent()
    contain.enter_user_namespace()
    try:
        zygote = Zygote(
            control, settings["plain"], settings["preload"], bool(settings["bare"]), settings["without"]
        )
    except Exception as error:  # noqa: BLE001  whoever started us must learn why
        control.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        return
    zygote.serve()


if __name__ == "__main__":
    main()
