"""What a branch shows of an ordinary program."""

import pytest

from tests.unit.kernels.kernel_plans import RIGHT, TESTS, check, node, passed, plan_of, value
from treewright.kernels.forked import ForkedHost
from treewright.kernels.trace import Ending
from treewright.search.checks import CheckKind, ObservedStatus
from treewright.search.ports import BranchOutcome


@pytest.mark.requirement("kernels:branch:values")
def test_values_come_back_and_are_compared_here(forked: ForkedHost) -> None:
    plan = plan_of(
        value("double(3)", 6), value("double('a')", "aa"), value("double(3)", 7), value("double()", 1)
    )
    trace = forked.run_branch("def double(x):\n    print('doubling')\n    return x * 2\n", plan)
    assert trace.ending is Ending.COMPLETED
    assert passed(plan, trace) == [True, True, False, False]
    assert trace.observations[3].error == "TypeError"
    assert trace.stdout == "doubling\n" * 3
    assert trace.peak_memory_bytes > 1 << 20
    assert trace.wall_s > 0


@pytest.mark.requirement("kernels:branch:plain-types")
@pytest.mark.parametrize(
    "expression",
    [
        "(1, [2, {3: {4}}])",
        "{'a': None, 1: b'x'}",
        "1 + 2j",
        "10 ** 500",
        "-0.0",
        "frozenset({1})",
        "'\\ud800'",
    ],
)
def test_every_plain_type_arrives_as_what_it_was(forked: ForkedHost, expression: str) -> None:
    expected = eval(expression)
    plan = plan_of(value("give()", expected))
    assert passed(plan, forked.run_branch(f"def give():\n    return {expression}\n", plan)) == [True]


@pytest.mark.requirement("kernels:branch:load-error")
def test_a_program_that_does_not_load_says_where(forked: ForkedHost) -> None:
    plan = plan_of(value("double(3)", 6))
    trace = forked.run_branch(RIGHT + "raise LookupError('no such thing')\n", plan)
    assert (trace.ending, trace.outcome) == (Ending.EXCEPTION, BranchOutcome.LOAD_ERROR)
    assert (trace.error, trace.message, trace.error_line) == ("LookupError", "no such thing", 3)
    assert trace.frames[-1][1] == 3
    assert passed(plan, trace) == [False]
    broken = forked.run_branch("def double(x)\n    return x\n", plan)
    assert (broken.error, broken.error_line) == ("SyntaxError", 1)


@pytest.mark.requirement("kernels:branch:setup")
def test_setup_and_context_stand_beside_the_program_and_each_check_has_its_own(forked: ForkedHost) -> None:
    plan = plan_of(
        value("double(factor)", 20, context="factor = 10"),
        value("factor", 1, context=""),
        value("helper(2)", 4),
        setup="def helper(x):\n    return double(x)\n",
    )
    trace = forked.run_branch(RIGHT, plan)
    assert passed(plan, trace) == [True, False, True]
    assert trace.observations[1].error == "NameError"


@pytest.mark.requirement("kernels:branch:raises")
def test_an_exception_is_an_observation_with_its_line(forked: ForkedHost) -> None:
    plan = plan_of(
        check(CheckKind.RAISES, "fail()", "ValueError"),
        check(CheckKind.RAISES, "fail()", "KeyError"),
        check(CheckKind.RAISES, "leave()", "SystemExit"),
    )
    trace = forked.run_branch(
        "def fail():\n    raise ValueError('x')\ndef leave():\n    raise SystemExit(3)\n", plan
    )
    assert passed(plan, trace) == [True, False, True]
    assert trace.observations[0].error_line == 2
    assert trace.ending is Ending.COMPLETED


@pytest.mark.requirement("kernels:branch:stdout")
def test_printed_text_is_compared_here_whether_a_statement_or_the_program_prints_it(
    forked: ForkedHost,
) -> None:
    plan = plan_of(
        check(CheckKind.STDOUT, "say('hi')\nsay('ho')", "hi\nho\n"), check(CheckKind.TEXT, "1 + 1", "2\n")
    )
    assert passed(plan, forked.run_branch("def say(x):\n    print(x)\n", plan)) == [True, True]
    whole = plan_of(check(CheckKind.STDOUT, "", "3\n"), stdin="1\n2\n")
    program = (
        "import sys\nif __name__ == '__main__':\n    print(int(input()) + int(input()))\n    sys.exit(0)\n"
    )
    trace = forked.run_branch(program, whole)
    assert passed(whole, trace) == [True]
    assert trace.ending is Ending.COMPLETED


@pytest.mark.requirement("kernels:branch:lines")
def test_the_lines_that_each_check_executed_are_told(forked: ForkedHost) -> None:
    program = "def sign(x):\n    if x < 0:\n        return -1\n    return 1\n"
    plan = plan_of(value("sign(-5)", -1), value("sign(5)", 1), trace_lines=True)
    trace = forked.run_branch(program, plan)
    assert [one.lines for one in trace.observations] == [(2, 3), (2, 4)]
    assert trace.load_lines == (1,)


@pytest.mark.requirement("kernels:branch:check-timeout")
def test_one_check_that_hangs_costs_only_itself(forked: ForkedHost) -> None:
    program = "def wait(x):\n    while x:\n        pass\n    return x\n"
    plan = plan_of(value("wait(1)", 1), value("wait(0)", 0), per_check_timeout_s=0.2)
    trace = forked.run_branch(program, plan)
    assert [one.status for one in trace.observations] == [ObservedStatus.TIMEOUT, ObservedStatus.VALUE]
    assert trace.wall_s < 5


@pytest.mark.requirement("kernels:branch:asyncio")
def test_a_program_may_run_an_event_loop_of_its_own(forked: ForkedHost) -> None:
    program = "import asyncio\nasync def go():\n    await asyncio.sleep(0)\n    return 7\ndef run():\n    return asyncio.run(go())\n"
    plan = plan_of(value("run()", 7))
    assert passed(plan, forked.run_branch(program, plan)) == [True]


@pytest.mark.requirement("kernels:branch:files")
def test_further_files_stand_beside_the_program(forked: ForkedHost) -> None:
    plan = plan_of(value("read()", "text"), value("helper.ONE", 1, context="import helper"))
    program = "from pathlib import Path\ndef read():\n    return Path('data/a.txt').read_text()\n"
    trace = forked.run_branch(program, plan, files={"data/a.txt": "text", "helper.py": "ONE = 1\n"})
    assert passed(plan, trace) == [True, True]
    with pytest.raises(ValueError, match="leads out"):
        forked.run_branch(program, plan, files={"../a.txt": "text"})


@pytest.mark.requirement("kernels:pytest:trusted-copy")
def test_pytest_checks_are_reported_one_by_one(forked: ForkedHost) -> None:
    plan = plan_of(
        node("test_number"), node("test_text"), node("test_list"), node("test_nothing"), value("double(1)", 2)
    )
    trace = forked.run_branch(RIGHT, plan, tests={"test_double.py": TESTS})
    assert trace.ending is Ending.COMPLETED
    assert passed(plan, trace) == [True, True, True, False, True]
    wrong = forked.run_branch("def double(x):\n    return 6\n", plan, tests={"test_double.py": TESTS})
    assert passed(plan, wrong) == [True, False, False, False, False]
    failed = next(one for one in wrong.observations if one.check_id == "c2")
    assert (failed.status, failed.error) == (ObservedStatus.RAISED, "AssertionError")


@pytest.mark.requirement("kernels:pytest:candidate-configuration")
def test_the_candidates_conftest_and_configuration_are_not_read(forked: ForkedHost) -> None:
    plan = plan_of(node("test_number"))
    hook = (
        "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
    )
    files = {
        "conftest.py": hook,
        "pytest.ini": "[pytest]\naddopts = --collect-only\n",
        "test_double.py": "def test_number(): pass\n",
    }
    trace = forked.run_branch(
        "def double(x):\n    return 0\n", plan, files=files, tests={"test_double.py": TESTS}
    )
    assert trace.ending is Ending.COMPLETED
    assert passed(plan, trace) == [False]
    mine = {
        "test_double.py": "def test_ten(ten, helper):\n    assert ten == helper\n",
        "conftest.py": "import pytest\n@pytest.fixture\ndef ten():\n    return 10\n@pytest.fixture\ndef helper():\n    from double_help import TEN\n    return TEN\n",
        "double_help.py": "TEN = 10\n",
    }
    plan = plan_of(node("test_ten"))
    assert passed(plan, forked.run_branch(RIGHT, plan, files=files, tests=mine)) == [True]
