"""Every host behind the one interface does the same, and says what it cannot guarantee."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.unit.kernels.kernel_plans import RIGHT, SMALL, TESTS, node, passed, plan_of, value
from treewright.errors import KernelError
from treewright.kernels.forked import ForkedHost
from treewright.kernels.host import BoundHost, BranchHost, choose_host, open_host, probe_python
from treewright.kernels.pool import PoolHost
from treewright.kernels.remote import RemoteHost
from treewright.kernels.screen import ForkScreener
from treewright.kernels.trace import Ending
from treewright.kernels.warm import can_fork
from treewright.search import ports


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without ipykernel and without pytest."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Jupyter kernel gateway on loopback, with token `sesame`."""
    folder = tmp_path_factory.mktemp("gateway")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        **{
            name: str(folder)
            for name in (
                "HOME",
                "IPYTHONDIR",
                "JUPYTER_CONFIG_DIR",
                "JUPYTER_DATA_DIR",
                "JUPYTER_RUNTIME_DIR",
            )
        },
    }
    options = [
        f"--KernelGatewayApp.port={port}",
        "--KernelGatewayApp.ip=127.0.0.1",
        "--KernelGatewayApp.auth_token=sesame",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "kernel_gateway", *options],
            env=environment,
            stdout=log,
            stderr=log,
            cwd=folder,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            deadline = time.monotonic() + 90
            while not _answers(url):
                assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[
                    -2000:
                ]
            yield url
        finally:
            process.terminate()
            process.wait(10)


def _answers(url: str) -> bool:
    host = RemoteHost(url, "sesame")
    try:
        host.start()
    except KernelError:
        time.sleep(0.05)
        return False
    host.close()
    return True


# The last two start a whole interpreter a branch.
HOSTS = (
    "forked",
    "forked-with-spares",
    "forked-without-namespaces",
    "child",
    pytest.param("pool", marks=pytest.mark.slow),
    pytest.param("remote", marks=pytest.mark.slow),
)


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> Iterator[BranchHost]:
    """Each host in turn."""
    makers: dict[str, Callable[[], BranchHost]] = {
        "forked": lambda: ForkedHost(limits=SMALL, preload=["pytest"]),
        "forked-with-spares": lambda: ForkedHost(limits=SMALL, preload=["pytest"], spares=2),
        "forked-without-namespaces": lambda: ForkedHost(
            limits=SMALL, preload=["pytest"], without=("processes", "network", "files")
        ),
        "child": lambda: choose_host(python=request.getfixturevalue("bare_python"), limits=SMALL),
        "pool": lambda: PoolHost(limits=SMALL, spares=0),
        "remote": lambda: RemoteHost(request.getfixturevalue("gateway"), "sesame", limits=SMALL),
    }
    with ExitStack() as stack:
        made = makers[request.param]()
        stack.callback(made.close)
        made.start()
        yield made


@pytest.mark.requirement("kernels:host:same-interface")
def test_values_and_errors_come_back(host: BranchHost) -> None:
    plan = plan_of(
        value("double(3)", 6),
        value("double(3)", 7),
        value("double('a')", right="'a' + 'a'"),
        value("double()"),
    )
    trace = host.run_branch("def double(x):\n    print('hi')\n    return x * 2\n", plan)
    assert trace.ending is Ending.COMPLETED, trace
    assert passed(plan, trace) == [True, False, True, False]
    assert trace.observations[3].error == "TypeError"
    assert trace.stdout == "hi\n" * 3


@pytest.mark.requirement("kernels:host:typed-everywhere")
@pytest.mark.parametrize(
    ("program", "endings"),
    [
        ("while True:\n    pass\n", {Ending.TIMEOUT}),
        ("import os\nos._exit(0)\n", {Ending.EXITED, Ending.LOST}),
        (RIGHT + "import sys\nsys.exit(0)\n", {Ending.EXITED}),
        ("input()\n", {Ending.STDIN}),
        ("data = b'x' * (8 << 30)\n", {Ending.MEMORY}),
        ("while True:\n    print('spam' * 100)\n", {Ending.OUTPUT}),
        ("import os\nos.kill(os.getpid(), 11)\n", {Ending.CRASHED, Ending.LOST}),
    ],
    ids=["loop", "os-exit", "sys-exit", "input", "memory", "output", "signal"],
)
def test_every_end_has_its_type(host: BranchHost, program: str, endings: set[Ending]) -> None:
    # A gateway looks every three seconds whether its kernels live.
    plan = plan_of(value("double(3)", 6), wall_s=8.0 if Ending.LOST in endings else 1.5)
    trace = host.run_branch(program, plan)
    assert trace.ending in endings, trace
    assert passed(plan, trace) == [False]


@pytest.mark.requirement("kernels:host:pytest", "kernels:pytest:missing-is-named")
def test_pytest_runs_the_trusted_copy_or_is_named_as_missing(
    host: BranchHost, request: pytest.FixtureRequest
) -> None:
    plan = plan_of(node("test_number"), node("test_list"), wall_s=20)
    trace = host.run_branch(RIGHT, plan, tests={"test_double.py": TESTS})
    if "child" in request.node.name:
        assert trace.ending is Ending.MISSING
        assert "pytest" in trace.message
        return
    assert trace.ending is Ending.COMPLETED, trace
    assert passed(plan, trace) == [True, True]
    wrong = host.run_branch("def double(x):\n    return 0\n", plan, tests={"test_double.py": TESTS})
    assert passed(plan, wrong) == [False, False]


@pytest.mark.requirement("kernels:host:guarantees-named")
def test_a_trace_names_what_its_host_could_not_guarantee(
    host: BranchHost, request: pytest.FixtureRequest
) -> None:
    trace = host.run_branch(RIGHT, plan_of(value("double(3)", 6)))
    assert trace.not_guaranteed == host.guarantees_missing()
    name = request.node.name
    if "remote" in name:
        assert set(trace.not_guaranteed) == {"channel", "processes", "network", "files"}
    elif "without" in name:
        assert set(trace.not_guaranteed) == {"processes", "network", "files"}
    else:
        assert ("channel" in trace.not_guaranteed) == ("pool" in name)


@pytest.mark.requirement("kernels:host:state-isolated")
def test_state_does_not_reach_the_next_branch(host: BranchHost) -> None:
    plan = plan_of(value("look()", [False, False]))
    host.run_branch("import sys, os, builtins\nbuiltins.planted = 1\nos.environ['PLANTED'] = '1'\n", plan)
    second = "import os, builtins\ndef look():\n    return [hasattr(builtins, 'planted'), 'PLANTED' in os.environ]\n"
    assert passed(plan, host.run_branch(second, plan)) == [True]


@pytest.mark.requirement("kernels:host:no-descendants")
def test_what_a_branch_started_is_killed_with_it(host: BranchHost, request: pytest.FixtureRequest) -> None:
    if "remote" in request.node.name:
        assert "processes" in host.guarantees_missing()
        return
    mark = f"3{time.time_ns() % 1_000_000:06d}"
    program = (
        "import os, subprocess\nsubprocess.Popen(['sleep', '" + mark + "'], start_new_session=True)\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.execvp('sleep', ['sleep', '"
        + mark
        + "'])\n    os._exit(0)\n"
    ) + RIGHT
    plan = plan_of(value("double(3)", 6))
    assert passed(plan, host.run_branch(program, plan)) == [True]
    left = subprocess.run(
        ["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True, check=False
    ).stdout
    assert left == ""


@pytest.mark.requirement("kernels:host:interpreter")
def test_checks_run_under_the_interpreter_that_was_named(bare_python: str) -> None:
    plan = plan_of(value("where()", bare_python))
    with ExitStack() as stack:
        made = choose_host(python=bare_python, limits=SMALL)
        stack.callback(made.close)
        trace = made.run_branch("import sys\ndef where():\n    return sys.executable\n", plan)
    assert passed(plan, trace) == [True]


@pytest.mark.slow
@pytest.mark.requirement("kernels:host:spares")
def test_a_pool_starts_kernels_ahead_and_ends_them_all() -> None:
    plan = plan_of(value("double(3)", 6))
    with PoolHost(limits=SMALL, spares=2) as made:
        assert made.wait_spares(30)
        started = time.monotonic()
        assert passed(plan, made.run_branch(RIGHT, plan)) == [True]
        assert time.monotonic() - started < 10


@pytest.mark.slow
@pytest.mark.requirement("kernels:host:kernelspec")
def test_any_installed_kernelspec_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kernels" / "mine"
    folder.mkdir(parents=True)
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Mine",
        "language": "python",
        "env": {"MINE": "1"},
    }
    folder.joinpath("kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    plan = plan_of(value("look()", "1"))
    with PoolHost("mine", limits=SMALL, spares=0) as made:
        trace = made.run_branch("import os\ndef look():\n    return os.environ.get('MINE')\n", plan)
    assert passed(plan, trace) == [True]
    with pytest.raises(KernelError) as error:
        PoolHost("nowhere")
    assert error.value.code == "E052"


@pytest.mark.requirement("kernels:host:unavailable")
def test_what_cannot_be_had_is_an_error_with_a_hint(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho no\n", encoding="utf-8")
    fake.chmod(0o755)
    for python in (str(fake), str(tmp_path / "none")):
        with pytest.raises(KernelError) as error:
            probe_python(python)
        assert (error.value.code, bool(error.value.hint)) == ("E052", True)
    with pytest.raises(KernelError) as error:
        ForkedHost(str(fake)).start()
    assert error.value.code == "E052"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(KernelError) as error:
            RemoteHost(f"http://127.0.0.1:{probe.getsockname()[1]}", "sesame").start()
    assert error.value.code == "kernel_remote_failed"
    assert "sesame" not in str(error.value) + str(error.value.details)


@pytest.mark.slow
@pytest.mark.requirement("kernels:host:remote-token")
def test_a_wrong_token_is_refused_without_being_shown(gateway: str) -> None:
    with pytest.raises(KernelError) as error:
        RemoteHost(gateway, "wrong-token").start()
    assert error.value.code == "kernel_remote_failed"
    assert "wrong-token" not in str(error.value)


@pytest.mark.requirement("kernels:host:choice")
def test_our_own_interpreter_is_forked_where_forking_is_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_fork()
    assert isinstance(choose_host(), ForkedHost)
    monkeypatch.setattr("treewright.kernels.host.can_fork", lambda: False)
    assert isinstance(choose_host(), PoolHost)


@pytest.mark.requirement("kernels:host:search-port")
def test_a_bound_host_and_a_screener_are_what_the_search_engine_asks_for(forked: ForkedHost) -> None:
    bound: ports.KernelHost = BoundHost(forked, files={"data.txt": "5"}, tests={"test_double.py": TESTS})
    plan = plan_of(value("double(int(open('data.txt').read()))", 10), node("test_number"), wall_s=20)
    trace: ports.Trace = bound.run_branch(RIGHT, plan)
    assert passed(plan, trace) == [True, True]
    with ForkScreener(limits=SMALL, workers=1) as made:
        screener: ports.Screener = made
        assert passed(
            plan_of(value("double(1)", 2)), screener.screen([RIGHT], plan_of(value("double(1)", 2)))[0]
        ) == [True]


@pytest.mark.requirement("kernels:host:lazy-imports")
def test_naming_a_host_imports_neither_jupyter_nor_zmq() -> None:
    code = "import sys, treewright.kernels.host, treewright.kernels.operations, treewright.kernels.screen, treewright.kernels.remote, treewright.kernels.numeric\nprint([n for n in ('zmq', 'jupyter_client', 'IPython', 'tornado', 'ipykernel') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("kernels:host:async")
def test_a_host_is_used_from_asynchronous_code() -> None:
    plan = plan_of(value("double(3)", 6))

    async def go() -> list[bool]:
        async with open_host(ForkedHost(limits=SMALL)) as made:
            traces = await asyncio.gather(
                *(asyncio.to_thread(made.run_branch, RIGHT, plan) for _ in range(4))
            )
        return [all(passed(plan, trace)) for trace in traces]

    assert asyncio.run(go()) == [True] * 4
