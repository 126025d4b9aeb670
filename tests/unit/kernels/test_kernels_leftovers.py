"""What is left of kernels when they are gone: nothing, however they went."""

import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.unit.kernels.kernel_plans import RIGHT, SMALL, passed, plan_of, value
from treewright.kernels import folder
from treewright.kernels.forked import ForkedHost
from treewright.kernels.trace import Ending

PLAN = plan_of(value("double(3)", 6))


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _settled(measure: "object", expected: int) -> bool:
    """Wait, at most five seconds, until a measure is back at what it was."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if measure() <= expected:  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


def _family(pid: int) -> int:
    return len(psutil.Process(pid).children(recursive=True))


@pytest.mark.slow
@pytest.mark.requirement("kernels:leftovers:two-hundred", "kernels:leftovers:memory")
def test_two_hundred_branches_leave_no_process_file_port_or_memory() -> None:
    with ForkedHost(limits=SMALL) as host:
        for _ in range(10):
            host.run_branch(RIGHT, PLAN)
        pid, home = host.zygote.pid, host.zygote.home
        assert pid is not None
        assert home is not None
        before = (_descriptors(), threading.active_count(), len(psutil.net_connections()))
        parent, mine = (
            psutil.Process(pid).memory_info().rss,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        )
        for number in range(200):
            trace = host.run_branch(RIGHT, PLAN)
            assert passed(PLAN, trace) == [True], number
        assert _settled(lambda: _family(pid), 0)
        assert [path.name for path in home.path.iterdir()] == ["warm"]
        assert _settled(_descriptors, before[0])
        assert threading.active_count() == before[1]
        assert len(psutil.net_connections()) <= before[2]
        assert psutil.Process(pid).memory_info().rss < parent + (4 << 20)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < mine + 8 * 1024
        path = home.path
    assert not path.exists()
    assert not psutil.pid_exists(pid)


@pytest.mark.slow
@pytest.mark.requirement("kernels:leftovers:host-killed")
def test_a_host_that_is_killed_takes_its_kernels_along_and_the_next_one_sweeps_its_folder(
    tmp_path: Path,
) -> None:
    script = tmp_path / "host.py"
    script.write_text(
        textwrap.dedent("""
            import sys
            from treewright.kernels.forked import ForkedHost
            from treewright.search.checks import Check, Plan

            host = ForkedHost(spares=2)
            host.start()
            host.wait_spares(20)
            print(host.zygote.pid, host.zygote.home.path, flush=True)
            plan = Plan(checks=(Check(id="c1", kind="value", source="", evaluate="1"),), per_branch_timeout_s=60)
            host.run_branch("import time, subprocess\\nsubprocess.Popen(['sleep', '77777'], start_new_session=True)\\ntime.sleep(60)", plan)
        """),
        encoding="utf-8",
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid, path = process.stdout.readline().split()
        deadline = time.monotonic() + 10
        while _family(int(pid)) < 7 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert _settled(lambda: int(psutil.pid_exists(int(pid))), 0)
    assert _settled(
        lambda: sum(
            "77777" in one.info["cmdline"] for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"]
        ),
        0,
    )
    assert Path(path) in folder.sweep() or not Path(path).exists()
    assert not Path(path).exists()


@pytest.mark.requirement("kernels:leftovers:close-bounded")
def test_closing_while_a_branch_hangs_is_bounded() -> None:
    host = ForkedHost(limits=SMALL, spares=1)
    host.start()
    found = []
    thread = threading.Thread(
        target=lambda: found.append(host.run_branch("while True: pass", plan_of(value("1"), wall_s=60)))
    )
    thread.start()
    pid = host.zygote.pid
    assert pid is not None
    deadline = time.monotonic() + 10
    while _family(pid) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    started = time.monotonic()
    host.close()
    assert time.monotonic() - started < 8
    thread.join(10)
    assert not thread.is_alive()
    assert found[0].ending in (Ending.LOST, Ending.KILLED)


@pytest.mark.requirement("kernels:leftovers:parent-killed")
def test_a_parent_that_dies_is_replaced() -> None:
    with ForkedHost(limits=SMALL) as host:
        assert passed(PLAN, host.run_branch(RIGHT, PLAN)) == [True]
        first = host.zygote.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert _settled(lambda: int(host.zygote.pid is not None), 0)
        assert passed(PLAN, host.run_branch(RIGHT, PLAN)) == [True]
        assert host.zygote.pid != first


@pytest.mark.requirement("kernels:leftovers:streams")
def test_kernels_do_not_hold_our_streams_or_sockets(capfd: pytest.CaptureFixture[str]) -> None:
    with ForkedHost(limits=SMALL) as host, socket.create_server(("127.0.0.1", 0)) as server:
        program = (
            "import os\nos.write(1, b'raw\\n')\nos.write(2, b'err\\n')\nos.system('echo shell')\n" + RIGHT
        )
        trace = host.run_branch(program, PLAN)
        assert (trace.stdout, trace.stderr) == ("raw\nshell\n", "err\n")
        port = server.getsockname()[1]
        held = [one.laddr.port for one in psutil.Process(host.zygote.pid).net_connections() if one.laddr]
        assert port not in held
    assert capfd.readouterr() == ("", "")


@pytest.mark.requirement("kernels:branch:parallel")
def test_branches_in_parallel_do_not_mix() -> None:
    with ForkedHost(limits=SMALL, spares=2) as host:
        found: dict[int, object] = {}

        def run(number: int) -> None:
            plan = plan_of(value("me()", number))
            found[number] = passed(
                plan, host.run_branch(f"def me():\n    print({number})\n    return {number}\n", plan)
            )

        threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert found == {number: [True] for number in range(12)}
