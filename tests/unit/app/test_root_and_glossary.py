"""What a run takes from its root, and where its glossary comes from."""

from pathlib import Path

import pytest

from tests.unit.performers.briefs import brief
from tests.unit.performers.endpoint import Endpoint
from tests.unit.performers.growing_runs import configure, events, grow, project, request
from treewright.app.glossary import glossary_step
from treewright.app.roots import resolve_root
from treewright.app.treewright import Treewright
from treewright.errors import RequestError
from treewright.explore.tasks import TaskKind
from treewright.performers.model.material import read_material
from treewright.presets.loader import load_preset
from treewright.tree.event import GlossarySettled, Grounded, RunStarted, StatusChanged
from treewright.tree.run import RootSpec, Status

TOPIC = "Why do *our* `nightly` builds,\n  as of late,  fail?"


@pytest.mark.requirement("exploration:flow:root-topic-verbatim")
def test_a_topic_is_kept_as_it_was_given_and_is_the_roots_statement(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    with Endpoint() as endpoint:
        outcome = grow(
            Treewright("cli"),
            request("brainstorm", folder, configure(isolated_home, endpoint.url), root=TOPIC),
        )
    written = list(events(outcome.folder))
    assert next(event for event in written if isinstance(event, RunStarted)).root.text == TOPIC
    grounded = next(event for event in written if isinstance(event, Grounded))
    assert grounded.statement == " ".join(TOPIC.split())


@pytest.mark.requirement("exploration:flow:root-read-whole")
def test_an_artifact_is_read_whole_in_chunks_whatever_its_length(tmp_path: Path) -> None:
    text = "\n".join(f"## Part {n}\n\nLine {n} says {n * 7}." for n in range(2_000))
    (tmp_path / "long.md").write_text(text, encoding="utf-8")
    material = read_material(RootSpec(kind="artifact", path="long.md", workspace=str(tmp_path)))
    last = len(text.splitlines())
    seen = {
        line
        for focus in range(1, last + 1, 40)
        for span in read_material(
            RootSpec(kind="artifact", path="long.md", workspace=str(tmp_path), focus=f"{focus}-{focus + 39}")
        )
        .excerpt(brief(TaskKind.PROPOSE, "attack", tmp_path), 8_000)
        .spans
        for line in range(span.start, span.end + 1)
    }
    assert {1, 3_000, last} <= seen
    assert material.excerpt(brief(TaskKind.GROUND, "attack", tmp_path), 8_000).spans


def settled(
    folder: Path, preset: str = "brainstorm", named: str = "", *, skip: bool = False
) -> GlossarySettled:
    """Run the glossary step on a topic of two terms."""
    loaded = load_preset(preset)
    root = resolve_root(
        loaded, request(preset, folder, "local:none", root="Does a Build Cache help Hit Rates?")
    )
    return glossary_step(loaded, root, named, skip=skip)


@pytest.mark.requirement("exploration:flow:glossary-source")
def test_the_glossary_is_the_one_named_then_the_presets_then_the_usual_files(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder = project(tmp_path / "project")
    assert settled(folder).source == ""
    paths = [*load_preset("brainstorm").glossary_paths, "FACTS.md", "glossary.md", "CLAUDE.md"]
    for name in reversed(paths):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("- **Build cache**: keeps outputs\n", encoding="utf-8")
        assert settled(folder).source == name
    (folder / "mine.md").write_text("- **Build cache**: mine\n", encoding="utf-8")
    assert settled(folder, named=str(folder / "mine.md")).source == "mine.md"
    with pytest.raises(RequestError, match="no glossary"):
        settled(folder, named=str(folder / "missing.md"))


def test_a_glossary_that_leads_out_of_the_workspace_is_not_taken(tmp_path: Path, isolated_home: Path) -> None:
    folder = project(tmp_path / "project")
    (tmp_path / "elsewhere.md").write_text("- **Build cache**: not yours\n", encoding="utf-8")
    (folder / "FACTS.md").symlink_to(tmp_path / "elsewhere.md")
    assert settled(folder).source == ""


@pytest.mark.requirement("exploration:flow:no-grill")
@pytest.mark.parametrize("skipped", [True, False])
def test_a_run_whose_terms_were_not_settled_claims_no_strong_convergence(
    skipped: bool, tmp_path: Path, isolated_home: Path
) -> None:
    folder = tmp_path / "clean"
    folder.mkdir()
    (folder / "add.py").write_text('"""Sums."""\n\n\ndef add(a, b):\n    return a + b\n', encoding="utf-8")
    outcome = grow(Treewright("cli"), request("code-audit", folder, "static", root=".", no_grill=skipped))
    ended = [
        e for e in events(outcome.folder) if isinstance(e, StatusChanged) and e.status is Status.CONVERGED
    ]
    assert [event.details["strong"] for event in ended] == [not skipped]
    report = (outcome.folder / "REPORT.md").read_text(encoding="utf-8")
    assert ("convergence is not claimed strongly" in report) is skipped
