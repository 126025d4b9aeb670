"""Near-duplicates among siblings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.explore.merging import THRESHOLD, cosine, merges, positions_overlap, trigrams
from treewright.tree.node import Node

SAME = "The cache is read before it is filled, so the first request of a day fails."
CLOSE = "The cache is read before it is filled, so the first request of each day fails."


def node(name: str, statement: str, total: int = 10, position: str = "") -> Node:
    return Node(id=name, parent="0", statement=statement, position=position, scores=(total,))


@pytest.mark.requirement("exploration:rules:f2-merge", "exploration:flow:similarity")
def test_the_lower_score_merges_into_the_higher_one() -> None:
    found = merges([node("A1", SAME, 9), node("B1", CLOSE, 12), node("C1", "Nothing alike at all here.", 3)])
    assert [(m.node, m.into) for m in found] == [("A1", "B1")]
    assert found[0].similarity >= THRESHOLD


def test_a_tie_goes_to_the_earlier_framing_in_any_order_of_arrival() -> None:
    for order in ([0, 1], [1, 0]):
        pair = [node("A1", SAME), node("B1", CLOSE)]
        assert [(m.node, m.into) for m in merges([pair[i] for i in order])] == [("B1", "A1")]


@pytest.mark.requirement("exploration:rules:f2-merge")
def test_the_same_words_at_other_lines_stay_apart() -> None:
    assert merges([node("A1", SAME, position="a.py:1-3"), node("B1", SAME, position="a.py:4-9")]) == []
    assert merges([node("A1", SAME, position="a.py:1-4"), node("B1", SAME, position="a.py:4-9")])
    assert merges([node("A1", SAME, position="a.py:1-4"), node("B1", SAME, position="b.py:1-4")]) == []


@pytest.mark.parametrize(
    ("left", "right", "overlap"),
    [
        ("", "", True),
        ("section 2", "section 2", True),
        ("section 2", "section 3", False),
        ("a.py:7", "a.py:7-9", True),
        ("a.py:7", "a.py:8-9", False),
        ("a:b.py:7", "a:b.py:7", True),
        ("", "a.py:1", False),
    ],
)
def test_positions_overlap_when_they_share_a_line(left: str, right: str, overlap: bool) -> None:
    assert positions_overlap(left, right) is overlap
    assert positions_overlap(right, left) is overlap


@given(st.text(max_size=60), st.text(max_size=60))
def test_cosine_is_symmetric_and_within_bounds(left: str, right: str) -> None:
    a, b = trigrams(left), trigrams(right)
    assert 0.0 <= cosine(a, b) <= 1.0
    assert cosine(a, b) == pytest.approx(cosine(b, a))
    assert cosine(a, a) == pytest.approx(1.0)


@given(
    st.lists(
        st.tuples(st.sampled_from([SAME, CLOSE, "Other words.", "More of other words."]), st.integers(0, 15)),
        max_size=8,
    )
)
def test_whatever_merges_goes_into_a_node_that_stays(pairs: list[tuple[str, int]]) -> None:
    nodes = [node(f"A{i}", text, total) for i, (text, total) in enumerate(pairs, 1)]
    found = merges(nodes)
    gone = {m.node for m in found}
    assert len(gone) == len(found)
    assert not gone & {m.into for m in found}
