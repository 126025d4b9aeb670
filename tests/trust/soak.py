"""`make soak MINUTES=30`: the fault matrix and the fuzzing again and again, by fresh chance, until the time is over.

Each round runs the short form of `tests/trust` and the properties and models of the store, the workspace's texts and the presets
with a seed of its own and more examples than `make test`. It ends after the round in which the time ran out, or at the first
fault, and tells how many rounds, tests and examples of chance there were, and how to repeat the round that failed.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHAT = (
    "tests/trust",
    "tests/unit/store/test_journal.py",
    "tests/unit/store/test_journal_model.py",
    "tests/unit/store/test_documents.py",
    "tests/unit/store/test_snapshot_and_recover.py",
    "tests/unit/workspace_text/test_anchors.py",
    "tests/unit/workspace_text/test_citations.py",
    "tests/unit/presets/test_robustness.py",
    "tests/contract/cli/test_resume.py",
)
_PASSED = re.compile(r"(\d+) passed")


def command(seed: int) -> list[str]:
    """Return the command line of one round."""
    return [
        *(sys.executable, "-m", "pytest", "-q", "-x", "--timeout=0", "-p", "no:cacheprovider"),
        *("-m", "not soak and not bench", f"--hypothesis-seed={seed}", *WHAT),
    ]


def one_round(seed: int, times: int, left_s: float) -> tuple[int, int]:
    """Run a round, and return its exit code and how many tests passed; -1 when the time ran out amid it."""
    environ = {**os.environ, "TREEWRIGHT_TRUST_SEED": str(seed), "TREEWRIGHT_TRUST_TIMES": str(times)}
    process = subprocess.Popen(
        command(seed),
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )
    late = False
    try:
        said, _ = process.communicate(timeout=left_s)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGKILL)  # with whatever the test had started
        said, _ = process.communicate()
    if late:
        progress = [line.split(" ")[0] for line in said.splitlines()]
        dots = [line for line in progress if line and set(line) <= set(".sxF")]
        return (1 if any("F" in line for line in dots) else -1), "".join(dots).count(".")
    if process.returncode:
        sys.stdout.write(said[-8000:])
    found = _PASSED.search(said)
    return process.returncode, int(found[1]) if found else 0


def main() -> int:
    """Run rounds until the time is over, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    parser.add_argument(
        "--times", type=int, default=5, help="examples of chance, as a multiple of make test's"
    )
    asked = parser.parse_args()
    end = time.monotonic() + asked.minutes * 60
    rounds = tests = 0
    seed = asked.seed
    while (left := end - time.monotonic()) > 0:
        code, passed = one_round(seed, asked.times, left)
        tests += passed
        told = {0: "clean", -1: "cut off by the time, clean so far"}.get(code, "FAILED")
        sys.stdout.write(f"round {rounds + 1}, seed {seed}: {passed} tests passed, {told}\n")
        sys.stdout.flush()
        if code > 0:
            repeat = (
                f"TREEWRIGHT_TRUST_SEED={seed} TREEWRIGHT_TRUST_TIMES={asked.times} {' '.join(command(seed))}"
            )
            sys.stdout.write(f"Repeat it with: {repeat}\n")
            return 1
        rounds += 1
        seed += 1
    sys.stdout.write(f"{asked.minutes:g} minutes clean: {rounds} rounds, {tests} tests passed.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
