"""The model performer task by task: what it asks, and what it makes of answers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.performers.answering import Answerer
from tests.unit.performers.briefs import brief
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, events, grow, project, request
from treewright.app import online
from treewright.app.treewright import Treewright
from treewright.explore.tasks import (
    Brief,
    DeriveResult,
    ExternalResult,
    GroundResult,
    ProposeResult,
    Result,
    TaskKind,
)
from treewright.models.fetch import FetchOutcome, Page, PageFetcher
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider
from treewright.performers.model.evidence import Document, Excerpt, Span, chunks
from treewright.performers.model.performer import ModelPerformer
from treewright.tree.citation import Citation, CitationState
from treewright.tree.event import ExternalChecked, NodeChecked
from treewright.workspace.citations import CitationChecker


def performed(
    asked: Brief, answer: Answerer | None = None, context: int = 4096, **given: Any
) -> tuple[Result, ScriptedProvider]:
    """Perform a task with an answering model."""
    provider = ScriptedProvider(
        [ScriptedAnswer(text=answer or Answerer(), times=None)], context_tokens=context
    )
    done = asyncio.run(ModelPerformer(provider, **given).perform(asked))
    return done.result, provider


@pytest.mark.parametrize("context", [4096, 32_000])
@pytest.mark.requirement("performers:model:own-fields")
def test_what_is_known_is_filled_in_and_never_asked_for(context: int, tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    asked = brief(TaskKind.DERIVE, "attack", folder)
    result, provider = performed(asked, context=context)
    assert isinstance(result, DeriveResult)
    wanted = set().union(*(set(sent.schema["properties"]) for sent in provider.requests if sent.schema))
    assert not wanted & {
        "parent_framing",
        "verdict_provisional",
        "external_check",
        "artifact_position",
        "critique_statement",
    }
    assert "paper.md:3" in str(result.body.fields["artifact_position"])
    assert "The cache makes every build faster." in str(result.body.fields["artifact_position"])
    assert result.body.fields["critique_statement"] == "The claim rests on one measurement."


@pytest.mark.requirement("performers:model:listed-lines")
def test_a_small_model_chooses_lines_and_what_it_makes_up_is_checked_like_any_other(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    asked = brief(TaskKind.PROPOSE, "attack", folder)
    result, provider = performed(asked)
    schema = provider.requests[0].schema
    assert schema is not None
    choices = schema["properties"]["proposals"]["items"]["properties"]["citations"]["items"]["enum"]
    assert len(choices) == 1, "of a text it gets the line that its framing talks about"
    assert choices[0] in provider.requests[0].prompt.partition("Talk about this line")[2]
    assert isinstance(result, ProposeResult)
    checker = CitationChecker(folder)
    assert checker.check(result.proposals[0].citations[0]).state is CitationState.VERIFIED

    def lie(data: dict[str, Any], _: str) -> dict[str, Any]:
        data["proposals"][0]["citations"] = [
            "3| The cache makes builds slower.",
            "99| nothing",
            "no such words here",
        ]
        return data

    lied, second = performed(asked, Answerer(tamper=lie))
    assert isinstance(lied, ProposeResult)
    assert len(second.requests) == 1, "a line that is not in the list is no fault of shape"
    assert not any(checker.check(c).state.holds for c in lied.proposals[0].citations)


def test_a_quotation_of_a_part_of_a_line_quotes_the_whole_line_and_nothing_else_does() -> None:
    document = Document("a.md", ("First words of a long line that goes on.", "Second line.", "Third."))
    excerpt = Excerpt({"a.md": document}, [Span("a.md", 1, 3)], single=True)
    part = excerpt.cite({"path": "a.md", "start": 1, "end": 1, "quote": "words of a long line"})
    assert part is not None
    assert part.quote == document.lines[0]
    short = excerpt.cite({"path": "a.md", "start": 1, "end": 1, "quote": "of a"})
    assert short is not None
    assert short.quote == "of a"
    false = excerpt.cite({"path": "a.md", "start": 1, "end": 1, "quote": "words of a short line"})
    assert false is not None
    assert false.quote == "words of a short line"
    numbered = excerpt.cite(
        {
            "path": "a.md",
            "start": 1,
            "end": 2,
            "quote": "1| First words of a long line that goes on.\n2| Second line.",
        }
    )
    assert numbered == Citation(
        path="a.md", start=1, end=2, quote="First words of a long line that goes on.\nSecond line."
    )


def test_a_long_text_is_read_whole_in_chunks_and_notes_cite_their_lines(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    text = "\n".join(
        f"Statement number {n} about the cache and its builds on laptops." for n in range(1, 301)
    )
    (folder / "paper.md").write_text(text, encoding="utf-8")
    result, provider = performed(brief(TaskKind.GROUND, "attack", folder))
    assert isinstance(result, GroundResult)
    seen = "\n".join(sent.prompt for sent in provider.requests)
    for number in (1, 77, 150, 223, 300):
        assert f"{number}| Statement number {number} " in seen
    assert result.citations
    assert all(CitationChecker(folder).check(c).state.holds for c in result.citations)


def test_chunks_cover_every_line_once() -> None:
    document = Document("a", tuple("" if n % 7 == 0 else f"line {n} with some words" for n in range(1, 200)))
    for most in (20, 60, 500, 100_000):
        spans = chunks(document, most)
        numbers = [n for span in spans for n in range(span.start, span.end + 1)]
        assert numbers == sorted(set(numbers))
        assert {n for n in range(1, 200) if n % 7} <= set(numbers)


@pytest.mark.parametrize("kind", ["attack", "code-audit"])
def test_a_root_that_is_gone_stops_as_unparseable(kind: str, tmp_path: Path) -> None:
    result, provider = performed(brief(TaskKind.GROUND, kind, tmp_path))
    assert isinstance(result, GroundResult)
    assert result.failure == "root_unparseable"
    assert not provider.requests


def test_code_is_grounded_by_static_facts_and_framings_are_shown_what_they_found(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    ground, provider = performed(brief(TaskKind.GROUND, "code-audit", folder))
    assert isinstance(ground, GroundResult)
    assert ground.fields["target_summary"]
    assert not provider.requests, "static facts need no model"
    _, asked = performed(brief(TaskKind.PROPOSE, "code-audit", folder, letter="D"))
    prompt = asked.requests[0].prompt
    assert "Facts that a static analysis established" in prompt
    assert "notes.py:14" in prompt


def test_a_refusal_blocks_the_node_with_the_reason(tmp_path: Path) -> None:
    from treewright.models.provider import Outcome

    provider = ScriptedProvider([ScriptedAnswer(outcome=Outcome.REFUSED, detail="policy", times=None)])
    done = asyncio.run(
        ModelPerformer(provider).perform(brief(TaskKind.DERIVE, "attack", project(tmp_path / "p")))
    )
    assert isinstance(done.result, DeriveResult)
    assert "policy" in done.result.refuses
    assert len(provider.requests) == 1


def test_repeats_and_echoes_say_nothing(tmp_path: Path) -> None:
    asked = brief(TaskKind.DERIVE, "brainstorm", tmp_path)

    def echo(data: dict[str, Any], _: str) -> dict[str, Any]:
        if "assumptions" in data:
            data["assumptions"] = ["The same thing.", "the same thing", asked.proposal.statement]  # type: ignore[union-attr]
        if "falsifiability" in data:
            data["falsifiability"] = asked.preset.rule("falsifiability").about
        return data

    result, _ = performed(asked, Answerer(tamper=echo))
    assert isinstance(result, DeriveResult)
    assert result.body.fields["assumptions"] == "The same thing."
    assert result.body.fields["falsifiability"] == ""


def test_a_proposal_that_repeats_the_tree_is_asked_for_again(tmp_path: Path) -> None:
    asked = brief(TaskKind.PROPOSE, "brainstorm", tmp_path, known=["Cache the outputs."])

    def repeat(data: dict[str, Any], _: str) -> dict[str, Any]:
        data["proposals"][0]["statement"] = "cache the  outputs"
        return data

    result, _ = performed(asked, Answerer(tamper=repeat))
    assert isinstance(result, ProposeResult)
    assert not result.proposals
    assert "already" in result.reason


class Pages:
    """Pages of a web that is not there."""

    search_url = "https://search.example/?q={query}"

    def __init__(self) -> None:
        self.fetched: list[str] = []

    async def page(self, url: str) -> Any:
        self.fetched.append(url)
        text = (
            "Caches go stale when inputs are not declared.\nSecond paragraph of the page on caches."
            if "good" in url
            else ""
        )
        return online.CheckedPage(200 if text else 404, text, "")

    async def links(self, url: str) -> list[str]:
        self.fetched.append(url)
        return ["https://gone.example/a", "https://good.example/b"]


@pytest.mark.requirement("exploration:framings:x-we-fetch")
@pytest.mark.requirement("exploration:framings:x-snippet-no-evidence")
def test_x_quotes_only_pages_that_our_code_fetched() -> None:
    pages = Pages()
    result, provider = performed(brief(TaskKind.EXTERNAL, "attack"), lookup=pages)
    assert isinstance(result, ExternalResult)
    assert pages.fetched[0].startswith("https://search.example/?q=")
    assert "https://good.example/b" in pages.fetched
    assert {c.url for c in result.citations} == {"https://good.example/b"}
    assert all(c.field == "external_check" for c in result.citations)
    assert "search.example" not in provider.requests[-1].prompt


@pytest.mark.requirement("exploration:framings:x-only-online")
def test_x_runs_only_online(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path / "project")
    asked: list[str] = []

    async def fetch(_: Any, url: str) -> Any:
        asked.append(url)
        return Page(
            url=url,
            final_url=url,
            outcome=FetchOutcome.FETCHED,
            status=200,
            text="The amber page says so plainly.",
        )

    monkeypatch.setattr(PageFetcher, "fetch", fetch)

    def address(data: dict[str, Any], prompt: str) -> dict[str, Any]:
        if "addresses" in data:
            data["addresses"] = ["https://pages.example/one"]
        if prompt.count("# Task: quote what decides"):
            data["citations"] = [
                {"url": "https://pages.example/one", "quote": "The amber page says so plainly."}
            ]
        return data

    with Endpoint(answer=Answerer(tamper=address)) as endpoint:
        model = configure(isolated_home, endpoint.url)
        app = Treewright("cli")
        offline = grow(app, request("design", folder, model, out=str(folder / "off")))
        assert not asked
        forced = grow(app, request("design", folder, model, out=str(folder / "no"), online=False))
        assert not asked
        checked = grow(app, request("design", folder, model, out=str(folder / "on"), online=True))
    assert set(asked) == {"https://pages.example/one"}
    verified = [e for e in events(checked.folder) if isinstance(e, ExternalChecked)]
    assert verified
    assert all(c.state is CitationState.VERIFIED for e in verified for c in e.citations)
    for outcome in (offline, forced):
        assert not any(isinstance(e, ExternalChecked) for e in events(outcome.folder))


@pytest.mark.requirement("exploration:evidence:numeric")
@pytest.mark.requirement("exploration:rules:f3-numeric-check")
def test_numeric_claims_are_executed_in_a_kernel_and_recorded(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")

    def claim(data: dict[str, Any], _: str) -> dict[str, Any]:
        if "numeric_checks" in data and "evidence" in data:
            right = len(json.dumps(data)) % 2 == 0
            data["evidence"] = "The build takes 42 minutes. That is 6 times 7."
            data["numeric_checks"] = [
                {
                    "field": "evidence",
                    "claim": "42 minutes",
                    "expression": "6 * 7",
                    "expected": "42" if right else "43",
                }
            ]
        return data

    with Endpoint(answer=Answerer(tamper=claim, score=2)) as endpoint:
        outcome = grow(Treewright("cli"), request("attack", folder, configure(isolated_home, endpoint.url)))
    numbers = [n for e in events(outcome.folder) if isinstance(e, NodeChecked) for n in e.numerics]
    assert {n.state for n in numbers} == {"passed", "failed"}
    assert all(n.observed == "42" for n in numbers)
