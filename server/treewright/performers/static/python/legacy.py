"""Python 2 text as Python 3 text, line for line, so that old code is still read.

Only forms that a line shows by itself are rewritten; what stays wrong is reported as not parsed. Line numbers never
move; columns on rewritten lines do, so no edit is offered there (it would not parse anyway).
"""

import re

_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(\s*(?:\w[^#'\"]*:\s+)?)print\s*>>\s*([\w.]+)\s*,\s*(.+?)\s*$"), r"\1print(\3, file=\2)"),
    (
        re.compile(
            r"^(\s*(?:(?:if|else|elif|for|while|try|except)\b[^#'\"]*:\s+)?)print\s+(?![=(])(.+?),?\s*$"
        ),
        r"\1print(\2)",
    ),
    (
        re.compile(
            r"^(\s*(?:(?:if|else|elif|for|while|try|except)\b[^#'\"]*:\s+)?)print\s+(\(.*\)\s*[%+,].*?),?\s*$"
        ),
        r"\1print(\2)",
    ),
    (re.compile(r"^(\s*)print\s*$"), r"\1print()"),
    (re.compile(r"^(\s*except\s+[\w., ()]+?)\s*,\s*(\w+)\s*:"), r"\1 as \2:"),
    (re.compile(r"^(\s*raise\s+[\w.]+)\s*,\s*(.+?)\s*$"), r"\1(\2)"),
    (re.compile(r"^(\s*)exec\s+(?!\()(.+?)(?:\s+in\s+(.+?))?\s*$"), r"\1exec(\2)"),
    (re.compile(r"(?<![\w.'\"])0([0-7]{2,})\b(?!['\"])"), r"0o\1"),
    (re.compile(r"\bur(['\"])"), r"r\1"),
    (re.compile(r"(?<=[\w)\]'\"])\s*<>\s*(?=[\w(\['\"])"), " != "),
    (re.compile(r"(?<![\w'\"])(0[xX][\da-fA-F]+|\d+)[lL]\b"), r"\1"),
    (re.compile(r"`([\w.]+)`"), r"repr(\1)"),
)


def modernised(text: str) -> str:
    """Rewrite the line forms of Python 2; text without them comes back as it was.

    Args:
        text: newlines are LF.
    """
    lines = text.expandtabs(8).split("\n")
    for index, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            continue
        for pattern, new in _REWRITES:
            line = pattern.sub(new, line)
        lines[index] = line
    return "\n".join(lines)
