"""Seeds: entries of a prior deliverable enter a new run at depth 1, accepted and advancing (contract: exploration, 9)."""

import re
from dataclasses import dataclass

from treewright.errors import RequestError
from treewright.tree.event import NodeSeeded

_ENTRY = re.compile(r"^## +(?P<id>\S+)(?:[ \t]+(?P<rest>.*))?$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_POSITION = re.compile(r"^- position: `+\s?(?P<position>.+?)\s?`+$")
STATEMENT_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Seed:
    """One entry of a deliverable.

    Attributes:
        source_id: the id it has there.
        statement: its first paragraph, on one line.
        position: as it stands there; empty when it has none.
        body: the whole entry, Markdown.
        line: where it stands, from 1.
    """

    source_id: str
    statement: str
    position: str
    body: str
    line: int


def read_seeds(text: str, name: str) -> list[Seed]:
    """Return the `## <id>` entries of a deliverable, in order.

    Args:
        text: the file's text.
        name: the file, for messages.

    Raises:
        RequestError: `seeds_empty` when there is none.
    """
    found: list[Seed] = []
    current: tuple[str, str, int] | None = None
    body: list[str] = []
    fenced = False
    lines = text.splitlines()
    for number, line in enumerate([*lines, "## -end-"], 1):
        if _FENCE.match(line):
            fenced = not fenced
        match = None if fenced else _ENTRY.match(line)
        if match is None:
            body.append(line)
            continue
        if current is not None:
            found.append(_seed(*current, body))
        current = (match["id"], match["rest"] or "", number)
        body = []
    if not found:
        raise RequestError(
            "seeds_empty",
            f"{name} has no `## <id>` entries to seed a run with.",
            "Name a deliverable such as shortlist.md or confirmed.md of a run that brought some.",
            {"path": name},
        )
    return found


def _seed(source_id: str, rest: str, line: int, body: list[str]) -> Seed:
    paragraph: list[str] = [rest.strip(" -—:")] if rest.strip(" -—:") else []
    position = ""
    for each in body:
        if match := _POSITION.match(each):
            position = match["position"]
        if not paragraph and each.strip() and not each.lstrip().startswith(("- ", "**", "|", "#", "<")):
            paragraph.append(each.strip())
    statement = " ".join(" ".join(paragraph).split()) or source_id
    return Seed(source_id, statement[:STATEMENT_LIMIT], position, "\n".join(body).strip(), line)


def seed_events(seeds: list[Seed], source: str) -> list[NodeSeeded]:
    """Return the events by which seeds enter a run, as S1, S2 and so on, each with its source's id kept."""
    return [
        NodeSeeded(
            node=f"S{number}",
            statement=seed.statement,
            position=seed.position,
            source=f"{source}:{seed.line}",
            source_id=seed.source_id,
            body=seed.body,
        )
        for number, seed in enumerate(seeds, 1)
    ]


def entry_text(seed: Seed) -> str:
    """Return a seed as an entry of a deliverable again."""
    return f"## {seed.source_id}\n\n{seed.body}\n"
