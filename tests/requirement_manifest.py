"""The requirements that the tests prove, and the tests that prove them.

Each `tests/requirements/<area>.toml` lists what one part of Treewright must do:

    ["area:feature:variant"]
    sentence = "What can be observed."
    source = "exploration 5"
    planned = true            # only while no test proves it yet

A test names what it proves with `@pytest.mark.requirement("area:feature:variant")`; a TypeScript test with
`requirement("area:feature:variant")`. Tests are read, not imported, so the answer is the same whichever of
them run. `planned.toml` beside the areas holds how many planned ones each area may still have; that number
may only shrink:

    python -m tests.requirement_manifest              say what is planned, uncovered and unknown
    python -m tests.requirement_manifest --shrink     take "planned" from what is proven, then write the lower
                                                      numbers (and those of areas that are new)
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AREAS = ROOT / "tests" / "requirements"
BUDGET = "planned.toml"
IDENTIFIER = re.compile(r"[a-z][a-z0-9-]*(:[a-z0-9][a-z0-9_.-]*){2}")
_KEYS = {"sentence", "source", "planned"}
_IN_TYPESCRIPT = re.compile(r"""\brequirement\(\s*((?:["'][^"']+["']\s*,?\s*)+)\)""")
_QUOTED = re.compile(r"""["']([^"']+)["']""")
_HEADER = re.compile(r"""\[\s*["']([^"']+)["']\s*\]""")
_PLANNED = re.compile(r"planned\s*=\s*true\b")
_BUDGET_HEADER = """\
# How many planned requirements (listed, but proven by no test yet) each area may still have.
# A number here may only shrink: `python -m tests.requirement_manifest --shrink` lowers what can be lowered.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that Treewright must do.

    Attributes:
        identifier: `area:feature:variant`.
        area: the manifest file's base name.
        sentence: what can be observed, in one sentence.
        source: the part of the contract that asks for it.
        planned: no test proves it yet.
    """

    identifier: str
    area: str
    sentence: str
    source: str
    planned: bool


@dataclass(slots=True)
class Claims:
    """Which places claim to prove which requirement.

    Attributes:
        places: identifier to `path:line` of each claim.
        unreadable: `path:line` of claims whose identifier is no plain string.
    """

    places: dict[str, list[str]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def read_requirements(folder: Path = AREAS) -> dict[str, Requirement]:
    """Return every requirement by identifier.

    Raises:
        ValueError: an entry is malformed or listed twice; names the file and the identifier.
    """
    found: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.toml")):
        if path.name == BUDGET:
            continue
        for identifier, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            fault = _fault(identifier, entry)
            if identifier in found:
                fault = f"is listed in {found[identifier].area}.toml too"
            if fault:
                raise ValueError(f"{path.name}: {identifier} {fault}")
            found[identifier] = Requirement(
                identifier, path.stem, entry["sentence"], entry["source"], entry.get("planned", False)
            )
    return found


def _fault(identifier: str, entry: object) -> str:
    """Return what is wrong with an entry, or nothing."""
    if not IDENTIFIER.fullmatch(identifier):
        return "is not of the form area:feature:variant"
    if not isinstance(entry, dict):
        return "is no table"
    if unknown := set(entry) - _KEYS:
        return f"has unknown keys: {', '.join(sorted(unknown))}"
    for key in ("sentence", "source"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            return f"lacks its {key}"
    return "" if isinstance(entry.get("planned", False), bool) else "has a planned that is no boolean"


def read_claims(root: Path = ROOT) -> Claims:
    """Return what the tests of a checkout claim to prove (`tests/**/*.py`, `extension/test/**/*.ts`)."""
    claims = Claims()
    for path in sorted((root / "tests").rglob("*.py")):
        if "fixtures" in path.relative_to(root).parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for line, identifier in _python_claims(tree):
            place = f"{path.relative_to(root)}:{line}"
            if identifier is None:
                claims.unreadable.append(place)
            else:
                claims.places.setdefault(identifier, []).append(place)
    for path in sorted((root / "extension" / "test").rglob("*.ts")):
        text = path.read_text(encoding="utf-8")
        for match in _IN_TYPESCRIPT.finditer(text):
            place = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
            for identifier in _QUOTED.findall(match.group(1)):
                claims.places.setdefault(identifier, []).append(place)
    return claims


def _python_claims(tree: ast.AST) -> Iterator[tuple[int, str | None]]:
    """Yield the line and the identifier of each argument of `pytest.mark.requirement(...)`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        mark = node.func.value
        if node.func.attr != "requirement" or not isinstance(mark, ast.Attribute) or mark.attr != "mark":
            continue
        for argument in node.args:
            plain = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            yield argument.lineno, argument.value if plain else None  # type: ignore[attr-defined]  # checked by plain


def planned_counts(requirements: Mapping[str, Requirement]) -> dict[str, int]:
    """Return how many requirements of each area are planned."""
    counts: dict[str, int] = {}
    for requirement in requirements.values():
        counts[requirement.area] = counts.get(requirement.area, 0) + requirement.planned
    return counts


def read_budget(folder: Path = AREAS) -> dict[str, int]:
    """Return how many planned requirements each area may have; an area that is not listed may have none."""
    path = folder / BUDGET
    return dict(tomllib.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def take_planned_from_proven(root: Path = ROOT) -> None:
    """Remove the line `planned = true` of each requirement that a test proves; all else stays as written."""
    proven = read_claims(root).places
    for path in sorted((root / "tests" / "requirements").glob("*.toml")):
        if path.name == BUDGET:
            continue
        kept, identifier = [], ""
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if header := _HEADER.match(line):
                identifier = header.group(1)
            if not (identifier in proven and _PLANNED.match(line)):
                kept.append(line)
        path.write_text("".join(kept), encoding="utf-8")


def shrink_budget(folder: Path = AREAS) -> None:
    """Lower each number to what is planned now, take in areas that are new, drop those that are done."""
    counts, budget = planned_counts(read_requirements(folder)), read_budget(folder)
    kept = {area: min(count, budget.get(area, count)) for area, count in sorted(counts.items())}
    lines = "".join(f"{area} = {number}\n" for area, number in kept.items() if number)
    (folder / BUDGET).write_text(_BUDGET_HEADER + lines, encoding="utf-8")


def faults(root: Path = ROOT) -> list[str]:
    """Return everything on which manifest, tests and budget disagree, one sentence each."""
    folder = root / "tests" / "requirements"
    requirements, claims = read_requirements(folder), read_claims(root)
    told = [f"{place}: the identifier must be a plain string" for place in claims.unreadable]
    for identifier, places in sorted(claims.places.items()):
        known = requirements.get(identifier)
        if known is None:
            told.append(f"{places[0]}: {identifier} is in no tests/requirements/*.toml")
        elif known.planned:
            told.append(f"{known.area}.toml: {identifier} is proven by {places[0]}: remove its planned")
    for identifier, requirement in requirements.items():
        if not requirement.planned and identifier not in claims.places:
            told.append(f"{requirement.area}.toml: no test proves {identifier}")
    budget = read_budget(folder)
    for area, count in planned_counts(requirements).items():
        allowed = budget.get(area, 0)
        if count > allowed:
            told.append(f"{area}.toml: {count} are planned, and {BUDGET} allows {allowed}")
        elif count < allowed:
            told.append(f"{BUDGET}: {area} may go down from {allowed} to {count} (run --shrink)")
    return told


def main(arguments: list[str]) -> int:
    """Tell or shrink; return 1 when something disagrees."""
    if arguments == ["--shrink"]:
        take_planned_from_proven()
        shrink_budget()
    requirements = read_requirements()
    counts = planned_counts(requirements)
    proven = len(requirements) - sum(counts.values())
    told = faults()
    sys.stdout.write("".join(f"{line}\n" for line in told))
    sys.stdout.write(f"{len(requirements)} requirements, {proven} proven, {sum(counts.values())} planned: ")
    sys.stdout.write(", ".join(f"{area} {count}" for area, count in counts.items() if count) + "\n")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
