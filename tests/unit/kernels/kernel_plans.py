"""Plans, limits and programs for the tests of kernels."""

from treewright.kernels.limits import Limits
from treewright.search.checks import Check, CheckKind, Plan, judge
from treewright.search.ports import BranchOutcome, Trace

SMALL = Limits(memory_bytes=256 << 20, output_bytes=64 << 10, processes=12, file_bytes=1 << 20)
RIGHT = "def double(x):\n    return x * 2\n"

TESTS = """\
import pytest

from solution import double


@pytest.fixture
def three():
    return 3


def test_number(three):
    assert double(three) == 6


def test_text():
    assert double("a") == "aa"


@pytest.mark.parametrize("given", [[], [1]])
def test_list(given):
    assert double(given) == given + given
"""


def plan_of(*checks: Check, wall_s: float = 10.0, **more: object) -> Plan:
    """A plan of these checks, numbered."""
    numbered = tuple(one.model_copy(update={"id": f"c{number}"}) for number, one in enumerate(checks, 1))
    return Plan.model_validate({"checks": numbered, "per_branch_timeout_s": wall_s, **more})


def value(evaluate: str, expected: object = None, operator: str = "==", **more: object) -> Check:
    """A check that compares a value here."""
    fields = {
        "id": "c0",
        "kind": CheckKind.VALUE,
        "source": evaluate,
        "evaluate": evaluate,
        "expected": expected,
    }
    return Check.model_validate({**fields, "operator": operator, **more})


def check(kind: CheckKind, evaluate: str, expected: object = None, **more: object) -> Check:
    """A check of any kind."""
    fields = {"id": "c0", "kind": kind, "source": evaluate, "evaluate": evaluate, "expected": expected}
    return Check.model_validate({**fields, **more})


def node(name: str) -> Check:
    """A pytest check."""
    return check(CheckKind.PYTEST, name)


def passed(plan: Plan, trace: Trace) -> list[bool]:
    """Whether each check of the plan passed; a tampered branch gets no credit."""
    if trace.outcome is BranchOutcome.TAMPERED:
        return [False] * len(plan.checks)
    by_id = {one.check_id: one for one in trace.observations}
    return [judge(one, by_id.get(one.id)).passed for one in plan.checks]
