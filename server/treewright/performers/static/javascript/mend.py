"""Changes that may clear a finding in a script; `proving` tells which of them do."""

import re
from collections.abc import Iterator

from treewright.performers.static.finding import Edit, Finding
from treewright.performers.static.javascript.fixes import RawEdit, candidates
from treewright.performers.static.javascript.source import Source, parse

_SERVER = re.compile(
    r"\brequire\(|module\.exports|\bexports\.|process\.|from ['\"](node:|express|koa|fastify|fs|crypto|http)"
)


class Mender:
    """Finds edits for the findings of one audit.

    Args:
        texts: of every file.
    """

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.parsed: dict[str, tuple[Source, bool]] = {}

    def rests_on(self) -> str:
        """Nothing but the file itself."""
        return ""

    def tries(self, finding: Finding) -> Iterator[tuple[str, list[Edit]]]:
        """Every change that fits a finding, with the text after it; those that do not parse are left out."""
        path = finding.position.path
        if path.endswith((".vue", ".svelte")):
            return
        if path not in self.parsed:
            source = parse(path, self.texts[path])
            self.parsed[path] = source, _SERVER.search(source.text) is None
        source, in_page = self.parsed[path]
        for edits in candidates(source, finding, in_page):
            text = applied(self.texts[path], edits)
            if text == self.texts[path] or (parse(path, text).broken and not source.broken):
                continue
            yield text, [_edit(path, source.lines, edit) for edit in sorted(edits)]


def applied(text: str, edits: list[RawEdit]) -> str:
    """The text after edits that do not overlap; line ends stay as they are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    for start, column, end, end_column, new in sorted(edits, reverse=True):
        joined = lines[start - 1][:column] + new.replace("\n", newline) + lines[end - 1][end_column:]
        lines[start - 1 : end] = joined.split(newline)
    return newline.join(lines)


def _edit(path: str, lines: list[str], edit: RawEdit) -> Edit:
    start, column, end, end_column, new = edit
    rows = [*lines, ""][start - 1 : end]
    if start == end:
        old = rows[0][column:end_column]
    else:
        old = "\n".join([rows[0][column:], *rows[1:-1], rows[-1][:end_column]])
    return Edit(path, start, column, end, end_column, old, new)
