"""What the offline audit costs from 1,000 to 300,000 lines: cold, again after one file has changed, and with nothing changed.

Usage: python tests/bench/audit_scale.py [--plot FILE.svg] [LINES ...]

The code is Python's own library, its tests included, and after it the installed packages, file after file until the size is reached.
One row more is JavaScript and TypeScript, from the extension's installed packages. Each size is measured in a process of its own, so
that its peak memory is its own. Seconds of the clock say little on a busy machine; processor seconds say what the work is.
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
from collections.abc import Iterator
from pathlib import Path

SIZES = (1_000, 10_000, 30_000, 100_000, 300_000)
SCRIPTS = 30_000
"""Lines of the row for JavaScript and TypeScript."""
_LARGEST = 5_000
"""Lines of the largest file taken: one of a generated table would be most of a small size."""
_PACKAGES = Path(__file__).parents[2] / "extension" / "node_modules"


def candidates(language: str) -> Iterator[tuple[Path, Path]]:
    """Files to take, with the path that each gets."""
    if language == "javascript":
        for path in sorted(_PACKAGES.rglob("*")):
            if path.suffix in {".js", ".ts", ".mjs", ".cjs"} and path.is_file():
                place = path.relative_to(_PACKAGES).as_posix()
                yield path, Path(place.replace("node_modules", "inner").replace("dist/", "made/"))
        return
    library, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    for path in sorted(library.rglob("*.py")):
        if "site-packages" not in path.parts and "lib2to3" not in path.parts:
            yield path, path.relative_to(library)
    for path in sorted(packages.rglob("*.py")):
        yield path, Path("packages") / path.relative_to(packages)


def fill(folder: Path, lines: int, language: str = "python") -> tuple[int, Path]:
    """Copy files until there are about so many lines; gives their number and one small file to change."""
    total, smallest = 0, None
    for path, place in candidates(language):
        count = path.read_bytes().count(b"\n")
        if count > _LARGEST or total + count > lines * 1.02:
            continue
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        total += count
        if smallest is None and count > 50:
            smallest = target
        if total >= lines:
            break
    assert smallest is not None
    return total, smallest


def spent() -> float:
    """Processor seconds of this process and of the workers that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(lines: int, language: str) -> dict[str, float]:
    """Seconds cold, after a change and unchanged, the processor's share of each, and peak memory in megabytes."""
    from treewright.performers.static.audit import conclude, establish, read_sources
    from treewright.performers.static.cache import FactsCache

    def audit(folder: Path, kept: Path) -> tuple[float, float, int, int]:
        begun, used = time.perf_counter(), spent()
        cache = FactsCache(kept)
        sources = read_sources(folder)
        found = conclude(sources, establish(sources, cache), cache)
        return time.perf_counter() - begun, spent() - used, len(found.findings), found.lines

    with tempfile.TemporaryDirectory() as name:
        code, kept = Path(name) / "code", Path(name) / "audit.db"
        code.mkdir()
        _, small = fill(code, lines, language)
        cold, cold_used, findings, read = audit(code, kept)
        comment = "\n// changed\n" if language == "javascript" else "\n\ndef added():\n    return 1\n"
        small.write_text(small.read_text(encoding="utf-8") + comment, encoding="utf-8")
        warm, warm_used, *_ = audit(code, kept)
        _, still_used, *_ = audit(code, kept)
        kept_size = kept.stat().st_size / 1e6
    own, child = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "lines": read, "findings": findings, "cold": cold, "cold_used": cold_used, "warm": warm, "warm_used": warm_used,
        "still_used": still_used, "own": own, "child": child, "kept": kept_size,
    }  # fmt: skip


def plot(rows: list[dict[str, float]], load: float) -> str:
    """Processor seconds over lines, both logarithmic, as an SVG picture; a straight line at 45 degrees is linear growth."""
    from math import log10

    left, bottom, unit = 70, 300, 110.0
    colours = {"cold_used": ("cold", "#b5542b"), "warm_used": ("one file changed", "#2b6cb5"), "still_used": ("unchanged", "#5a8f3c")}  # fmt: skip

    def at(lines: float, seconds: float) -> tuple[float, float]:
        return left + (log10(lines) - 3) * 1.5 * unit, bottom - (log10(max(seconds, 0.01)) + 2) * unit * 0.65

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 350" font-family="sans-serif" font-size="12">'
    ]
    parts.append('<rect width="560" height="350" fill="#ffffff"/>')
    for power in range(-2, 3):
        _, y = at(1000, 10**power)
        parts.append(
            f'<path d="M{left} {y:.0f}H480" stroke="#dddddd"/><text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{10**power:g} s</text>'
        )
    for lines in (1_000, 10_000, 100_000, 300_000):
        x, _ = at(lines, 1)
        parts.append(f'<text x="{x:.0f}" y="{bottom + 20}" text-anchor="middle">{lines:,}</text>')
    for key, (name, colour) in colours.items():
        points = [at(row["lines"], row[key]) for row in rows]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(f'<text x="{x + 8:.0f}" y="{y + 4:.0f}" fill="{colour}">{name}</text>')
    parts.append(
        f'<text x="{left}" y="340">lines audited; processor seconds; load average {load:.0f} on {os.cpu_count()} cores</text></svg>'
    )
    return "\n".join(parts) + "\n"


def main(sizes: list[int], picture: Path | None) -> None:
    """Print the table, and draw the picture."""
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {sys.version.split()[0]}\n")
    print(
        "| lines | findings | cold s (processor) | one file changed s (processor) | unchanged, processor | peak MB, worker MB | kept MB |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    rows = []
    for size, language in [*((size, "python") for size in sizes), (SCRIPTS, "javascript")]:
        command = [sys.executable, __file__, "--one", str(size), language]
        done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
        got = json.loads(done.stdout)
        if language == "python":
            rows.append(got)
        print(
            f"| {got['lines']:,}{'' if language == 'python' else ' of JavaScript'} | {got['findings']} | {got['cold']:.1f} ({got['cold_used']:.1f}) "
            f"| {got['warm']:.2f} ({got['warm_used']:.2f}) | {got['still_used']:.2f} | {got['own']:.0f}, {got['child']:.0f} | {got['kept']:.1f} |",
            flush=True,
        )
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")
    if picture is not None:
        picture.write_text(plot(rows, load), encoding="utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--one"]:
        print(json.dumps(measure(int(words[1]), words[2])))
    else:
        chosen = Path(words.pop(words.index("--plot") + 1)) if "--plot" in words else None
        numbers = [int(word.replace(",", "").replace("_", "")) for word in words if word != "--plot"]
        main(numbers or list(SIZES), chosen)
