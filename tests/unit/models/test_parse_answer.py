"""Reading what models return: tolerant in form, strict in content, and nothing invented."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.models.parse import parse_answer

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "done": {"type": "boolean"},
        "level": {"enum": ["PROMISING", "MARGINAL", "DEAD-END"]},
        "items": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}

READS = {
    "plain": ('{"name": "Ana"}', {"name": "Ana"}),
    "fence": ('```json\n{"name": "Ana"}\n```', {"name": "Ana"}),
    "fence and commentary": ('Sure!\n```json\n{"name": "Ana"}\n```\nHope {that} helps [1].', {"name": "Ana"}),
    "unlabelled fence": ('```\n{"name": "Ana"}\n```', {"name": "Ana"}),
    "tilde fence": ('~~~json\n{"name": "Ana"}\n~~~', {"name": "Ana"}),
    "fence without an end": ('```json\n{"name": "Ana"}', {"name": "Ana"}),
    "bash before json": (
        '```bash\ncurl -d \'{"name": "no"}\' x\n```\nThen:\n```json\n{"name": "Ana"}\n```',
        {"name": "Ana"},
    ),
    "bash before bare json": ('```bash\necho {"name": 1}\n```\n{"name": "Ana"}', {"name": "Ana"}),
    "think block": ('<think>maybe {"name": "Bob"}?</think>{"name": "Ana"}', {"name": "Ana"}),
    "think end only": ('so I say Bob\n</think>\n\n{"name": "Ana"}', {"name": "Ana"}),
    "thinking block in capitals": ('<THINKING>x</THINKING>\n{"name": "Ana"}', {"name": "Ana"}),
    "think tag inside the answer": ('{"name": "<think>x</think>"}', {"name": "<think>x</think>"}),
    "prose around": ('Here it is: {"name": "Ana"} as asked.', {"name": "Ana"}),
    "example first": ('For example {"name": "X"}. My answer: {"name": "Ana"}', {"name": "Ana"}),
    "trailing commas": ('{"name": "Ana", "items": ["a", "b",],}', {"name": "Ana", "items": ["a", "b"]}),
    "single quotes": ("{'name': 'Ana', 'items': ['it''s']}", None),
    "single quotes apostrophe": ("{'name': 'Ana\\'s'}", {"name": "Ana's"}),
    "apostrophe unescaped": ("{'name': 'Ana's book'}", {"name": "Ana's book"}),
    "python literals": ("{'name': 'Ana', 'done': True, 'count': None}", {"name": "Ana", "done": True}),
    "unquoted keys": ('{name: "Ana", count: 3}', {"name": "Ana", "count": 3}),
    "comments": ('{"name": "Ana", // who\n "count": 3 /* n */}', {"name": "Ana", "count": 3}),
    "url in a string": ('{"name": "http://x.y/#z", }', {"name": "http://x.y/#z"}),
    "missing comma": ('{"name": "Ana"\n "count": 3}', {"name": "Ana", "count": 3}),
    "raw line break": ('{"name": "Ana\nMaria"}', {"name": "Ana\nMaria"}),
    "unescaped quotes": ('{"name": "the "big" one", "count": 1}', {"name": 'the "big" one', "count": 1}),
    "smart quotes": ("{\u201cname\u201d: \u201cAna\u201d}", {"name": "Ana"}),
    "byte order mark": ('\ufeff{"name": "Ana"}', {"name": "Ana"}),
    "number in a string": ('{"name": "Ana", "count": "1"}', {"name": "Ana", "count": 1}),
    "float for an integer": ('{"name": "Ana", "count": 3.0}', {"name": "Ana", "count": 3}),
    "false in a string": ('{"name": "Ana", "done": "false"}', {"name": "Ana", "done": False}),
    "False in a string": ('{"name": "Ana", "done": "False"}', {"name": "Ana", "done": False}),
    "enum case": ('{"name": "Ana", "level": "dead_end"}', {"name": "Ana", "level": "DEAD-END"}),
    "number for a string": ('{"name": 5}', {"name": "5"}),
    "one for a list": ('{"name": "Ana", "items": "a"}', {"name": "Ana", "items": ["a"]}),
    "key case": ('{"Name": "Ana"}', {"name": "Ana"}),
    "wrapped": ('{"answer": {"name": "Ana"}}', {"name": "Ana"}),
    "in a list": ('[{"name": "Ana"}]', {"name": "Ana"}),
    "encoded twice": (json.dumps(json.dumps({"name": "Ana"})), {"name": "Ana"}),
    "extra key": ('{"name": "Ana", "comment": "x"}', {"name": "Ana"}),
    "null for an optional key": ('{"name": "Ana", "count": null}', {"name": "Ana"}),
    "cjk": ('{"name": "安娜 🌳"}', {"name": "安娜 🌳"}),
    "fence inside a string": ('```json\n{"name": "use ```x``` here"}\n```', {"name": "use ```x``` here"}),
    "fenced code inside a string": (
        '```json\n{"name": "run\n```\ncode\n```\nend"}\n```',
        {"name": "run\n```\ncode\n```\nend"},
    ),
    "backslashes": (r'{"name": "C:\Users\d+"}', {"name": r"C:\Users\d+"}),
    "lone surrogate": ('{"name": "a\\ud83c\\udf33"}', {"name": "a🌳"}),
}


@pytest.mark.requirement("models:parse:tolerant")
@pytest.mark.parametrize("name", [name for name, (_, value) in READS.items() if value is not None])
def test_an_answer_in_odd_form_is_read(name):
    text, expected = READS[name]
    parsed = parse_answer(text, PERSON)
    assert parsed.value == expected
    assert parsed.good, parsed


REFUSED = {
    "unknown enum word": ('{"name": "Ana", "level": "GREAT"}', "$.level"),
    "yes is no boolean": ('{"name": "Ana", "done": "yes"}', "$.done"),
    "words for a number": ('{"name": "Ana", "count": "three"}', "$.count"),
    "fraction for an integer": ('{"name": "Ana", "count": 2.5}', "$.count"),
    "boolean for an integer": ('{"name": "Ana", "count": true}', "$.count"),
    "missing": ('{"count": 2}', "$.name"),
    "null for a required": ('{"name": null}', "$.name"),
    "list for a string": ('{"name": ["Ana"]}', "$.name"),
    "wrong item": ('{"name": "Ana", "items": ["a", {"b": 1}]}', "$.items[1]"),
}


@pytest.mark.requirement("models:parse:strict")
@pytest.mark.parametrize("name", REFUSED)
def test_content_that_does_not_fit_is_named_by_its_path_and_never_defaulted(name):
    text, path = REFUSED[name]
    parsed = parse_answer(text, PERSON)
    assert [fault.path for fault in parsed.faults] == [path]
    assert parsed.faults[0].expected and not parsed.good


@pytest.mark.requirement("models:parse:truncated-tail")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"name":"Ana","items":["lechuga","zanahoria"', {"name": "Ana", "items": ["lechuga", "zanahoria"]}),
        ('{"name":"Ana","items":["lechuga","zana', {"name": "Ana", "items": ["lechuga", "zana"]}),
        ('{"name":"Ana","cou', {"name": "Ana"}),
        ('{"name":"Ana","count":', {"name": "Ana"}),
        ('{"name":"Ana","count":1', {"name": "Ana", "count": 1}),
        ('{"name":"Ana","done":tr', {"name": "Ana"}),
        ('```json\n{"name":"Ana",', {"name": "Ana"}),
        ('I say {"name":"Ana"', {"name": "Ana"}),
        ('{"name":"Ana\\', {"name": "Ana"}),
    ],
)
def test_a_truncated_tail_is_read_as_far_as_it_goes_and_never_good(text, value):
    parsed = parse_answer(text, PERSON)
    assert parsed.value == value
    assert parsed.cut_off and not parsed.good


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "I cannot do that.",
        "See [1] and {x}.",
        "<think>{'name': 'x'}",
        '```bash\n{"name": "x"}\n```',
        "NaN",
        "{",
        "12abc",
    ],
)
def test_text_without_an_answer_is_an_error_or_never_good(text):
    try:
        parsed = parse_answer(text, PERSON)
    except ValueError:
        return
    assert not parsed.good


def test_infinite_and_enormous_numbers_are_no_answer():
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000):
        schema = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
        try:
            parsed = parse_answer(f'{{"n": {number}}}', schema)
        except ValueError:
            continue
        assert not parsed.good, number


@pytest.mark.parametrize("sign", ["[", '{"a":', "(", "[{'a':"])
def test_deep_nesting_is_refused_without_a_crash(sign):
    with pytest.raises(ValueError, match="no JSON"):
        parse_answer(sign * 100_000)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5)


@given(OBJECTS)
@settings(max_examples=150, deadline=None)
def test_valid_json_reads_as_itself_whole_fenced_and_after_a_think_block(value):
    text = json.dumps(value)
    assert parse_answer(text).value == value
    assert parse_answer(f"<think>hm</think>\n{text}").value == value
    if value:
        assert parse_answer(f"So:\n```json\n{text}\n```\nDone.").value == value


@given(OBJECTS.filter(bool), st.data())
@settings(max_examples=150, deadline=None)
def test_no_prefix_of_an_object_is_ever_taken_for_a_whole_answer(value, data):
    text = json.dumps(value)
    at = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    try:
        parsed = parse_answer(text[:at])
    except ValueError:
        return
    assert parsed.cut_off


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_at_all_is_an_answer_or_a_value_error(text):
    try:
        parse_answer(text, PERSON)
    except ValueError:
        return
