"""F3, no skipped derivation.

"Obvious", "details omitted" and the like are violations; a number in a field that the preset marks as numeric needs a check
expression, which the engine executes in a kernel.
"""

import re

from treewright.explore.rules.lexicon import find
from treewright.explore.rules.text import as_text
from treewright.presets.schema import Preset
from treewright.tree.body import Derivation
from treewright.tree.citation import Violation

_NOT_A_CLAIM = re.compile(
    r"```.*?```|`[^`]*`|“[^”]*”|\"[^\"]*\"|「[^」]*」|https?://\S+|[\w./-]+:\d+(?:-\d+)?"
    r"|\b[A-Za-z][\w-]*\d[\w.-]*|^\s*\d+[.)、]\s",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:\s?%|\b)")


def check(preset: Preset, body: Derivation, language: str) -> list[Violation]:
    """Return skipped steps and numbers without a check in a body's prose."""
    found: list[Violation] = []
    checked_fields = {check.field for check in body.numeric_checks}
    for name, value in body.fields.items():
        text = as_text(value)
        found.extend(
            Violation(
                rule="F3",
                field=name,
                quote=hit.phrase,
                message=f"“{hit.phrase}” skips the derivation; give the steps",
            )
            for hit in find("skip", text, language)
        )
        if preset.rule(name).numeric and name not in checked_fields and (number := claimed_number(text)):
            found.append(
                Violation(
                    rule="F3",
                    field=name,
                    quote=number,
                    message=f"{number} in {name} needs a numeric check: an expression and the value it must give",
                )
            )
    return found


def claimed_number(text: str) -> str:
    """Return the first number that prose claims, quotes, code, places and identifiers left out; empty when none."""
    match = _NUMBER.search(_NOT_A_CLAIM.sub(" ", text))
    return match[0].strip() if match else ""
