"""Texts that nobody means: what reads them answers or refuses in its own way, and in a time that grows with their length.

What is fuzzed next to its own tests: front matter (`tests/unit/presets/test_robustness.py`), citations and their references
(`tests/unit/workspace_text/test_citations.py`), anchors against a model (`tests/unit/workspace_text/test_anchors.py`), the
journal (`tests/unit/store`), settings (`tests/unit/store/test_config.py`).
"""

import contextlib
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trust.seeds import examples
from treewright.deliberate import imports, reading
from treewright.errors import TreewrightError
from treewright.explore.chaining import carry
from treewright.explore.glossary import read_glossary, root_terms
from treewright.explore.seeding import read_seeds
from treewright.models.html_text import readable_text
from treewright.models.loose_json import read_loose
from treewright.models.parse import parse_answer
from treewright.models.sse import EventReader
from treewright.presets.validator import validate_text
from treewright.search.answers import code_of
from treewright.search.candidates import change_size, lines_of_code, token_count
from treewright.search.doctests import split_doctest
from treewright.search.pairs import read_pairs
from treewright.search.splitting import split_asserts
from treewright.store.strict_json import decode_object
from treewright.workspace.citations import parse_reference

START = "def f(x):\n    return x\n"
SHAPE = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}


class Target(NamedTuple):
    """Something that reads text, and how it may refuse."""

    read: Callable[[str], Any]
    refusals: tuple[type[Exception], ...] = ()


def _events(text: str) -> None:
    reader = EventReader()
    list(reader.feed(text.encode("utf-8", "surrogatepass")))
    list(reader.finish())


TARGETS = {
    "answer": Target(parse_answer, (ValueError,)),
    "answer of a shape": Target(lambda text: parse_answer(text, SHAPE), (ValueError,)),
    "loose JSON": Target(read_loose, (ValueError,)),
    "asserts": Target(lambda text: split_asserts(text, "f"), (ValueError, SyntaxError)),
    "pairs": Target(lambda text: read_pairs(text, "f"), (ValueError,)),
    "doctests": Target(split_doctest, (ValueError,)),
    "program": Target(lambda text: code_of(text, START, "f")),
    "size of a change": Target(
        lambda text: (change_size(START, text), lines_of_code(text), token_count(text)),
        (ValueError, SyntaxError),
    ),
    "deliverable": Target(lambda text: carry([text], 3)),
    "seeds": Target(lambda text: read_seeds(text, "x"), (TreewrightError,)),
    "glossary": Target(lambda text: (read_glossary(text), root_terms(text))),
    "web page": Target(lambda text: readable_text(text.encode("utf-8", "replace"), None, is_html=True)),
    "events": Target(_events),
    "scores": Target(lambda text: reading.read_scores("n", text), (reading.Unclear,)),
    "mapping": Target(lambda text: reading.read_mapping("n", text, "e"), (reading.Unclear,)),
    "list": Target(lambda text: reading.read_list("n", text, "e"), (reading.Unclear,)),
    "session": Target(imports.read_document, (reading.Unclear, TreewrightError)),
    "reference": Target(parse_reference),
    "event": Target(
        lambda text: decode_object(text.encode("utf-8", "surrogatepass")), (ValueError, TreewrightError)
    ),
    "preset": Target(lambda text: validate_text("preset", f"---\n{text}\n---\n{text}", "x.md")),
}

PIECES = [
    '"', "'", "\n", "\\", "{", "}", "[", "]", ",", ":", "```json\n", "```\n", "~~~", "<think>", "</think>", "\u2028", "\x00",
    "\ud800", "\ufeff", "1e999", "9" * 5000, "-0", "NaN", "Infinity", "0x", "1_0", "\t", ">>> ", "... ", "assert f(1) == 2\n",
    "assert abs(f(1) - 2.0) < 1e-6\n", "def check(candidate):\n    assert candidate(1) == 1\n", "import math\n",
    "for i in range(3): assert f(i)\n", "with raises(ValueError):\n    f(1)\n", "a.py:1", "a.py:0-9", "a.py:" + "9" * 30, "## 1. ",
    "- [ ] ", "**", "---\n", "name: x\n", "| a | b |\n", "é🙂", "\u202e", "\x1b[31m", "data: ", "event: error\n", "\r", "# ", "f(",
    "==", " is ", "None", "<script>", "&#x110000;", "&#99999999999;", "<!--", "\x85", "\x0c", "[1,2", "{'a': 1, b: 2,}", "(" * 200,
    "[" * 3000, '{"a":' * 3000, "not " * 400, "-" * 60_000, "1+" * 300, "f(" * 90, "lambda:" * 200,
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=examples(25), deadline=None)
@given(text=TEXTS)
@pytest.mark.requirement("trust:fuzz:texts")
def test_no_text_brings_a_reader_down(name: str, text: str) -> None:
    target = TARGETS[name]
    with warnings.catch_warnings(), contextlib.suppress(*target.refusals):
        warnings.simplefilter("ignore")  # Python's own remarks on the programs that come out
        target.read(text)


DEEP = [
    ("not ", ""),
    ("1+", ""),
    ("-", ""),
    ("f(", ")"),
    ("[", "]"),
    ("lambda:", ""),
    ("a.", ""),
    ('"a" ', ""),
    ("x[", "]"),
]


@pytest.mark.parametrize("name", ["asserts", "pairs", "doctests", "program", "size of a change", "answer"])
@pytest.mark.parametrize("depth", [140, 160, 900, 12_000])
@pytest.mark.requirement("trust:fuzz:depth")
def test_nesting_without_end_is_a_fault_of_the_text(name: str, depth: int) -> None:
    target = TARGETS[name]
    for opening, closing in DEEP:
        inner = opening * depth + "1" + closing * depth
        for text in (
            inner,
            f"assert {inner} == 1\n",
            f">>> {inner}\n1\n",
            f"def f(x):\n    return {inner}\n",
        ):
            with warnings.catch_warnings(), contextlib.suppress(*target.refusals):
                warnings.simplefilter("ignore")
                target.read(text)


UNITS = [
    "9",
    "1_",
    "[",
    '{"a":',
    "`",
    "```\n",
    "~~~\n",
    '"',
    "\\",
    " ",
    "\n",
    "<",
    "<think>",
    "&#",
    "| a ",
    "- a\n",
    "# a\n",
    "a.py:1 ",
    "*",
]
LONG, MOST_S = 48_000, 3.0
"""characters; processor seconds, tens of times what the slowest reader took when this was written"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["answer", "answer of a shape", "loose JSON", "program", "web page", "seeds", "glossary", "reference"],
)
@pytest.mark.requirement("trust:fuzz:length")
def test_a_long_text_of_one_sign_takes_a_moment(name: str) -> None:
    target = TARGETS[name]
    for unit in UNITS:
        text = unit * (LONG // len(unit))
        began = time.process_time()
        with contextlib.suppress(*target.refusals):
            target.read(text)
        assert time.process_time() - began < MOST_S, unit
