"""A critique in the form of its lens: what a grammar holds a small model to, and what is made of its answer."""

import asyncio
import json
import re
from typing import Any

import pytest

from treewright.deliberate.critique import ANSWER_MOST, CHOICES_MOST, Form, form_for
from treewright.deliberate.ports import ModelTask
from treewright.deliberate.utility import DIMENSIONS
from treewright.errors import ModelError
from treewright.models.prices import FREE
from treewright.models.provider import Completion, Outcome, ProviderInfo, Request, Sample, Usage
from treewright.performers.deliberation import ProviderCompleter
from treewright.presets.lenses import load_lenses

LENS = load_lenses().get("overconfidence")
TEXT = "It is always cheaper. Orders grow by a third!\nNobody is needed."
ANSWER = {
    "claim": "It is always cheaper.",
    "fails": "It fails when traffic is low.",
    "instead": "Cheaper above\n5 servers.",
}


def form(text: str = TEXT) -> Form:
    found = form_for(LENS, text, "Move?")
    assert found
    return found


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_a_quotation_can_only_be_a_sentence_of_the_text() -> None:
    schema = form().schema()
    assert schema["properties"]["claim"] == {
        "enum": ["It is always cheaper.", "Orders grow by a third!", "Nobody is needed."]
    }
    assert schema["required"] == [one.key for one in LENS.asks]
    assert form("Yes. Yes. Move it now. Move it now.").schema()["properties"]["claim"]["enum"] == [
        "Move it now."
    ]
    assert form("Yes. No.").schema()["properties"]["claim"]["enum"] == ["Yes.", "No."]
    many = " ".join(f"Sentence {number}." for number in range(90))
    assert len(form(many).schema()["properties"]["claim"]["enum"]) == CHOICES_MOST
    assert form(" ").schema()["properties"]["claim"]["enum"] == [" "], "a grammar needs one choice at least"


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_every_shipped_opening_begins_its_answer_and_no_answer_runs_on() -> None:
    for lens in load_lenses().lenses.values():
        found = form_for(lens, TEXT, "Move?")
        assert found
        for one in lens.asks:
            pattern = found.schema()["properties"][one.key].get("pattern")
            if pattern is None:
                assert one.quote
                continue
            good = f"{one.begins} the shop closes." if one.begins else "The shop closes."
            assert re.search(pattern, good), (lens.name, one.key)
            assert not re.search(pattern, good + "x" * ANSWER_MOST)
            assert not re.search(pattern, good + "数据库"), "an English text gets an English critique"
            if one.begins:
                assert not re.search(pattern, "The shop closes.")
    other = form("数据库总是更便宜。").schema()["properties"]["instead"]
    assert "pattern" not in other and other["maxLength"] == ANSWER_MOST


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_a_critique_reads_as_lines_with_the_quotation_in_quotes() -> None:
    assert form().text(ANSWER) == (
        "Claim: “It is always cheaper.”\nFails: It fails when traffic is low.\nInstead: Cheaper above 5 servers."
    )
    assert form().text({"claim": "", "instead": 5}) == "Instead: 5"


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_an_answer_that_only_repeats_what_was_there_says_nothing() -> None:
    copied = {**ANSWER, "fails": "It fails when orders grow by a third!", "instead": "Move the queue first."}
    assert form().text(copied) == "Claim: “It is always cheaper.”\nInstead: Move the queue first."
    told = LENS.asks[2].ask
    twice = {**ANSWER, "fails": "It fails when traffic is low.", "instead": "It fails when traffic is low."}
    assert form().text(twice).count("traffic") == 1
    assert LENS.guidance.split(". ")[0] not in form().text(
        {**ANSWER, "instead": f"{LENS.guidance.split('. ')[0]}."}
    )
    assert form().text({**ANSWER, "fails": "Nobody is needed.", "instead": told}) == "", (
        "a quotation alone is no critique"
    )


class Scripted:
    """A provider that says what it is told to and keeps what it was asked."""

    def __init__(self, kind: Any, *said: tuple[str, Outcome]) -> None:
        self.info = ProviderInfo(name="p", kind=kind, model="m", endpoint="x", price=FREE)
        self._said = list(said)
        self.asked: list[Request] = []

    async def complete(self, request: Request, **_: Any) -> Completion:
        self.asked.append(request)
        text, outcome = self._said.pop(0)
        return Completion(
            provider="p",
            model="m",
            outcome=outcome,
            usage=Usage(),
            samples=(Sample(text=text, outcome=outcome),),
        )

    async def close(self) -> None:
        """Nothing to close."""


def ask(provider: Scripted, **fields: Any) -> str:
    task = ModelTask("t:critique", "critique", "Criticise.", 0.2, **fields)
    return asyncio.run(ProviderCompleter(lambda _: provider)(task, None))


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_a_local_model_is_held_to_the_form_and_others_are_asked_for_it() -> None:
    done = (json.dumps(ANSWER), Outcome.COMPLETE)
    local, far = Scripted("local", done), Scripted("openai", done)
    assert ask(local, form=form()) == ask(far, form=form()) == form().text(ANSWER)
    assert "pattern" in json.dumps(local.asked[0].schema) and "pattern" not in json.dumps(far.asked[0].schema)
    prose = Scripted("openai", ("The claim is too firm.", Outcome.COMPLETE))
    assert ask(prose, form=form()) == "The claim is too firm."


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_an_answer_cut_by_its_bound_ends_with_a_whole_sentence() -> None:
    whole = "It fails when traffic is low and the managed database is billed by the hour, which no shop of this size gets back."
    long = f"{whole} " + "And then the cost per order is far above " * 9
    local = Scripted("local", (json.dumps({**ANSWER, "fails": long[:ANSWER_MOST]}), Outcome.COMPLETE))
    assert f"\nFails: {whole}\n" in ask(local, form=form())


@pytest.mark.requirement("deliberation:autopilot:runs-on")
def test_a_critique_that_says_nothing_is_asked_for_once_more_and_then_is_a_fault() -> None:
    nothing = (json.dumps({**ANSWER, "fails": "Nobody is needed.", "instead": TEXT}), Outcome.COMPLETE)
    provider = Scripted("local", nothing, (json.dumps(ANSWER), Outcome.COMPLETE))
    assert ask(provider, form=form()) == form().text(ANSWER)
    assert provider.asked[1].temperature == 0.7
    with pytest.raises(ModelError):
        ask(Scripted("local", nothing, nothing), form=form())


@pytest.mark.requirement("deliberation:autopilot:runs-on")
def test_an_answer_that_runs_on_is_asked_for_once_more_at_another_seed_and_temperature() -> None:
    cut, good = ("one two one two", Outcome.CUT_OFF), ("A draft.", Outcome.COMPLETE)
    provider = Scripted("local", cut, good)
    assert ask(provider) == "A draft."
    first, second = provider.asked
    assert (first.temperature, second.temperature) == (0.2, 0.7)
    assert first.seed != second.seed
    with pytest.raises(ModelError) as fault:
        ask(Scripted("local", cut, cut))
    assert fault.value.code == "model_cut_off"


@pytest.mark.requirement("deliberation:autopilot:forms")
def test_the_autopilot_asks_for_the_form_of_the_lens(build: Any, scripted: Any) -> None:
    seven = json.dumps(dict.fromkeys(DIMENSIONS, 0.6))
    driver = scripted(lambda task: seven if task.scores_wanted else f"Text of {task.id}.")
    tables = {"autopilot": {"enabled": True, "model": "m"}, "serial": {"max_rounds": 1}}
    desk = build(tables, driver=driver, lenses=load_lenses().lenses)
    session_id = desk.start_session("Why?", "serial", "Analysis")["session_id"]
    assert desk.run_stage_autopilot(session_id)["ok"]
    [task] = [task for plan in driver.plans for task in plan.tasks if task.kind == "critique"]
    assert task.form and "claim" in task.form.schema()["properties"]
    weak = load_lenses().get("weak_evidence")
    assert all(one.told in task.prompt for one in weak.asks) and weak.guidance in task.prompt
