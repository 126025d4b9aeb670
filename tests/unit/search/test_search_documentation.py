"""The worked examples of docs/search.md, executed."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.unit.search.forkhost import ForkHost
from treewright.search.drive import run_search
from treewright.search.engine import SearchEngine
from treewright.search.ports import Refused, Reserved, Settled
from treewright.search.report import report
from treewright.search.settings import SearchSettings
from treewright.search.task import SearchTask
from treewright.search.tasks import DraftTask, Generated, ReviseTask

DOCS = Path(__file__).resolve().parents[3] / "docs"
_BLOCK = re.compile(r'^```(?:python|json) title="([\w./-]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def parts_of(page: str, example: str) -> dict[str, str]:
    """The titled blocks of one example, by the part of the title behind its slash."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = dict(_BLOCK.findall(text))
    return {title.partition("/")[2]: body for title, body in found.items() if title.startswith(f"{example}/")}


def matches(actual: object, shown: object) -> bool:
    """Whether everything that the page shows is in the result."""
    if isinstance(shown, dict):
        return isinstance(actual, dict) and all(
            matches(actual.get(key), value) for key, value in shown.items()
        )
    if isinstance(shown, list):
        return isinstance(actual, list) and len(actual) == len(shown) and all(map(matches, actual, shown))
    if isinstance(shown, float):
        return isinstance(actual, float) and abs(actual - shown) < 1e-9
    return actual == shown


class Purse:
    """A cap of 0.50."""

    left = 0.5

    def reserve(self, run: str, estimate_usd: float) -> Reserved | Refused:
        """Grant what fits."""
        if estimate_usd > self.left:
            return Refused(error="spend_cap_exceeded", message="the cap is reached")
        self.left -= estimate_usd
        return Reserved(reservation_id=f"h{self.left}", estimate_usd=estimate_usd, remaining_usd=self.left)

    def settle(self, run: str, reservation_id: str, actual_usd: float, *, failed: bool) -> Settled:
        """Charge the estimate."""
        return Settled(reservation_id=reservation_id, charged_usd=actual_usd, remaining_usd=self.left)


class Answers:
    """Gives the page's answers in turn."""

    def __init__(self, parts: dict[str, str]) -> None:
        self.answers = [body for name, body in sorted(parts.items()) if name.startswith("answer")]

    def complete(self, task: DraftTask | ReviseTask) -> Generated:
        """The next one."""
        return Generated(task_id=task.id, answers=(self.answers.pop(0),), spend_usd=0.2)


@pytest.mark.requirement("search:docs:worked-examples")
@pytest.mark.parametrize("page", ["search.md", "search.zh.md"])
@pytest.mark.parametrize("example", ["best", "tie", "cap"])
def test_the_worked_examples_run_as_shown(page: str, example: str) -> None:
    parts = parts_of(page, example)
    paid = example == "cap"
    settings = SearchSettings(
        generators=("model",) if paid else ("given",),
        exhaustive=example == "tie",
        estimate_usd=0.2 if paid else 0.0,
    )
    given = [parts[name] for name in ("one.py", "two.py", "three.py") if name in parts]
    task = SearchTask(entry_point="f", check_sources=(parts["checks.py"],))
    engine = SearchEngine.start("docs", task, settings, tuple(given))
    host = ForkHost()
    run_search(engine, host, host, clock=time.monotonic, model=Answers(parts), cap=Purse() if paid else None)
    actual = json.loads(report(engine.state).model_dump_json())
    assert matches(actual, json.loads(parts["result"])), actual
