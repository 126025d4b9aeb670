"""The spend cap: reserve, settle, never above the cap, never in doubt in the spender's favour."""

import json
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from tests.unit.store.disks import mounted
from treewright.errors import CapError, StoreError
from treewright.store.cap import CapAnswer, CapPolicy, explore_policy, search_policy
from treewright.store.config import load_config
from treewright.store.ledger import Ledger
from treewright.store.money import parse_usd

POLICY = CapPolicy(cap_usd=Decimal("0.50"), max_candidates=None, hold_s=100.0)


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Ledger:
    return Ledger(tmp_path / "ledger", clock)


def reserve(ledger: Ledger, amount: str, policy: CapPolicy = POLICY, run: str = "r") -> str:
    answer = ledger.reserve(run, amount, policy)
    assert answer.reservation, answer
    return answer.reservation.id


def error(answer: CapAnswer) -> str:
    assert answer.refused
    return answer.refused.error


def committed(ledger: Ledger, run: str = "r") -> Decimal:
    state = ledger.status(run, POLICY).state
    assert state
    return state.committed_usd


# --- reserving and settling -----------------------------------------------------------------------------------------


@pytest.mark.requirement("cap:reserve:admission")
def test_what_goes_over_the_cap_is_refused_and_what_fits_is_granted(ledger: Ledger) -> None:
    first = ledger.reserve("r", "0.20", POLICY)
    assert first.reservation
    assert (first.ok, first.exit, first.reservation.candidate_index) == (True, 0, 0)
    assert first.reservation.remaining_usd == Decimal("0.30")
    reserve(ledger, "0.20")
    refused = ledger.reserve("r", "0.20", POLICY)
    assert (error(refused), refused.ok, refused.exit) == ("spend_cap_exceeded", False, 3)
    reserve(ledger, "0.10")
    assert error(ledger.reserve("r", "0.000000001", POLICY)) == "spend_cap_exceeded"


def test_settling_charges_the_actual_cost_and_releases_the_hold(ledger: Ledger) -> None:
    key = reserve(ledger, "0.40")
    answer = ledger.settle("r", key, "0.15", POLICY)
    assert answer.settlement
    assert answer.settlement.model_dump(mode="json") == {
        "reservation_id": key,
        "outcome": "settled",
        "charged_usd": 0.15,
        "committed_usd": 0.15,
        "remaining_usd": 0.35,
        "timed_out": False,
        "overran_estimate": False,
    }


@pytest.mark.requirement("cap:settle:failed")
def test_a_failed_branch_is_charged_what_it_cost(ledger: Ledger) -> None:
    answer = ledger.settle("r", reserve(ledger, "0.40"), "0.10", POLICY, failed=True)
    assert answer.settlement
    assert (answer.ok, answer.settlement.outcome, answer.settlement.charged_usd) == (
        True,
        "failed",
        Decimal("0.1"),
    )


@pytest.mark.requirement("cap:settle:twice")
def test_a_second_settlement_is_refused(ledger: Ledger) -> None:
    key = reserve(ledger, "0.40")
    ledger.settle("r", key, "0.10", POLICY)
    for unknown in (key, "nonsense", ""):
        answer = ledger.settle("r", unknown, "0.10", POLICY)
        assert (error(answer), answer.exit) == ("unknown_reservation", 2)
    assert committed(ledger) == Decimal("0.10")


@pytest.mark.requirement("cap:settle:overrun")
def test_an_overrun_is_charged_in_full_and_tightens_what_is_left(ledger: Ledger) -> None:
    answer = ledger.settle("r", reserve(ledger, "0.10"), "0.45", POLICY)
    assert answer.settlement
    assert (answer.settlement.overran_estimate, answer.settlement.remaining_usd) == (True, Decimal("0.05"))
    answer = ledger.settle("r", reserve(ledger, "0.05"), "2", POLICY)
    assert answer.settlement
    assert (answer.settlement.committed_usd, answer.settlement.remaining_usd) == (Decimal("2.45"), 0)
    assert error(ledger.reserve("r", "0", POLICY)) == "spend_cap_exceeded"


@pytest.mark.requirement("cap:expiry:charged")
def test_a_hold_that_is_never_settled_is_charged_in_full_at_its_deadline(
    ledger: Ledger, clock: Clock
) -> None:
    key = reserve(ledger, "0.30")
    clock.now += 99.9
    assert committed(ledger) == 0
    clock.now += 0.2
    state = ledger.status("r", POLICY).state
    assert state
    assert (state.committed_usd, state.held_usd, state.expired) == (Decimal("0.30"), 0, 1)
    assert error(ledger.reserve("r", "0.21", POLICY)) == "spend_cap_exceeded"
    late = ledger.settle("r", key, "0.05", POLICY)
    assert late.settlement
    assert (error(late), late.exit) == ("branch_timeout", 3)
    assert (late.settlement.timed_out, late.settlement.outcome) == (True, "timed_out")
    assert late.settlement.charged_usd == late.settlement.committed_usd == Decimal("0.30")
    assert error(ledger.settle("r", key, "0.05", POLICY)) == "unknown_reservation"


def test_a_late_overrun_is_added_to_what_was_charged(ledger: Ledger, clock: Clock) -> None:
    key = reserve(ledger, "0.30")
    clock.now += 101
    late = ledger.settle("r", key, "0.45", POLICY)
    assert late.settlement
    assert late.settlement.charged_usd == late.settlement.committed_usd == Decimal("0.45")


@pytest.mark.requirement("cap:clock:back")
def test_a_clock_that_is_set_back_neither_frees_nor_prolongs_a_hold(ledger: Ledger, clock: Clock) -> None:
    reserve(ledger, "0.30")
    clock.now += 40
    reserve(ledger, "0.10")
    clock.now -= 1_000_000
    ledger.reserve("r", "9", POLICY)
    clock.now += 59
    assert committed(ledger) == 0
    clock.now += 2
    assert committed(ledger) == Decimal("0.30")
    clock.now += 40
    assert committed(ledger) == Decimal("0.40")


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("cap:limit:candidates")
def test_only_granted_reservations_use_a_slot(ledger: Ledger) -> None:
    policy = POLICY.model_copy(update={"max_candidates": 2})
    for key in (reserve(ledger, "0.01", policy), ""):
        if key:
            ledger.settle("r", key, "0", policy)
        for _ in range(5):
            assert error(ledger.reserve("r", "0.60", policy)) == "spend_cap_exceeded"
        if key:
            reserve(ledger, "0.01", policy)
            refused = ledger.reserve("r", "0", policy)
            assert (error(refused), refused.exit) == ("candidate_limit_exceeded", 3)
            break


@pytest.mark.requirement("cap:limit:disabled")
def test_a_switched_off_capability_refuses_all(ledger: Ledger) -> None:
    off = POLICY.model_copy(update={"enabled": False})
    refused = ledger.reserve("r", "0", off)
    assert (error(refused), refused.exit) == ("capability_disabled", 3)
    state = ledger.status("r", off).state
    assert state
    assert not state.enabled


@pytest.mark.requirement("cap:amount:refused")
@pytest.mark.parametrize(
    "amount",
    ["nan", "NaN", "inf", "-inf", "-0.01", "-1e-30", "", "x", "1e10", float("nan"), float("inf"), -1, True],
)
def test_amounts_that_are_none_are_refused(ledger: Ledger, amount: float | str) -> None:
    key = reserve(ledger, "0.10")
    for act in (
        lambda: ledger.reserve("r", amount, POLICY),
        lambda: ledger.settle("r", key, amount, POLICY),
        lambda: ledger.set_cap("r", amount, POLICY),
    ):
        with pytest.raises(CapError) as fault:
            act()
        assert fault.value.code == "invalid_amount"
    state = ledger.status("r", POLICY).state
    assert state
    assert (state.open_reservations, state.committed_usd) == ((key,), 0)


def test_amounts_are_exact(ledger: Ledger) -> None:
    policy = POLICY.model_copy(update={"cap_usd": Decimal("0.30")})
    for _ in range(3):
        reserve(ledger, "0.1", policy)
    assert parse_usd(0.1) == Decimal("0.1")
    assert parse_usd("0.0000000001") == Decimal("0.000000001"), "rounded up, never down"
    assert parse_usd(" 2 ") == 2


@pytest.mark.requirement("cap:zero:nothing-paid")
def test_a_cap_of_zero_lets_nothing_paid_through(ledger: Ledger) -> None:
    zero = POLICY.model_copy(update={"cap_usd": Decimal(0)})
    assert error(ledger.reserve("r", "0.000000001", zero)) == "spend_cap_exceeded"
    assert ledger.reserve("r", 0, zero).ok, "what is said outright to be free"


@pytest.mark.requirement("cap:raise:continues")
def test_a_higher_cap_of_its_own_lets_a_paused_run_go_on(
    ledger: Ledger, tmp_path: Path, clock: Clock
) -> None:
    ledger.settle("r", reserve(ledger, "0.50"), "0.50", POLICY)
    assert error(ledger.reserve("r", "0.10", POLICY)) == "spend_cap_exceeded"
    raised = ledger.set_cap("r", "1.00", POLICY)
    assert raised.state
    assert (raised.state.cap_usd, raised.state.cap_defaulted) == (1, False)
    again = Ledger(tmp_path / "ledger", clock)
    assert again.reserve("r", "0.50", POLICY).ok
    assert error(again.reserve("r", "0.01", POLICY)) == "spend_cap_exceeded"


def test_runs_have_accounts_of_their_own_however_alike_their_names(ledger: Ledger) -> None:
    for run in ("r", "R", "r ", "r/../r", "r\\", "../../etc/passwd", "研究", "x" * 200):
        reserve(ledger, "0.50", run=run)
    for run in ("", "  ", "x" * 201, "a\nb", "a\0b", "\ud800"):
        with pytest.raises(CapError) as fault:
            ledger.reserve(run, "0.1", POLICY)
        assert fault.value.code == "invalid_run"


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("cap:answer:json")
def test_answers_are_one_json_object_with_the_keys_of_the_contract(ledger: Ledger) -> None:
    granted = json.loads(ledger.reserve("r", "0.20", POLICY).to_json())
    assert (granted["ok"], granted["action"], granted["run"]) == (True, "reserve", "r")
    assert set(granted["reservation"]) == {
        "id",
        "candidate_index",
        "estimate_usd",
        "deadline",
        "remaining_usd",
    }
    assert granted["reservation"]["remaining_usd"] == 0.3
    assert set(granted) == {"ok", "action", "run", "reservation"}
    refused = json.loads(ledger.reserve("r", "0.40", POLICY).to_json())
    assert set(refused) == {"ok", "action", "run", "refused"}
    assert refused["refused"]["error"] == "spend_cap_exceeded"
    assert refused["refused"]["message"]
    status = json.loads(ledger.status("r", POLICY).to_json())
    assert status["state"]["held_usd"] == 0.2
    assert set(json.loads(ledger.config(POLICY).to_json())) == {"ok", "action", "state"}


@pytest.mark.requirement("cap:policy:defaulted")
def test_an_absent_cap_is_the_default_and_is_reported_as_defaulted(isolated_home: Path) -> None:
    policy = search_policy(load_config())
    assert (policy.cap_usd, policy.defaulted, policy.max_candidates) == (Decimal("0.50"), True, 5)
    assert policy.hold_s == 180
    policy = search_policy(load_config(run={"search.spend_cap_usd": 3}), provider_timeout_s=30)
    assert (policy.cap_usd, policy.defaulted, policy.hold_s) == (3, False, 90)
    assert explore_policy(load_config()).max_candidates is None


# --- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("cap:ledger:damaged")
@pytest.mark.parametrize(
    "spoiled", [b"", b"{", b"[]", b'{"run":"r","committed":"NaN"}', b'{"run":"r","committed":"-5"}']
)
def test_a_damaged_ledger_grants_nothing_until_it_is_reset_and_is_kept(
    ledger: Ledger, tmp_path: Path, spoiled: bytes
) -> None:
    reserve(ledger, "0.10")
    (path,) = (tmp_path / "ledger").glob("*.json")
    path.write_bytes(spoiled)
    for act in (
        lambda: ledger.reserve("r", "0.1", POLICY),
        lambda: ledger.settle("r", "x", "0.1", POLICY),
        lambda: ledger.status("r", POLICY),
    ):
        with pytest.raises(CapError) as fault:
            act()
        assert fault.value.code == "ledger_damaged"
    assert ledger.reset("r", POLICY).ok
    assert [each.read_bytes() for each in (tmp_path / "ledger").glob("*.damaged-*")] == [spoiled]
    reserve(ledger, "0.50")


def test_resetting_forgets_spend_holds_and_slots(ledger: Ledger) -> None:
    policy = POLICY.model_copy(update={"max_candidates": 1})
    key = reserve(ledger, "0.50", policy)
    state = ledger.reset("r", policy).state
    assert state
    assert (state.granted, state.held_usd, state.remaining_usd) == (0, 0, Decimal("0.50"))
    assert error(ledger.settle("r", key, "0.1", policy)) == "unknown_reservation"
    reserve(ledger, "0.50", policy)


def test_status_of_a_run_nobody_knows_writes_nothing(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.status("r", POLICY).ok
    assert not (tmp_path / "ledger").exists()


def test_a_full_disk_grants_nothing(tmp_path: Path, clock: Clock) -> None:
    with mounted(tmp_path / "disk", "size=16k") as disk:
        ledger = Ledger(disk / "ledger", clock)
        reserve(ledger, "0.10")
        with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="space"):
            while True:
                filler.write(b"x" * 512)
        with pytest.raises(StoreError) as fault:
            ledger.reserve("r", "0.10", POLICY)
        assert fault.value.code == "storage_full"
        state = ledger.status("r", POLICY).state
        assert state
        assert (state.granted, state.held_usd) == (1, Decimal("0.10"))


# --- many at once ----------------------------------------------------------------------------------------------------

TEN_THREADS = """
import sys, threading
from decimal import Decimal
from pathlib import Path
from treewright.store.cap import CapPolicy
from treewright.store.ledger import Ledger
policy = CapPolicy(cap_usd=Decimal("0.50"), hold_s=600)
ledger = Ledger(Path(sys.argv[1]))
for line in sys.stdin:
    run, count = line.split()
    granted = []
    threads = [
        threading.Thread(target=lambda: granted.append(ledger.reserve(run, "0.20", policy).ok))
        for _ in range(int(count))
    ]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(sum(granted), len(granted), flush=True)
"""


def admitted(tmp_path: Path, rounds: int) -> list[int]:
    """Let two processes with five threads each ask for 0.20 ten times a round; return how many were granted."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", TEN_THREADS, str(tmp_path / "ledger")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(2)
    ]
    found = []
    for number in range(rounds):
        for child in children:
            assert child.stdin
            child.stdin.write(f"run{number} 5\n")
            child.stdin.flush()
        answers = [child.stdout.readline().split() for child in children if child.stdout]
        assert all(asked == "5" for _, asked in answers)
        found.append(sum(int(granted) for granted, _ in answers))
    for child in children:
        child.communicate(timeout=10)
    return found


@pytest.mark.requirement("cap:reserve:concurrent")
def test_of_ten_concurrent_reservations_of_020_under_050_exactly_two_are_admitted(tmp_path: Path) -> None:
    assert admitted(tmp_path, 50) == [2] * 50


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_of_ten_concurrent_reservations_exactly_two_are_admitted_a_thousand_times(tmp_path: Path) -> None:
    assert admitted(tmp_path, 1000) == [2] * 1000


def test_twelve_framings_at_once_never_pass_the_cap(ledger: Ledger) -> None:
    gate = threading.Barrier(12)
    answers: list[CapAnswer] = []

    def framing() -> None:
        gate.wait(5)
        answers.append(ledger.reserve("r", "0.09", POLICY))

    threads = [threading.Thread(target=framing) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum(answer.ok for answer in answers) == 5
    indices = sorted(answer.reservation.candidate_index for answer in answers if answer.reservation)
    assert indices == [0, 1, 2, 3, 4]


# --- the model -----------------------------------------------------------------------------------------------------


class LedgerModel(RuleBasedStateMachine):
    """Against plain arithmetic: nothing is granted above the cap, and every cent is accounted for."""

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.ledger = Ledger(Path(self.folder.name), self.clock)
        self.open: dict[str, tuple[Decimal, float]] = {}
        self.spent = Decimal(0)

    def teardown(self) -> None:
        self.folder.cleanup()

    def _expire(self) -> None:
        for key in [key for key, (_, deadline) in self.open.items() if deadline <= self.clock.now]:
            self.spent += self.open.pop(key)[0]

    @rule(target=held, cents=st.integers(0, 30))
    def reserve(self, cents: int) -> str:
        self._expire()
        amount = Decimal(cents) / 100
        answer = self.ledger.reserve("r", amount, POLICY)
        fits = (
            self.spent + sum((each for each, _ in self.open.values()), Decimal(0)) + amount <= POLICY.cap_usd
        )
        assert answer.ok is fits
        if not answer.reservation:
            return "none"
        self.open[answer.reservation.id] = (amount, self.clock.now + POLICY.hold_s)
        return answer.reservation.id

    @rule(key=held, cents=st.integers(0, 40), failed=st.booleans())
    def settle(self, key: str, cents: int, failed: bool) -> None:
        self._expire()
        known = key in self.open
        before = self.spent
        answer = self.ledger.settle("r", key, Decimal(cents) / 100, POLICY, failed=failed)
        assert answer.ok is known
        if known:
            self.open.pop(key)
            self.spent += Decimal(cents) / 100
        elif answer.settlement:
            self.spent = answer.settlement.committed_usd
            assert self.spent >= before

    @rule(seconds=st.floats(0, 120))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def every_cent_is_accounted_for(self) -> None:
        self._expire()
        state = self.ledger.status("r", POLICY).state
        assert state
        assert state.committed_usd == self.spent
        assert set(state.open_reservations) == set(self.open)
        assert state.held_usd == sum((each for each, _ in self.open.values()), Decimal(0))


TestLedgerModel = LedgerModel.TestCase
TestLedgerModel.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
