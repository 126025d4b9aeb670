"""Which findings of a run still stand: what the user decided about them, and what a baseline accepts.

A baseline is a JSON file of findings that stood when it was written. It is copied into the run's folder, so that a
report made later says the same.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from treewright.errors import RequestError
from treewright.explore.ports import Bodies
from treewright.explore.reports.record import NodeRecord, node_record
from treewright.explore.reports.sarif import rule_id
from treewright.parsing import load_json
from treewright.presets.schema import Preset
from treewright.regular import read_regular_text
from treewright.store.artifacts import write_artifact
from treewright.store.decisions import Decisions, FindingKey, finding_key
from treewright.store.durable import shown
from treewright.tree.citation import CheckedCitation, Citation
from treewright.tree.fold import Tree
from treewright.tree.node import Node, Phase
from treewright.tree.run import Role

SHOWN_ROLES = (Role.ADVANCES, Role.KEPT)
"""What is reported: confirmed and kept findings."""
BASELINE = "baseline.json"
"""The copy of a run's baseline in its folder."""
_WORDS = {"accepted": "accepted risk", "dismissed": "false alarm", "refuted": "refuted"}


class Entry(BaseModel):
    """One finding of a baseline; `path` is for people, the rest is how it is known again."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    rule: str
    symbol: str = ""
    quote: str
    ordinal: int = 0
    path: str = ""

    @property
    def key(self) -> FindingKey:
        """How the finding is known again."""
        return finding_key(self.rule, self.symbol, self.quote, self.ordinal)


class Baseline(BaseModel):
    """A baseline file."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: int = 1
    findings: tuple[Entry, ...] = ()


class Placed(NamedTuple):
    """A reported finding: its node, how it is known again, and where it is."""

    node: Node
    key: FindingKey
    path: str
    start: int


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        RequestError: `baseline_unreadable` when it is not there or is none.
    """
    try:
        return Baseline.model_validate(load_json(read_regular_text(path)))
    except (OSError, ValueError, ValidationError) as fault:
        raise RequestError(
            "baseline_unreadable",
            f"{shown(path)} is no baseline that can be read.",
            "Write one with `treewright audit PATH --write-baseline FILE`.",
            {"path": str(path)},
        ) from fault


def position_of(record: NodeRecord, field_name: str) -> Citation | None:
    """The citation that says where a finding is: the position field's own, else one that holds; None when none does."""
    holding: list[CheckedCitation] = [
        c
        for c in record.citations
        if c.citation.kind == "file" and c.state.holds and c.citation.start and c.citation.quote.strip()
    ]
    own = [c for c in holding if c.citation.field == field_name]
    chosen = own or [c for c in holding if record.node.position.startswith(c.citation.path)] or holding
    return chosen[0].citation if chosen else None


def placed(tree: Tree, preset: Preset, bodies: Bodies) -> Iterator[Placed]:
    """Yield the reported findings with their keys, equal ones numbered in the order of their places."""
    found: list[Placed] = []
    for node in tree.descendants():
        if not (node.counts and node.phase is Phase.SETTLED and node.role in SHOWN_ROLES):
            continue
        record = node_record(preset, bodies, node)
        position = position_of(record, preset.parts.position or "")
        if position is not None:
            key = finding_key(rule_id(record), str(record.facts.get("symbol") or ""), position.quote)
            found.append(Placed(node, key, position.path, position.start))
    places: dict[FindingKey, dict[tuple[str, int], int]] = {}
    for one in sorted(found, key=lambda each: (each.path, each.start, each.node.id)):
        known = places.setdefault(one.key, {})
        ordinal = known.setdefault((one.path, one.start), len(known))
        yield one._replace(key=one.key._replace(ordinal=ordinal))


def decided(folder: Path, tree: Tree, preset: Preset, bodies: Bodies, decisions: Path) -> dict[str, str]:
    """Return node id to why the finding does not count any more: the user's decision, or the baseline.

    Args:
        folder: of the run. decisions: the folder of decisions.

    Raises:
        StoreError: the decisions cannot be read.
        RequestError: the run's copy of its baseline was damaged.
    """
    started = tree.started
    if started is None or preset.root_kind != "code":
        return {}
    known = Decisions(decisions, Path(started.root.workspace)).all()
    copy = folder / BASELINE
    accepted = {entry.key for entry in read_baseline(copy).findings} if copy.is_file() else set()
    if not known and not accepted:
        return {}
    why: dict[str, str] = {}
    for one in placed(tree, preset, bodies):
        decision = known.get(one.key)
        if decision is not None:
            why[one.node.id] = f"{_WORDS[decision.verdict]}: {decision.reason}"
        elif one.key in accepted:
            why[one.node.id] = "it stood when the baseline was written"
    return why


def baseline_of(tree: Tree, preset: Preset, bodies: Bodies, without: Mapping[str, str]) -> Baseline:
    """Return the findings that stand as a baseline; decided ones are kept with the workspace already."""
    entries = [
        Entry(**one.key._asdict(), path=one.path)
        for one in placed(tree, preset, bodies)
        if one.node.id not in without
    ]
    return Baseline(findings=tuple(entries))


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline by atomic replace.

    Raises:
        StoreError: the disk refused.
    """
    write_artifact(path, json.dumps(baseline.model_dump(), ensure_ascii=False, indent=1) + "\n")
