"""Summaries, digests within their budget, transcripts."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.deliberate.digest import compress, estimate_tokens, sentences, summary
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.session import Session, Thought
from treewright.deliberate.transcript import transcript
from treewright.deliberate.utility import DIMENSIONS, Utility

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
STAGES = ["Problem Definition", "Research", "Analysis", "Synthesis"]


def session_of(texts: list[tuple[int, str, float]], current: int = 3) -> Session:
    """Return a session with committed thoughts: stage number, text, score."""
    thoughts = [
        Thought(
            id=f"{number:032x}",
            stage=STAGES[stage],
            position=1 + sum(1 for before in texts[:number] if before[0] == stage),
            timestamp=MOMENT,
            content=text,
            final_utility_scores=Utility(**dict.fromkeys(DIMENSIONS, score)),
            committed=True,
        )
        for number, (stage, text, score) in enumerate(texts)
    ]
    return Session(
        id="0" * 32,
        question="Why?",
        created_at=MOMENT,
        mode="serial",
        expected_stages=STAGES,
        current_stage=STAGES[current],
        thoughts=thoughts,
    )


@pytest.mark.requirement("deliberation:digest:budget")
@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(st.tuples(st.integers(0, 3), st.text(max_size=600), st.floats(0, 1)), max_size=12),
    budget=st.integers(1, 5000),
    current=st.integers(0, 3),
)
def test_a_digest_never_exceeds_its_budget(
    texts: list[tuple[int, str, float]], budget: int, current: int
) -> None:
    digest, used = compress(session_of(texts, current), budget)
    assert estimate_tokens(digest) <= min(budget, 400)
    assert used <= sum(stage < current for stage, _, _ in texts)


@pytest.mark.requirement("deliberation:digest:budget")
@pytest.mark.parametrize(
    ("asked", "budget"), [(None, 300), (200, 200), ("400 tokens", 400), (5000, 400), (20, 20)]
)
def test_the_tool_answers_within_the_budget_it_names(
    start: Any, desk: Deliberation, asked: Any, budget: int
) -> None:
    session_id = start("subagent")
    for _ in range(4):
        desk.begin_subagent_thought(session_id, "A sentence that is long enough to matter here. " * 60)
        desk.commit_subagent_thought(session_id)
        desk.advance_stage(session_id)
    reply = desk.compress_history(session_id, asked)
    assert reply["budget"] == budget
    assert 0 < reply["tokens"] <= budget
    assert reply["tokens"] == estimate_tokens(reply["digest"])
    assert reply["tokens"] > budget // 2, "a full history fills most of its budget"


@pytest.mark.requirement("deliberation:digest:estimate")
@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("a日", 2), ("é" * 4, 4)]
)
def test_a_token_is_four_ascii_characters_or_one_other(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.requirement("deliberation:digest:earlier-stages")
def test_a_digest_holds_the_best_of_each_earlier_stage_in_order_and_nothing_of_the_current_one() -> None:
    session = session_of(
        [
            (0, "Poor definition.", 0.2),
            (0, "Good definition.", 0.9),
            (2, "Analysed.", 0.5),
            (3, "Current.", 0.9),
        ]
    )
    digest, used = compress(session, 300)
    assert digest.splitlines() == [
        "Problem Definition: Good definition.",
        "- Poor definition.",
        "Analysis: Analysed.",
    ]
    assert used == 3
    assert compress(session_of([(0, "x", 0.5)], current=0), 300) == ("", 0)


@pytest.mark.requirement("deliberation:digest:summary")
def test_a_summary_is_made_of_the_thoughts_own_sentences() -> None:
    session = session_of([(0, "One. Two! Three?", 0.5), (3, "Vier。Fünf。", 0.75)])
    assert summary(session, "stage") == ("Synthesis:\n- Vier。 Fünf。 (score 0.75)", 1)
    text, count = summary(session, "all")
    assert (count, text.splitlines()[1]) == (2, "- One. Two! (score 0.50)")
    assert summary(session, "all") == (text, count)


@pytest.mark.requirement("deliberation:digest:summary")
@given(st.text(max_size=300))
def test_sentences_lose_nothing_but_blanks(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.requirement("deliberation:digest:render")
def test_a_transcript_quotes_texts_so_that_their_headings_are_not_its_own() -> None:
    markdown = transcript(session_of([(0, "# Not a heading\n- not a list", 0.5)]))
    assert "> # Not a heading\n> - not a list" in markdown
    assert [line for line in markdown.splitlines() if line.startswith("# ")] == ["# Why?"]
