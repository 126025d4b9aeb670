"""Amounts of US dollars: exact, finite, never negative."""

from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Annotated

from pydantic import PlainSerializer

from treewright.errors import CapError

SMALLEST_USD = Decimal("0.000000001")
"""What amounts are rounded up to: far below the price of one token."""

_LARGEST_USD = Decimal(1_000_000_000)

Amount = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""A field of a result: exact in memory, a number in JSON."""


def parse_usd(value: Decimal | float | str) -> Decimal:
    """Return an amount in USD, exact to a billionth and rounded up beyond.

    Args:
        value: a number, or its decimal text; a float stands for its shortest decimal text.

    Raises:
        CapError: `invalid_amount` for what is no number, NaN, infinite, negative, or over a billion.
    """
    try:
        amount = Decimal(value.strip() if isinstance(value, str) else str(value))
        if not isinstance(value, bool) and amount.is_finite() and 0 <= amount <= _LARGEST_USD:
            return amount.quantize(SMALLEST_USD, ROUND_CEILING).normalize() + 0
    except InvalidOperation:
        pass
    raise CapError(
        "invalid_amount",
        f"{str(value)[:40]!r} is not an amount in USD.",
        "Give a number that is finite and not negative, such as 0.20.",
        {"value": str(value)[:40]},
    )
