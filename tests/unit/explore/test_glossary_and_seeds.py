"""Settling the root's terms, and seeding a run from a prior deliverable."""

import pytest

from tests.unit.explore.growing import MemoryRun, seeded
from treewright.errors import RequestError, RunError
from treewright.explore.glossary import (
    Question,
    anchors_markdown,
    read_glossary,
    root_terms,
    settle_terms,
    settled_event,
)
from treewright.explore.reports.deliverables import deliverables
from treewright.explore.seeding import read_seeds, seed_events
from treewright.tree.event import GlossarySettled
from treewright.tree.run import Caps, Role

GLOSSARY = """# Glossary

## Build cache

Holds outputs by the digest of their inputs (also known as: artifact cache).

- **Remote executor**: runs actions elsewhere
- cold start: a build without any cache
| Hit rate | share of actions found in the cache |
| --- | --- |
"""


def test_a_glossary_is_read_from_headings_bold_items_and_tables() -> None:
    entries = {entry.term: entry for entry in read_glossary(GLOSSARY)}
    assert set(entries) == {"Glossary", "Build cache", "Remote executor", "cold start", "Hit rate"} - {
        "Glossary"
    }
    assert entries["Build cache"].line == 3
    assert entries["Build cache"].aliases == ("artifact cache",)
    assert entries["Hit rate"].meaning == "share of actions found in the cache"


@pytest.mark.requirement(
    "exploration:flow:glossary-settles-terms", "exploration:flow:glossary-not-interactive"
)
def test_exact_terms_and_aliases_are_settled_silently_and_the_rest_is_asked_once() -> None:
    asked: list[Question] = []

    def ask(question: Question) -> int | None:
        asked.append(question)
        return 1 if len(question.options) > 1 else 0

    terms = ["build cache", "artifact cache", "build cache server", "flux capacitor"]
    settled = settle_terms(terms, read_glossary(GLOSSARY), ask)
    assert [s.how for s in settled] == ["exact", "alias", "asked", "asked"]
    assert [q.term for q in asked] == ["build cache server", "flux capacitor"]
    assert all(1 <= len(q.options) <= 3 for q in asked)
    assert settled[2].anchor == "Build cache"
    silent = settle_terms(terms, read_glossary(GLOSSARY))
    assert [s.how for s in silent][2:] == ["recommended", "recommended"]
    assert "recommendation" in silent[3].note


@pytest.mark.requirement("exploration:flow:glossary-conflict")
def test_a_term_defined_in_two_ways_stops_for_a_decision() -> None:
    twice = GLOSSARY + "\n- **Build cache**: the folder of compiled files\n"
    with pytest.raises(RunError) as caught:
        settle_terms(["build cache"], read_glossary(twice))
    assert caught.value.code == "glossary_conflict"
    assert caught.value.details["lines"] == [3, 12]


@pytest.mark.requirement("exploration:flow:glossary-anchors")
def test_the_anchors_name_file_and_line_of_each_term() -> None:
    event = settled_event(
        "docs/glossary.md", settle_terms(["build cache", "cold start"], read_glossary(GLOSSARY))
    )
    text = anchors_markdown(event)
    assert "docs/glossary.md:3" in text
    assert "docs/glossary.md:8" in text
    assert "skipped" in anchors_markdown(GlossarySettled(source="", skipped=True))


def test_the_roots_terms_are_its_multi_word_phrases() -> None:
    found = root_terms(
        "Make the build cache faster: the build cache misses when the remote executor restarts."
    )
    assert found[0] == "build cache faster" or "build cache" in " ".join(found)
    assert any("remote executor" in term for term in found)


@pytest.mark.requirement("exploration:seed:depth-one")
def test_seeds_enter_at_depth_one_as_advancing_and_are_expanded_not_judged() -> None:
    prior = MemoryRun().grow(seeded(advance=40))
    name, parts = next(deliverables(prior.tree, prior.materials.preset, prior))
    seeds = read_seeds("".join(parts), name)
    assert len(seeds) >= 2
    run = MemoryRun("design", caps=Caps(rounds=1))
    run.stage(seed_events(seeds, name))
    run.grow(seeded(advance=0))
    first = run.tree.nodes["S1"]
    assert (first.role, first.depth, first.seeded, first.expanded) == (Role.ADVANCES, 1, True, True)
    assert first.statement == seeds[0].statement
    assert run.read(first.derived_at).source_id == seeds[0].source_id  # type: ignore[union-attr]
    assert not [task for task in run.done if task.startswith("derive/S1/")]
    assert len(run.tree.children("S1")) >= 12
    assert run.tree.children("0")


def test_entries_inside_code_blocks_are_no_seeds() -> None:
    text = "# T\n\n## A1\n\nFirst idea.\n\n```\n## no\n```\n\n## B2 Second idea\n\n- position: `a.py:3-4`\n"
    seeds = read_seeds(text, "x.md")
    assert [(s.source_id, s.statement, s.position) for s in seeds] == [
        ("A1", "First idea.", ""),
        ("B2", "Second idea", "a.py:3-4"),
    ]


def test_a_file_without_entries_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        read_seeds("# Nothing\n", "x.md")
    assert caught.value.code == "seeds_empty"
