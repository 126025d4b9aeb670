"""How long to wait before a call is tried again."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

RETRY_AFTER_MOST_S = 3600.0
"""A server that asks for longer than an hour is not waited for: years ahead are a fault of its clock."""


class Clock(Protocol):
    """Time, handed in so that tests need not wait."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment."""

    def now(self) -> datetime:
        """The present moment, with a time zone."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment."""
        return time.monotonic()

    def now(self) -> datetime:
        """The present moment, with a time zone."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and how long between.

    Attributes:
        tries: requests made at most, the first included.
        unreachable_tries: the same where nothing listens at all.
        first_s: wait before the second try; doubled for each further one.
        most_s: longest wait of one kind; what a server asks beyond it ends the call instead.
        jitter: share of a wait by which it varies, so that parallel calls do not come back together.
        randomness: number from 0 to 1.
    """

    tries: int = 5
    unreachable_tries: int = 3
    first_s: float = 1.0
    most_s: float = 60.0
    jitter: float = 0.25
    randomness: Callable[[], float] = field(default=random.random)

    def wait_before(self, tried: int, asked_s: float | None) -> float | None:
        """Return the seconds to wait before the next try, None when there is none.

        Args:
            tried: requests made so far, at least 1.
            asked_s: what the server asked for, already clamped.
        """
        if tried >= self.tries or (asked_s is not None and asked_s > self.most_s):
            return None
        own = min(self.most_s, self.first_s * 2.0 ** min(tried - 1, 30))
        own *= 1 + self.jitter * (2 * self.randomness() - 1)
        return max(own, asked_s or 0.0)


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, from 0 to an hour; None when it says nothing.

    Args:
        value: seconds (also fractional, negative or absurd) or an HTTP date, possibly in the past.
        now: the present moment, with a time zone.
    """
    if value is None or not value.strip():
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value.strip())
        except (ValueError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - now).total_seconds()
    if seconds != seconds:  # not a number
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_MOST_S)
