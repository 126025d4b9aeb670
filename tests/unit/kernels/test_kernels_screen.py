"""Screening many programs in bare forks."""

import time
from collections.abc import Iterator

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
