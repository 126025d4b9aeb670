"""Trees looked at page by page."""

from pathlib import Path

import pytest

from tests.contract.lsp.audits import Audit, workspace_of
from treewright.app.context import Context
from treewright.app.rows import NodeFilter
from treewright.app.views import TreeView
from treewright.app.watch import Follower
from treewright.errors import RunError
from treewright.tree.run import Role


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    workspace = workspace_of(tmp_path / "ws")
    (workspace / "app.py").write_text("".join(f"call_{n}()\n" for n in range(12)), encoding="utf-8")
    audit = Audit(workspace)
    for line in range(1, 13):
        audit.finding("app.py", line, role=Role.KEPT if line % 3 else Role.ADVANCES)
    audit.end()
    return audit


def test_pages_together_are_the_whole_list_once(audit: Audit) -> None:
    view = TreeView(Context("lsp"), audit.run)
    pages = [view.children(offset=offset, limit=5) for offset in (0, 5, 10, 15)]
    assert [row.id for page in pages for row in page.rows] == [f"D{n}" for n in range(1, 13)]
    assert {page.total for page in pages} == {12}


def test_a_filter_shows_what_matches_and_the_way_down_to_it(audit: Audit) -> None:
    view = TreeView(Context("lsp"), audit.run)
    wanted = NodeFilter(states=frozenset({"advances"}))
    assert [row.id for row in view.children(wanted=wanted).rows] == ["D3", "D6", "D9", "D12"]
    assert all(row.matches for row in view.matching(wanted).rows)
    assert view.children(wanted=NodeFilter(framings=frozenset("A"))).rows == []
    assert view.children(wanted=NodeFilter(text="TWO one")).total == 1


def test_a_missing_node_is_told_by_its_code(audit: Audit) -> None:
    view = TreeView(Context("lsp"), audit.run)
    with pytest.raises(RunError) as refusal:
        view.children("A7")
    assert refusal.value.code == "node_not_found"


def test_the_map_has_parents_before_children_and_leaves_out_the_deepest(audit: Audit) -> None:
    view = TreeView(Context("lsp"), audit.run)
    columns = view.columns(5)
    assert columns["id"] == ["0", "D1", "D2", "D3", "D4"]
    assert columns["parent"] == [-1, 0, 0, 0, 0]


def test_a_follower_tells_of_runs_that_come_and_go(audit: Audit) -> None:
    context = Context("lsp")
    follower = Follower(context)
    assert follower.look() == []
    later = Audit(audit.workspace, run="b" * 12)
    later.end()
    (change,) = follower.look()
    assert (change.run, change.kind) == (later.run, "listed")
    context.index().remove(later.run)
    (change,) = follower.look()
    assert (change.run, change.kind, change.entry) == (later.run, "gone", None)
