"""What the offline audit costs from 1,000 to 300,000 lines: cold, and again after one file has changed.

Usage: python tests/bench/audit_scale.py [LINES ...]

The code is Python's own standard library, its tests included, file after file until the size is reached; the same
interpreter gives the same code. Each size is measured in a process of its own, so that its peak memory is its own.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

SIZES = (1_000, 10_000, 30_000, 100_000, 300_000)


def fill(folder: Path, lines: int) -> tuple[int, Path]:
    """Copy files until there are about so many lines; gives their number and one small file to change."""
    library = Path(sysconfig.get_path("stdlib"))
    total, smallest = 0, None
    for path in sorted(library.rglob("*.py")):
        if "site-packages" in path.parts or "lib2to3" in path.parts:
            continue
        text = path.read_bytes()
        count = text.count(b"\n")
        if count > 5_000 or total + count > lines * 1.02:
            continue
        target = folder / path.relative_to(library)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        total += count
        if smallest is None and count > 50:
            smallest = target
        if total >= lines:
            break
    assert smallest is not None
    return total, smallest


def measure(lines: int) -> dict[str, float]:
    """Seconds cold and warm, processor seconds, and peak memory in megabytes of this process and the largest worker."""
    from treewright.performers.static.audit import conclude, establish, read_sources
    from treewright.performers.static.cache import FactsCache
    from treewright.performers.static.proofs import Proofs

    def audit(folder: Path, kept: Path) -> tuple[float, int]:
        begun = time.perf_counter()
        sources = read_sources(folder)
        found = conclude(sources, establish(sources, FactsCache(kept)), Proofs(kept.with_suffix(".json")))
        return time.perf_counter() - begun, len(found.findings)

    with tempfile.TemporaryDirectory() as name:
        code, kept = Path(name) / "code", Path(name) / "facts.bin"
        code.mkdir()
        total, small = fill(code, lines)
        cold, findings = audit(code, kept)
        used = sum(
            sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        small.write_text(
            small.read_text(encoding="utf-8") + "\n\ndef added():\n    return 1\n", encoding="utf-8"
        )
        warm, _ = audit(code, kept)
    own, child = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "lines": total,
        "findings": findings,
        "cold": cold,
        "cpu": used,
        "warm": warm,
        "own": own,
        "child": child,
    }


def main(sizes: list[int]) -> None:
    """Print the table."""
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n")
    print(
        "| lines | findings | cold s | processor s | warm s | peak MB, worker MB |\n| --- | --- | --- | --- | --- | --- |"
    )
    for size in sizes:
        done = subprocess.run(
            [sys.executable, __file__, "--one", str(size)], capture_output=True, check=True, encoding="utf-8"
        )
        got = json.loads(done.stdout)
        print(
            f"| {got['lines']:,} | {got['findings']} | {got['cold']:.1f} | {got['cpu']:.1f} | {got['warm']:.2f} | "
            f"{got['own']:.0f}, {got['child']:.0f} |",
            flush=True,
        )
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        main([int(word.replace(",", "").replace("_", "")) for word in sys.argv[1:]] or list(SIZES))
