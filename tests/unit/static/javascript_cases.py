"""Reads the Markdown cases of tests/fixtures/static/javascript: prose, a block in one of the languages, comments on the lines meant.

`// finding: RULE` a CONFIRMED finding of the rule starts or ends on this line; `// refuted: RULE` a REFUTED one does;
`// marginal: RULE` a MARGINAL one does. Any other CONFIRMED finding in the block is a false alarm.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures" / "static" / "javascript"
_BLOCK = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<prose>.*?)^```(?P<suffix>[jt]sx?|vue)\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
_EXPECTED = re.compile(r"(//|<!--)\s*(finding|refuted|marginal):\s*([\w ,-]+?)\s*(-->)?$")
_VERDICT = {"finding": "CONFIRMED", "refuted": "REFUTED", "marginal": "MARGINAL"}


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled block: its suffix, code without the labels, expected (verdict, rule, line) triples, CWE numbers."""

    file: str
    title: str
    suffix: str
    code: str
    expected: tuple[tuple[str, str, int], ...]
    cwes: frozenset[int]


def read_cases(folder: Path) -> list[Case]:
    """All cases of the Markdown files directly in a folder."""
    found = []
    for path in sorted(folder.glob("*.md")):
        for block in _BLOCK.finditer(path.read_text(encoding="utf-8")):
            expected: list[tuple[str, str, int]] = []
            lines = []
            for number, line in enumerate(block["code"].splitlines(), 1):
                hit = _EXPECTED.search(line)
                if hit:
                    expected += [(_VERDICT[hit[2]], rule.strip(), number) for rule in hit[3].split(",")]
                    line = line[: hit.start()].rstrip()
                lines.append(line)
            cwes = frozenset(int(number) for number in re.findall(r"CWE-(\d+)", block["title"]))
            found.append(
                Case(
                    path.stem, block["title"], block["suffix"], "\n".join(lines) + "\n", tuple(expected), cwes
                )
            )
    return found
