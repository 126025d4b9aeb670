"""A tree is the fold of its events, whole or by way of a snapshot."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.explore.growing import MemoryRun, seeded
from treewright.tree import snapshot
from treewright.tree.event import event_from_json
from treewright.tree.fold import Tree
from treewright.tree.ids import ancestors, child_id, depth, framing_of, is_node_id, parent_id, sort_key
from treewright.tree.node import Phase
from treewright.tree.soundness import fits

RUN = MemoryRun().grow(seeded(advance=35))


def fold(tree: Tree, start: int, end: int) -> Tree:
    for number in range(start, end):
        tree.apply(event_from_json(RUN.lines[number]), number + 1)
    return tree


def picture(tree: Tree) -> bytes:
    return b"".join(snapshot.encode(tree))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, len(RUN.lines)))
def test_a_snapshot_anywhere_and_the_rest_equal_the_whole(cut: int) -> None:
    half = snapshot.decode(iter(picture(fold(Tree(), 0, cut)).splitlines(keepends=True)))
    assert picture(fold(half, cut, len(RUN.lines))) == picture(RUN.tree)


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(1, len(RUN.lines) - 1), min_size=1, max_size=6))
def test_a_journal_with_lost_events_folds_to_a_tree_that_grows_on_to_an_end(lost: set[int]) -> None:
    part = RUN.reopened()
    part.lines = [line for number, line in enumerate(RUN.lines) if number not in lost]
    again = part.reopened()
    again.grow(seeded(advance=35))
    assert again.tree.status.final
    assert not again.tree.frontier
    assert {n.phase for n in again.tree.nodes.values()} == {Phase.SETTLED}


def test_every_event_of_a_whole_journal_fits() -> None:
    tree = Tree()
    for number, line in enumerate(RUN.lines, 1):
        event = event_from_json(line)
        assert fits(tree, event), event
        tree.apply(event, number)


@pytest.mark.parametrize("damage", [b"", b"{}\n", b'{"format":99}\n', b"\xff\xfe\n"])
def test_a_snapshot_that_is_none_is_refused(damage: bytes) -> None:
    with pytest.raises(snapshot.SnapshotMismatchError):
        snapshot.decode(iter(damage.splitlines(keepends=True)))


def test_a_cut_snapshot_is_refused() -> None:
    lines = picture(RUN.tree).splitlines(keepends=True)
    with pytest.raises(snapshot.SnapshotMismatchError):
        snapshot.decode(iter(lines[:-1]))


@pytest.mark.requirement("exploration:flow:node-ids")
def test_ids_show_descent_and_sort_in_the_order_of_framings() -> None:
    assert [child_id("0", "A", 1), child_id("A1", "K", 2), child_id("A1.K2", "E", 10)] == [
        "A1",
        "A1.K2",
        "A1.K2.E10",
    ]
    assert [parent_id(n) for n in ("0", "A1", "A1.K2")] == [None, "0", "A1"]
    assert [depth(n) for n in ("0", "S1", "A1.K2")] == [0, 1, 2]
    assert framing_of("A1.K2") == "K"
    assert ancestors("A1.K2.E10") == ["0", "A1", "A1.K2"]
    assert sorted(["B1", "A10", "A2", "A1.B1", "0"], key=sort_key) == ["0", "A1.B1", "A2", "A10", "B1"]
    assert [is_node_id(t) for t in ("0", "A1.K2", "S3", "X1", "A0", "A1.", "a1")] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
