"""What a run is made from: the field profile, the mode, the focus, seeds, prompts that fit."""

import asyncio
from pathlib import Path

import pytest

from tests.unit.performers.answering import Answerer
from tests.unit.performers.briefs import brief
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import PAPER, configure, events, grow, project, request
from treewright.app.kept import AnswerFile
from treewright.app.materials import ProfilePriority, load_materials
from treewright.app.treewright import Treewright
from treewright.errors import RequestError
from treewright.explore.focus import locate
from treewright.explore.mode import mode_of
from treewright.explore.tasks import TaskKind
from treewright.models.prices import prompt_tokens_at_most
from treewright.models.provider import Request
from treewright.models.scripted import ScriptedAnswer, ScriptedProvider
from treewright.performers.model.material import read_material
from treewright.performers.model.performer import ModelPerformer
from treewright.presets.loader import load_preset
from treewright.tree.body import Derivation
from treewright.tree.event import Grounded, RootChecked, RunStarted, SpendRecorded
from treewright.tree.node import Node
from treewright.tree.run import RootSpec

LINES = PAPER.splitlines()


@pytest.mark.requirement("exploration:profile:four-sections", "exploration:flow:profile-only-reorders")
def test_a_field_profile_adds_notes_to_its_framings_and_an_order_to_the_frontier(isolated_home: Path) -> None:
    loaded = load_materials("attack", isolated_home, isolated_home, "security")
    notes = loaded.materials.profile_notes
    assert {"C", "D", "I", "J", "X"} <= set(notes)
    assert "A" not in notes
    assert isinstance(loaded.priority, ProfilePriority)
    body = Derivation(fields={}, scores=dict.fromkeys(loaded.materials.preset.dim_keys(), 3))
    telling = Node(id="A1", parent="0", statement="An attacker bypasses the password check by injection.")
    dull = Node(id="B1", parent="0", statement="The figure has no legend.")
    assert loaded.priority.of(telling, body) > loaded.priority.of(dull, body)


@pytest.mark.requirement("exploration:profile:missing-warns")
def test_a_missing_profile_warns_and_the_run_goes_on(isolated_home: Path) -> None:
    loaded = load_materials("attack", isolated_home, isolated_home, "astrology")
    assert [notice.code for notice in loaded.notices] == ["FIELD_PROFILE_NOT_FOUND"]
    assert "[FIELD_PROFILE_NOT_FOUND]" in loaded.notices[0].message
    assert not loaded.materials.profile_notes


@pytest.mark.parametrize(
    ("topic", "mode"),
    [
        ("How can a team keep flaky tests from blocking merges?", "problem"),
        ("Our nightly job crashes since Tuesday", "problem"),
        ("Should we use a queue or a table?", "problem"),
        ("What determines the lifetime of coral larvae?", "research"),
        ("Symmetries of sparse attention", "research"),
        ("夜间任务经常失败", "problem"),
        ("珊瑚幼虫的寿命", "research"),
        ("Warum ist der Build so langsam?", "problem"),
        ("", "research"),
    ],
)
@pytest.mark.requirement("performers:model:mode-by-topic")
def test_the_topic_decides_the_mode_of_a_brainstorm(topic: str, mode: str) -> None:
    assert mode_of(load_preset("brainstorm"), topic) == mode
    assert mode_of(load_preset("design"), topic) == "default"


@pytest.mark.parametrize(
    ("focus", "place"),
    [
        ("Results", (10, 14)),
        ("## Method", (5, 9)),
        ("12-13", (12, 13)),
        ("a build took ten minutes before", (12, 12)),
        ("skipped and its outputs are copied", (8, 8)),
        ("measured laptop author once", (13, 13)),
        ("nothing of this kind anywhere", None),
    ],
)
@pytest.mark.requirement("exploration:profile:focus")
def test_a_focus_is_found_by_heading_lines_or_words(focus: str, place: tuple[int, int] | None) -> None:
    assert locate(LINES, focus.lstrip("# ")) == place


@pytest.mark.requirement("exploration:profile:focus")
def test_a_focus_narrows_an_artifact_to_twenty_lines_around(tmp_path: Path) -> None:
    text = "\n".join(f"Line {n} of the text." for n in range(1, 201))
    (tmp_path / "long.md").write_text(text, encoding="utf-8")
    material = read_material(
        RootSpec(kind="artifact", path="long.md", workspace=str(tmp_path), focus="100-101")
    )
    assert material.focus is not None
    assert (material.focus.start, material.focus.end) == (80, 121)
    shown = material.excerpt(brief(TaskKind.PROPOSE, "attack", tmp_path), 10_000)
    assert min(span.start for span in shown.spans) == 80
    assert max(span.end for span in shown.spans) == 121


def test_a_focus_that_is_nowhere_is_refused_before_anything_is_written(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    model = configure(isolated_home, "http://127.0.0.1:9/v1")
    with pytest.raises(RequestError) as refused:
        Treewright("cli").start(request("attack", folder, model, focus="quantum chromodynamics"))
    assert refused.value.code == "focus_unknown"
    assert not (folder / "out").exists()


@pytest.mark.requirement("exploration:flow:root-topic-inferred")
def test_an_empty_topic_is_inferred_from_the_project_and_marked(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url)
        outcome = grow(Treewright("cli"), request("brainstorm", folder, model, root=""))
        assert "A program that keeps notes" in endpoint.calls[0].prompt
    grounded = next(event for event in events(outcome.folder) if isinstance(event, Grounded))
    assert grounded.statement.startswith("[INFERRED] ")
    assert grounded.citations


@pytest.mark.requirement("exploration:seed:design-goal")
def test_a_seeded_design_derives_its_goal_from_the_seeds_and_cites_them(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    prior = folder / "prior"
    prior.mkdir()
    (prior / "shortlist.md").write_text(
        "# Ideas\n\n## A1\n\nShare the cache between laptops.\n", encoding="utf-8"
    )
    (prior / "REPORT.md").write_text("# Report\n\nBuilds take ten minutes today.\n", encoding="utf-8")
    with Endpoint() as endpoint:
        model = configure(isolated_home, endpoint.url)
        seeds = str(prior / "shortlist.md")
        outcome = grow(Treewright("cli"), request("design", folder, model, seed_from=seeds))
        first = endpoint.calls[0].prompt
    assert "Share the cache between laptops." in first
    assert "Builds take ten minutes today." in first
    assert "Goal and hard constraints come from them" in first
    checked = next(event for event in events(outcome.folder) if isinstance(event, RootChecked))
    assert any(c.state.holds for c in checked.citations)


@pytest.mark.requirement("performers:model:prompts-fit")
@pytest.mark.parametrize("preset", ["brainstorm", "attack", "design", "code-audit"])
def test_every_prompt_fits_a_context_of_4096_tokens(preset: str, tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    (folder / "paper.md").write_text(PAPER * 40, encoding="utf-8")
    answer = Answerer()
    provider = ScriptedProvider([ScriptedAnswer(text=answer, times=None)], context_tokens=4096)
    performer = ModelPerformer(provider)
    for kind in (TaskKind.GROUND, TaskKind.PROPOSE, TaskKind.DERIVE, TaskKind.REVISE, TaskKind.SUMMARISE):
        for letter in "ABCDEFGHIJKL" if kind is TaskKind.PROPOSE else "D":
            asked = brief(
                kind,
                preset,
                folder,
                letter=letter,
                known=[f"Statement {n} of the tree." * 5 for n in range(40)],
            )
            asyncio.run(performer.perform(asked))
    for sent in provider.requests:
        unschemed = Request(messages=sent.messages)
        assert prompt_tokens_at_most(unschemed) + sent.max_tokens <= 4096


@pytest.mark.requirement("performers:model:optional-goes-first")
def test_what_is_optional_is_left_out_before_what_is_due(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    provider = ScriptedProvider([ScriptedAnswer(text=Answerer(), times=None)], context_tokens=2600)
    long = {f"term {n}": "a meaning that takes some words to tell " * 6 for n in range(20)}
    asked = brief(
        TaskKind.PROPOSE, "attack", folder, glossary=long, profile_notes="Reviewers look at controls. " * 60
    )
    asyncio.run(ModelPerformer(provider).perform(asked))
    sent = provider.requests[0].prompt
    assert "Terms as they are used here" not in sent
    assert "Write the three most damaging objections" in sent
    assert "The cache makes every build faster." in sent


def test_the_version_of_the_prompts_is_journalled(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        outcome = grow(Treewright("cli"), request("design", folder, configure(isolated_home, endpoint.url)))
    started = events(outcome.folder)[0]
    assert isinstance(started, RunStarted)
    assert started.options["prompts"]


@pytest.mark.requirement("performers:model:answers-kept")
def test_kept_answers_survive_a_torn_line_and_are_counted_once(tmp_path: Path) -> None:
    spent = SpendRecorded(task="t", provider="p", usd=0.5)
    first = AnswerFile(tmp_path)
    first.put("t#a", {"x": 1}, spent)
    first.put("t#b", {"x": 2}, spent)
    first.accounted(["t#a"])
    path = tmp_path / "answers.jsonl"
    path.write_bytes(path.read_bytes() + b'{"key": "t#c", "val')
    again = AnswerFile(tmp_path)
    assert again.get("t#a") == ({"x": 1}, None)
    assert again.get("t#b") == ({"x": 2}, spent)
    assert again.get("t#c") is None
    again.forget()
    assert not path.exists()
