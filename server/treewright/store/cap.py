"""What the spend cap answers, and the policy it answers by (contract: search, 5)."""

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from treewright.data.codes import exit_class
from treewright.store.config import Configuration
from treewright.store.money import Amount

Action = Literal["reserve", "settle", "status", "reset", "config"]
Outcome = Literal["settled", "failed", "timed_out"]
_TIMEOUT_WITHOUT_PROVIDER_S = 120.0


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CapPolicy(_Answer):
    """What a run may spend.

    Attributes:
        cap_usd: the cap; 0 means that nothing paid may be sent. There is no unlimited mode.
        defaulted: nobody set the cap, the packaged value holds.
        enabled: False refuses every reservation.
        max_candidates: how many reservations may be granted; None for no such limit.
        hold_s: how long a hold may stay unsettled, in seconds.
    """

    cap_usd: Amount
    defaulted: bool = False
    enabled: bool = True
    max_candidates: int | None = None
    hold_s: float


class Reservation(_Answer):
    """A granted hold.

    Attributes:
        id: what to settle.
        candidate_index: how many were granted before it in the run.
        estimate_usd: the amount held.
        deadline: when the hold expires and is charged in full, in seconds since 1970.
        remaining_usd: what can still be reserved.
    """

    id: str
    candidate_index: int
    estimate_usd: Amount
    deadline: float
    remaining_usd: Amount


class Settlement(_Answer):
    """A settled hold.

    Attributes:
        reservation_id: which.
        outcome: `settled`, `failed`, or `timed_out` when the deadline had passed.
        charged_usd: what it cost the run in all.
        committed_usd: what the run has spent.
        remaining_usd: what can still be reserved.
        timed_out: the deadline had passed, so at least the full estimate was charged.
        overran_estimate: the actual cost was above the estimate.
    """

    reservation_id: str
    outcome: Outcome
    charged_usd: Amount
    committed_usd: Amount
    remaining_usd: Amount
    timed_out: bool
    overran_estimate: bool


class CapState(_Answer):
    """A run's ledger, or (without a run) the policy alone.

    Attributes:
        enabled: whether reservations are granted at all.
        cap_usd: the cap that holds.
        cap_defaulted: nobody set it.
        committed_usd: spent.
        held_usd: reserved and not yet settled.
        remaining_usd: what can still be reserved; never negative.
        granted: reservations granted so far.
        max_candidates: how many may be granted; None for no limit.
        open_reservations: ids of the open holds.
        expired: holds that were never settled and charged in full.
        hold_s: how long a hold may stay open, in seconds.
    """

    enabled: bool
    cap_usd: Amount
    cap_defaulted: bool
    committed_usd: Amount = Decimal(0)
    held_usd: Amount = Decimal(0)
    remaining_usd: Amount
    granted: int = 0
    max_candidates: int | None = None
    open_reservations: tuple[str, ...] = ()
    expired: int = 0
    hold_s: float


class Refusal(_Answer):
    """Why something was not granted.

    Attributes:
        error: an error code, see `data/errors/cap.toml`.
        message: one sentence.
        remaining_usd: what can still be reserved.
    """

    error: str
    message: str
    remaining_usd: Amount | None = None


class CapAnswer(_Answer):
    """One act of the spend cap, as every surface shows it."""

    ok: bool
    action: Action
    run: str | None = None
    reservation: Reservation | None = None
    settlement: Settlement | None = None
    state: CapState | None = None
    refused: Refusal | None = None

    @property
    def exit(self) -> int:
        """The command line's exit code: 0 granted, 3 refused, 2 for `unknown_reservation`."""
        return int(exit_class(self.refused.error)) if self.refused else 0

    def to_json(self) -> str:
        """Return the answer as one JSON object, parts that do not apply left out."""
        return self.model_dump_json(exclude_none=True)


def search_policy(config: Configuration, provider_timeout_s: float | None = None) -> CapPolicy:
    """Return what a code-branch search may spend.

    Args:
        config: the settings.
        provider_timeout_s: the provider's longest answer in seconds; None takes 120.
    """
    search = config.settings.search
    return CapPolicy(
        cap_usd=search.spend_cap_usd,
        defaulted=config.is_default("search.spend_cap_usd"),
        enabled=search.enabled,
        max_candidates=search.max_candidates,
        hold_s=_timeout(provider_timeout_s) + search.per_branch_timeout_s,
    )


def explore_policy(config: Configuration, provider_timeout_s: float | None = None) -> CapPolicy:
    """Return what an exploration, or a whole chain, may spend."""
    return CapPolicy(
        cap_usd=config.settings.explore.spend_cap_usd,
        defaulted=config.is_default("explore.spend_cap_usd"),
        hold_s=_timeout(provider_timeout_s),
    )


def deliberate_policy(config: Configuration, provider_timeout_s: float | None = None) -> CapPolicy:
    """Return what a deliberation or an autopilot may spend."""
    return CapPolicy(
        cap_usd=config.settings.deliberate.spend_cap_usd,
        defaulted=config.is_default("deliberate.spend_cap_usd"),
        hold_s=_timeout(provider_timeout_s),
    )


def _timeout(given: float | None) -> float:
    return _TIMEOUT_WITHOUT_PROVIDER_S if given is None else given
