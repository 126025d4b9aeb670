"""A stub is a task to write, not a program to mend: its examples are read, and a model goes on from it."""

import ast
import textwrap

import pytest

from tests.unit.search.forkhost import ForkHost
from treewright.errors import RequestError
from treewright.search.engine import SearchEngine
from treewright.search.framings import check_text
from treewright.search.settings import SearchSettings
from treewright.search.task import SearchTask, plan_of
from treewright.search.tasks import (
    DraftTask,
    Executed,
    ExecuteTask,
    Generated,
    MutateTask,
    ReviseTask,
    asked_alike,
)
from treewright.search.written import written_checks

STUB = '''import math


def area(side):
    """The area of a square.

    area(2) => 4
    area(1.5) returns 2.25
    """
    ...
'''


def read(text: str, parameters: str = "n") -> list[tuple[str, object]]:
    program = f'def f({parameters}):\n    """Words.\n\n{textwrap.indent(text, "    ")}\n    """\n'
    return [(check.evaluate, check.expected) for check in written_checks(ast.parse(program), "f")]


@pytest.mark.requirement("search:checks:written")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("f(2) == 4", [("f(2)", 4)]),
        ("f(2) => 4\nf(3) ==> 9", [("f(2)", 4), ("f(3)", 9)]),
        ("f(2) \u279e 4", [("f(2)", 4)]),
        ("f('a b') returns 'b, a'", [("f('a b')", "b, a")]),
        ("f(2)  # returns [1, 2]", [("f(2)", [1, 2])]),
        ("f([[1,\n   2]]) -> {'a': (1, 2)}", [("f([[1, 2]])", {"a": (1, 2)})]),
        ("f(2) = 1 + 9 = 10", [("f(2)", 10)]),
        ("f(4) => true, f(5) => False", [("f(4)", True), ("f(5)", False)]),
        (">>> f(2) == 4", [("f(2)", 4)]),
        ("f(-1.5) should be -2e3", [("f(-1.5)", -2000.0)]),
        ("For n = [1, 2] the output should be 5", [("f([1, 2])", 5)]),
        ('Input: n = "x"\n  Output: "xx"', [("f(n='x')", "xx")]),
        ("f(2) => 4\nf(2) => 5", [("f(2)", 4)]),
    ],
)
def test_examples_in_words_are_read(text: str, found: list[tuple[str, object]]) -> None:
    assert read(text) == found


@pytest.mark.requirement("search:checks:written")
@pytest.mark.parametrize(
    "text",
    [
        "f(a) => True",
        "f(2) => four",
        'f("aa") == ""aa"',
        "f((1, 2) => 3",
        "g(2) == 4",
        "obj.f(2) == 4",
        "f() == 1",
        "f(2) and then 4",
        "f(2) => 4apples",
        "f(" + "(" * 500,
    ],
)
def test_an_example_that_cannot_be_read_with_certainty_is_left_out(text: str) -> None:
    assert read(text) == []


@pytest.mark.requirement("search:checks:written")
def test_examples_in_words_count_only_where_there_is_nothing_else_to_check_by() -> None:
    assert len(plan_of(SearchTask(start=STUB, entry_point="area")).checks) == 2
    asked = SearchTask(start=STUB, entry_point="area", check_sources=("assert area(3) == 9",))
    assert [check.evaluate for check in plan_of(asked).checks] == ["area(3)"]
    with pytest.raises(RequestError) as refused:
        plan_of(SearchTask(start="def area(side):\n    '''Its area.'''\n", entry_point="area"))
    assert refused.value.code == "search_no_checks"


@pytest.mark.requirement("search:generate:stub")
@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ('"""Words."""', True),
        ("pass", True),
        ("...", True),
        ('import math\n    """Words."""', True),
        ('"""Words."""\n    raise NotImplementedError("later")', True),
        ("return None", False),
        ('"""Words."""\n    raise ValueError', False),
        ("x = 1", False),
    ],
)
def test_a_function_without_a_body_is_a_stub(body: str, stub: bool) -> None:
    assert SearchTask(start=f"def f(n):\n    {body}\n", entry_point="f").stub is stub


def begun(**more: object) -> SearchEngine:
    settings = SearchSettings.model_validate({"generators": ("model",), **more})
    return SearchEngine.start("r1", SearchTask(start=STUB, entry_point="area"), settings)


@pytest.mark.requirement("search:generate:stub")
def test_a_stub_is_neither_executed_nor_edited_and_an_answer_goes_on_from_it() -> None:
    engine = begun()
    assert not engine.state.branches
    (task,) = engine.ready()
    assert isinstance(task, DraftTask)
    assert task.begin.startswith("```python\nimport math\n")
    assert task.begin.endswith('returns 2.25\n    """\n'), "without the dots that stand for a body"
    assert "function to complete" in task.messages[-1].content
    assert "It must pass" not in task.messages[-1].content, "the examples are told in the stub"
    engine.submit(Generated(task_id=task.id, answers=(task.begin + "    return side * side",)))
    (executed,) = engine.ready()
    assert isinstance(executed, ExecuteTask)
    engine.submit(Executed(task_id=executed.id, trace=ForkHost().run_branch(executed.program, executed.plan)))
    assert engine.state.concluded is not None
    assert engine.state.concluded.verified


@pytest.mark.requirement("search:generate:alike")
def test_drafts_that_ask_the_same_form_one_request() -> None:
    engine = begun(staged=False, varied=False)
    tasks = [task for task in engine.ready() if isinstance(task, DraftTask)]
    assert [[task.id for task in group] for group in asked_alike(tasks)] == [
        ["draft:0"],
        ["draft:1", "draft:2", "draft:3", "draft:4"],
    ]
    varied = [task for task in begun(staged=False).ready() if isinstance(task, DraftTask)]
    assert len(asked_alike(varied)) == len(varied)


@pytest.mark.requirement("search:generate:near-misses")
def test_near_misses_are_edited_last_and_one_after_the_other() -> None:
    engine = begun(generators=("model", "revise", "mutate"), max_candidates=2)
    host, kinds = ForkHost(), []
    while tasks := engine.ready():
        task = tasks[0]
        kinds.append(type(task))
        if isinstance(task, ExecuteTask):
            engine.submit(Executed(task_id=task.id, trace=host.run_branch(task.program, task.plan)))
        elif isinstance(task, DraftTask | ReviseTask):
            wrong = f"{task.begin}    return side + {len(kinds)}"
            engine.submit(Generated(task_id=task.id, answers=(wrong,)))
        else:
            assert isinstance(task, MutateTask)
            assert len([one for one in tasks if isinstance(one, MutateTask)]) == 1
            break
    assert kinds == [DraftTask, ExecuteTask, ReviseTask, ExecuteTask, MutateTask]


@pytest.mark.requirement("search:generate:revise")
def test_a_doctest_is_shown_with_what_it_must_give() -> None:
    start = 'def f(n):\n    """Words.\n\n    >>> f(2)\n    4\n    """\n'
    (check,) = plan_of(SearchTask(start=start, entry_point="f")).checks
    assert check_text(check) == ">>> f(2)  must give  4"
