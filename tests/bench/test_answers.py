"""The comparison of answers is fair: the same model in every arm, all calls counted, only what is right counted as right."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import answers
from treewright.models.provider import Provider
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider

SCORES = json.dumps(
    dict.fromkeys(
        ("correctness", "evidence", "novelty", "clarity", "bias_resistance", "actionability", "coverage"), 0.5
    )
)


@pytest.fixture
def counting() -> Iterator[answers.Counting]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    rules = [
        ScriptedAnswer(when="seven dimensions", text=SCORES, times=None),
        ScriptedAnswer(text="Twelve and three.\nANSWER: 15", times=None),
    ]
    yield answers.Counting(answers.Shared(ScriptedProvider(rules), loop))
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.mark.requirement("deliberation:measured:answers")
def test_at_least_forty_problems_have_an_answer_that_can_be_checked() -> None:
    found = answers.problems()
    assert len({one.question for one in found}) == len(found) >= 40
    assert {one.kind for one in found} == {"arithmetic", "logic", "code"}
    assert all(answers.right(f"So it is.\nANSWER: {one.answer}", one.answer) for one in found)


@pytest.mark.requirement("deliberation:measured:answers")
@pytest.mark.parametrize(
    ("text", "wanted", "is_right"),
    [
        ("ANSWER: 91", "91", True),
        ("ANSWER: 90\n**Answer:** 91 bottles", "91", True),
        ("It is 91.", "91", False),
        ("ANSWER: 91\nANSWER: 90", "91", False),
        ("ANSWER: 1,091.0", "1091", True),
        ("ANSWER: `Box B`.", "box b", True),
        ("ANSWER: Box B holds it", "box b", False),
        ("", "91", False),
    ],
)
def test_only_the_last_answer_line_counts(text: str, wanted: str, is_right: bool) -> None:
    assert answers.right(text, wanted) is is_right


@pytest.mark.requirement("deliberation:measured:answers")
@pytest.mark.parametrize(("arm", "calls"), [("direct", 1), ("critique", 3), ("deliberation", 4)])
def test_every_arm_asks_the_same_model_and_all_of_its_calls_are_counted(
    counting: answers.Counting, arm: str, calls: int
) -> None:
    problem = answers.Problem(1, "arithmetic", "What is 12 and 3?", "15")
    given: Provider = counting
    assert answers.right(answers.RUNS[arm](problem, given), "15")
    assert counting.calls == calls
    assert counting.tokens > 0


@pytest.mark.requirement("deliberation:measured:answers")
def test_the_report_compares_the_problems_that_every_arm_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = answers.problems()[:2]
    spent = {"calls": 1, "tokens": 10, "seconds": 1.0}
    rows = [
        {"problem": first.number, "arm": "direct", "text": f"ANSWER: {first.answer}", **spent},
        {"problem": first.number, "arm": "deliberation", "text": "ANSWER: none", **spent},
        {"problem": second.number, "arm": "direct", "text": f"ANSWER: {second.answer}", **spent},
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers.report(tmp_path)
    said = capsys.readouterr().out
    assert "1 problems have every arm of direct, deliberation" in said
    assert "direct        1 of 1" in said and "deliberation  0 of 1" in said
