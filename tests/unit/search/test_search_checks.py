"""Checks: split so that each can pass or fail alone, compared in our process."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.search.forkhost import ForkHost
from treewright.errors import RequestError
from treewright.search.checks import Check, CheckKind, Observation, ObservedStatus, Plan, judge
from treewright.search.compare import distance, equal, holds
from treewright.search.plain import Opaque, decode, encode
from treewright.search.repair import verdicts_of
from treewright.search.task import CheckSource, SearchTask, held_out, plan_of, visible


def checks_in(text: str, entry_point: str | None = "f", **more: object) -> list[Check]:
    """The checks that a text splits into."""
    source = CheckSource.model_validate({"text": text, **more})
    return list(plan_of(SearchTask(entry_point=entry_point, check_sources=(source,))).checks)


def passes(program: str, text: str, entry_point: str = "f", **more: object) -> list[bool]:
    """Which checks of a text a program passes, really executed."""
    source = CheckSource.model_validate({"text": text, **more})
    plan = plan_of(SearchTask(entry_point=entry_point, check_sources=(source,), docstring_examples=False))
    verdicts, _ = verdicts_of(plan.checks, ForkHost().run_branch(program, plan))
    return [verdict.passed for verdict in verdicts]


@pytest.mark.requirement("search:checks:split")
@pytest.mark.parametrize(
    ("text", "evaluate", "operator", "expected"),
    [
        ("assert f(1) == 2", "f(1)", "==", 2),
        ("assert 2 == f(1)", "f(1)", "==", 2),
        ("assert f(1) != [1]", "f(1)", "!=", [1]),
        ("assert f(1) < 3", "f(1)", "<", 3),
        ("assert 3 < f(1)", "f(1)", ">", 3),
        ("assert f(1) in (1, 2)", "f(1)", "in", (1, 2)),
        ("assert f(1) is None", "f(1)", "is", None),
        ("assert f(1)", "f(1)", "truth", None),
        ("assert not f(1)", "f(1)", "falsity", None),
        ("assert f(2) == 2.0 / 4", "f(2)", "==", 0.5),
        ("assert f(2) == [0] * 3", "f(2)", "==", [0, 0, 0]),
        ("assert f(2) == set([1])", "f(2)", "==", {1}),
    ],
)
def test_a_comparison_is_split_into_what_is_evaluated_and_what_is_expected(
    text: str, evaluate: str, operator: str, expected: object
) -> None:
    (check,) = checks_in(text)
    assert (check.kind, check.evaluate, check.operator) == (CheckKind.VALUE, evaluate, operator)
    assert check.expected == expected
    assert check.right is None


@pytest.mark.requirement("search:checks:split")
@pytest.mark.parametrize(
    ("text", "rel", "absolute"),
    [
        ("assert abs(f(1) - 0.33) < 1e-6", 0.0, 1e-6),
        ("assert abs(0.33 - f(1)) <= 1e-6", 0.0, 1e-6),
        ("import math\nassert math.isclose(f(1), 0.33, rel_tol=1e-3)", 1e-3, 0.0),
        ("import pytest\nassert f(1) == pytest.approx(0.33)", 1e-6, 1e-12),
        ("import pytest\nassert f(1) == pytest.approx(0.33, abs=0.1)", 0.0, 0.1),
    ],
)
def test_closeness_is_compared_here_within_its_tolerance(text: str, rel: float, absolute: float) -> None:
    (check,) = checks_in(text, format="asserts")
    assert (check.evaluate, check.operator, check.expected) == ("f(1)", "close", 0.33)
    assert check.rel == pytest.approx(rel) and check.absolute == pytest.approx(absolute)


@pytest.mark.requirement("search:checks:split")
def test_asserts_in_a_check_function_become_single_checks_with_their_context() -> None:
    text = """
def check(candidate):
    size = 3
    assert candidate(size) == 9
    for n in range(4):
        assert candidate(n) == n * n
    assert candidate(2) == 4 and candidate(0) == 0

check(square)
"""
    assert passes("def square(n):\n    return n * n\n", text, "square") == [True] * 4
    assert passes("def square(n):\n    return n * 3\n", text, "square") == [True, False, False, True]


@pytest.mark.requirement("search:checks:split")
def test_checks_of_one_object_see_what_earlier_ones_did_to_it() -> None:
    text = "def test_pop():\n    s = f([1, 2])\n    assert s.pop() == 2\n    assert s.pop() == 1\n"
    assert passes("def f(xs):\n    return list(xs)\n", text) == [True, True]


@pytest.mark.requirement("search:checks:doctest")
def test_doctest_examples_of_the_starting_functions_docstring_are_checks() -> None:
    start = '''def f(n):
    """Twice.

    >>> f(2)
    4
    >>> f("a")
    'aa'
    >>> print(f(1))
    2
    >>> f(None)
    Traceback (most recent call last):
    TypeError: no
    """
    return n * 2
'''
    plan = plan_of(SearchTask(start=start, entry_point="f"))
    verdicts, _ = verdicts_of(plan.checks, ForkHost().run_branch(start, plan))
    assert [check.kind for check in plan.checks] == ["value", "value", "text", "raises"]
    assert all(verdict.passed for verdict in verdicts)


@pytest.mark.requirement("search:checks:pairs")
@pytest.mark.parametrize(
    "text",
    [
        '[["f(1, 2)", 3], ["f(0, 0)", 0]]',
        "[[[1, 2], 3], [[0, 0], 0]]",
        "[[1, 2], 3]\n[[0, 0], 0]",
        '[{"args": [1, 2], "expected": 3}, {"call": "f(0, 0)", "expected": 0}]',
        '{"input": [1, 2], "output": 3}\n{"input": [0, 0], "output": 0}',
        "[('f(1, 2)', 3), ((0, 0), 0)]",
    ],
)
def test_pairs_of_call_and_expected_are_read_from_python_and_json(text: str) -> None:
    assert passes("def f(a, b):\n    return a + b\n", text) == [True, True]
    assert passes("def f(a, b):\n    return a * b\n", text) == [False, True]


@pytest.mark.requirement("search:checks:pairs")
def test_values_from_json_are_compared_as_json_compares() -> None:
    program = "def f(n):\n    yield from ((i, i * i) for i in range(n))\n"
    assert passes(program, "[[[3], [[0, 0], [1, 1], [2, 4]]]]") == [True]


@pytest.mark.requirement("search:checks:pytest")
def test_simple_pytest_and_unittest_tests_are_split_and_others_stay_pytest_nodes() -> None:
    text = """
import pytest, unittest
from program import f

@pytest.mark.parametrize("n, wanted", [(1, 2), (2, 4)])
def test_double(n, wanted):
    assert f(n) == wanted

def test_raises():
    with pytest.raises(TypeError):
        f()

def test_file(tmp_path):
    assert f(tmp_path)

class TestF(unittest.TestCase):
    def test_more(self):
        self.assertEqual(f(3), 6)
        self.assertTrue(f(1))
"""
    found = checks_in(text)
    assert [check.kind for check in found] == ["value", "value", "raises", "pytest", "value", "value"]
    assert found[3].evaluate == "test_file"
    assert (
        passes(
            "def f(n):\n    return n * 2\n",
            text.replace("def test_file(tmp_path):\n    assert f(tmp_path)\n", ""),
        )
        == [True] * 5
    )


@pytest.mark.requirement("search:checks:stdout")
def test_printed_output_is_compared_line_by_line() -> None:
    (check,) = checks_in("1\n2\n", format="stdout")
    seen = Observation(check_id=check.id, status=ObservedStatus.VALUE, stdout="1 \n2\n\n")
    assert judge(check, seen).passed
    assert not judge(check, seen.model_copy(update={"stdout": "1\n3\n"})).passed


@pytest.mark.requirement("search:checks:required")
@pytest.mark.parametrize("text", ["", "x = 1", "import math"])
def test_a_search_without_checks_is_refused(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        plan_of(SearchTask(statement="do it", check_sources=(text,)))
    assert caught.value.code == "search_no_checks"


@pytest.mark.requirement("search:checks:required")
@pytest.mark.parametrize(
    ("start", "checks", "code"),
    [
        ("def f(:\n", "assert f(1) == 2", "search_bad_start"),
        ("", "assert f(1) ==", "search_bad_checks"),
        ("", "[1, 2, 3]", "search_bad_checks"),
    ],
)
def test_what_cannot_be_read_is_named(start: str, checks: str, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        plan_of(SearchTask(start=start, check_sources=(checks,)))
    assert caught.value.code == code


@pytest.mark.requirement("search:checks:holdout")
def test_a_share_of_the_checks_is_held_out_and_at_least_one_stays_visible() -> None:
    text = "\n".join(f"assert f({n}) == {n}" for n in range(10))
    plan = plan_of(SearchTask(check_sources=(text,), holdout=0.3))
    apart = held_out(plan)
    assert apart is not None and len(apart.checks) == 3 and len(visible(plan).checks) == 7
    single = plan_of(SearchTask(check_sources=("assert f(1) == 1",), holdout=0.9))
    assert held_out(single) is None


@pytest.mark.requirement("search:checks:absent-fails")
def test_a_check_that_did_not_report_fails() -> None:
    (check,) = checks_in("assert f(1) == 2")
    assert not judge(check, None).passed
    for status in (ObservedStatus.ABSENT, ObservedStatus.TIMEOUT, ObservedStatus.CRASHED):
        assert not judge(check, Observation(check_id=check.id, status=status)).passed
    nonsense = Observation(check_id=check.id, status=ObservedStatus.VALUE, value=["?", 1])
    assert not judge(check, nonsense).passed


@pytest.mark.requirement("search:compare:plain-values")
def test_no_object_of_a_candidate_reaches_the_comparison() -> None:
    program = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __hash__(self): return 1
class LyingInt(int):
    def __eq__(self, other): return True
    def __hash__(self): return 1
def f(n):
    return Liar() if n else LyingInt(5)
"""
    text = "assert f(1) == 3\nassert f(0) == 3\nassert f(1) != 3\nassert f(0) == 5"
    assert passes(program, text) == [False, False, False, True]


@pytest.mark.requirement("search:compare:rules")
def test_comparison_follows_python_and_knows_nan_tolerance_and_types() -> None:
    assert equal(float("nan"), float("nan")) and not equal(float("nan"), 1.0)
    assert equal(True, 1) and not holds("is", 1, True) and holds("is", True, True)
    assert not equal((1, 2), [1, 2]) and equal((1, 2), [1, 2], json=True)
    assert equal({"1": 2}, {"1": 2}) and equal({1: 2}, {"1": 2}, json=True)
    assert equal([1.0000001], [1.0], rel=1e-6) and not equal([1.001], [1.0], rel=1e-6)
    assert not holds("<", "a", 3) and not holds("!=", Opaque("X", ""), 3)
    assert holds("in", "b", "abc") and not holds("not in", 1, [1])
    assert not equal(10**400, 1.0, rel=0.1)


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.requirement("search:compare:plain-values")
@given(plain_values)
def test_a_plain_value_crosses_unchanged(value: object) -> None:
    back = decode(encode(value))
    assert equal(back, value) and distance(back, value) == 0.0


@pytest.mark.requirement("search:compare:plain-values")
def test_values_that_json_cannot_hold_cross_too() -> None:
    for value in (10**5000, "\ud800", -math.inf, 2 + 3j, {(1, 2): {3}}, frozenset({1}), b"\x00"):
        assert decode(encode(value)) == value
    nested: list[object] = []
    for _ in range(500):
        nested = [nested]
    assert isinstance(encode(nested), list)


@given(plain_values, plain_values)
def test_distance_is_zero_only_for_equals_and_never_above_one(one: object, other: object) -> None:
    gap = distance(one, other)
    assert 0.0 <= gap <= 1.0
    if gap == 0.0:
        assert equal(one, other, json=True)


def test_a_plan_is_strict() -> None:
    with pytest.raises(ValueError, match="per_branch_timeout_s"):
        Plan(checks=(), per_branch_timeout_s=-1)


@pytest.mark.requirement("search:engine:resume")
@given(plain_values)
def test_what_a_check_expects_survives_the_journal(value: object) -> None:
    check = Check(id="c1", kind=CheckKind.VALUE, source="", evaluate="f()", expected=value)
    back = Check.model_validate_json(check.model_dump_json())
    assert back == check and equal(back.expected, value)


@pytest.mark.requirement("search:compare:rules")
def test_enormous_numbers_are_compared_and_shown_without_a_fault() -> None:
    huge = 7**100_000
    assert distance(huge, 1) == 0.9 and distance(float("nan"), 1) == 0.9 and distance(huge, 1.5) == 0.9
    assert 0 < distance([huge, 1], [1, huge]) < 1 and not equal(huge, 1.0, rel=0.5)
    (check,) = checks_in("assert f(1) == [1, 2]")
    seen = Observation(check_id=check.id, status=ObservedStatus.VALUE, value=encode([2, huge]))
    assert not judge(check, seen).passed
    shown = check.model_copy(update={"kind": CheckKind.TEXT, "expected": "1\n"})
    assert not judge(shown, seen).passed
