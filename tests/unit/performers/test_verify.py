"""Evidence that is not a line of a file: pages fetched in this run, the output of commands that the engine ran, numbers."""

import asyncio
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.performers.briefs import brief
from treewright.app.execution import Execution
from treewright.explore.tasks import TaskKind, VerifyResult
from treewright.performers.verify import Fetch, Verifier
from treewright.tree.citation import CheckedCitation, Citation, CitationState


@dataclass
class Fetched:
    """A page as the fetcher gives it."""

    status: int = 200
    text: str = ""
    problem: str = ""


def checked(verifier: Verifier, citation: Citation) -> CheckedCitation:
    """Return what checking one citation showed."""
    asked = brief(TaskKind.VERIFY, "brainstorm", Path(), checks=((citation,),))
    result = asyncio.run(verifier.perform(asked)).result
    assert isinstance(result, VerifyResult)
    return result.citations[0][0]


def page(found: Fetched) -> Fetch:
    """Return a fetcher that answers everything with one page."""

    async def fetch(_address: str) -> Fetched:
        return found

    return fetch


@pytest.mark.requirement("exploration:evidence:url")
@pytest.mark.parametrize(
    ("found", "quote", "state"),
    [
        (
            Fetched(text="The limit is\n  42 requests a minute."),
            "limit is 42 requests",
            CitationState.VERIFIED,
        ),
        (Fetched(text="The limit is 41."), "limit is 42 requests", CitationState.UNVERIFIED),
        (Fetched(text="The limit is 42."), "", CitationState.WEAK),
        (
            Fetched(status=404, text="The limit is 42 requests"),
            "limit is 42 requests",
            CitationState.UNVERIFIED,
        ),
        (Fetched(problem="it is 30 MB long"), "limit", CitationState.UNVERIFIED),
    ],
)
def test_an_address_holds_when_its_page_was_fetched_and_says_the_quote(
    tmp_path: Path, found: Fetched, quote: str, state: CitationState
) -> None:
    citation = Citation(kind="url", url="https://example.org/limits", quote=quote)
    assert checked(Verifier(tmp_path, fetch=page(found)), citation).state is state
    offline = checked(Verifier(tmp_path), citation)
    assert (offline.state, offline.reason) == (CitationState.UNVERIFIED, "the run is offline")


@pytest.fixture
def execution(tmp_path: Path) -> Iterator[Execution]:
    """Return what executes in a small repository."""
    (tmp_path / "app.py").write_text("limit = 42\n", encoding="utf-8")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "raise the limit"],
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    execution = Execution(tmp_path)
    yield execution
    asyncio.run(execution.close())


@pytest.mark.requirement("exploration:evidence:command-output")
@pytest.mark.parametrize(
    ("command", "quote", "state", "output"),
    [
        ("git log --format=%s", "raise the limit", CitationState.VERIFIED, "raise the limit"),
        ("git log --format=%s", "lower the limit", CitationState.UNVERIFIED, "raise the limit"),
        ("python -c 'print(6 * 7)'", "42", CitationState.VERIFIED, "42"),
        ("python -c 'print(1 / 0)'", "ZeroDivisionError", CitationState.VERIFIED, "ZeroDivisionError"),
        ("touch owned", "", CitationState.UNVERIFIED, ""),
        ("python app.py", "42", CitationState.UNVERIFIED, ""),
    ],
)
def test_output_holds_when_the_engine_ran_the_command_and_the_output_is_kept(
    tmp_path: Path, execution: Execution, command: str, quote: str, state: CitationState, output: str
) -> None:
    citation = Citation(kind="command", command=command, quote=quote)
    found = checked(Verifier(tmp_path, commands=execution), citation)
    assert found.state is state
    assert output in found.output
    assert bool(found.output) == bool(output)
    assert not (tmp_path / "owned").exists()


def test_without_somebody_who_may_run_it_no_output_holds(tmp_path: Path) -> None:
    found = checked(Verifier(tmp_path), Citation(kind="command", command="git log", quote="raise"))
    assert (found.state, found.output) == (CitationState.UNVERIFIED, "")
