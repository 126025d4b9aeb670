"""The audit of a workspace: read, analyse each file (in parallel, by content), link, report."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from treewright.performers.static.cache import FactsCache
from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Audit, Finding
from treewright.performers.static.judge import PRUNED
from treewright.performers.static.judging import Judge
from treewright.performers.static.languages import SUFFIXES, is_javascript, is_read
from treewright.performers.static.proving import Prover
from treewright.performers.static.python.lints import add_lints
from treewright.performers.static.records import framing_records
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


_NOT_OURS = "it is neither Python nor JavaScript nor TypeScript"


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
    inside_package = (listing.root / "__init__.py").is_file() and not (listing.root / "settings.py").is_file()
    said = [name for name in _DEPLOYED if not (inside_package and name in {"wsgi.py", "asgi.py"})]
    deployed = any((listing.root / name).is_file() for name in said) and not packaged
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
    return conclude(sources, establish(sources, cache, workers), cache)


def establish(
    sources: Sources, cache: FactsCache | None = None, workers: int | None = None
) -> dict[str, FileFacts]:
    """The facts of every file that was read, from the cache where the content is known."""
    roots = frozenset(root_names(sources.texts))
    cache = cache or FactsCache(None)
    found: dict[str, FileFacts] = {}
    missing: list[Task] = []
    keys = {path: f"{path}\0{sources.digests[path]}\0{sources.libraries[path]}" for path in sources.texts}
    cache.expect("facts", keys.values())
    for path, text in sources.texts.items():
        known = cache.get("facts", keys[path])
        if isinstance(known, FileFacts) and all((name in roots) == own for name, own in known.asked.items()):
            found[path] = known
        else:
            missing.append((path, text, sources.digests[path], roots, sources.libraries[path]))
    for facts in _analyse_all(missing, workers):
        found[facts.path] = facts
        facts.decoding = "; ".join(filter(None, (sources.decodings.get(facts.path, ""), facts.decoding)))
        cache.put("facts", keys[facts.path], facts)
    cache.save()
    return dict(sorted(found.items()))


def root_names(paths: Iterable[str]) -> set[str]:
    """The first names of the Python modules at these paths."""
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


def conclude(sources: Sources, facts: dict[str, FileFacts], cache: FactsCache | None = None) -> Audit:
    """Link the facts and turn them into findings, with proven edits for the confirmed ones.

    Args:
        cache: what was concluded and proven before; None works everything out anew.
    """
    cache = cache or FactsCache(None)
    for file in facts.values():
        if file.fault:
            # A named file of another language is taken for Python; that it is none then says more than where it fails.
            said = f"line {file.fault_line}: {file.fault}" if is_read(Path(file.path)) else _NOT_OURS
            sources.not_read.append((file.path, said))
    add_lints(sources.root, facts, cache)
    judge = Judge(facts, sources.libraries, sources.lines, cache)
    findings = judge.all()
    Prover(judge, sources.texts, frozenset(root_names(sources.texts))).mend_all(findings)
    cache.save()
    relate(findings)
    lines = sum(file.lines for file in facts.values())
    records = framing_records(findings, facts.values())
    return Audit(findings, records, len(facts), lines, sources.not_read)


_RELATED = 8


def relate(findings: list[Finding]) -> None:
    """Second round: the same rule elsewhere, and other rules on the same lines."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.verdict != PRUNED:
            by_rule.setdefault(finding.rule, []).append(finding)
    for finding in findings:
        others = [o for o in by_rule.get(finding.rule, [])[: _RELATED + 1] if o is not finding][:_RELATED]
        finding.related += [f"{o.position.where} ({o.rule}, {o.verdict})" for o in others]
