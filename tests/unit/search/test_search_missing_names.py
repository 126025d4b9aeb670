"""Names that are not there, one slip in many places, and what tells passing programs apart."""

import ast
import time

import pytest

from tests.unit.search.forkhost import ForkHost
from treewright.search.drive import RepairOutcome, repair_program
from treewright.search.mutate.catalogue import edits_of
from treewright.search.mutate.edit import apply_splices
from treewright.search.mutate.facts import Material
from treewright.search.mutate.site import Site
from treewright.search.mutate.unknown import missing_names
from treewright.search.probes import probe_plan
from treewright.search.task import SearchTask, plan_of


def repaired(program: str, checks: str, entry_point: str = "f") -> RepairOutcome:
    """What a repair of a program finds."""
    plan = plan_of(SearchTask(start=program, entry_point=entry_point, check_sources=(checks,)))
    host = ForkHost()
    return repair_program(program, plan, host, host, clock=time.monotonic, seconds=90)


def first_mutants(program: str, missing: set[str]) -> list[str]:
    """Programs of the likeliest edits, when these names were not found."""
    site = Site(program)
    lines = dict.fromkeys(range(1, program.count("\n") + 2), 0.0)
    edits = sorted(
        edits_of(site, Material(site, (), frozenset(missing)), lines, {}), key=lambda pair: pair[0]
    )
    return [text for _, edit in edits[:80] if (text := apply_splices(site.source, edit.splices)) is not None]


@pytest.mark.requirement("search:mutate:missing-names")
def test_names_are_read_from_what_python_says_of_them() -> None:
    messages = (
        "name 'lenght' is not defined",
        "'Solution' object has no attribute 'helper'. Did you mean: 'help'?",
        "cannot access local variable 'total' where it is not associated with a value",
        "list index out of range",
    )
    assert missing_names(messages) == {"lenght", "helper", "total"}


@pytest.mark.requirement("search:mutate:missing-names")
@pytest.mark.parametrize(
    ("program", "missing", "wanted"),
    [
        ("def f(xs):\n    return true\n", "true", "def f(xs):\n    return True\n"),
        ("def f(xs):\n    return lenght(xs)\n", "lenght", "def f(xs):\n    return len(xs)\n"),
        (
            "class S:\n    def f(self, xs):\n        return self.min(xs) + self.min(xs)\n",
            "min",
            "class S:\n    def f(self, xs):\n        return min(xs) + min(xs)\n",
        ),
        (
            "class S:\n    def help(self, x):\n        return x\n    def f(self, x):\n        return help_(x)\n",
            "help_",
            "class S:\n    def help(self, x):\n        return x\n    def f(self, x):\n        return sum(x)\n",
        ),
        (
            "def f(first, last):\n    return (last - frist) + frist\n",
            "frist",
            "def f(first, last):\n    return (last - first) + first\n",
        ),
    ],
)
def test_what_stands_for_a_missing_name_is_among_the_first_edits(
    program: str, missing: str, wanted: str
) -> None:
    assert wanted in first_mutants(program, {missing})
    assert all(ast.parse(text) for text in first_mutants(program, {missing}))


@pytest.mark.requirement("search:mutate:missing-names")
def test_a_call_of_nothing_is_taken_out_and_not_left_as_half_a_statement() -> None:
    program = "class S:\n    def f(self, n):\n        self.prepare()\n        return n + 2\n"
    found = repaired(program, "assert S().f(n=1) == 3\nassert S().f(n=5) == 7\n", "S.f")
    assert found.chosen is not None
    assert found.chosen.source == "class S:\n    def f(self, n):\n        return n + 2\n"


@pytest.mark.requirement("search:mutate:everywhere")
def test_one_slip_in_many_places_is_one_edit() -> None:
    program = (
        "def f(xs):\n    best = 0\n    for i in range(len(xs)):\n"
        "        if xs[i - 1] > best:\n            best = xs[i - 1]\n    return best, i and xs[i - 1]\n"
    )
    wanted = program.replace("[i - 1]", "[i]")
    site = Site(program)
    lines = dict.fromkeys(range(1, 8), 0.0)
    texts = [apply_splices(program, edit.splices) for _, edit in edits_of(site, Material(site), lines, {})]
    assert wanted in texts


@pytest.mark.requirement("search:mutate:several-pass")
def test_arguments_by_keyword_are_varied_too_and_exchanged_between_checks() -> None:
    checks = "assert f(n=12, k=3) == 3\nassert f(n=7, k=2) == 7\n"
    plan = plan_of(SearchTask(start="def f(n, k): ...\n", entry_point="f", check_sources=(checks,)))
    asked = [check.evaluate for check in probe_plan(plan).checks]
    assert "f(n=13, k=3)" in asked and "f(n=7, k=3)" in asked
    assert "f(n=12, k=3)" not in asked


@pytest.mark.requirement("search:mutate:several-pass")
def test_one_check_by_keyword_is_enough_to_say_that_several_programs_pass() -> None:
    found = repaired("def f(a, b):\n    return a - b\n", "assert f(a=2, b=2) == 4\n")
    assert found.chosen is not None and found.distinct > 1
