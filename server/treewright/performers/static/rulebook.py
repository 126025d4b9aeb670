"""Rules as data: `data/static/rules/*.toml` (all languages) and `data/static/<language>/*.toml`."""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from treewright.data import data_path


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule says and how it scores.

    Attributes:
        id: the pattern flagged, in kebab case. framing: A to L. cwe: the weakness. related: neighbours of it.
        kind: sink kind of a flow rule, empty for a structural one.
        severity: base S. likelihood: X of a structural hit in (snippet or application, library).
        statement, cause, exploit, fix: templates. searched: what would have refuted it.
        opaque: a flow rule that also reports text composed from values of unknown origin.
        flow: minimum source strength for a flow to count at all.
        flow_alone: the same in a short file that stands alone; 0 for no difference.
    """

    id: str
    framing: str
    cwe: int
    title: str
    severity: int
    statement: str
    cause: str
    exploit: str
    fix: str
    searched: str
    kind: str = ""
    related: tuple[int, ...] = ()
    assumptions: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    likelihood: tuple[int, int] = (2, 1)
    reproducibility: int = 3
    opaque: bool = False
    flow: int = 1
    flow_alone: int = 0
    family: str = ""


@cache
def rules() -> dict[str, Rule]:
    """Every rule by id.

    Raises:
        ValueError: an id stands twice, or a key is unknown.
    """
    found: dict[str, Rule] = {}
    for path in sorted(data_path("static", "rules").glob("*.toml")):
        for rule_id, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if rule_id in found:
                raise ValueError(f"{path.name}: rule {rule_id} stands twice")
            unknown = set(entry) - set(Rule.__dataclass_fields__)
            if unknown:
                raise ValueError(f"{path.name}: rule {rule_id} has unknown keys {sorted(unknown)}")
            lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
            found[rule_id] = Rule(id=rule_id, family=path.stem, **lists)
    return found


@cache
def rules_for(language: str) -> dict[str, Rule]:
    """Every rule by id, in the words that fit a language (`data/static/<language>/wording.toml` where there is one).

    Raises:
        ValueError: the wording names a rule that is not there, or an unknown key.
    """
    folder = "javascript" if language in {"javascript", "typescript"} else language
    path = data_path("static", folder) / "wording.toml"
    if not path.is_file():
        return rules()
    found = dict(rules())
    for rule_id, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if rule_id not in found or set(entry) - set(Rule.__dataclass_fields__):
            raise ValueError(f"{path.name}: {rule_id} is no rule, or has unknown keys")
        found[rule_id] = replace(found[rule_id], **entry)
    return found


@cache
def table(language: str, name: str) -> dict[str, Any]:
    """One data table of a language, such as `("python", "sinks")`."""
    return tomllib.loads(data_path("static", language, f"{name}.toml").read_text(encoding="utf-8"))
