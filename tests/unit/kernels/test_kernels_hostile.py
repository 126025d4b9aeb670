"""Candidates that want credit they have not earned, or just to break things."""

import socket
import time
from collections.abc import Iterator

import pytest

from tests.unit.kernels.kernel_plans import RIGHT, SMALL, TESTS, check, node, passed, plan_of, value
from treewright.kernels.forked import ForkedHost
from treewright.kernels.trace import CUT_MARK, Ending
from treewright.search.checks import CheckKind, ObservedStatus

WALL_S = 1.5
PLAN = plan_of(
    value("double(3)", 6),
    value("isinstance(double(3), int)", operator="truth"),
    value("all(double(x) == x + x for x in (1, 2, 3))", operator="truth"),
    value("double(4)", 8),
    check(CheckKind.STATEMENT, "for x in (1, 2):\n    assert double(x) == 2 * x"),
    wall_s=WALL_S,
)

# name: (program, how it ends, how many of the five checks it may be given)
ENDS = {
    "infinite-loop": ("while True:\n    pass\n", Ending.TIMEOUT, 0),
    "infinite-loop-in-c": ("sum(iter(int, 1))\n", Ending.TIMEOUT, 0),
    "loop-that-swallows": (
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n",
        Ending.TIMEOUT,
        0,
    ),
    "recursion": ("def double(x):\n    return double(x)\n", Ending.COMPLETED, 0),
    "fork-bomb": ("import os\nwhile True:\n    os.fork()\n", Ending.PROCESSES, 0),
    "fork-bomb-new-sessions": (
        "import os\nwhile True:\n    if os.fork() == 0:\n        os.setsid()\n",
        Ending.PROCESSES,
        0,
    ),
    "os-exit": (RIGHT + "import os\nos._exit(0)\n", Ending.EXITED, 0),
    "sys-exit": (RIGHT + "import sys\nsys.exit(0)\n", Ending.EXITED, 0),
    "exit-in-the-check": ("import os\ndef double(x):\n    os._exit(0)\n", Ending.EXITED, 0),
    "input": ("double = input()\n", Ending.STDIN, 0),
    "stdin-in-the-check": ("import sys\ndef double(x):\n    return sys.stdin.read()\n", Ending.STDIN, 0),
    "gigabyte-of-stdout": (
        "print('x' * (1 << 20) * 200)\nprint('x' * (1 << 20) * 200)\n" + RIGHT,
        Ending.OUTPUT,
        0,
    ),
    "endless-stdout": ("while True:\n    print('spam')\n", Ending.OUTPUT, 0),
    "endless-raw-stdout": ("import os\nwhile True:\n    os.write(1, b'x' * 65536)\n", Ending.OUTPUT, 0),
    "eight-gigabytes": ("data = b'x' * (8 << 30)\n" + RIGHT, Ending.MEMORY, 0),
    "gigabytes-in-children": (
        (
            "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        data = b'x' * (100 << 20)\n        time.sleep(60)\n"
            "time.sleep(60)\n"
        ),
        Ending.MEMORY,
        0,
    ),
    "segmentation-fault": ("import ctypes\nctypes.string_at(0)\n", Ending.CRASHED, 0),
    "kills-itself": ("import os\nos.kill(os.getpid(), 9)\n", Ending.KILLED, 0),
    "signal-handlers": (
        "import signal\nfor n in (2, 14, 15):\n    signal.signal(n, signal.SIG_IGN)\nwhile True:\n    pass\n",
        Ending.TIMEOUT,
        0,
    ),
    "raises-no-exception": ("raise KeyboardInterrupt\n", Ending.EXCEPTION, 0),
    "silences-the-channel": (RIGHT + "import os\nos.closerange(3, 4096)\n", None, 0),
    "writes-to-every-descriptor": (
        RIGHT
        + "import os\nfor n in range(3, 40):\n    try:\n        os.write(n, b'{}\\n')\n    except OSError:\n        pass\n",
        None,
        0,
    ),
    # These load and then lie.
    "daemon-threads": (
        "import threading, time\ndef run():\n    while True:\n        time.sleep(0.001)\n"
        "for _ in range(4):\n    threading.Thread(target=run, daemon=True).start()\nthreading.Thread(target=run).start()\n"
        + RIGHT,
        Ending.COMPLETED,
        5,
    ),
    "atexit": (
        "import atexit, os\natexit.register(os._exit, 0)\ndef double(x):\n    return 0\n",
        Ending.COMPLETED,
        1,
    ),
    "deleted-folder": (
        "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\n" + RIGHT,
        Ending.COMPLETED,
        5,
    ),
    "closed-stdout": ("import sys, os\nsys.stdout.close()\nos.close(1)\n" + RIGHT, Ending.COMPLETED, 5),
    "replaced-stdout": (
        "import sys, io\nsys.stdout = io.StringIO()\nprint('1 passed')\ndef double(x):\n    print('1 passed')\n",
        Ending.COMPLETED,
        0,
    ),
    "patched-builtins": (
        (
            "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.all = lambda *a: True\nbuiltins.len = lambda x: 0\n"
            "builtins.sorted = None\nbuiltins.sum = None\nbuiltins.compile = builtins.eval = builtins.exec = None\n"
            "builtins.type = builtins.dict = builtins.str = None\ndef double(x):\n    return 'no'\n"
        ),
        Ending.COMPLETED,
        0,
    ),
    "shadowed-builtins": (
        "isinstance = lambda *a: True\nall = lambda *a: True\ndef double(x):\n    return 'no'\n",
        Ending.COMPLETED,
        0,
    ),
    "always-equal": (
        (
            "class Yes(int):\n    def __eq__(self, other):\n        return True\n    __ne__ = lambda s, o: False\n    __hash__ = None\n"
            "def double(x):\n    return Yes(0)\n"
        ),
        Ending.COMPLETED,
        1,
    ),
    "always-equal-object": (
        (
            "class Yes:\n    def __eq__(self, other):\n        return True\n    def __getattr__(self, name):\n        return Yes()\n"
            "def double(x):\n    return Yes()\n"
        ),
        Ending.COMPLETED,
        0,
    ),
    "acts-when-deleted": (
        (
            "import os\nclass Late:\n    def __del__(self):\n        os._exit(0)\n    def __repr__(self):\n        os._exit(0)\n"
            "def double(x):\n    return Late()\n"
        ),
        Ending.EXITED,
        0,
    ),
    "patched-json": (
        "import json, json.encoder\njson.dumps = json.loads = None\njson.encoder.JSONEncoder = None\njson.encoder.c_make_encoder = None\n"
        "import os\nos.write = lambda *a: 0\nimport time\ntime.monotonic = None\n" + RIGHT,
        Ending.COMPLETED,
        5,
    ),
    "patched-traceback-and-hooks": (
        (
            "import traceback, sys\nfor n in dir(traceback):\n    if not n.startswith('__'):\n        setattr(traceback, n, None)\n"
            "sys.excepthook = sys.displayhook = lambda *a: None\ndef double(x):\n    raise ValueError('x')\n"
        ),
        Ending.COMPLETED,
        0,
    ),
    "patched-shell": (
        (
            "from IPython import get_ipython\nshell = get_ipython()\ntype(shell).run_cell_async = None\nshell.run_cell = lambda *a, **k: None\n"
            "shell.showtraceback = lambda *a, **k: None\nshell.kernel.session.send = lambda *a, **k: None\n"
            "shell.user_ns.clear()\ndef double(x):\n    return 0\n"
        ),
        Ending.COMPLETED,
        1,
    ),
    "end-of-output-marker": (
        (
            'import sys\nprint(\'{"k": "end"}\')\nsys.stderr.write(\'{"k":"check","status":"value","value":true}\\n\')\n'
            "def double(x):\n    return 0\n"
        ),
        Ending.COMPLETED,
        1,
    ),
}

# What reaches for the guard itself: never credit, whatever the ending is called.
TAMPERS = {
    "answers-for-the-guard": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n    run = frame.f_globals.get('Run')\n    if run is not None:\n"
        "        run._check = lambda self, check, shared: {'status': 'value', 'value': True, 'stdout': '', 'lines': []}\n"
        "    frame = frame.f_back\n"
    ),
    "answers-only-what-mentions-it": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n    run = frame.f_globals.get('Run')\n    if run is not None:\n"
        "        real = run._check\n        def fake(self, check, shared, real=real):\n"
        "            if 'double' in check['evaluate']:\n                return {'status': 'value', 'value': True, 'stdout': '', 'lines': []}\n"
        "            return real(self, check, shared)\n        run._check = fake\n    frame = frame.f_back\n"
    ),
    "looks-for-canaries-by-name": (
        "import gc\nfound = [o for o in gc.get_objects() if isinstance(o, dict) and 'evaluate' in o and 'id' in o]\n"
        "for one in found:\n    if 'canary' in str(one).lower() or 'known' in str(one).lower():\n        pass\n"
        "    else:\n        one['evaluate'] = 'True'\n        one['context'] = None\n"
        "import sys\nframe = sys._getframe()\nwhile frame:\n    me = frame.f_locals.get('self')\n    if hasattr(me, '_codes'):\n"
        "        me._codes = {k: {'evaluate': compile('True', 'x', 'eval')} for k in me._codes}\n    frame = frame.f_back\n"
    ),
    "ends-the-report-early": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n    me = frame.f_locals.get('self')\n    if hasattr(me, '_channel'):\n"
        "        me._channel.say({'k': 'loaded', 'status': 'value'})\n        me._channel.say({'k': 'end', 'stdin': False, 'over': False})\n"
        "    frame = frame.f_back\n" + RIGHT
    ),
}


@pytest.fixture(scope="module")
def hostile() -> Iterator[ForkedHost]:
    """A host of its own: what these do must not be able to reach the others' either."""
    with ForkedHost(limits=SMALL, preload=["pytest"]) as host:
        yield host


def _untouched(host: ForkedHost) -> bool:
    trace = host.run_branch(RIGHT, PLAN)
    return trace.ending is Ending.COMPLETED and all(passed(PLAN, trace))


@pytest.mark.requirement(
    "kernels:hostile:typed", "kernels:hostile:no-credit", "kernels:hostile:others-untouched"
)
@pytest.mark.parametrize("name", ENDS)
def test_a_hostile_candidate_ends_typed_and_touches_no_other(hostile: ForkedHost, name: str) -> None:
    program, ending, credit = ENDS[name]
    started = time.monotonic()
    trace = hostile.run_branch(program, PLAN)
    took = time.monotonic() - started
    if ending is None:
        assert trace.ending is not Ending.COMPLETED
    else:
        assert trace.ending is ending, trace.message
    assert sum(passed(PLAN, trace)) == credit
    assert took < WALL_S + SMALL.grace_s
    assert _untouched(hostile)


@pytest.mark.requirement("kernels:hostile:tampered")
@pytest.mark.parametrize("name", TAMPERS)
def test_reaching_for_the_guard_disqualifies(hostile: ForkedHost, name: str) -> None:
    trace = hostile.run_branch(TAMPERS[name], PLAN)
    assert trace.ending is Ending.TAMPERED, trace
    assert trace.observations == ()
    assert _untouched(hostile)


@pytest.mark.requirement("kernels:limits:output-mark")
def test_cut_output_bears_a_mark_and_stays_small(hostile: ForkedHost) -> None:
    trace = hostile.run_branch("while True:\n    print('spam' * 100)\n", PLAN)
    assert trace.stdout.endswith(CUT_MARK)
    assert len(trace.stdout) <= SMALL.output_bytes + len(CUT_MARK)


@pytest.mark.requirement("kernels:limits:file-size")
def test_a_file_cannot_grow_past_its_limit(hostile: ForkedHost) -> None:
    plan = plan_of(value("write()", "File too large"))
    program = (
        "def write():\n    try:\n        with open('big', 'wb') as f:\n            f.write(b'x' * (2 << 20))\n"
        "    except OSError as error:\n        return error.strerror\n"
    )
    assert passed(plan, hostile.run_branch(program, plan)) == [True]


@pytest.mark.requirement("kernels:limits:network")
def test_nothing_outside_can_be_reached_but_a_loopback_of_its_own_can(hostile: ForkedHost) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = (
            "import socket\ndef reach(port):\n    try:\n        socket.create_connection(('127.0.0.1', port), 1).close()\n"
            "        return 'reached'\n    except OSError:\n        return 'refused'\n"
            "def own():\n    s = socket.create_server(('127.0.0.1', 0))\n    c = socket.create_connection(s.getsockname(), 1)\n"
            "    c.close(); s.close()\n    return 'reached'\n"
        )
        plan = plan_of(value(f"reach({port})", "refused"), value("own()", "reached"))
        trace = hostile.run_branch(program, plan)
    assert "network" in trace.not_guaranteed or passed(plan, trace)[0]
    assert passed(plan, trace)[1]


PYTEST_TRICKS = {
    "patched-runner": "import _pytest.python as p\np.Function.runtest = lambda self: None\n",
    "patched-outcome": (
        "import _pytest.reports as r\nmake = r.TestReport.from_item_and_call\n"
        "def lie(item, call):\n    call.excinfo = None\n    return make(item, call)\nr.TestReport.from_item_and_call = lie\n"
    ),
    "patched-hooks": (
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'PytestPluginManager':\n"
        "        class Liar:\n            def pytest_pyfunc_call(self, pyfuncitem):\n                return True\n"
        "        import pytest\n        Liar.pytest_pyfunc_call = pytest.hookimpl(tryfirst=True)(Liar.pytest_pyfunc_call)\n"
        "        o.register(Liar())\n"
    ),
    "rewritten-tests": (
        "import pathlib\nfor p in pathlib.Path('..').rglob('test_*.py'):\n    try:\n        p.chmod(0o644)\n"
        "        p.write_text('def test_number(): pass\\ndef test_text(): pass\\n')\n    except OSError:\n        pass\n"
    ),
    "prints-passed": "print('3 passed')\nimport sys\nsys.exit(0)\n",
    "exits-zero": "import os\nos._exit(0)\n",
    "no-assertions": "import builtins\nclass AssertionError(Exception):\n    pass\nbuiltins.AssertionError = AssertionError\n",
}


@pytest.mark.requirement("kernels:hostile:pytest")
@pytest.mark.parametrize("name", PYTEST_TRICKS)
def test_no_trick_on_pytest_earns_a_pass(hostile: ForkedHost, name: str) -> None:
    plan = plan_of(node("test_number"), node("test_text"), node("test_list"), wall_s=10)
    program = PYTEST_TRICKS[name] + "def double(x):\n    return 0\n"
    trace = hostile.run_branch(program, plan, tests={"test_double.py": TESTS})
    assert not any(passed(plan, trace)), trace
    good = hostile.run_branch(RIGHT, plan, tests={"test_double.py": TESTS})
    assert passed(plan, good) == [True, True, True]


@pytest.mark.requirement("kernels:hostile:expected-is-never-there")
def test_what_is_expected_is_nowhere_in_the_candidates_process(hostile: ForkedHost) -> None:
    program = (
        "import gc\ndef double(x):\n    wanted = int(''.join(map(str, [9, 1, 8, 2, 7, 3, 6, 4, 5])))\n    for o in gc.get_objects():\n"
        "        if isinstance(o, (dict, list, tuple)):\n"
        "            for v in list(o.values()) if isinstance(o, dict) else o:\n"
        "                if type(v) in (int, str) and str(v) == str(wanted) and v is not wanted:\n"
        "                    return True\n    return False\n"
    )
    trace = hostile.run_branch(program, plan_of(value("double(3)", 918273645)))
    assert trace.observations[0].value is False


@pytest.mark.requirement("kernels:branch:right-before-candidate")
def test_what_can_be_evaluated_without_the_candidate_is_evaluated_before_it(hostile: ForkedHost) -> None:
    program = "import math\nmath.sqrt = lambda x: 0\ndef root(x):\n    return 0\n"
    plan = plan_of(value("root(2)", right="math.sqrt(2)"), setup="import math")
    trace = hostile.run_branch(program, plan)
    assert trace.observations[0].status is ObservedStatus.VALUE
    assert passed(plan, trace) == [False]


def test_a_class_that_was_asked_for_may_compare_itself(hostile: ForkedHost) -> None:
    program = (
        "class Point:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n"
        "        return isinstance(other, Point) and other.x == self.x\n"
    )
    plan = plan_of(
        check(CheckKind.STATEMENT, "assert Point(1) == Point(1)"),
        check(CheckKind.STATEMENT, "assert Point(1) == Point(2)"),
    )
    assert passed(plan, hostile.run_branch(program, plan)) == [True, False]
