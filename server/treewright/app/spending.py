"""The spend cap of an exploration, or of a whole chain: the models' gate over the store's ledger."""

import asyncio

from treewright.errors import CapError
from treewright.store.cap import CapAnswer, CapPolicy, explore_policy
from treewright.store.config import Configuration
from treewright.store.ledger import Ledger


class LedgerGate:
    """A `SpendGate` that reserves and settles on one account of the ledger."""

    def __init__(self, ledger: Ledger, account: str, policy: CapPolicy) -> None:
        """Use an account.

        Args:
            ledger: below the root.
            account: the run's id; a chain's stages share the chain's.
            policy: what the account may spend.
        """
        self._ledger = ledger
        self._account = account
        self._policy = policy

    async def reserve(self, estimate_usd: float, *, label: str, deadline_s: float) -> str:
        """Hold an amount; see `SpendGate.reserve`.

        Raises:
            CapError: the ledger's refusal.
        """
        answer = await asyncio.to_thread(
            self._ledger.reserve, self._account, f"{estimate_usd:.9f}", self._policy, hold_s=deadline_s
        )
        if answer.reservation is None:
            raise _refusal(answer, label)
        return answer.reservation.id

    async def settle(self, reservation: str, actual_usd: float, *, failed: bool) -> None:
        """Charge and release; see `SpendGate.settle`. A hold whose deadline had passed was charged then.

        Raises:
            CapError: `unknown_reservation`.
        """
        answer = await asyncio.to_thread(
            self._ledger.settle, self._account, reservation, f"{actual_usd:.9f}", self._policy, failed=failed
        )
        if answer.settlement is None:
            raise _refusal(answer, reservation)


def _refusal(answer: CapAnswer, label: str) -> CapError:
    refused = answer.refused
    assert refused is not None
    return CapError(
        refused.error,
        refused.message,
        "Go on with a higher cap (--spend-cap), or with a model that costs less.",
        {"label": label, "account": answer.run},
    )


def explore_gate(configuration: Configuration, account: str, cap_usd: float | None) -> LedgerGate:
    """Return the gate of an exploration.

    Args:
        configuration: gives the ledger and the usual cap.
        account: the run's or the chain's id.
        cap_usd: the cap that the run was started or resumed with; None takes the configuration's.
    """
    policy = explore_policy(configuration)
    if cap_usd is not None:
        policy = CapPolicy.model_validate({**policy.model_dump(), "cap_usd": f"{cap_usd:.9f}"})
    return LedgerGate(Ledger(configuration.root.ledger), account, policy)
