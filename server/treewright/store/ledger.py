"""The spend ledger: reserve before a call is sent, settle after it, never above the cap.

Check and admission are one step under a file lock, so threads and processes together cannot pass the cap. Each run
has a small file of its own with what it spent and holds; it is replaced atomically, so a crash leaves the state
before or after an act, and a hold whose owner died is charged in full at its deadline: the doubt is never in the
spender's favour.
"""

import contextlib
import hashlib
import secrets
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treewright.errors import CapError
from treewright.regular import read_regular
from treewright.store.cap import (
    Action,
    CapAnswer,
    CapPolicy,
    CapState,
    Outcome,
    Refusal,
    Reservation,
    Settlement,
)
from treewright.store.durable import make_folder, replace_file, shown, storage_error
from treewright.store.money import parse_usd
from treewright.store.paths import slug
from treewright.store.turns import exclusive

_LONGEST_RUN = 200
_ZERO = Decimal(0)


class _Hold(BaseModel):
    model_config = ConfigDict(extra="forbid")

    estimate: Decimal = Field(ge=0, allow_inf_nan=False)
    deadline: float = Field(allow_inf_nan=False)


class _Account(BaseModel):
    """What one run spent and holds.

    Attributes:
        format: of the file.
        run: the run's id, since the file's name is only a digest of it.
        cap: a cap set for this run; None for the policy's.
        committed: spent, expired holds included.
        granted: reservations ever granted.
        holds: open reservations by id.
        expired: reservations charged at their deadline that may still be settled, by id.
        lapsed: how many ever expired.
        seen: the latest time an act took place, in seconds since 1970.
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal[1] = 1
    run: str
    cap: Decimal | None = Field(None, ge=0, allow_inf_nan=False)
    committed: Decimal = Field(_ZERO, ge=0, allow_inf_nan=False)
    granted: int = Field(0, ge=0)
    holds: dict[str, _Hold] = Field(default_factory=dict)
    expired: dict[str, _Hold] = Field(default_factory=dict)
    lapsed: int = Field(0, ge=0)
    seen: float = Field(0.0, allow_inf_nan=False)

    def held(self) -> Decimal:
        """Return the sum of the open holds."""
        return sum((hold.estimate for hold in self.holds.values()), _ZERO)

    def limit(self, policy: CapPolicy) -> Decimal:
        """Return the cap that holds."""
        return policy.cap_usd if self.cap is None else self.cap

    def remaining(self, policy: CapPolicy) -> Decimal:
        """Return what can still be reserved, never negative."""
        return max(_ZERO, self.limit(policy) - self.committed - self.held())

    def advance(self, now: float) -> bool:
        """Let time pass: charge the holds whose deadline has come.

        A clock that was set back moves the deadlines with it, so that every hold keeps the time it had left.

        Returns:
            Whether that has to be remembered.
        """
        changed = now < self.seen
        if changed:
            for hold in self.holds.values():
                hold.deadline -= self.seen - now
        self.seen = now
        for key in [key for key, hold in self.holds.items() if hold.deadline <= now]:
            hold = self.holds.pop(key)
            self.committed += hold.estimate
            self.expired[key] = hold
            self.lapsed += 1
            changed = True
        return changed


class Ledger:
    """The spend cap of every run below one root. Safe among threads and processes."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Use a folder.

        Args:
            folder: `Root.ledger`; made when first needed.
            clock: returns seconds since 1970.
        """
        self._folder = folder
        self._clock = clock

    def reserve(
        self, run: str, estimate: Decimal | float | str, policy: CapPolicy, *, hold_s: float | None = None
    ) -> CapAnswer:
        """Ask for an amount before it is spent.

        Args:
            run: the run's id; a whole chain has one.
            estimate: the worst case of the call, in USD.
            policy: what the run may spend.
            hold_s: how long this hold may stay open, in seconds; None for the policy's.

        Returns:
            The reservation, or the refusal: `capability_disabled`, `candidate_limit_exceeded`, `spend_cap_exceeded`.

        Raises:
            CapError: `invalid_amount`, `invalid_run` or `ledger_damaged`.
            StoreError: the disk refused; nothing was granted.
        """
        amount = parse_usd(estimate)
        self._path(run)
        if not policy.enabled:
            return _refuse("reserve", run, "capability_disabled", "The configuration switches this off.")
        with self._account(run) as (account, save):
            left = account.remaining(policy)
            if policy.max_candidates is not None and account.granted >= policy.max_candidates:
                said = f"All {policy.max_candidates} candidates of the run are used."
                return _refuse("reserve", run, "candidate_limit_exceeded", said, left)
            cap = account.limit(policy)
            if account.committed + account.held() + amount > cap:
                said = f"{amount:f} USD are over what is left of the cap of {cap:f} USD: {left:f} USD."
                return _refuse("reserve", run, "spend_cap_exceeded", said, left)
            key = secrets.token_hex(8)
            span = policy.hold_s if hold_s is None else hold_s
            hold = _Hold(estimate=amount, deadline=account.seen + span)
            account.holds[key] = hold
            index, account.granted = account.granted, account.granted + 1
            save()
            granted = Reservation(
                id=key,
                candidate_index=index,
                estimate_usd=amount,
                deadline=hold.deadline,
                remaining_usd=account.remaining(policy),
            )
        return CapAnswer(ok=True, action="reserve", run=run, reservation=granted)

    def settle(
        self,
        run: str,
        reservation: str,
        actual: Decimal | float | str,
        policy: CapPolicy,
        *,
        failed: bool = False,
    ) -> CapAnswer:
        """Charge what a call really cost and give its hold back.

        Args:
            run: the run's id.
            reservation: the hold's id.
            actual: the cost in USD, charged in full even above the estimate.
            policy: what the run may spend.
            failed: the call or its branch failed; what it cost is charged all the same.

        Returns:
            The settlement; or the refusal `unknown_reservation`; or, after the deadline, both the settlement and the
            refusal `branch_timeout`: the estimate was charged then and an overrun is added.

        Raises:
            CapError: `invalid_amount`, `invalid_run` or `ledger_damaged`.
            StoreError: the disk refused; the hold stays.
        """
        amount = parse_usd(actual)
        with self._account(run) as (account, save):
            late = account.expired.pop(reservation, None)
            hold = late or account.holds.pop(reservation, None)
            if hold is None:
                said = f"{reservation[:40]!r} is no open reservation of the run."
                return _refuse("settle", run, "unknown_reservation", said, account.remaining(policy))
            charged = max(amount, hold.estimate) if late else amount
            account.committed += charged - hold.estimate if late else charged
            save()
            outcome: Outcome = "timed_out" if late else "failed" if failed else "settled"
            settled = Settlement(
                reservation_id=reservation,
                outcome=outcome,
                charged_usd=charged,
                committed_usd=account.committed,
                remaining_usd=account.remaining(policy),
                timed_out=late is not None,
                overran_estimate=amount > hold.estimate,
            )
        if late is None:
            return CapAnswer(ok=True, action="settle", run=run, settlement=settled)
        said = "The reservation's deadline had passed; its full estimate was charged."
        refused = Refusal(error="branch_timeout", message=said, remaining_usd=settled.remaining_usd)
        return CapAnswer(ok=False, action="settle", run=run, settlement=settled, refused=refused)

    def status(self, run: str, policy: CapPolicy) -> CapAnswer:
        """Return what a run spent and holds. Writes nothing.

        Raises:
            CapError: `invalid_run` or `ledger_damaged`.
        """
        account = self._read(run)
        account.advance(self._clock())
        return CapAnswer(ok=True, action="status", run=run, state=_state(account, policy))

    def reset(self, run: str, policy: CapPolicy) -> CapAnswer:
        """Forget what a run spent and holds; a damaged ledger is kept aside.

        Raises:
            CapError: `invalid_run`.
            StoreError: the disk refused.
        """
        path = self._path(run)
        make_folder(self._folder, private=True)
        with exclusive(path.with_suffix(".lock")):
            try:
                account = self._read(run)
            except CapError:
                path.replace(path.with_suffix(f".damaged-{secrets.token_hex(4)}"))
                account = _Account(run=run)
            fresh = _Account(run=run, cap=account.cap)
            self._save(path, fresh)
        return CapAnswer(ok=True, action="reset", run=run, state=_state(fresh, policy))

    def set_cap(self, run: str, cap: Decimal | float | str, policy: CapPolicy) -> CapAnswer:
        """Give one run a cap of its own, higher or lower: how a paused run goes on.

        Raises:
            CapError: `invalid_amount`, `invalid_run` or `ledger_damaged`.
            StoreError: the disk refused.
        """
        amount = parse_usd(cap)
        with self._account(run) as (account, save):
            account.cap = amount
            save()
            state = _state(account, policy)
        return CapAnswer(ok=True, action="config", run=run, state=state)

    def config(self, policy: CapPolicy) -> CapAnswer:
        """Return the policy that holds for runs without a cap of their own."""
        return CapAnswer(ok=True, action="config", state=_state(_Account(run="-"), policy))

    @contextlib.contextmanager
    def _account(self, run: str) -> Iterator[tuple[_Account, Callable[[], None]]]:
        """Give a run's account, brought up to the present, and what saves it, under the run's lock."""
        path = self._path(run)
        make_folder(self._folder, private=True)
        with exclusive(path.with_suffix(".lock")):
            account = self._read(run)
            if account.advance(self._clock()):
                self._save(path, account)
            yield account, lambda: self._save(path, account)

    def _path(self, run: str) -> Path:
        if not run.strip() or len(run) > _LONGEST_RUN or not run.isprintable():
            raise CapError(
                "invalid_run",
                f"A run's id has 1 to {_LONGEST_RUN} printable characters.",
                "Give the run's id with --run.",
            )
        digest = hashlib.sha256(run.encode()).hexdigest()[:16]
        return self._folder / f"{slug(run)}-{digest}.json"

    def _read(self, run: str) -> _Account:
        path = self._path(run)
        try:
            account = _Account.model_validate_json(read_regular(path))
        except FileNotFoundError:
            return _Account(run=run)
        except OSError as fault:
            raise storage_error(fault, path, "read") from fault
        except ValidationError as fault:
            raise CapError(
                "ledger_damaged",
                f"The ledger in {shown(path)} cannot be read, so nothing more is granted.",
                "Look at it, then run `treewright cap reset` on the run.",
                {"path": str(path)},
            ) from fault
        return account

    def _save(self, path: Path, account: _Account) -> None:
        replace_file(path, [account.model_dump_json().encode()], private=True)


def _refuse(
    action: Action, run: str, error: str, message: str, remaining: Decimal | None = None
) -> CapAnswer:
    refused = Refusal(error=error, message=message, remaining_usd=remaining)
    return CapAnswer(ok=False, action=action, run=run, refused=refused)


def _state(account: _Account, policy: CapPolicy) -> CapState:
    return CapState(
        enabled=policy.enabled,
        cap_usd=account.limit(policy),
        cap_defaulted=policy.defaulted and account.cap is None,
        committed_usd=account.committed,
        held_usd=account.held(),
        remaining_usd=account.remaining(policy),
        granted=account.granted,
        max_candidates=policy.max_candidates,
        open_reservations=tuple(account.holds),
        expired=account.lapsed,
        hold_s=policy.hold_s,
    )
