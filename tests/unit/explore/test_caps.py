"""Caps: only the user's, named when reached, with everything in flight completed."""

import pytest

from tests.unit.explore.growing import MemoryRun, seeded
from treewright.errors import RunError
from treewright.explore.convergence import terminal_count
from treewright.tree.node import Phase
from treewright.tree.run import Caps, Status


def complete(run: MemoryRun) -> bool:
    """Tell whether no node is in progress."""
    return all(n.phase is Phase.SETTLED for n in run.tree.nodes.values())


@pytest.mark.requirement("exploration:rules:f7-no-default-caps")
def test_nothing_is_capped_unless_the_user_says_so() -> None:
    assert set(Caps().model_dump().values()) == {None}
    assert MemoryRun().grow(seeded(advance=25)).tree.status is Status.CONVERGED


@pytest.mark.requirement(
    "exploration:rules:f7-cap-completes-in-flight",
    "exploration:ending:caps-complete",
    "exploration:ending:no-cap-reached",
)
@pytest.mark.parametrize(
    ("caps", "status"),
    [
        (Caps(width=10), Status.WIDTH_CAP_REACHED),
        (Caps(depth=1), Status.DEPTH_CAP_REACHED),
        (Caps(rounds=1), Status.ROUNDS_EXHAUSTED),
    ],
)
def test_a_reached_cap_is_named_with_every_node_complete(caps: Caps, status: Status) -> None:
    run = MemoryRun(caps=caps).grow(seeded(advance=60))
    assert run.tree.status is status
    assert complete(run)
    assert run.tree.frontier
    assert not run.tree.rounds[-1].conditions[5].met


@pytest.mark.requirement("exploration:ending:first-match")
def test_the_first_cap_in_the_order_of_the_contract_is_named() -> None:
    run = MemoryRun(caps=Caps(width=5, depth=1, rounds=1)).grow(seeded(advance=60))
    assert run.tree.status is Status.WIDTH_CAP_REACHED
    run = MemoryRun(caps=Caps(depth=1, rounds=1)).grow(seeded(advance=60))
    assert run.tree.status is Status.DEPTH_CAP_REACHED


def test_a_cap_that_kept_nothing_back_does_not_hinder_convergence() -> None:
    run = MemoryRun(caps=Caps(depth=9, rounds=50, width=5000)).grow(seeded(advance=25))
    assert run.tree.status is Status.CONVERGED


@pytest.mark.requirement("exploration:flow:width-counts-terminal")
def test_width_overshoots_by_no_more_than_one_pass() -> None:
    for width in (15, 30, 45):
        run = MemoryRun(caps=Caps(width=width)).grow(seeded(advance=90, max_depth=6))
        assert run.tree.status is Status.WIDTH_CAP_REACHED
        assert width <= terminal_count(run.tree) < width + 26


@pytest.mark.requirement("exploration:ending:caps-raised", "exploration:ending:final-or-continued")
def test_a_capped_run_goes_on_with_a_larger_cap_and_ends_as_an_uncapped_one() -> None:
    whole = MemoryRun().grow(seeded(advance=40))
    run = MemoryRun(caps=Caps(rounds=1)).grow(seeded(advance=40))
    run.stage(run.explorer.resume(Caps()))
    run.grow(seeded(advance=40))
    assert run.tree.status is Status.CONVERGED
    assert run.outline() == whole.outline()


def test_a_run_resumed_under_the_same_cap_stays_where_it_was() -> None:
    run = MemoryRun(caps=Caps(rounds=1)).grow(seeded(advance=40))
    before = run.outline()
    run.stage(run.explorer.resume())
    run.grow(seeded(advance=40))
    assert run.tree.status is Status.ROUNDS_EXHAUSTED
    assert run.outline() == before
    assert len(run.tree.rounds) == 1


@pytest.mark.requirement(
    "exploration:ending:final-or-continued", "exploration:rules:f5-only-convergence-ends"
)
def test_a_converged_run_cannot_be_continued_and_a_stopped_one_can() -> None:
    run = MemoryRun().grow(seeded(advance=25))
    with pytest.raises(RunError) as caught:
        run.explorer.resume(Caps(width=1000))
    assert caught.value.code == "run_final"

    whole = run.outline()
    run = MemoryRun().grow(seeded(advance=25), limit=20)
    run.stage(run.explorer.stop(Status.STOPPED, "by the user"))
    assert run.explorer.ready(10) == []
    assert run.explorer.settle() == []
    run.stage(run.explorer.resume())
    assert run.grow(seeded(advance=25)).outline() == whole
