"""Reads the Markdown cases of tests/fixtures/static: prose, a Python block, and comments on the lines meant.

`# finding: RULE` a CONFIRMED finding of the rule starts or ends on this line; `# refuted: RULE` a REFUTED one
does; `# marginal: RULE` a MARGINAL one does. Any other CONFIRMED finding in the block is a false alarm, unless the
heading says `(lenient)`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures" / "static"
_BLOCK = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<prose>.*?)^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
_EXPECTED = re.compile(r"#\s*(finding|refuted|marginal):\s*([\w ,-]+?)\s*$")
_CWE = re.compile(r"CWE-(\d+)")


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled block: expected (verdict, rule, line) triples, code without the labels."""

    file: str
    title: str
    code: str
    expected: tuple[tuple[str, str, int], ...]
    cwes: frozenset[int]
    lenient: bool


_VERDICT = {"finding": "CONFIRMED", "refuted": "REFUTED", "marginal": "MARGINAL"}


def read_cases(folder: Path) -> list[Case]:
    """All cases of the Markdown files directly in a folder."""
    found = []
    for path in sorted(folder.glob("*.md")):
        for block in _BLOCK.finditer(path.read_text(encoding="utf-8")):
            expected, lines = [], []
            for number, line in enumerate(block["code"].splitlines(), 1):
                hit = _EXPECTED.search(line)
                if hit:
                    expected += [(_VERDICT[hit[1]], rule.strip(), number) for rule in hit[2].split(",")]
                    line = line[: hit.start()].rstrip()
                lines.append(line)
            cwes = frozenset(int(number) for number in _CWE.findall(block["title"]))
            lenient = "(lenient)" in block["title"]
            found.append(
                Case(
                    path.stem, block["title"].strip(), "\n".join(lines) + "\n", tuple(expected), cwes, lenient
                )
            )
    return found
