"""Disks that fill up, turn read-only, take a permission away or break while a run grows: nothing acknowledged is lost.

Real small and read-only disks: `tests/unit/store` (journal, documents, artifacts, ledger) and `tests/contract/cli/test_bad_input.py`.
"""

import errno
from pathlib import Path

import pytest

from tests.trust.conftest import Planted
from tests.trust.planting import FAILING_DISK, SLOW_DISK, nodes
from tests.unit.store.disks import mounted, remount
from treewright.store.run_folder import RunReader

FAULTS = {
    "full": errno.ENOSPC,
    "read-only": errno.EROFS,
    "permission lost": errno.EACCES,
    "broken": errno.EIO,
}
MOMENTS = (2, 9, 25)
EVERY_MOMENT = range(1, 60, 3)


def fails_and_goes_on(planted: Planted, project: Path, tmp_path: Path, code: int, after: int) -> None:
    """Fail a run's disk from its n-th sync on; the run must say so in a line, and go on to the same tree afterwards."""
    whole, out = tmp_path / "whole", tmp_path / "out"
    if not whole.exists():
        assert planted("audit", project, "--out", whole, "-q").code == 0
    prelude = FAILING_DISK.format(after=after, errno=code, folder=out)
    done = planted("audit", project, "--out", out, "-q", prelude=prelude)
    assert "Traceback" not in done.err and "internal error" not in done.err, done.err
    if done.code == 0:
        assert nodes(out) == nodes(whole)  # it was over before
        return
    assert done.code == 5, done
    assert done.err.startswith("treewright: Could not "), done.err
    if not (out / "journal.jsonl").exists() or RunReader(out).tree.started is None:
        return
    kept = (out / "journal.jsonl").read_bytes()
    ended = planted("resume", out, "-q")
    assert ended.code in (0, 2), ended.err  # 2: it had ended, and only what it puts out was missing
    if ended.code == 0:
        assert nodes(out) == nodes(whole)
    assert (out / "journal.jsonl").read_bytes().startswith(kept[: kept.rfind(b"\n") + 1] if kept else b"")


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.requirement("trust:disk:midway")
def test_a_disk_that_fails_while_a_run_grows_costs_nothing_acknowledged(
    planted: Planted, project: Path, tmp_path: Path, fault: str
) -> None:
    moment = MOMENTS[list(FAULTS).index(fault) % len(MOMENTS)]
    fails_and_goes_on(planted, project, tmp_path, FAULTS[fault], moment)


@pytest.mark.soak
@pytest.mark.parametrize("after", EVERY_MOMENT)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_disk_that_fails_at_any_moment_costs_nothing_acknowledged(
    planted: Planted, project: Path, tmp_path: Path, fault: str, after: int
) -> None:
    fails_and_goes_on(planted, project, tmp_path, FAULTS[fault], after)


@pytest.mark.slow
@pytest.mark.requirement("trust:disk:full-then-free")
def test_a_disk_that_was_full_and_is_given_room_lets_the_run_go_on(
    planted: Planted, project: Path, tmp_path: Path
) -> None:
    with mounted(tmp_path / "disk", "size=24k") as disk:
        done = planted("audit", project, "--out", disk / "out", "-q")
        assert done.code == 5, done
        assert "No space left" in done.err and "Traceback" not in done.err
        remount(disk, "size=32m")
        assert planted("resume", disk / "out", "-q").code == 0
        found = nodes(disk / "out")
    assert planted("audit", project, "--out", "whole", "-q").code == 0
    assert found == nodes(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.requirement("trust:disk:slow")
def test_a_slow_disk_only_takes_longer(planted: Planted, project: Path, tmp_path: Path) -> None:
    assert planted("audit", project, "--out", "slow", "-q", prelude=SLOW_DISK).code == 0
    assert "(app.py:" in (tmp_path / "slow" / "REPORT.md").read_text(encoding="utf-8")
