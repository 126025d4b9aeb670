"""Waiting between tries: Retry-After in every form, and bounded growth."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.models.backoff import RetryPolicy, parse_retry_after

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.requirement("models:retry:retry-after")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("-5", 0.0),
        ("99999999999", 3600.0),
        ("inf", 3600.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 12:00:30", 30.0),
        ("Thu, 01 Jan 2026 13:00:30 +0100", 30.0),
        ("Wed, 31 Dec 2025 12:00:00 GMT", 0.0),
        ("Sat, 01 Jan 2050 00:00:00 GMT", 3600.0),
        ("Thu, 99 Jan 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_read_in_every_form_and_clamped(value, seconds):
    assert parse_retry_after(value, NOW) == seconds


@given(st.text())
def test_any_header_at_all_is_nothing_or_from_zero_to_an_hour(value):
    seconds = parse_retry_after(value, NOW)
    assert seconds is None or 0 <= seconds <= 3600


@given(st.integers(1, 50), st.none() | st.floats(0, 3600), st.floats(0, 1))
def test_a_wait_is_bounded_and_never_shorter_than_asked(tried, asked, random):
    policy = RetryPolicy(tries=40, randomness=lambda: random)
    wait = policy.wait_before(tried, asked)
    if tried >= 40 or (asked or 0) > policy.most_s:
        assert wait is None
    else:
        assert wait is not None and (asked or 0) <= wait <= policy.most_s * (1 + policy.jitter)
