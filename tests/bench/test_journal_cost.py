"""The figures that the journal is held to (see `tests/bench/journal.py`)."""

from pathlib import Path

import pytest

from tests.bench import journal


@pytest.mark.bench
@pytest.mark.requirement("store:journal:cheap")
def test_a_durable_append_costs_at_most_half_more_than_a_bare_synced_write(tmp_path: Path) -> None:
    assert journal.single_append(tmp_path)["ratio"] < 1.5


@pytest.mark.bench
@pytest.mark.timeout(900)
@pytest.mark.requirement("store:journal:flat", "store:journal:reopen")
def test_a_run_of_a_hundred_thousand_nodes_grows_evenly_and_opens_quickly(tmp_path: Path) -> None:
    grown = journal.long_run(tmp_path, 100_000)
    assert grown["paired_ratio"] < 1.3
    opened = journal.reopen(tmp_path, snapshot=True)
    assert opened["seconds"] < 2
    assert opened["peak_mb"] < 500
    assert opened["replayed"] == 4000
