"""A clock that jumps, Ctrl-C at a moment that nobody thinks of, a request to end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trust.conftest import Planted
from tests.trust.planting import CUT_LOADING, JUMPING_CLOCK, nodes, planted_command

YEAR = 366 * 86_400


@pytest.mark.slow
@pytest.mark.requirement("trust:clock:jumps")
def test_a_clock_that_jumps_to_and_fro_changes_no_tree_and_no_order(
    planted: Planted, project: Path, tmp_path: Path
) -> None:
    prelude = JUMPING_CLOCK.format(first=-YEAR, second=10 * YEAR)
    done = planted("audit", project, "--out", "jumpy", "-q", prelude=prelude)
    assert done.code == 0, done.err
    assert planted("audit", project, "--out", "steady", "-q").code == 0
    assert nodes(tmp_path / "jumpy") == nodes(tmp_path / "steady")
    listed = planted("runs", "--format", "json")
    assert listed.code == 0 and listed.out.count('"CONVERGED"') == 2, listed


@pytest.mark.parametrize(
    "module", ["treewright.surfaces.cli.main", "click", "treewright.app.treewright", "pydantic"]
)
@pytest.mark.requirement("trust:signals:loading")
def test_ctrl_c_while_the_program_is_loaded_leaves_quietly(planted: Planted, module: str) -> None:
    done = planted("audit", ".", prelude=CUT_LOADING.format(module=module))
    assert done.code == 130, done
    assert done.err.split() == ["Interrupted."]


@pytest.mark.slow
@pytest.mark.requirement("trust:signals:term")
def test_a_request_to_end_leaves_a_run_that_goes_on_to_the_same_tree(
    planted: Planted, project: Path, tmp_path: Path
) -> None:
    # The process asks itself to end at its ninth sync, in the midst of the run, however fast the machine is.
    prelude = """
import os, signal
_real_sync, _syncs = os.fdatasync, [0]
def _sync(descriptor):
    _syncs[0] += 1
    if _syncs[0] == 9:
        os.kill(os.getpid(), signal.SIGTERM)
    return _real_sync(descriptor)
os.fdatasync = _sync
"""
    done = planted("audit", project, "--out", "ended", "-q", "--concurrency", "1", prelude=prelude)
    assert done.code == 130, done
    assert "Traceback" not in done.err
    assert planted("resume", "ended", "-q").code == 0
    assert planted("audit", project, "--out", "whole", "-q").code == 0
    assert nodes(tmp_path / "ended") == nodes(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.requirement("trust:processes:two")
def test_of_two_audits_into_one_folder_one_is_refused_and_the_tree_is_whole(
    planted: Planted, project: Path, tmp_path: Path
) -> None:
    processes = [
        subprocess.Popen(
            planted_command("", "audit", project, "--out", "one", "-q"),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(2)
    ]
    told = [process.communicate(timeout=100)[1] for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes in ([0, 2], [0, 3], [0, 5]), (codes, told)
    assert not any("Traceback" in text or "internal error" in text for text in told), told
    assert planted("audit", project, "--out", "whole", "-q").code == 0
    assert nodes(tmp_path / "one") == nodes(tmp_path / "whole")


@pytest.mark.skipif(os.name == "nt", reason="there are no process groups of this kind there")
@pytest.mark.soak
def test_ctrl_c_at_any_moment_gives_no_traceback(project: Path, tmp_path: Path) -> None:
    for tenth in range(1, 60):
        process = subprocess.Popen(
            [sys.executable, "-m", "treewright", "audit", project, "--out", f"out{tenth}"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            process.wait(tenth / 20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
        err = process.communicate(timeout=100)[1]
        # Before Python has begun with our first line, its own start is what Ctrl-C ends.
        assert "Traceback" not in err or "treewright" not in err, err
