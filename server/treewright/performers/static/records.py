"""What each framing asked and looked at, for the honest record when nothing was found."""

import tomllib
from collections.abc import Iterable
from functools import cache

from treewright.data import data_path
from treewright.performers.static.facts import FileFacts
from treewright.performers.static.finding import Finding, FramingRecord
from treewright.performers.static.rulebook import rules


@cache
def questions() -> dict[str, tuple[str, ...]]:
    """The questions of each framing A to L."""
    loaded = tomllib.loads(data_path("static", "framings.toml").read_text(encoding="utf-8"))
    return {letter: tuple(entry["questions"]) for letter, entry in loaded.items()}


def framing_records(findings: list[Finding], files: Iterable[FileFacts]) -> list[FramingRecord]:
    """One record a framing: its questions, how many sites its rules looked at, how many guards stood there."""
    sites: dict[str, int] = {}
    guards = 0
    known = rules()
    for file in files:
        guards += file.guards
        for rule, count in file.examined.items():
            if rule in known:
                letter = known[rule].framing
                sites[letter] = sites.get(letter, 0) + count
    found: dict[str, int] = {}
    for finding in findings:
        found[finding.framing] = found.get(finding.framing, 0) + 1
    total = sum(sites.values())
    return [
        FramingRecord(
            letter, asked, total if letter == "K" else sites.get(letter, 0), guards, found.get(letter, 0)
        )
        for letter, asked in sorted(questions().items())
    ]
