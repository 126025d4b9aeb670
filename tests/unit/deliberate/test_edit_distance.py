"""The distance between two refinements."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.deliberate.distance import normalized_distance

words = st.text(alphabet="abc d", max_size=24)


def plain(a: str, b: str) -> float:
    """Return the same by the textbook table."""
    a, b = " ".join(a.split()), " ".join(b.split())
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1] / max(len(a), len(b), 1)


@pytest.mark.requirement("deliberation:serial:edit-distance")
@given(words, words)
def test_it_equals_the_textbook_distance(a: str, b: str) -> None:
    assert normalized_distance(a, b) == pytest.approx(plain(a, b))


@pytest.mark.requirement("deliberation:serial:edit-distance")
@given(words, words, st.floats(0, 1))
def test_a_limit_never_changes_on_which_side_of_it_a_distance_is(a: str, b: str, limit: float) -> None:
    assert (normalized_distance(a, b, limit) <= limit) == (plain(a, b) <= limit)


@pytest.mark.requirement("deliberation:serial:edit-distance")
def test_long_texts_are_compared_in_a_fraction_of_a_second() -> None:
    first = "".join(chr(97 + i * i % 23) for i in range(20_000))
    second = "x" + first[::-1][:10_000] + first[10_000:]
    began = time.perf_counter()
    assert 0 < normalized_distance(first, second) < 1
    assert time.perf_counter() - began < 5
