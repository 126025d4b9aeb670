"""Money: prices known, free and unknown; every paid call reserved before and settled after."""

import asyncio
from dataclasses import replace
from datetime import date

import pytest

from tests.unit.models.loopback import Loopback, Reply, chat, delta, error, provider_at
from treewright.errors import CapError, ModelError
from treewright.models.memory import Speed
from treewright.models.prices import (
    FREE,
    UNKNOWN,
    Price,
    PriceKind,
    estimate_run,
    listed_price,
    price_from_setting,
)
from treewright.models.provider import Message, Outcome, Request, Usage
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider
from treewright.models.spend import CapGate, Metered

PAID = Price(kind=PriceKind.KNOWN, input=1.0, output=10.0)
ASK = Request(messages=(Message.of("user", "Say hi."),), max_tokens=1000)
TODAY = date(2026, 11, 30)


@pytest.mark.requirement("models:price:known-free-unknown")
def test_a_list_price_holds_only_at_its_vendor_s_host_and_from_its_day():
    known = listed_price("api.openai.com", "gpt-4o-mini-2024-07-18", TODAY)
    assert (known.kind, known.input, known.output) == (PriceKind.KNOWN, 0.15, 0.60)
    assert listed_price("openrouter.ai", "gpt-4o-mini", TODAY) == UNKNOWN
    assert listed_price("api.openai.com", "gpt-4o-mini", date(2024, 1, 1)) == UNKNOWN
    assert listed_price("api.openai.com", "gpt-99-ultra", TODAY) == UNKNOWN
    assert listed_price("api.anthropic.com", "claude-opus-5-5", TODAY).output == 20.0
    assert listed_price("api.anthropic.com", "claude-opus-5", TODAY).output == 25.0


def test_long_prompts_and_cached_tokens_have_their_own_rates():
    haiku = listed_price("api.anthropic.com", "claude-haiku-5-5", TODAY)
    short = haiku.cost_of(Usage(prompt_tokens=100_000, completion_tokens=1_000_000))
    long = haiku.cost_of(Usage(prompt_tokens=100_001, completion_tokens=1_000_000))
    assert short == pytest.approx(0.51) and long == pytest.approx(2.5500005)
    price = Price(kind=PriceKind.KNOWN, input=2, output=10, cached_input=0.2, cache_write=2.5)
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=500_000, cache_write_tokens=100_000)
    assert price.cost_of(usage) == pytest.approx(0.8 + 0.1 + 0.25)


@pytest.mark.requirement("models:price:known-free-unknown")
@pytest.mark.parametrize(
    "setting",
    [
        "cheap",
        {"input": -1, "output": 1},
        {"input": 1},
        {"input": float("inf"), "output": 1},
        {"input": float("nan"), "output": 1},
        {"input": True, "output": 1},
        {"input": 1, "output": 1, "x": 1},
    ],
)
def test_a_price_that_is_no_price_is_refused(setting):
    with pytest.raises(ModelError) as caught:
        price_from_setting(setting)
    assert caught.value.code == "price_invalid"


def test_an_unknown_price_is_never_zero():
    usage = Usage(prompt_tokens=1, completion_tokens=1)
    assert UNKNOWN.cost_of(usage) is None and UNKNOWN.worst_case(ASK) is None and UNKNOWN.costs
    assert FREE.cost_of(usage) == 0.0 and not FREE.costs
    assert price_from_setting("free") == FREE


@pytest.mark.requirement("models:price:worst-case")
def test_the_worst_case_counts_the_prompt_and_every_sample_at_full_length():
    one = PAID.worst_case(ASK)
    assert one > 1000 * 10.0 / 1e6
    assert PAID.worst_case(replace(ASK, samples=3)) == pytest.approx(3 * one)


def test_a_run_is_estimated_from_price_and_measured_speed():
    estimate = estimate_run(
        PAID, calls=12, prompt_tokens=1000, completion_tokens=500, tokens_per_second=50, concurrency=4
    )
    assert estimate.usd == pytest.approx(12 * 0.006) and estimate.seconds == pytest.approx(30)
    assert estimate_run(UNKNOWN, calls=1, prompt_tokens=1, completion_tokens=1).usd is None
    assert estimate_run(FREE, calls=1, prompt_tokens=1, completion_tokens=1).seconds is None
    speed = Speed().after(100, 1.0, 2.0)
    assert (speed.tokens_per_second, speed.first_token_s, speed.calls) == (50.0, 1.0, 1)
    assert speed.after(3, 9.0, 0.1) == speed, "too short to measure"


class Ledger:
    """A gate that notes what it was asked, before one that decides."""

    def __init__(self, cap_usd: float) -> None:
        self._gate = CapGate(cap_usd)
        self.log: list[tuple] = []

    @property
    def held_usd(self) -> float:
        return self._gate.held_usd

    @property
    def spent_usd(self) -> float:
        return self._gate.spent_usd

    async def reserve(self, estimate_usd: float, *, label: str, deadline_s: float) -> str:
        hold = await self._gate.reserve(estimate_usd, label=label, deadline_s=deadline_s)
        self.log.append(("reserve", estimate_usd))
        await asyncio.sleep(0)
        return hold

    async def settle(self, reservation: str, actual_usd: float, *, failed: bool) -> None:
        await asyncio.sleep(0)
        await self._gate.settle(reservation, actual_usd, failed=failed)
        self.log.append(("settle", actual_usd, failed))


def paid(*answers, price=PAID):
    return ScriptedProvider([*answers], price=price)


@pytest.mark.asyncio
@pytest.mark.requirement("models:spend:reserve-then-settle")
async def test_a_paid_call_is_reserved_at_its_worst_and_settled_at_its_cost():
    gate = Ledger(1.0)
    inner = paid(ScriptedAnswer(text="hi", usage=Usage(prompt_tokens=100, completion_tokens=10)))
    done = await Metered(inner, gate).complete(ASK)
    assert done.cost_usd == pytest.approx(0.0002)
    assert [entry[0] for entry in gate.log] == ["reserve", "settle"]
    assert gate.log[0][1] > 0.01 and gate.log[1] == ("settle", done.cost_usd, False)
    assert gate.held_usd == 0 and gate.spent_usd == pytest.approx(0.0002)


@pytest.mark.asyncio
@pytest.mark.requirement("models:spend:settled-on-failure")
async def test_a_failed_call_is_settled_at_what_it_cost():
    gate = Ledger(1.0)
    await Metered(paid(ScriptedAnswer(outcome=Outcome.OVERLOADED)), gate).complete(ASK)
    assert gate.log[-1] == ("settle", 0.0, True)
    with pytest.raises(ModelError):
        await Metered(paid(), gate).complete(ASK)
    assert gate.log[-1] == ("settle", 0.0, True) and gate.held_usd == 0


@pytest.mark.asyncio
@pytest.mark.requirement("models:spend:settled-on-cancel")
async def test_a_cancelled_call_is_settled_at_what_had_arrived_and_the_cancelling_goes_on():
    gate = Ledger(1.0)
    hold = asyncio.Event()
    arrived = asyncio.Event()
    async with Loopback([Reply([delta("half an answer")], hold=hold, hold_after=1)]) as server:
        provider = provider_at(server.url, price=PAID)
        call = Metered(provider, gate).complete(ASK, on_text=lambda _: arrived.set())
        task = asyncio.ensure_future(call)
        await asyncio.wait_for(arrived.wait(), 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.close()
    kind, charged, failed = gate.log[-1]
    assert (kind, failed) == ("settle", True) and 0 < charged < gate.log[0][1] / 10
    assert gate.held_usd == 0


@pytest.mark.asyncio
@pytest.mark.requirement("models:spend:settled-on-cancel")
async def test_cancelling_by_event_passes_through_the_gate():
    gate = Ledger(1.0)
    cancel = asyncio.Event()
    cancel.set()
    done = await asyncio.wait_for(
        Metered(paid(ScriptedAnswer(text="x", delay_s=60)), gate).complete(ASK, cancel=cancel), 3
    )
    assert done.outcome is Outcome.CANCELLED and gate.held_usd == 0


@pytest.mark.asyncio
@pytest.mark.requirement("models:spend:cap-holds")
async def test_twelve_calls_at_once_never_pass_the_cap():
    estimate = PAID.worst_case(ASK)
    gate = CapGate(estimate * 2.5)
    inner = paid(ScriptedAnswer(text="x", times=None, delay_s=0.01, usage=Usage(completion_tokens=1000)))
    metered = Metered(inner, gate)
    results = await asyncio.gather(*(metered.complete(ASK) for _ in range(12)), return_exceptions=True)
    refused = [result for result in results if isinstance(result, CapError)]
    assert len(refused) == 10 and {error.code for error in refused} == {"spend_cap_exceeded"}
    assert gate.spent_usd <= gate.cap_usd and len(inner.requests) == 2


@pytest.mark.asyncio
@pytest.mark.requirement("models:spend:zero-cap", "models:spend:unknown-refused")
async def test_a_cap_of_zero_lets_nothing_paid_through_and_everything_free():
    gate = CapGate(0.0)
    inner = paid("x", price=Price(kind=PriceKind.KNOWN, input=0.0, output=0.0))
    with pytest.raises(CapError) as caught:
        await Metered(inner, gate).complete(ASK)
    assert caught.value.code == "spend_cap_exceeded" and inner.requests == []
    unknown = paid("x", price=UNKNOWN)
    with pytest.raises(CapError) as caught:
        await Metered(unknown, CapGate(100.0)).complete(ASK)
    assert caught.value.code == "price_unknown" and unknown.requests == []
    assert (await Metered(paid("x", price=FREE), gate).complete(ASK)).text == "x"


@pytest.mark.asyncio
async def test_a_second_settlement_and_amounts_that_are_none_are_refused():
    gate = CapGate(1.0)
    hold = await gate.reserve(0.5, label="x", deadline_s=1)
    await gate.settle(hold, 0.7, failed=False)
    assert gate.spent_usd == 0.7, "an overrun is charged in full"
    with pytest.raises(CapError) as caught:
        await gate.settle(hold, 0.1, failed=False)
    assert caught.value.code == "unknown_reservation"
    for amount in (-1.0, float("nan"), float("inf")):
        with pytest.raises(CapError):
            await gate.reserve(amount, label="x", deadline_s=1)
        with pytest.raises(CapError):
            CapGate(amount)


@pytest.mark.asyncio
async def test_a_call_that_never_got_through_costs_nothing():
    async with Loopback([error(401, {"error": {"message": "Invalid API key"}})]) as server:
        provider = provider_at(server.url, price=PAID)
        done = await provider.complete(ASK)
        await provider.close()
    assert done.cost_usd == 0.0


@pytest.mark.asyncio
async def test_what_a_server_reports_is_what_is_charged():
    async with Loopback([chat("hi", prompt=1000, completion=100)]) as server:
        provider = provider_at(server.url, price=PAID)
        done = await provider.complete(ASK)
        await provider.close()
    assert done.cost_usd == pytest.approx(0.002)
