"""Chains: one preset's deliverable starts the next (contract: exploration, 9). Pure: what is carried, what is cut, what the report says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from treewright.counted import counted
from treewright.errors import RequestError
from treewright.explore.seeding import Seed, entry_text, read_seeds
from treewright.presets.schema import Preset

DEFAULT_STAGES = ("brainstorm", "design", "attack")
DEFAULT_TOP_K = 3
SEEDED_KINDS = ("topic", "design-prompt")
"""Root kinds whose stage is one run seeded with every carried item; others run once for each item."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What goes from one stage to the next.

    Attributes:
        items: the entries carried, best first, with ids that are unique among all runs of the stage.
        dropped: ids of those that were cut.
    """

    items: list[Seed]
    dropped: list[str]

    @property
    def text(self) -> str:
        """The cut in words, as it is logged."""
        total = len(self.items) + len(self.dropped)
        return f"seeded {len(self.items)} of {total}, dropped {len(self.dropped)}"


def check_stages(presets: Sequence[Preset]) -> None:
    """Refuse a chain that has no stage.

    Raises:
        RequestError: `chain_stages_invalid`.
    """
    if not presets:
        raise RequestError(
            "chain_stages_invalid",
            "A chain needs at least one stage.",
            f"Such as --stages {','.join(DEFAULT_STAGES)}.",
        )


def stage_folder(number: int, preset: str) -> str:
    """Return the folder of a stage, from 1: `stage2-design`."""
    return f"stage{number}-{preset}"


def carry(deliverables: Sequence[str], top_k: int) -> Carried:
    """Return what the deliverables of a stage hand on.

    Args:
        deliverables: the primary file of each of the stage's runs, in order.
        top_k: how many entries are carried.
    """
    ranked = [_entries(text) for text in deliverables]
    several = len(deliverables) > 1
    found: list[Seed] = []
    for place in range(max((len(each) for each in ranked), default=0)):
        for run, each in enumerate(ranked, 1):
            if place < len(each):
                seed = each[place]
                name = f"{run}.{seed.source_id}" if several else seed.source_id
                found.append(Seed(name, seed.statement, seed.position, seed.body, seed.line))
    return Carried(found[:top_k], [seed.source_id for seed in found[top_k:]])


def _entries(text: str) -> list[Seed]:
    try:
        return read_seeds(text, "deliverable")
    except RequestError as fault:
        if fault.code != "seeds_empty":
            raise
        return []


def seeds_file(carried: Carried) -> str:
    """Return the file that a seeded stage starts from."""
    return "# Carried over\n\n" + "\n".join(entry_text(seed) for seed in carried.items)


def item_file(seed: Seed) -> str:
    """Return the file that is the root of one run of an artifact or code stage."""
    body = re.sub(r"^(#+)", r"#\1", seed.body, flags=re.MULTILINE)
    return f"# {seed.source_id}: {seed.statement}\n\n{body.strip()}\n"


def item_name(number: int, seed: Seed) -> str:
    """Return the name of an item's file and folder, without suffix."""
    return f"{number}-{re.sub(r'[^A-Za-z0-9.]+', '-', seed.source_id)[:40]}"


@dataclass(slots=True)
class StageRecord:
    """One stage as the chain's journal tells it.

    Attributes:
        number: from 1.
        preset: its name.
        cut: what was carried into it; empty for the first.
        dropped: ids that were cut.
        runs: folder (relative to the chain's), run id, status and deliverable of each of its runs.
    """

    number: int
    preset: str
    cut: str = ""
    dropped: list[str] = field(default_factory=list)
    runs: list[dict[str, str]] = field(default_factory=list)


def read_stages(presets: Sequence[str], notes: Iterator[dict[str, Any]]) -> list[StageRecord]:
    """Return the stages that a chain's notes tell of.

    Args:
        presets: names of the stages.
        notes: data of the journal's notes, in order.
    """
    stages = [StageRecord(number, name) for number, name in enumerate(presets, 1)]
    for data in notes:
        number = data.get("stage")
        if not isinstance(number, int) or not 1 <= number <= len(stages):
            continue
        stage = stages[number - 1]
        if "cut" in data:
            stage.cut = str(data["cut"])
            stage.dropped = [str(each) for each in data.get("dropped", [])]
        if "folder" in data:
            run = {key: str(data.get(key, "")) for key in ("folder", "run", "status", "deliverable")}
            stage.runs = [each for each in stage.runs if each["folder"] != run["folder"]] + [run]
    return stages


def chain_report(
    title: str,
    status: str,
    reason: str,
    language: str,
    stages: Sequence[StageRecord],
    spend: dict[str, float],
) -> str:
    """Return `CHAIN_REPORT.md`.

    Args:
        title: what the chain is about.
        status, reason: where it stands.
        language: of its prose.
        stages: with their runs.
        spend: dollars, tokens and calls of all runs together.
    """
    lines = [
        f"# Chain: {title}",
        "",
        f"- status: **{status}**{f' ({reason})' if reason else ''}",
        f"- language: {language}",
    ]
    lines.append(
        f"- spend: {spend.get('usd', 0.0):.4f} USD, {counted(int(spend.get('tokens', 0)), 'token')}, {counted(int(spend.get('calls', 0)), 'call')}"
    )
    lines += ["", "| stage | carried in | runs | status | deliverable |", "| --- | --- | --- | --- | --- |"]
    for stage in stages:
        states = ", ".join(dict.fromkeys(run["status"] for run in stage.runs)) or "not begun"
        files = ", ".join(
            f"[{run['deliverable']}]({run['deliverable']})" for run in stage.runs if run["deliverable"]
        )
        carried = stage.cut or ("the root" if stage.number == 1 else "-")
        lines.append(
            f"| {stage.number} {stage.preset} | {carried} | {len(stage.runs)} | {states} | {files or '-'} |"
        )
    for stage in stages:
        if stage.dropped:
            lines += ["", f"Cut before stage {stage.number}: {', '.join(stage.dropped)}."]
    return "\n".join(lines) + "\n"
