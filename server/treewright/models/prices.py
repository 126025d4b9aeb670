"""What a call costs: prices as data, worst cases for reservations, and estimates of a whole run.

A price is known, known to be free, not metered in money, or unknown; unknown is never taken for zero
(contract: search, 5). List prices lie in `data/prices/*.toml`, each with its date and the host it holds for: the
same model name at another host has another seller.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from treewright.data import data_path
from treewright.errors import ModelError
from treewright.models.tokens import MESSAGE_OVERHEAD, tokens_at_most

if TYPE_CHECKING:
    from treewright.models.provider import Request, Usage

_MILLION = 1_000_000


class PriceKind(StrEnum):
    """What is known of a price."""

    KNOWN = "known"
    FREE = "free"
    UNMETERED = "unmetered"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        kind: only `KNOWN` has figures; `UNMETERED` is paid for elsewhere (the editor's or a client's model).
        long_over: prompts longer than this many tokens cost `long_input` and `long_output` instead.
        source: where the figures come from, to show.
        since: the day from which they hold.
    """

    kind: PriceKind
    input: float = 0.0
    output: float = 0.0
    cached_input: float | None = None
    cache_write: float | None = None
    long_over: int | None = None
    long_input: float = 0.0
    long_output: float = 0.0
    source: str = ""
    since: date | None = None

    @property
    def costs(self) -> bool:
        """Whether a call may cost money: what is unknown may."""
        return self.kind in {PriceKind.KNOWN, PriceKind.UNKNOWN}

    def cost_of(self, usage: "Usage") -> float | None:
        """Return what a call with this usage cost, in US dollars; None when the price is unknown."""
        if self.kind is PriceKind.UNKNOWN:
            return None
        if self.kind is not PriceKind.KNOWN:
            return 0.0
        input_rate, output_rate = self._rates(usage.prompt_tokens)
        stretch = input_rate / self.input if self.input else 1.0  # cache rates rise with the input rate
        cached = input_rate if self.cached_input is None else self.cached_input * stretch
        written = input_rate if self.cache_write is None else self.cache_write * stretch
        plain = max(0, usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens)
        total = plain * input_rate + usage.cached_tokens * cached
        total += usage.cache_write_tokens * written + usage.completion_tokens * output_rate
        return total / _MILLION

    def worst_case(self, request: "Request") -> float | None:
        """Return the most that a request can cost: its prompt and every sample at full length.

        None when the price is unknown.
        """
        if self.kind is PriceKind.UNKNOWN:
            return None
        if self.kind is not PriceKind.KNOWN:
            return 0.0
        prompt = prompt_tokens_at_most(request)
        input_rate, output_rate = self._rates(prompt)
        dearest = max(
            input_rate, (self.cache_write or 0.0) * (input_rate / self.input if self.input else 1.0)
        )
        return request.samples * (prompt * dearest + request.max_tokens * output_rate) / _MILLION

    def _rates(self, prompt_tokens: int) -> tuple[float, float]:
        if self.long_over is not None and prompt_tokens > self.long_over:
            return self.long_input, self.long_output
        return self.input, self.output


FREE = Price(kind=PriceKind.FREE, source="free")
UNMETERED = Price(kind=PriceKind.UNMETERED, source="not metered in money")
UNKNOWN = Price(kind=PriceKind.UNKNOWN)


def prompt_tokens_at_most(request: "Request") -> int:
    """Return the most tokens that a request's prompt takes, the schema included (it may go in the prompt)."""
    total = tokens_at_most(request.prompt) + MESSAGE_OVERHEAD * len(request.messages)
    if request.schema is not None:
        total += tokens_at_most(str(dict(request.schema))) + 64
    return total


@dataclass(frozen=True, slots=True)
class _Listed:
    hosts: tuple[str, ...]
    match: tuple[str, ...]
    price: Price
    until: date | None


@cache
def _listed() -> tuple[_Listed, ...]:
    rows: list[_Listed] = []
    for path in sorted(data_path("prices").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        for row in table["price"]:
            long = row.get("long", {})
            price = Price(
                kind=PriceKind.KNOWN,
                input=float(row["input"]),
                output=float(row["output"]),
                cached_input=row.get("cached_input"),
                cache_write=row.get("cache_write"),
                long_over=long.get("over"),
                long_input=float(long.get("input", 0.0)),
                long_output=float(long.get("output", 0.0)),
                source=f"{table['source']}, as of {table['checked']}",
                since=row.get("since", table["checked"]),
            )
            rows.append(_Listed(tuple(table["hosts"]), tuple(row["match"]), price, row.get("until")))
    return tuple(rows)


def listed_price(host: str, model: str, on: date) -> Price:
    """Return the list price of a model at its own vendor's host, or `UNKNOWN`.

    Args:
        host: host name of the endpoint, without port.
        model: the model's name as sent; a dated version (`-2024-08-06`) matches its family.
        on: the day for which a price is wanted; the newest row in force wins.
    """
    found = UNKNOWN
    for row in _listed():
        if host not in row.hosts or not any(fnmatchcase(model, pattern) for pattern in row.match):
            continue
        since = row.price.since
        if since is None or since > on or (row.until is not None and on > row.until):
            continue
        if found.since is None or since >= found.since:
            found = row.price
    return found


def price_from_setting(setting: str | Mapping[str, Any]) -> Price:
    """Return the price that a user wrote: `"free"` or `{input = 0.15, output = 0.6}` (USD per million tokens).

    Raises:
        ModelError: `price_invalid`; the figures are negative, infinite, not numbers or incomplete.
    """
    if setting == "free":
        return FREE
    if isinstance(setting, Mapping) and {"input", "output"} <= set(setting):
        allowed = {"input", "output", "cached_input", "cache_write"}
        figures = [value for key, value in setting.items() if key in allowed]
        good = all(_is_amount(value) for value in figures) and set(setting) <= allowed
        if good:
            return Price(kind=PriceKind.KNOWN, source="your settings", **dict(setting))
    raise ModelError(
        "price_invalid",
        'The price of this endpoint is neither "free" nor amounts for input and output.',
        "Write price_in_usd = 0.15 and price_out_usd = 0.60 (US dollars for a million tokens), or free = true.",
    )


def _is_amount(value: object) -> bool:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric and math.isfinite(float(str(value))) and float(str(value)) >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEstimate:
    """What a number of calls will take; `usd` is None when the price, `seconds` when the speed is unknown."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    seconds: float | None


def estimate_run(
    price: Price,
    *,
    calls: int,
    prompt_tokens: int,
    completion_tokens: int,
    tokens_per_second: float | None = None,
    concurrency: int = 1,
) -> RunEstimate:
    """Estimate a run or a round of it before it starts (contract: exploration, 7).

    Args:
        price: the provider's price.
        calls: calls expected.
        prompt_tokens: of one call.
        completion_tokens: of one call.
        tokens_per_second: measured speed of one call, see `memory.Speed`.
        concurrency: calls in flight together.
    """
    usd: float | None = None
    if price.kind is not PriceKind.UNKNOWN:
        usd = calls * (prompt_tokens * price.input + completion_tokens * price.output) / _MILLION
    seconds = None
    if tokens_per_second:
        seconds = math.ceil(calls / max(1, concurrency)) * completion_tokens / tokens_per_second
    return RunEstimate(
        calls=calls,
        prompt_tokens=calls * prompt_tokens,
        completion_tokens=calls * completion_tokens,
        usd=usd,
        seconds=seconds,
    )
