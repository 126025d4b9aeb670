"""How a model with a small context is asked, and what is made of texts that ran into their bound."""

import re
from pathlib import Path

import pytest

from tests.unit.performers.briefs import brief
from tests.unit.performers.growing_runs import project
from treewright.explore.rules.lexicon import KINDS, find
from treewright.explore.tasks import TaskKind
from treewright.performers.model import compose, forms, shapes, small
from treewright.performers.model.evidence import Document, Excerpt, Span
from treewright.performers.model.material import read_material
from treewright.performers.model.performer import Sizes, in_letters_of
from treewright.performers.model.prompts import small_text
from treewright.performers.model.shapes import Style
from treewright.presets.framings import LETTERS
from treewright.tree.body import Proposal
from treewright.tree.citation import Citation

CLOSE = Style(close=True)
PRESETS = ("brainstorm", "attack", "design", "code-audit")
TEXT = {"type": "string", "maxLength": 20}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.requirement("performers:model:small-questions")
def test_each_shipped_preset_has_a_question_of_its_own_for_each_framing(preset: str) -> None:
    asked = [
        small.question(brief(TaskKind.PROPOSE, preset, letter=letter)) for letter in LETTERS if letter != "X"
    ]
    assert len(set(asked)) == 12
    assert all(len(question.split()) < 60 for question in asked)
    own = brief(TaskKind.DERIVE, preset)
    for name in shapes.due_fields(own):
        assert small_text(preset, "fields", name), name
    task = compose.propose_task(brief(TaskKind.PROPOSE, preset), CLOSE)
    assert ("Example for another subject" in task) is (preset == "code-audit")
    assert ("as one sentence of the form" in task) is (preset != "code-audit")


def test_a_preset_of_the_user_s_own_is_asked_in_its_own_words() -> None:
    own = brief(TaskKind.PROPOSE, "design", letter="A")
    renamed = own.model_copy(update={"preset": own.preset.model_copy(update={"name": "mine"})})
    assert own.framing is not None
    assert own.framing.prompt in small.question(renamed)
    assert own.preset.rule("option_statement").about in compose.propose_task(renamed, CLOSE)


@pytest.mark.requirement("performers:model:small-common-first")
def test_what_many_tasks_have_in_common_comes_before_what_is_their_own() -> None:
    first, second = (
        compose.messages(asked, CLOSE, compose.propose_task(asked, CLOSE), Excerpt({}))[1].text
        for asked in (brief(TaskKind.PROPOSE, "design", letter=letter) for letter in "AG")
    )
    common = next(n for n, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    assert "# How each option is written" in first[:common]
    assert common > len(first) // 2


@pytest.mark.requirement("performers:model:asked-once")
def test_what_a_proposal_says_already_is_not_asked_for_again() -> None:
    said = Proposal(
        statement="One lock a shelf.",
        assumptions=["Shelves keep their place.", "Nobody lifts a shelf."],
        predictions=["Fewer keys at the desk."],
        defense="A lock may jam.",
    )
    found = small.drafted(brief(TaskKind.DERIVE, "brainstorm", proposal=said))
    assert found == {"assumptions": list(said.assumptions), "risks": said.defense}, (
        "one prediction is too few"
    )
    guarded = small.drafted(brief(TaskKind.DERIVE, "attack", proposal=said))
    assert "artifact_defense" not in guarded, "a gate depends on it"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It ends right here. A", "It ends right here."),
        ("one two three four f", "one two three four…"),
        ("It ends as it should", "It ends as it…"),
        ("It just fits in here.", "It just fits in here."),
        ("short", "short"),
    ],
)
@pytest.mark.requirement("performers:model:whole-sentences")
def test_a_text_that_ran_into_its_bound_ends_with_a_whole_sentence_or_says_that_it_does_not(
    text: str, kept: str
) -> None:
    assert small.trimmed(text, TEXT) == kept


def test_one_text_that_its_bound_cut_into_two_items_is_one_item_again() -> None:
    schema = {"type": "object", "properties": {"steps": {"type": "array", "items": TEXT}}}
    cut = {"steps": ["The tests block merge", "s. They fail.", "Next."]}
    assert small.trimmed(cut, schema) == {"steps": ["The tests block merges. They fail.", "Next."]}


@pytest.mark.requirement("performers:model:openings")
def test_framings_have_statements_of_different_forms_and_a_reply_in_another_is_no_fault() -> None:
    asked = {
        letter: brief(TaskKind.PROPOSE, "brainstorm", letter=letter) for letter in LETTERS if letter != "X"
    }
    wanted = [tuple(forms.statement_forms(each)) for each in asked.values()]
    assert len(set(wanted)) == 12 and all(wanted)
    style = Style(close=True, plain=True)
    schema = shapes.propose_schema(asked["E"], style, Excerpt({}), forms.statement_forms(asked["E"]))
    statement = schema["properties"]["proposals"]["items"]["properties"]["statement"]
    assert re.search(statement["pattern"], "Allow only one test a day: the team learns which one lies.")
    assert not re.search(statement["pattern"], "Allow only one test a day, and it works.")
    assert not re.search(statement["pattern"], "Use a tool that runs the tests: it works.")
    assert not re.search(statement["pattern"], "Allow only one \u6d4b\u8bd5 a day: the team learns it.")
    loose = shapes.loosened(schema)["properties"]["proposals"]["items"]["properties"]["statement"]
    assert "pattern" not in loose


@pytest.mark.parametrize("preset", ["brainstorm", "attack", "design"])
@pytest.mark.requirement("performers:model:openings")
def test_every_form_can_be_filled_in(preset: str) -> None:
    asked = [brief(TaskKind.PROPOSE, preset, letter=letter) for letter in LETTERS if letter != "X"]
    own = brief(TaskKind.DERIVE, preset)
    wanted = [form for each in asked for form in forms.statement_forms(each)]
    wanted += [form for name in own.preset.node_schema for form in forms.forms_of(own, name)]
    style = Style(close=True, plain=True)
    for form in wanted:
        pattern = style.text(shapes.ITEM_MOST, [form])["pattern"]
        assert re.search(pattern, form.replace(forms.GAP, "the words of the model")), form
        assert not re.search(pattern, "something else altogether that it would rather say"), form
        assert not [hit for kind in KINDS for hit in find(kind, form, "en")], (
            "it is not sent back for our own words"
        )
    assert any(
        ", as in `" in compose.derive_task(own, style, [name], {}, cites=False)
        for name in own.preset.node_schema
    )
    german = own.model_copy(update={"language": own.language.model_copy(update={"output": "de"})})
    assert not any(forms.forms_of(german, name) for name in own.preset.node_schema)
    proposing = asked[0].model_copy(update={"language": german.language})
    assert forms.statement_forms(asked[0]) and not forms.statement_forms(proposing)


def test_only_english_roots_in_english_letters_are_held_to_them() -> None:
    zurich = brief(TaskKind.PROPOSE, "brainstorm").root
    assert zurich is not None
    sizes = Sizes(CLOSE, 700, 900)
    assert in_letters_of(brief(TaskKind.PROPOSE, "brainstorm"), sizes).style.plain
    named = brief(
        TaskKind.PROPOSE, "brainstorm", root=zurich.model_copy(update={"statement": "Trams in Z\u00fcrich"})
    )
    assert not in_letters_of(named, sizes).style.plain
    code = brief(TaskKind.PROPOSE, "code-audit")
    assert not in_letters_of(code, sizes).style.plain, "code needs its quotation marks"


@pytest.mark.requirement("performers:model:no-echo")
def test_a_copy_of_the_example_or_the_root_is_no_statement() -> None:
    code = brief(TaskKind.PROPOSE, "code-audit")
    example = [line for line in small.example_texts(code) if "`load`" in line]
    assert small.is_echo(code, example[0])
    asked = brief(TaskKind.PROPOSE, "design")
    assert small.is_echo(asked, "A paper on a cache for builds!")
    assert not small.is_echo(asked, "Each laptop keeps the outputs of the steps that it ran itself.")


@pytest.mark.requirement("performers:model:favoured-lines")
def test_where_static_analysis_found_something_only_that_can_be_chosen_and_only_guards_can_answer() -> None:
    lines = ("import os", "def run(name):", "    if not name:", "        return", "    os.system(name)")
    excerpt = Excerpt({"a.py": Document("a.py", lines)}, [Span("a.py", 1, 5)], single=True)
    assert not any("import" in label for label in excerpt.labels(40))
    assert excerpt.answers([Citation(path="a.py", start=5, end=5)], 40) == ["3| if not name:"]
    text = (
        "Orders wait in the queue for a minute.",
        "Each order in the queue has a number.",
        "Payments that fail are repeated by hand.",
        "A payment that fails twice is repeated by nobody.",
    )
    shown = Excerpt({"a.md": Document("a.md", text)}, [Span("a.md", 1, 4)], single=True)
    place = [Citation(path="a.md", start=4, end=4)]
    assert shown.answers(place, 40, "When a payment fails twice, nobody repeats it.") == [f"3| {text[2]}"]
    assert shown.answers(place, 40, "The queue has no limit.") == []
    excerpt.favoured = frozenset({("a.py", 5)})
    assert excerpt.labels(40) == ["5| os.system(name)"]


@pytest.mark.requirement("performers:model:favoured-lines")
def test_each_framing_of_a_text_gets_lines_of_its_own_on_which_it_has_something_to_say(
    tmp_path: Path,
) -> None:
    folder = project(tmp_path / "project")
    asked = {
        letter: brief(TaskKind.PROPOSE, "attack", folder, letter=letter)
        for letter in LETTERS
        if letter != "X"
    }
    material = read_material(asked["A"].root_spec)
    excerpt = material.excerpt(asked["A"], 700)
    chosen = {letter: material.places_for(each, excerpt) for letter, each in asked.items()}
    assert len(set().union(*chosen.values())) >= min(6, len(excerpt.places()))
    assert {letter: len(each) for letter, each in chosen.items()} == {
        letter: 2 if letter == "E" else 1 for letter in asked
    }
    [(path, line)] = chosen["F"]
    numbers = [n for _, n in excerpt.places() if re.search(r"\d", material.documents[path].lines[n - 1])]
    assert not numbers or line in numbers
    told = small.propose_task(asked["F"], citing=True, places=[f"{line}| text"])
    assert f"{line}| text" in told
    again = asked["A"].model_copy(update={"task": asked["A"].task.model_copy(update={"attempt": 2})})
    assert material.places_for(again, excerpt) != chosen["A"]
