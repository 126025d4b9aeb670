"""The program in what a model answers."""

import pytest

from treewright.search.answers import code_of

GOOD = "def f(n):\n    return n * n\n"
START = "import math\n\n\ndef helper(n):\n    return n\n\n\ndef f(n):\n    pass\n"


@pytest.mark.requirement("search:answers:tolerant")
@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"```python\n{GOOD}```",
        f"```\n{GOOD}```",
        f"Sure! Here it is:\n\n```py\n{GOOD}```\nIt squares.",
        f"<think>```python\ndef f(n): return 0\n```</think>\n```python\n{GOOD}```",
        f"```bash\npip install x\n```\n```python\n{GOOD}```",
        f"Here you go:\n{GOOD}",
        f"```python\n{GOOD}",
        f"{GOOD}\nThis works because squares.",
        f"~~~python\r\n{GOOD}~~~",
        f"{GOOD}\ndef g(n):\n    return (n +",
    ],
)
def test_the_program_is_found(answer: str) -> None:
    code = code_of(answer, "", "f")
    assert code is not None
    space: dict[str, object] = {}
    exec(code, space)
    assert space["f"](3) == 9  # type: ignore[operator]


@pytest.mark.requirement("search:answers:tolerant")
@pytest.mark.parametrize(
    "body",
    ["    return helper(n) * n\n", "return helper(n) * n\n", "```python\n    return helper(n) * n\n```"],
)
def test_a_body_alone_goes_below_the_starting_functions_header(body: str) -> None:
    code = code_of(body, START, "f")
    assert code is not None
    space: dict[str, object] = {}
    exec(code, space)
    assert space["f"](3) == 9  # type: ignore[operator]


@pytest.mark.requirement("search:answers:tolerant")
def test_what_the_start_defines_and_the_answer_leaves_out_is_kept() -> None:
    code = code_of("```python\ndef f(n):\n    return helper(n) + math.floor(1.5)\n```", START, "f")
    assert code is not None
    space: dict[str, object] = {}
    exec(code, space)
    assert space["f"](3) == 4  # type: ignore[operator]


@pytest.mark.requirement("search:answers:none")
@pytest.mark.parametrize(
    "answer",
    ["", "I cannot do that.", "```json\n{}\n```", "<think>def f(n): return n", "def g(n):\n    return 1\n"],
)
def test_an_answer_without_the_program_gives_none(answer: str) -> None:
    assert code_of(answer, "", "f") is None


@pytest.mark.requirement("search:answers:spliced")
def test_an_answer_changes_only_what_it_defines_anew() -> None:
    start = (
        '"""About."""\n\nimport math\n\nLIMIT = 3  # not more\n\n\n@cache\ndef f(n):\n    return n\n\n\n'
        '# the end\nif __name__ == "__main__":\n    print(f(2))\n'
    )
    answer = (
        "```python\nimport math\nimport os\n\ndef helper(n):\n    return n\n\ndef f(n):\n    return helper(n) * n\n\n"
        "print(f(3))\n```"
    )
    assert code_of(answer, start, "f") == (
        '"""About."""\n\nimport math\n\nLIMIT = 3  # not more\n\n\nimport os\n\n\ndef helper(n):\n    return n\n\n\n'
        'def f(n):\n    return helper(n) * n\n\n\n# the end\nif __name__ == "__main__":\n    print(f(2))\n'
    )
