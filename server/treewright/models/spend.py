"""Every paid call is reserved before it is sent and settled after, whatever became of it.

The gate is a protocol: the store's ledger holds the cap across processes; `CapGate` holds one inside a process.
"""

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from treewright.errors import CapError, ModelError
from treewright.models.prices import PriceKind
from treewright.models.provider import Completion, Outcome, Provider, ProviderInfo, Request, TextSink
from treewright.models.wire import pass_on


class SpendGate(Protocol):
    """Who says whether money may be spent."""

    async def reserve(self, estimate_usd: float, *, label: str, deadline_s: float) -> str:
        """Hold an amount and return the reservation's id.

        Args:
            estimate_usd: worst case of the call, US dollars.
            label: provider and model, to show.
            deadline_s: seconds after which an unsettled hold is charged in full.

        Raises:
            CapError: `spend_cap_exceeded` or another refusal.
        """

    async def settle(self, reservation: str, actual_usd: float, *, failed: bool) -> None:
        """Charge what a call cost and release its hold.

        Args:
            reservation: as returned by `reserve`.
            actual_usd: US dollars, 0 when nothing was billed.
            failed: whether the call gave no answer.
        """


class Metered:
    """A provider whose paid calls pass a gate."""

    def __init__(self, inner: Provider, gate: SpendGate) -> None:
        """Put a gate before a provider.

        Args:
            inner: the provider.
            gate: asked before each call that may cost money.
        """
        self._inner = inner
        self._gate = gate

    @property
    def info(self) -> ProviderInfo:
        """The inner provider's."""
        return self._inner.info

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer one request, see `Provider.complete`.

        Raises:
            CapError: `price_unknown`, or the gate's refusal; nothing was sent then.
        """
        price = self.info.price
        if not price.costs:
            return await self._inner.complete(request, on_text=on_text, cancel=cancel)
        estimate = price.worst_case(request)
        if estimate is None or price.kind is PriceKind.UNKNOWN:
            raise CapError(
                "price_unknown",
                f"What {self.info.name} costs is not known, so a spend cap cannot hold.",
                "Say it in its table: price_in_usd and price_out_usd (USD for a million tokens), or free = true.",
                {"provider": self.info.name, "model": self.info.model},
            )
        hold = await self._gate.reserve(estimate, label=self.info.name, deadline_s=self.info.call_limit_s)
        charge, failed = estimate, True  # stands when something unforeseen happens: it may have been billed
        try:
            done, interrupted = await self._finish(request, on_text, cancel)
            charge = estimate if done.cost_usd is None else done.cost_usd
            failed = done.outcome is not Outcome.COMPLETE
        except ModelError:
            charge = 0.0  # the provider was set up wrongly and sent nothing
            raise
        finally:
            await _whole(self._gate.settle(hold, charge, failed=failed))
        if interrupted is not None:
            raise interrupted
        return done

    async def _finish(
        self, request: Request, on_text: TextSink | None, cancel: asyncio.Event | None
    ) -> tuple[Completion, asyncio.CancelledError | None]:
        """Let the call end by itself even when our own task is cancelled: only then is its cost known."""
        stop = asyncio.Event()
        call = asyncio.ensure_future(self._inner.complete(request, on_text=on_text, cancel=stop))
        link = asyncio.ensure_future(pass_on(cancel, stop))
        interrupted: asyncio.CancelledError | None = None
        try:
            while not call.done():
                try:
                    await asyncio.shield(call)
                except asyncio.CancelledError as error:
                    if call.cancelled():
                        raise
                    interrupted = error
                    stop.set()
            return call.result(), interrupted
        finally:
            link.cancel()
            await asyncio.gather(link, return_exceptions=True)

    async def close(self) -> None:
        """Close the inner provider."""
        await self._inner.close()


async def _whole(work: Coroutine[Any, Any, None]) -> None:
    """Finish a settlement even while our own task is being cancelled."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


@dataclass(slots=True)
class CapGate:
    """A cap inside one process.

    Attributes:
        cap_usd: most that may be spent, US dollars; 0 lets nothing paid through.
        spent_usd: charged so far.
    """

    cap_usd: float
    spent_usd: float = 0.0
    _holds: dict[str, float] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        """Refuse a cap that is no amount."""
        _check_amount(self.cap_usd)

    @property
    def held_usd(self) -> float:
        """Reserved and not yet settled."""
        return sum(self._holds.values())

    async def reserve(self, estimate_usd: float, *, label: str, deadline_s: float) -> str:
        """Hold an amount, see `SpendGate.reserve`; a hold of this process needs no deadline."""
        del deadline_s
        _check_amount(estimate_usd)
        left = self.cap_usd - self.spent_usd - self.held_usd
        if self.cap_usd == 0 or estimate_usd > left + 1e-9:
            raise CapError(
                "spend_cap_exceeded",
                f"A call of up to {estimate_usd:.4f} USD does not fit the {max(left, 0):.4f} USD left under the cap.",
                "Raise the cap, or use a cheaper or a free model.",
                {"label": label, "estimate_usd": estimate_usd, "remaining_usd": max(left, 0.0)},
            )
        self._count += 1
        name = f"hold-{self._count}"
        self._holds[name] = estimate_usd
        return name

    async def settle(self, reservation: str, actual_usd: float, *, failed: bool) -> None:
        """Charge and release; see `SpendGate.settle`.

        Raises:
            CapError: `unknown_reservation`; it was settled already or never made.
        """
        del failed  # what it cost is charged all the same
        _check_amount(actual_usd)
        if self._holds.pop(reservation, None) is None:
            raise CapError("unknown_reservation", f"There is no open reservation {reservation!r}.")
        self.spent_usd += actual_usd


def _check_amount(usd: float) -> None:
    if not math.isfinite(usd) or usd < 0:
        raise CapError("invalid_amount", "An amount of money is negative, infinite or not a number.")
