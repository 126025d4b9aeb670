"""The spend cap of a search: the ledger below the root, as the search engine wants it."""

from treewright.search.engine import SearchEngine
from treewright.search.events import SearchEvent
from treewright.search.ports import Refused, Reserved, Settled
from treewright.search.tasks import Generated
from treewright.store.cap import CapAnswer, CapPolicy
from treewright.store.ledger import Ledger


class LedgerCap:
    """Reserves and settles on one account. Every model call passes it, also one that costs nothing.

    Args:
        ledger: below the root.
        policy: what the search may spend, and how many candidates it may ask for.
    """

    def __init__(self, ledger: Ledger, policy: CapPolicy) -> None:
        self._ledger = ledger
        self.policy = policy

    def reserve(self, run: str, estimate_usd: float) -> Reserved | Refused:
        """Hold an amount before a call is sent; see `Ledger.reserve`."""
        answer = self._ledger.reserve(run, f"{estimate_usd:.9f}", self.policy)
        granted = answer.reservation
        if granted is None:
            return _refused(answer)
        return Reserved(
            reservation_id=granted.id,
            estimate_usd=float(granted.estimate_usd),
            remaining_usd=float(granted.remaining_usd),
        )

    def settle(self, run: str, reservation_id: str, actual_usd: float, *, failed: bool) -> Settled | Refused:
        """Charge what was spent; see `Ledger.settle`."""
        answer = self._ledger.settle(run, reservation_id, f"{actual_usd:.9f}", self.policy, failed=failed)
        settled = answer.settlement
        if settled is None:
            return _refused(answer)
        return Settled(
            reservation_id=reservation_id,
            charged_usd=float(settled.charged_usd),
            remaining_usd=float(settled.remaining_usd),
        )

    def charge(self, engine: SearchEngine, result: Generated) -> tuple[SearchEvent, ...]:
        """Settle the reservation of an answered call, and return the events of it.

        A hold that the ledger no longer knows was settled before a crash: the engine is told all the same.
        """
        reservation = engine.state.reservations.get(result.task_id)
        if reservation is None:
            return ()
        answer = self.settle(
            engine.state.run, reservation.reservation_id, result.spend_usd, failed=result.failed
        )
        charged = answer.charged_usd if isinstance(answer, Settled) else result.spend_usd
        return engine.settled(result.task_id, charged, failed=result.failed)

    def charge_lost(self, engine: SearchEngine) -> tuple[SearchEvent, ...]:
        """Charge the full estimate of calls whose answers a crash took: they may have been billed."""
        events: list[SearchEvent] = []
        for task_id, reservation in list(engine.state.reservations.items()):
            lost = Generated(task_id=task_id, spend_usd=reservation.estimate_usd, failed=True)
            events.extend(self.charge(engine, lost))
        return tuple(events)


def _refused(answer: CapAnswer) -> Refused:
    refused = answer.refused
    assert refused is not None
    return Refused(error=refused.error, message=refused.message)
