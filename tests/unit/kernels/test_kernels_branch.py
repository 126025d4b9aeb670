"""What a branch shows of an ordinary program."""

import sys
from pathlib import Path

import pytest
from treewright.kernels.forked import ForkedHost
from treewright.kernels.trace import Ending

sys.path.insert(0, str(Path(__file__).parent))
from kernel_plans import passed, plan_of, value

PROGRAM = "def double(x):\n    print('doubling')\n    return x * 2\n"


@pytest.mark.requirement("kernels:branch:values")
def test_values_come_back_and_are_compared_here(forked: ForkedHost) -> None:
    plan = plan_of(value("double(3)", 6), value("double('a')", "aa"), value("double(3)", 7), value("double()", 1))
    trace = forked.run_branch(PROGRAM, plan)
    assert trace.ending is Ending.COMPLETED
    assert passed(plan, trace) == [True, True, False, False]
    assert trace.observations[3].error == "TypeError"
    assert trace.stdout == "doubling\n" * 3
