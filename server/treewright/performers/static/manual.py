"""The reference page of the rules, made from their data: `python -m treewright.performers.static.manual > docs/rules.md`."""

import sys

from treewright.performers.static.rulebook import Rule, rules

_TITLES = {
    "injection": "Data from outside that reaches an interpreter",
    "crypto": "Cryptography, tokens, certificates, randomness",
    "configuration": "Settings, secrets, files, services",
    "web": "Browsers and Node",
    "behaviour": "Errors, logic, time, concurrency, limits, old code",
}

_HEAD = """# Rules of the offline audit

<!-- Made by `python -m treewright.performers.static.manual`; edit the files in server/treewright/data/static/rules instead. -->

A rule's name is the pattern it flags. Each has a framing (A to L), a CWE, and a severity from 1 to 3. A *flow* rule needs
data from outside that reaches the place; its likelihood and reproducibility follow from where the data enters (see
`server/treewright/data/static/scoring.toml`). A *structural* rule stands on the line alone; its likelihood is given for
programs and for packages that others import. What would refute a finding is searched on the whole way and quoted when
found. Comments never count as evidence.

Python, JavaScript and TypeScript share the rules; the sentences below are Python's where the means differ, and
`data/static/javascript/wording.toml` holds what is said of scripts instead.

To add a rule: an entry in `data/static/rules/`, a row in `sinks.toml`, `calls.toml` or `shapes.toml` of `data/static/python` or
`data/static/javascript` (or one small function in `checks/` of the language's folder in `performers/static`), a case with its
mitigated twin in `tests/fixtures/static/`, and, where the change is mechanical, a recipe in `performers/static/python/fixes/` or a
row in `data/static/javascript/fixes.toml`. Then `pytest tests/unit/static`.
"""


def manual() -> str:
    """The page as Markdown."""
    parts = [_HEAD]
    known = rules()
    for family in dict.fromkeys(rule.family for rule in known.values()):
        parts.append(f"\n## {_TITLES.get(family, family)}\n")
        parts += [_entry(rule) for rule in known.values() if rule.family == family]
    return "".join(parts)


def _entry(rule: Rule) -> str:
    near = "".join(f", CWE-{number}" for number in rule.related)
    kind = (
        f"flow (`{rule.kind}`)"
        if rule.kind
        else f"structural, likelihood {rule.likelihood[0]} in programs, {rule.likelihood[1]} in packages"
    )
    return (
        f"\n### `{rule.id}`\n\n{rule.title}. Framing {rule.framing}, CWE-{rule.cwe} (near it: {near[2:] or 'none'}), severity "
        f"{rule.severity}, {kind}.\n\n- Cause: {_plain(rule.cause)}\n- What follows: {_plain(rule.exploit)}\n- Change: "
        f"{_plain(rule.fix)}\n- Refuted by: {rule.searched}.\n"
    )


def _plain(text: str) -> str:
    """A template with its words shown as placeholders."""
    for word, shown in (("sink", "the sink"), ("what", "the call"), ("shown", "the value"), ("source", "the value"), ("env", "NAME"), ("line", "the line"), ("why", "the reason"), ("other", "the other text"), ("entry", "the entry")):  # fmt: skip
        text = text.replace(f"`{{{word}}}`", shown).replace(f"{{{word}}}", shown)
    return text.replace("{{", "{").replace("}}", "}")


if __name__ == "__main__":
    sys.stdout.write(manual())
