"""The figures that fresh kernels are held to (see `tests/bench/kernels.py`)."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def _measure(*options: str) -> dict[str, Any]:
    """Run the benchmark in a process of its own: a bare fork of pytest is no bare fork."""
    import json

    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.kernels", *options],
        cwd=ROOT,
        capture_output=True,
        timeout=600,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.bench
@pytest.mark.timeout(700)
@pytest.mark.requirement(
    "kernels:cost:fresh", "kernels:cost:spare", "kernels:cost:leaves-nothing", "kernels:cost:screen"
)
def test_a_fresh_kernel_stays_within_its_multiple_of_the_floor() -> None:
    found = _measure("--rounds", "15")
    assert found["start_ms"]["times the floor"]["fresh kernel"] < 4
    assert found["start_ms"]["times the floor"]["fresh kernel, spare"] < 2
    many = found["many"]
    assert (many["processes_left"], many["descriptors_left"], many["folders_left"]) == (0, 0, 0)
    assert many["parent_growth_mb"] < 2
    assert found["screen"]["programs_per_s"] > found["many"]["branches_per_s"]
