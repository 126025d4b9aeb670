"""The six operations on persistent kernels."""

import asyncio
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from treewright.errors import KernelError
from treewright.kernels.limits import Limits
from treewright.kernels.operations import InstallPolicy, KernelOperations, OperationSettings
from treewright.kernels.results import ExecStatus

LIMITS = Limits(memory_bytes=256 << 20, output_bytes=32 << 10, processes=12)


@pytest.fixture(scope="module")
def operations() -> Iterator[KernelOperations]:
    """Persistent kernels with small limits."""
    with KernelOperations(OperationSettings(limits=LIMITS, timeout_s=20)) as made:
        made.exec("1")
        yield made


@pytest.mark.requirement("kernels:operations:exec")
def test_code_is_executed_and_its_state_stays(operations: KernelOperations) -> None:
    first = operations.exec("x = 20\nprint('said')\nx + 1")
    assert (first.status, first.stdout, first.result) == (ExecStatus.OK, "said\n", "21")
    second = operations.exec("x * 2")
    assert (second.result, second.kernel_restarted) == ("40", False)
    raw = operations.exec("import os\n_ = os.system('echo raw; echo bad >&2')")
    assert (raw.stdout, raw.stderr) == ("raw\n", "bad\n")


@pytest.mark.requirement("kernels:operations:error")
def test_an_exception_comes_as_fields_without_colours(operations: KernelOperations) -> None:
    result = operations.exec("def f():\n    raise LookupError('gone')\nf()")
    assert (result.status, result.error, result.message) == (ExecStatus.ERROR, "LookupError", "gone")
    assert "\x1b" not in "".join(result.traceback)
    assert operations.exec("1").status is ExecStatus.OK
    assert operations.exec("input()").error == "StdinNotImplementedError"


@pytest.mark.requirement("kernels:operations:sessions")
def test_sessions_do_not_see_each_other(operations: KernelOperations) -> None:
    operations.exec("shared = 1", session="one")
    assert operations.exec("shared", session="two").error == "NameError"
    operations.close_session("one")
    operations.close_session("two")
    with pytest.raises(KernelError) as error:
        operations.list_vars("one")
    assert error.value.code == "kernel_unknown"


@pytest.mark.requirement("kernels:operations:list-vars", "kernels:operations:inspect")
def test_names_are_listed_and_inspected(operations: KernelOperations) -> None:
    operations.exec(
        "items = [1, 2, 3]\ndef area(w, h=2):\n    'Width times height.'\n    return w * h\n"
        "class Rude:\n    def __repr__(self):\n        raise ValueError\nrude = Rude()\n_hidden = 1",
        session="names",
    )
    listed = {one.name: one for one in operations.list_vars("names").variables}
    assert (listed["items"].type, listed["items"].size, listed["items"].value) == ("list", 3, "[1, 2, 3]")
    assert "ValueError" in listed["rude"].value
    assert "_hidden" not in listed
    found = operations.inspect("area", "names").found
    assert found is not None
    assert (found.signature, found.doc) == ("(w, h=2)", "Width times height.")
    assert "return w * h" in found.source
    assert operations.inspect("nothing", "names").found is None
    assert operations.inspect("items.append", "names").found is not None
    with pytest.raises(KernelError) as error:
        operations.inspect("__import__('os')._exit(0)", "names")
    assert error.value.code == "kernel_request_invalid"


@pytest.mark.requirement("kernels:operations:timeout")
def test_what_goes_on_too_long_is_interrupted_and_keeps_its_state(operations: KernelOperations) -> None:
    operations.exec("kept = 1", session="slow")
    result = operations.exec("while True: pass", session="slow", timeout_s=0.3)
    assert result.status is ExecStatus.TIMEOUT
    again = operations.exec("kept", session="slow")
    assert (again.result, again.kernel_restarted) == ("1", False)


@pytest.mark.requirement("kernels:operations:timeout-killed")
def test_what_cannot_be_interrupted_is_killed_and_the_next_call_says_so(operations: KernelOperations) -> None:
    code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsum(iter(int, 1))"
    started = time.monotonic()
    assert operations.exec(code, session="stubborn", timeout_s=0.3).status is ExecStatus.TIMEOUT
    assert time.monotonic() - started < 6
    again = operations.exec("1", session="stubborn")
    assert (again.status, again.kernel_restarted) == (ExecStatus.OK, True)
    assert again.reason


@pytest.mark.requirement("kernels:operations:back-within-5s")
@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "import os; os.kill(os.getpid(), 9)",
        "import ctypes; ctypes.string_at(0)",
        "import os\nwhile True: os.fork()",
        "print('x' * (1 << 20))",
    ],
    ids=["exit", "kill", "segfault", "fork-bomb", "flood"],
)
def test_a_kernel_that_died_is_back_within_five_seconds_and_says_so(
    operations: KernelOperations, code: str
) -> None:
    operations.exec("kept = 1", session="dies")
    died = operations.exec(code, session="dies")
    assert died.status in (ExecStatus.DIED, ExecStatus.OUTPUT_LIMIT)
    assert "next call" in died.message
    started = time.monotonic()
    back = operations.exec("'kept' in globals()", session="dies")
    assert time.monotonic() - started < 5
    assert (back.result, back.kernel_restarted) == ("False", True)
    assert not operations.exec("1", session="dies").kernel_restarted


@pytest.mark.requirement("kernels:operations:interrupt", "kernels:operations:busy")
def test_an_execution_is_interrupted_from_another_thread_and_a_second_one_is_refused(
    operations: KernelOperations,
) -> None:
    operations.exec("1", session="busy")
    assert operations.interrupt("busy") is False
    found = []
    thread = threading.Thread(
        target=lambda: found.append(
            operations.exec("import time\nprint('on')\ntime.sleep(30)", session="busy")
        )
    )
    thread.start()
    session = operations._sessions["busy"]
    deadline = time.monotonic() + 10
    while not session._lock.locked() and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.001)
    with pytest.raises(KernelError) as error:
        operations.exec("1", session="busy")
    assert error.value.code == "kernel_busy"
    assert operations.interrupt("busy") is True
    thread.join(10)
    assert not thread.is_alive()
    assert found[0].status is ExecStatus.INTERRUPTED


@pytest.mark.requirement("kernels:operations:reset")
def test_a_reset_leaves_nothing_and_is_no_surprise(operations: KernelOperations) -> None:
    operations.exec("kept = 1", session="again")
    operations.reset("again")
    result = operations.exec("'kept' in globals()", session="again")
    assert (result.result, result.kernel_restarted) == ("False", False)


@pytest.mark.requirement("kernels:operations:idle")
def test_an_idle_kernel_stops_and_the_next_call_says_so() -> None:
    # Long enough that no call here outlasts it on a busy machine, whose keeper looks every quarter of it.
    with KernelOperations(OperationSettings(limits=LIMITS, idle_timeout_s=2.0)) as made:
        made.exec("kept = 1")
        session = made._sessions["default"]
        deadline = time.monotonic() + 60
        while session.alive and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not session.alive
        result = made.exec("1")
    assert result.kernel_restarted
    assert "without use" in result.reason


def test_a_call_that_comes_while_an_idle_kernel_ends_is_not_told_that_it_is_busy() -> None:
    with KernelOperations(OperationSettings(limits=LIMITS)) as made:
        for _ in range(3):
            made.exec("1")
            session = made._sessions["default"]
            ending = threading.Thread(target=session.stop_when_idle, args=(0.0,))
            ending.start()
            result = made.exec("1")
            ending.join(60)
            assert not ending.is_alive()
            assert result.result == "1"


@pytest.mark.requirement("kernels:operations:many")
def test_there_are_only_so_many_sessions() -> None:
    with KernelOperations(OperationSettings(limits=LIMITS, most=1)) as made:
        made.exec("1")
        with pytest.raises(KernelError) as error:
            made.exec("1", session="second")
    assert error.value.code == "kernel_request_invalid"


def _wheel(folder: Path, name: str, version: str = "1.0") -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "ANSWER = 42\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.mark.requirement("kernels:operations:install-off")
def test_installing_is_off_by_default(operations: KernelOperations) -> None:
    with pytest.raises(KernelError) as error:
        operations.install_pkg("anything")
    assert error.value.code == "kernel_install_disabled"


@pytest.mark.requirement("kernels:operations:install-allowed")
def test_only_what_is_allowed_is_installed_and_only_from_the_wheel_folder(tmp_path: Path) -> None:
    _wheel(tmp_path, "twsample")
    policy = InstallPolicy(enabled=True, allowed=("Tw_Sample", "twsample", "twmissing"), wheels=tmp_path)
    with KernelOperations(OperationSettings(limits=LIMITS, install=policy)) as made:
        assert made.exec("import twsample").error == "ModuleNotFoundError"
        for name, code in (
            ("requests", "kernel_package_not_allowed"),
            ("twmissing", "kernel_package_missing"),
            ("twsample --index-url http://x", "kernel_request_invalid"),
            ("../twsample", "kernel_request_invalid"),
        ):
            with pytest.raises(KernelError) as error:
                made.install_pkg(name)
            assert error.value.code == code
        made.install_pkg("twsample")
        assert made.exec("import twsample; twsample.ANSWER").result == "42"
        assert made.exec("import twsample", session="other").error == "ModuleNotFoundError"


def test_operations_are_used_from_asynchronous_code() -> None:
    async def go() -> str:
        async with KernelOperations(OperationSettings(limits=LIMITS)) as made:
            return (await asyncio.to_thread(made.exec, "6 * 7")).result

    assert asyncio.run(go()) == "42"
