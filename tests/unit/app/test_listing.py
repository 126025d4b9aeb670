"""The rows kept beside a large run: what they answer is what the folded tree answers."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.app import listing
from treewright.app.context import Context
from treewright.app.folded import FoldedRows
from treewright.app.listing import keep_listing, read_listing
from treewright.app.materials import load_for
from treewright.app.rows import STATES, NodeFilter, Rows
from treewright.app.views import TreeView
from treewright.errors import RunError
from treewright.explore.engine import Explorer
from treewright.explore.materials import Materials
from treewright.performers.scripted import ScriptedPerformer, SeededRule
from treewright.performers.verify import Verifier
from treewright.presets.framings import all_framings
from treewright.presets.loader import load_preset
from treewright.presets.schema import Preset
from treewright.runner import Runner
from treewright.store.run_folder import LISTING, RunReader, RunWriter
from treewright.tree.event import CapsChanged, RunStarted
from treewright.tree.run import Caps, Role, RootSpec

NODES = 150
SORTS = ("tree", "score", "newest")
FILTERS = st.builds(
    NodeFilter,
    states=st.frozensets(st.sampled_from(STATES[1:]), max_size=3),
    framings=st.frozensets(st.sampled_from("ABCKLS"), max_size=3),
    text=st.sampled_from(["", "branch", "b", "2 branch", "A1.", "no such word", "ÄRGER 漢字", "b3 root"]),
)


def grown(folder: Path, nodes: int = NODES) -> Preset:
    """Grow a made-up run to a cap."""
    folder.mkdir(parents=True)
    preset = load_preset("brainstorm")
    with RunWriter.create(folder, "cli") as writer:
        explorer = Explorer(writer.tree, Materials(preset, {f.letter: f for f in all_framings()}), writer)
        started = RunStarted(
            run="a" * 12,
            preset=preset.name,
            preset_digest=preset.digest,
            root=RootSpec(
                kind=preset.root_kind, text="Ärger mit 漢字 \x1f and\nlines", workspace=str(folder)
            ),
            caps=Caps(width=nodes),
            mode=preset.root_schemas[0].mode,
        )
        writer.stage(explorer.begin(started))
        writer.commit()
        rule = SeededRule("listing", advance=400, max_depth=6)
        asyncio.run(Runner(writer, explorer, ScriptedPerformer(rule), Verifier(folder)).run())
    return preset


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows, Rows]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    preset = grown(folder)
    reader = RunReader(folder)
    worth, listing.WORTH = listing.WORTH, 1
    try:
        keep_listing(reader, preset)
    finally:
        listing.WORTH = worth
    kept = read_listing(folder)
    assert kept is not None
    return folder, FoldedRows(reader, preset), kept


@pytest.mark.requirement("lsp:children:kept-rows")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.none() | FILTERS, sort=st.sampled_from(SORTS), offset=st.integers(0, 30), flat=st.booleans())
def test_kept_rows_answer_what_the_folded_tree_answers(
    run: tuple[Path, Rows, Rows], wanted: NodeFilter | None, sort: str, offset: int, flat: bool
) -> None:
    _, folded, kept = run

    def page(rows: Rows, node: str | None) -> object:
        shown = rows.select(wanted) if wanted and not wanted.empty else None
        return rows.page(node, shown, sort, offset, 25)  # type: ignore[arg-type]

    inner = next(row.id for row in folded.page("0", None, "tree", 0, 100).rows if row.children)
    for node in [None] if flat else ["0", inner]:
        assert page(kept, node) == page(folded, node)


def test_kept_rows_know_every_node_and_the_map(run: tuple[Path, Rows, Rows]) -> None:
    _, folded, kept = run
    assert kept.size == folded.size > NODES
    assert kept.revision == folded.revision
    assert kept.columns(10_000) == folded.columns(10_000)
    assert kept.columns(20) == folded.columns(20)
    assert kept.row("0") == folded.row("0")
    with pytest.raises(RunError) as refusal:
        kept.row("A99")
    assert refusal.value.code == "node_not_found"


@pytest.mark.requirement("lsp:children:kept-rows")
def test_rows_are_kept_once_and_serve_the_next_view_until_the_whole_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WORTH", 1)
    folder = tmp_path / "run"
    grown(folder)
    assert not TreeView(Context("lsp"), str(folder)).partial  # folded, and its rows kept
    view = TreeView(Context("lsp"), str(folder))
    assert view.partial
    figures = view.figures()
    assert figures.summary["nodes"] == view.size - 1
    assert view.preset.name == "brainstorm"
    first = view.children().rows
    view.complete()
    assert not view.partial
    assert view.children().rows == first
    whole = view.figures()
    assert {key: whole.summary[key] for key in figures.summary} == figures.summary
    assert whole.entry == figures.entry


@pytest.mark.requirement("lsp:children:kept-rows")
def test_rows_of_another_journal_and_damaged_ones_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WORTH", 1)
    one, other = tmp_path / "one", tmp_path / "other"
    grown(one)
    grown(other, nodes=40)
    for folder in (one, other):
        TreeView(Context("lsp"), str(folder))
    kept = (one / LISTING).read_bytes()
    (other / LISTING).write_bytes(kept)
    assert read_listing(other) is None
    (one / LISTING).write_bytes(kept[:-200])
    assert read_listing(one) is None
    (one / LISTING).write_bytes(kept[:6000] + b"\0" + kept[6001:])
    assert read_listing(one) is None
    assert TreeView(Context("lsp"), str(one)).size > NODES


@pytest.mark.requirement("lsp:children:kept-rows")
def test_a_view_that_may_be_late_shows_kept_rows_first_and_then_what_came_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WORTH", 1)
    folder = tmp_path / "run"
    grown(folder, nodes=30)
    TreeView(Context("lsp"), str(folder))
    late = TreeView(Context("lsp"), str(folder), late=True)
    strict = TreeView(Context("mcp"), str(folder))
    before = late.revision
    with RunWriter.open(folder, "cli") as writer:
        writer.stage([CapsChanged(caps=Caps(width=40))])
        writer.commit()
        assert late.late
        assert late.grow() == (frozenset(), False, before)
        assert strict.grow().revision > before  # whoever may not be late is not
        late.complete()
        found = late.grow()
    assert found.many
    assert found.revision == strict.revision > before


@pytest.mark.requirement("lsp:runs:older-preset")
def test_a_run_of_an_older_preset_is_looked_at_but_not_grown(tmp_path: Path) -> None:
    grown(tmp_path / "run", nodes=20)
    started = TreeView(Context("lsp"), str(tmp_path / "run")).started
    older = started.model_copy(update={"preset_digest": "0" * 64})
    looked = load_for(older, tmp_path, to_look=True)
    assert looked.materials.preset.label(Role.ADVANCES) == "PROMISING"
    with pytest.raises(RunError) as refusal:
        load_for(older, tmp_path)
    assert refusal.value.code == "preset_changed"
