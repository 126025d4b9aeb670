"""Scores and the label they lead to; the numbers stand in `data/static/scoring.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from treewright.data import data_path
from treewright.performers.static.finding import Scores
from treewright.performers.static.rulebook import Rule

CONFIRMED, MARGINAL, REFUTED, PRUNED = "CONFIRMED", "MARGINAL", "REFUTED", "PRUNED"
REACH = ("unknown", "convention", "local", "remote")


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a finding stands: in a package that others import, in a test, or in a program or snippet."""

    library: bool
    test: bool
    snippet: bool = False
    """A short file that stands alone: nothing in the project says who calls its functions, so anybody does."""

    @property
    def name(self) -> str:
        """`test`, `library`, `snippet` or `program`."""
        if self.test:
            return "test"
        return "library" if self.library else "snippet" if self.snippet else "program"


@cache
def scoring() -> dict[str, Any]:
    """The scoring table."""
    return tomllib.loads(data_path("static", "scoring.toml").read_text(encoding="utf-8"))


def flow_scores(rule: Rule, strength: int, setting: Setting, fixability: int, stored: bool) -> Scores:
    """Scores of a finding that a flow proves.

    Args:
        strength: of the origin, 0 to 3. fixability: F. stored: the origin is a file or a network answer.
    """
    table = scoring()
    group = "hard" if rule.kind in table["hard_kinds"] else "soft"
    reach = "stored" if stored else REACH[strength]
    rows = table["flow"][group]
    reproducibility, likelihood = rows.get(setting.name, rows["program"])[reach]
    return Scores(rule.severity, 3, min(reproducibility, rule.reproducibility), fixability, likelihood)


def match_scores(rule: Rule, strength: int, setting: Setting, fixability: int) -> Scores:
    """Scores of a structural finding.

    Args:
        strength: -1 to 1, what was found around it.
    """
    base = 0 if setting.test else rule.likelihood[1 if setting.library else 0]
    likelihood = max(0, min(3, base + strength)) if not setting.test else 0
    reproducibility = max(0, min(3, rule.reproducibility + min(strength, 0)))
    return Scores(rule.severity, 3, reproducibility, fixability, likelihood)


def label(scores: Scores, refuted: bool, has_fix: bool) -> str:
    """The label that the engine's gates will reach (contract: exploration, 1 and 3)."""
    if refuted:
        return REFUTED
    if scores.total >= 11 and scores.likelihood >= 1 and has_fix:
        return CONFIRMED
    return MARGINAL if scores.total >= 8 else PRUNED
