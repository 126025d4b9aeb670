"""The audit of a workspace: read, analyse each file (in parallel, by content), link, report."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from treewright.performers.static.cache import FactsCache
from treewright.performers.static.facts import FileFacts, Place
from treewright.performers.static.finding import Audit, Finding
from treewright.performers.static.judge import CONFIRMED, REFUTED, Setting, label
from treewright.performers.static.languages import SUFFIXES, is_javascript
from treewright.performers.static.link import Linker
from treewright.performers.static.project import Project
from treewright.performers.static.proofs import Proofs
from treewright.performers.static.python.lints import add_lints
from treewright.performers.static.records import framing_records
from treewright.performers.static.report import Lines, Reporter
from treewright.performers.static.worker import Task, many, one
from treewright.workspace.decode import Decoded, Unreadable, decode_bytes, read_bytes
from treewright.workspace.walk import Listing, list_sources, looks_generated

_PARALLEL_FROM = 150_000
"""Bytes of source from which worker processes pay for their start."""
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg", "PKG-INFO")
_DEPLOYED = (
    "manage.py",
    "Dockerfile",
    "docker-compose.yml",
    "docker-compose.yaml",
    "compose.yaml",
    "Procfile",
    "wsgi.py",
    "asgi.py",
)
"""Files that say a folder is run, not imported, although it holds packages."""


@dataclass(slots=True)
class Sources:
    """What was read: text by path, digests, and what was not read with the reason."""

    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    decodings: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, bool] = field(default_factory=dict)
    not_read: list[tuple[str, str]] = field(default_factory=list)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def lines(self, path: str) -> list[str]:
        """A file's lines, split once."""
        found = self._lines.get(path)
        if found is None:
            found = self._lines[path] = re.split(r"\r\n|\r|\n", self.texts.get(path, ""))
        return found


def read_sources(target: Path) -> Sources:
    """Read every source file below a path (or the one file).

    Raises:
        FileNotFoundError: the path does not exist.
    """
    listing = list_sources(target, SUFFIXES)
    sources = Sources(listing.root)
    for skipped in listing.skipped:
        if skipped.reason not in {"administrative", "built"}:
            sources.not_read.append((skipped.relative, f"{skipped.reason}: {skipped.detail}".rstrip(": ")))
    for file in listing.files:
        data = read_bytes(file.path)
        decoded = data if isinstance(data, Unreadable) else decode_bytes(data)
        if isinstance(decoded, Unreadable) or isinstance(data, Unreadable):
            assert isinstance(decoded, Unreadable)
            sources.not_read.append((file.relative, f"{decoded.reason}: {decoded.detail}".rstrip(": ")))
            continue
        _keep(sources, file.relative, data, decoded)
    _classify(sources, listing)
    return sources


def _keep(sources: Sources, relative: str, data: bytes, decoded: Decoded) -> None:
    if looks_generated(decoded.text):
        sources.not_read.append((relative, "generated: its head says that a program wrote it"))
        return
    sources.texts[relative] = decoded.text
    sources.digests[relative] = hashlib.sha256(data).hexdigest()
    if decoded.stated:
        sources.decodings[relative] = decoded.stated


def _classify(sources: Sources, listing: Listing) -> None:
    """Tell packages that others import from programs and snippets, by what lies beside the files."""
    folders = {path.rpartition("/")[0] for path in sources.texts if path.endswith("__init__.py")}
    packaged = any((listing.root / name).is_file() for name in _PACKAGING) or any(
        entry.name.endswith((".dist-info", ".egg-info")) for entry in listing.root.iterdir()
    )
    deployed = any((listing.root / name).is_file() for name in _DEPLOYED) and not packaged
    manifests: dict[str, bool | None] = {}
    for path in sources.texts:
        above = path.split("/")[:-1]
        if is_javascript(path):
            sources.libraries[path] = published(listing.root, above, manifests) and not deployed
            continue
        inside = any("/".join(above[:depth]) in folders for depth in range(len(above) + 1))
        sources.libraries[path] = (inside or packaged) and not deployed


def published(root: Path, above: list[str], known: dict[str, bool | None]) -> bool:
    """Tell whether the nearest package.json, from a folder up to the root, is of a package that others install.

    Args:
        above: the folder's parts below the root. known: answers by folder, filled in.
    """
    for depth in range(len(above), -1, -1):
        folder = "/".join(above[:depth])
        if folder not in known:
            known[folder] = _manifest(root / folder / "package.json")
        found = known[folder]
        if found is not None:
            return found
    return False


def _manifest(path: Path) -> bool | None:
    """Whether a package.json is of a published package; None when there is none or it does not read."""
    data = read_bytes(path)
    try:
        found = None if isinstance(data, Unreadable) else json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not found.get("name"):
        return None  # a file that only says `"type": "module"` names no package
    scripts = found.get("scripts")
    started = isinstance(scripts, dict) and "start" in scripts
    shipped = any(
        key in found for key in ("module", "exports", "bin", "types", "typings", "files", "publishConfig")
    )
    offered = shipped or ("main" in found and not started)
    return bool(offered and not found.get("private"))


def audit(target: Path, cache: FactsCache | None = None, workers: int | None = None) -> Audit:
    """Audit a file or folder.

    Args:
        target: what to read. cache: facts by content digest, or None. workers: processes; None for one a core.

    Raises:
        FileNotFoundError: the path does not exist.
    """
    sources = read_sources(target)
    facts = establish(sources, cache, workers)
    return conclude(sources, facts)


def establish(
    sources: Sources, cache: FactsCache | None = None, workers: int | None = None
) -> dict[str, FileFacts]:
    """The facts of every file that was read, from the cache where the content is known."""
    roots = frozenset(_root_names(sources.texts))
    salt = hashlib.sha256("\0".join(sorted(roots)).encode()).hexdigest()[:16]
    found: dict[str, FileFacts] = {}
    missing: list[Task] = []
    for path, text in sources.texts.items():
        library = sources.libraries[path]
        key = f"{path}\0{sources.digests[path]}\0{salt}\0{library}"
        known = cache.get(key) if cache is not None else None
        if known is not None:
            found[path] = known
        else:
            missing.append((path, text, sources.digests[path], roots, library))
    for facts in _analyse_all(missing, workers):
        found[facts.path] = facts
        facts.decoding = "; ".join(filter(None, (sources.decodings.get(facts.path, ""), facts.decoding)))
        if cache is not None:
            cache.put(f"{facts.path}\0{facts.digest}\0{salt}\0{sources.libraries[facts.path]}", facts)
    if cache is not None:
        cache.save()
    return dict(sorted(found.items()))


def _root_names(paths: Iterable[str]) -> set[str]:
    names = set()
    for path in paths:
        parts = path.split("/")
        if len(parts) > 1 and parts[0] in {"src", "lib", "python"}:
            parts = parts[1:]
        names.add(parts[0].removesuffix(".py").removesuffix(".pyw").replace(".", "_"))
    return names


def _analyse_all(tasks: list[Task], workers: int | None) -> list[FileFacts]:
    count = workers if workers is not None else min(os.cpu_count() or 1, 8)
    if count < 2 or sum(len(task[1]) for task in tasks) < _PARALLEL_FROM:
        return [one(task) for task in tasks]
    return many(tasks, count)


def conclude(sources: Sources, facts: dict[str, FileFacts], proofs: Proofs | None = None) -> Audit:
    """Link the facts and turn them into findings, with proven edits for the confirmed ones.

    Args:
        proofs: edits proven before, by content; None proves all anew.
    """
    for file in facts.values():
        if file.fault:
            sources.not_read.append((file.path, f"line {file.fault_line}: {file.fault}"))
    add_lints(sources.root, facts)
    findings = judged(sources, facts)
    _mend(sources, facts, findings, proofs or Proofs(None))
    relate(findings)
    lines = sum(file.lines for file in facts.values())
    records = framing_records(findings, facts.values())
    return Audit(findings, records, len(facts), lines, sources.not_read)


def judged(sources: Sources, facts: dict[str, FileFacts], lines: Lines | None = None) -> list[Finding]:
    """The findings that facts lead to, settled but not mended.

    Args:
        lines: gives a file's lines, when they are not the ones that were read.
    """

    def setting(file: FileFacts) -> Setting:
        library = sources.libraries.get(file.path, False)
        return Setting(library, file.is_test, snippet=not library and _alone(file, imported))

    imported = {name for file in facts.values() for _, name, _ in file.imports}

    reporter = Reporter(Linker(Project(facts)), lines or sources.lines, setting)
    findings: list[Finding] = []
    for file in facts.values():
        for function in file.functions:
            findings.extend(
                f for hit in function.sinks if (f := reporter.of_sink(file, function, hit)) is not None
            )
        findings.extend(
            reporter.of_match(file, symbol_at(file, match.place.line), match) for match in file.matches
        )
    return settle(findings)


_SNIPPET_LINES = 80


def _alone(file: FileFacts, imported: set[str]) -> bool:
    """A short file without entry points of its own that no other file of the project imports."""
    if file.lines > _SNIPPET_LINES or any(function.entry_strength > 1 for function in file.functions):
        return False
    return not any(name == file.module or name.startswith(file.module + ".") for name in imported)


def _mend(sources: Sources, facts: dict[str, FileFacts], findings: list[Finding], proofs: Proofs) -> None:
    wanted = [finding for finding in findings if finding.verdict == CONFIRMED]
    scripts = [finding for finding in wanted if is_javascript(finding.position.path)]
    if scripts:
        from treewright.performers.static.javascript.mend import Mender as Scripts

        Scripts(facts, sources.texts, sources.libraries, lambda some: judged(sources, some)).mend_all(scripts)
        for finding in scripts:
            _unproven(finding)
    wanted = [finding for finding in wanted if not is_javascript(finding.position.path)]
    if not wanted:
        return
    from treewright.performers.static.python.fixes.change import Change
    from treewright.performers.static.python.mend import Mender

    roots = frozenset(_root_names(sources.texts))
    mender = Mender(facts, sources.texts, sources.libraries, roots, lambda some: judged(sources, some))
    for finding in wanted:
        path = finding.position.path
        key = proofs.key(finding, facts[path].digest)
        kept = proofs.take(key, finding, sources.lines(path))
        if kept is not None:
            if kept:
                finding.scores = replace(finding.scores, fixability=3)
            _unproven(finding)
            continue
        given = next(
            (m for m in facts[path].matches if m.rule == finding.rule and _same(m.place, finding.place)), None
        )
        mender.mend(finding, Change(list(given.edits), list(given.imports)) if given else None)
        if finding.edits_verified or mender.work > 0:
            proofs.put(key, finding)
        _unproven(finding)
    proofs.save()


def _unproven(finding: Finding) -> None:
    """Take back edits that were not proven, and what they were worth."""
    if not finding.edits_verified:
        finding.edits = []
        finding.scores = replace(finding.scores, fixability=min(finding.scores.fixability, 2))
        finding.verdict = label(finding.scores, bool(finding.mitigations), bool(finding.fix))


def _same(place: Place, known: tuple[int, int, int, int] | None) -> bool:
    return known == (place.line, place.end, place.column, place.end_column)


def symbol_at(file: FileFacts, line: int) -> str:
    """The innermost function or class around a line."""
    best, name = 10**9, f"{file.module}.<module>"
    for entry in file.definitions:
        size = entry.place.end - entry.place.line
        if entry.place.line <= line <= entry.place.end and size < best:
            best, name = size, entry.qualified
    return name


_MOST = {REFUTED: 3, "MARGINAL": 5}
"""Findings of one rule kept of one file; more of the same say nothing new."""


def settle(findings: list[Finding]) -> list[Finding]:
    """One finding a rule and line; a few refuted and marginal ones a rule and file; strongest first."""
    chosen: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.position.path, finding.position.start)
        known = chosen.get(key)
        if known is None or (known.verdict == REFUTED, -known.scores.total) > (
            finding.verdict == REFUTED,
            -finding.scores.total,
        ):
            chosen[key] = finding
    counts: dict[tuple[str, str, str], int] = {}
    kept = []
    for finding in chosen.values():
        most = _MOST.get(finding.verdict)
        if most is not None:
            pair = (finding.verdict, finding.rule, finding.position.path)
            counts[pair] = counts.get(pair, 0) + 1
            if counts[pair] > most:
                continue
        kept.append(finding)
    order = {CONFIRMED: 0, "MARGINAL": 1, REFUTED: 2, "PRUNED": 3}
    kept.sort(
        key=lambda f: (
            order[f.verdict],
            -f.scores.severity * f.scores.likelihood,
            -f.scores.total,
            f.position.path,
            f.position.start,
            f.rule,
        )
    )
    return kept


def relate(findings: list[Finding]) -> None:
    """Second round: the same rule elsewhere, and other rules on the same lines."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.verdict != "PRUNED":
            by_rule.setdefault(finding.rule, []).append(finding)
    for finding in findings:
        others = [o for o in by_rule.get(finding.rule, []) if o is not finding][:8]
        finding.related += [f"{o.position.where} ({o.rule}, {o.verdict})" for o in others]
