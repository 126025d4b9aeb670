"""Plans for the tests of kernels."""

from treewright.search.checks import Check, CheckKind, Plan, judge
from treewright.search.ports import Trace


def plan_of(*checks: Check, wall_s: float = 10.0, **more: object) -> Plan:
    """A plan of these checks, numbered."""
    numbered = tuple(one.model_copy(update={"id": f"c{number}"}) for number, one in enumerate(checks, 1))
    return Plan.model_validate({"checks": numbered, "per_branch_timeout_s": wall_s, **more})


def value(evaluate: str, expected: object = None, operator: str = "==", **more: object) -> Check:
    """A check that compares a value here."""
    fields = {"id": "c0", "kind": CheckKind.VALUE, "source": evaluate, "evaluate": evaluate, "expected": expected}
    return Check.model_validate({**fields, "operator": operator, **more})


def passed(plan: Plan, trace: Trace) -> list[bool]:
    """Whether each check of the plan passed."""
    by_id = {one.check_id: one for one in trace.observations}
    return [judge(check, by_id.get(check.id)).passed for check in plan.checks]
