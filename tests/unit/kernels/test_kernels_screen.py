"""Screening many programs in bare forks."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.kernels.kernel_plans import RIGHT, TESTS, node, passed, plan_of, value
from treewright.errors import KernelError
from treewright.kernels.forked import ForkedHost
from treewright.kernels.limits import Limits
from treewright.kernels.screen import ForkScreener
from treewright.kernels.trace import Ending

LIMITS = Limits(memory_bytes=128 << 20, output_bytes=16 << 10, processes=16)
PLAN = plan_of(*(value(f"double({number})", number * 2) for number in range(4)), wall_s=1.0)


@pytest.fixture(scope="module")
def screener() -> Iterator[ForkScreener]:
    """A screener with two workers."""
    with ForkScreener(limits=LIMITS, workers=2) as made:
        # The workers are children of the zygote; it lives as long as this module.
        yield made


@pytest.mark.requirement("kernels:screen:same-answers")
def test_a_screen_answers_what_a_branch_answers(screener: ForkScreener, forked: ForkedHost) -> None:
    programs = [
        RIGHT,
        "def double(x):\n    return x + 2\n",
        "def double(x):\n    raise ValueError\n",
        "def double(x)\n",
        "double = None\n",
        "class Yes(int):\n    __eq__ = lambda s, o: True\n    __hash__ = None\ndef double(x):\n    return Yes(0)\n",
    ]
    screened = screener.screen(programs, PLAN)
    branched = [forked.run_branch(program, PLAN) for program in programs]
    assert [passed(PLAN, one) for one in screened] == [passed(PLAN, one) for one in branched]
    assert [one.ending for one in screened] == [one.ending for one in branched]


@pytest.mark.requirement("kernels:screen:order")
def test_traces_come_in_the_order_of_the_programs(screener: ForkScreener) -> None:
    programs = [f"def double(x):\n    return {number}\n" for number in range(60)]
    plan = plan_of(value("double(0)"), wall_s=5)
    assert [one.observations[0].value for one in screener.screen(programs, plan)] == list(range(60))
    assert screener.screen([], plan) == []


@pytest.mark.requirement("kernels:screen:hostile")
def test_hostile_programs_end_typed_and_the_others_are_screened(screener: ForkScreener) -> None:
    hostile = {
        "while True:\n    pass\n": {Ending.TIMEOUT},
        "import os\nos._exit(0)\n": {Ending.EXITED},
        "import os\nwhile True:\n    os.fork()\n": {Ending.PROCESSES},
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True:\n    pass\n": {Ending.KILLED},
        "data = b'x' * (8 << 30)\n": {Ending.MEMORY},
        "while True:\n    print('spam' * 100)\n": {Ending.OUTPUT},
        "import os\nwhile True:\n    os.write(1, b'x' * 65536)\n": {Ending.OUTPUT},
        "import os\nos.kill(os.getpid(), 11)\n": {Ending.CRASHED},
        "input()\n": {Ending.STDIN},
    }
    programs = [program for bad in hostile for program in (bad, RIGHT)]
    started = time.monotonic()
    traces = screener.screen(programs, PLAN)
    assert time.monotonic() - started < 20
    for program, trace in zip(programs, traces, strict=True):
        if program is RIGHT:
            assert passed(PLAN, trace) == [True] * 4
        else:
            assert trace.ending in hostile[program], (program, trace)
            assert not any(passed(PLAN, trace))


@pytest.mark.requirement("kernels:screen:isolated")
def test_one_program_leaves_nothing_for_the_next(screener: ForkScreener) -> None:
    first = (
        "import os, subprocess, sys, builtins\nopen('planted', 'w').close()\nos.makedirs('a/b')\nbuiltins.planted = 1\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
    )
    second = (
        "import os, builtins\ndef look():\n    names = [n for n in os.listdir('/proc') if n.isdigit()]\n"
        "    return [os.listdir('.'), hasattr(builtins, 'planted'), len(names)]\n"
    )
    plan = plan_of(value("look()"), wall_s=5)
    look = screener.screen([second], plan)[0].observations[0].value
    screener.screen([first] * 4, plan)
    assert screener.screen([second], plan)[0].observations[0].value == look
    assert look[1] == ["l"]


@pytest.mark.slow
@pytest.mark.requirement("kernels:screen:thousands")
def test_a_thousand_programs_are_screened_in_seconds(screener: ForkScreener) -> None:
    programs = [f"def double(x):\n    return x * {number % 7}\n" for number in range(1000)]
    started = time.monotonic()
    traces = screener.screen(programs, PLAN)
    took = time.monotonic() - started
    assert [all(passed(PLAN, one)) for one in traces] == [number % 7 == 2 for number in range(1000)]
    # 3 ms each on a quiet core; the bound is for a busy machine.
    assert took < 30


@pytest.mark.requirement("kernels:screen:pytest")
def test_pytest_checks_are_screened_from_a_trusted_copy(screener: ForkScreener) -> None:
    plan = plan_of(node("test_number"), node("test_list"), value("double(2)", 4), wall_s=10)
    with ForkScreener(limits=LIMITS, workers=1, tests={"test_double.py": TESTS}) as made:
        programs = [RIGHT, "def double(x):\n    return 6\n", "import os\nos._exit(0)\n", RIGHT]
        found = [passed(plan, trace) for trace in made.screen(programs, plan)]
    assert found == [[True] * 3, [True, False, False], [False] * 3, [True] * 3]
    with pytest.raises(KernelError) as error:
        screener.screen([RIGHT], plan)
    assert error.value.code == "kernel_request_invalid"


@pytest.mark.requirement("kernels:screen:without-namespaces")
def test_screening_works_where_there_are_no_namespaces() -> None:
    with ForkScreener(limits=LIMITS, workers=1, without=("processes", "network", "files")) as made:
        programs = [RIGHT, "while True:\n    pass\n", "import os\nos._exit(0)\n", RIGHT]
        traces = made.screen(programs, PLAN)
        assert "processes" in made.guarantees_missing()
    assert [one.ending for one in traces] == [
        Ending.COMPLETED,
        Ending.TIMEOUT,
        Ending.EXITED,
        Ending.COMPLETED,
    ]


@pytest.mark.requirement("kernels:screen:several")
def test_a_verdict_does_not_depend_on_the_program_before(screener: ForkScreener) -> None:
    leaves = {
        "a builtin": "import builtins\nbuiltins.len = lambda x: 99\n",
        "a module's name": "import math\nmath.floor = lambda x: 99\n",
        "a module": "import sys, types\nsys.modules['planted'] = types.ModuleType('planted')\n",
        "the environment": "import os\nos.environ['PLANTED'] = '1'\n",
        "a file": "open('planted', 'w').close()\n",
        "the folder": "import os\nos.chdir('/')\n",
        "a signal": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n",
        "random numbers": "import random\nrandom.seed(1)\n",
        "the recursion limit": "import sys\nsys.setrecursionlimit(5000)\n",
        "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
        "the standard streams": "import sys\nsys.stdout = None\n",
    }
    look = (
        "import builtins, math, os, random, signal, sys, threading\n"
        "def look():\n"
        "    return [len([1]), math.floor(1.5), 'planted' in sys.modules, 'PLANTED' in os.environ, os.listdir('.'),\n"
        "            os.getcwd() == '/', signal.getsignal(signal.SIGINT) is signal.default_int_handler,\n"
        "            sys.getrecursionlimit(), threading.active_count(), sys.stdout is None]\n"
        "def draw():\n    return random.random()\n"
    )
    plan = plan_of(value("look()", []), value("draw()", 2), wall_s=5)
    alone = screener.screen([look], plan)[0].observations[0].value
    imports = "import builtins, math, os, random, signal, sys, threading, time, types\n"
    for name, planting in leaves.items():
        traces = screener.screen([imports + planting, look] * 4, plan)
        assert [one.observations[0].value for one in traces[1::2]] == [alone] * 4, name
    drawn = screener.screen(["import random\nrandom.seed(1)\n", look] * 4, plan)[1::2]
    assert len({one.observations[1].value for one in drawn}) == 4


@pytest.mark.requirement("kernels:screen:several")
def test_what_takes_its_process_along_does_not_hide_the_others(screener: ForkScreener) -> None:
    right = "def double(x):\n    return x * 2\n"
    wrong = "def double(x):\n    return x\n"
    deadly = [
        "import os\nos._exit(0)\n",
        "import os\nos.kill(os.getpid(), 9)\n",
        "def double(x):\n    while True:\n        pass\n",
        "def double(x):\n    return 10 ** 10 ** 10\n",
        "import time\ntime.sleep(60)\n",
        "raise SystemExit\n",
        "def double(x):\n    try:\n        while True: pass\n    except BaseException:\n        return x * 2\n",
    ]
    quick = PLAN.model_copy(update={"per_check_timeout_s": 0.05})
    programs = [program for bad in deadly for program in (wrong, bad, right)]
    found = [passed(quick, trace) for trace in screener.screen(programs, quick)]
    assert found[2::3] == [[True] * 4] * len(deadly)
    assert [any(one[1:]) for one in found[0::3]] == [False] * len(deadly)
    assert not any(all(one) for one in found[1::3][:-1])


@pytest.mark.requirement("kernels:screen:several")
def test_packages_of_the_project_are_imported_once_a_child_and_watched(tmp_path: Path) -> None:
    (tmp_path / "registry.py").write_text(
        "KNOWN = []\ndef add(x):\n    KNOWN.append(x)\n    return len(KNOWN)\n"
    )
    programs = [f"import registry\ndef f(x):\n    return registry.add(x) + {n}\n" for n in range(6)]
    programs += [f"import registry\ndef f(x):\n    return len(registry.KNOWN) + x + {n}\n" for n in range(6)]
    plan = plan_of(value("f(1)", -1), wall_s=5)
    with ForkScreener(limits=LIMITS, workers=1, path=[str(tmp_path)]) as made:
        traces = made.screen(programs, plan)
    assert [one.observations[0].value for one in traces] == [1 + n for n in range(6)] * 2
