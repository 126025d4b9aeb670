"""Every field of the preset is there, holds what its rule asks for, and every dimension has a score from 0 to 3."""

from treewright.explore.rules.text import as_text, items, sentences, steps
from treewright.presets.schema import DIM_MAXIMUM, FieldRule, Preset
from treewright.tree.body import Derivation, FieldValue
from treewright.tree.citation import Violation


def check(preset: Preset, body: Derivation) -> list[Violation]:
    """Return what a body lacks, a violation for each fault."""
    found: list[Violation] = []
    for name in preset.node_schema:
        value = body.fields.get(name, "")
        rule = preset.rule(name)
        if rule.min_items and not as_text(value).strip():
            found.append(_fault("field-missing", name, f"{name} is empty; {rule.about or 'fill it in'}"))
        elif as_text(value).strip():
            found.extend(_shortfalls(name, value, rule))
    found.extend(
        _fault("field-unknown", name, f"{name} is not a field of {preset.name}")
        for name in body.fields
        if name not in preset.node_schema
    )
    return found + _scores(preset, body)


def _shortfalls(name: str, value: FieldValue, rule: FieldRule) -> list[Violation]:
    found = []
    if rule.min_items > 1 and len(items(value)) < rule.min_items:
        found.append(
            _fault("too-few-items", name, f"{name} has {len(items(value))} items, {rule.min_items} are due")
        )
    if sentences(value) < rule.min_sentences:
        found.append(
            _fault(
                "too-short", name, f"{name} has {sentences(value)} sentences, {rule.min_sentences} are due"
            )
        )
    if rule.must_have_steps and steps(value) < 2:
        found.append(
            _fault("F3", name, f"{name} must be a chain of at least two steps, each on a line of its own")
        )
    return found


def _scores(preset: Preset, body: Derivation) -> list[Violation]:
    found = []
    for key in preset.dim_keys():
        score = body.scores.get(key)
        if score is None or not 0 <= score <= DIM_MAXIMUM:
            found.append(
                _fault("score-missing", key, f"score {key} must be an integer from 0 to {DIM_MAXIMUM}")
            )
    return found


def _fault(rule: str, name: str, message: str) -> Violation:
    return Violation(rule=rule, field=name, message=message)
