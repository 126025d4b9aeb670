"""How a model with a small context is asked: one short question, a sentence with gaps to fill, a few texts at a time.

The questions, what belongs in a field, and the sentences are data (`data/prompts/small.toml`), written for the shipped presets; another
preset is asked with its framings' and fields' own words.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from treewright.explore.merging import cosine, trigrams
from treewright.explore.tasks import Brief
from treewright.performers.model.forms import forms_of, statement_forms
from treewright.performers.model.prompts import small, small_text
from treewright.performers.model.shapes import Schema, children_of, shown_field
from treewright.presets.schema import Preset
from treewright.tree.body import FieldValue

ECHO = 0.8
"""Cosine of character 3-grams from which a statement is taken for a copy of what was shown."""
_SUBJECT_SHOWN = 200
_FIELD_SHOWN = 200
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "`", "”", '"', ")")


def it_of(brief: Brief) -> str:
    """Return how a question names what it is about."""
    return (
        f"the {brief.preset.subject_label} above"
        if brief.lineage
        else small_text("it", brief.preset.root_kind)
    )


def question(brief: Brief) -> str:
    """Return the framing's question; of a preset that has none here, the framing's own words with the preset's note."""
    framing, preset = brief.framing, brief.preset
    assert framing is not None
    asked = small_text(preset.name, "questions", framing.letter)
    if asked:
        return asked.replace("$it", it_of(brief))
    note = preset.framing_notes.get(framing.letter, "") or framing.look_for[preset.root_kind]
    return f"{framing.title}: {framing.prompt}\n{note}"


def line_signs(brief: Brief) -> re.Pattern[str] | None:
    """Return what stands in a line of a text on which the framing has most to say; None for a framing without such signs."""
    signs = small_text(brief.preset.name, "lines", brief.task.framing)
    return re.compile(signs, re.IGNORECASE) if signs else None


def about(brief: Brief, name: str) -> str:
    """Return what belongs in a field, in a few words."""
    return small_text(brief.preset.name, "fields", name) or brief.preset.rule(name).about


def propose_task(brief: Brief, *, citing: bool, places: Sequence[str] = ()) -> str:
    """Return what is asked of a framing.

    Args:
        brief: of the task.
        citing: whether there are lines to choose from.
        places: the lines of a text that it is to talk about, as they are listed; none where it may choose.
    """
    preset, framing = brief.preset, brief.framing
    assert framing is not None
    need = framing.requirement
    count = children_of(brief)
    listed = [_place(places)] if citing and preset.parts.position else []
    if need.listed and not brief.task.replaces:
        listed.insert(0, small("listed", what=need.listed_as, count=need.listed))
    label = preset.subject_label
    subject = brief.lineage[-1].statement if brief.lineage else brief.root.statement if brief.root else ""
    return small(
        "propose",
        count=count,
        label=label,
        plural="s" if count > 1 else "",
        it=it_of(brief),
        subject=subject[:_SUBJECT_SHOWN],
        framing=question(brief),
        listed="\n".join(listed),
        opening=_opening(statement_forms(brief), count),
        evidence=small_text(preset.name, "evidence") or "one sentence, the fact of the subject it rests on",
        statement=small_text(preset.name, "statement") or preset.rule(preset.parts.subject).about,
        defense=small_text(preset.name, "defense") or "the strongest thing that speaks against it",
        example=_example(preset),
    )


def _example(preset: Preset) -> str:
    """Return the worked example of a preset; where statements have forms there is none, since it was copied."""
    example = small_text(preset.name, "example")
    return small("example", example=example) if example else ""


def _place(places: Sequence[str]) -> str:
    if not places:
        return small("position")
    return small("places" if len(places) > 1 else "place", lines="\n".join(places))


def _opening(forms: Sequence[str], count: int) -> str:
    """Return which sentence a statement is to be: each of several its own, or one any of them."""
    if not forms:
        return ""
    if count < len(forms) or count == 1:
        return small("opening", form=" or ".join(f"`{each}`" for each in forms))
    first, *more = forms
    told = [
        small("opening_each", form=f"`{first}`"),
        *(small("opening_next", form=f"`{each}`") for each in more),
    ]
    return "\n".join(told)


def derive_task(
    brief: Brief, statement: str, draft: str, filled: Mapping[str, Any], names: Sequence[str]
) -> str:
    """Return what is asked of some fields of a node.

    Args:
        brief: of the task.
        statement: of the node.
        draft: what the proposal says.
        filled: fields that are there already.
        names: the fields that are due.
    """
    shown = "\n".join([draft, *(shown_field(name, value, _FIELD_SHOWN) for name, value in filled.items())])
    return small(
        "derive",
        label=brief.preset.subject_label,
        statement=statement,
        draft=shown.strip(),
        fields=_due(brief, names),
    )


def fields_due(brief: Brief, names: Sequence[str]) -> str:
    """Return the fields that are due, one a line."""
    return small("fields", fields=_due(brief, names))


def _due(brief: Brief, names: Sequence[str]) -> str:
    return "\n".join(f"- `{name}`: {about(brief, name)}{_form(brief, name)}" for name in names)


def _form(brief: Brief, name: str) -> str:
    forms = forms_of(brief, name)
    return f", as in `{'` or `'.join(forms)}`" if forms else ""


def judge_task(brief: Brief, statement: str, filled: Mapping[str, Any]) -> str:
    """Return how scores are asked for: of the text alone, after its weakest and its best side were named."""
    preset = brief.preset
    return small(
        "judge",
        label=preset.subject_label,
        statement=statement,
        draft="\n".join(shown_field(name, value, _FIELD_SHOWN) for name, value in filled.items()),
        dims="\n".join(f"- `{dim.key}` {dim.name}. {dim.desc}" for dim in preset.score_dims),
    )


def drafted(brief: Brief) -> dict[str, FieldValue]:
    """Return the fields that the proposal already fills in as its preset asks, so that they are not asked for again.

    Where a gate depends on the defense, and where a field needs steps or lines, it is asked for by itself.
    """
    proposal, preset = brief.proposal, brief.preset
    if proposal is None or brief.previous is not None:
        return {}
    parts = preset.parts
    given: dict[str | None, Sequence[str]] = {
        parts.assumptions: proposal.assumptions,
        parts.predictions: proposal.predictions,
        parts.defense: [proposal.defense] if not preset.gate("defense_shown") else [],
    }
    found: dict[str, FieldValue] = {}
    for name, texts in given.items():
        said = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
        if not name or not said:
            continue
        rule = preset.rule(name)
        enough = len(said) >= max(1, rule.min_items, rule.min_sentences)
        if enough and not rule.must_have_steps and not rule.must_cite:
            found[name] = said if len(said) > 1 else said[0]
    return found


def example_texts(brief: Brief) -> list[str]:
    """Return what the example says, each text by itself: a copy of it says nothing here."""
    found = []
    for line in small_text(brief.preset.name, "example").splitlines():
        said = line.partition(": ")[2].strip('[]"')
        found += said.split('", "')
    return [text for text in found if len(text) > 3 and text != "NONE"]


def is_echo(brief: Brief, statement: str) -> bool:
    """Tell whether a statement is the root's, or one of the example, in nearly its words."""
    told = example_texts(brief)
    if brief.root is not None:
        told.append(brief.root.statement)
    said = trigrams(statement)
    return any(cosine(said, trigrams(text)) >= ECHO for text in told if text)


def given_root_fields(brief: Brief) -> dict[str, str]:
    """Return root fields that nothing but the user's files could tell, for a root without any."""
    return {
        field.name: text
        for field in brief.preset.root_schema(brief.mode).fields
        if (text := small_text(brief.preset.name, "unknown", field.name))
    }


def trimmed(value: Any, schema: Schema) -> Any:
    """Return an answer whose texts that ran into their bound end with their last whole sentence, or else with an ellipsis."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return {key: trimmed(part, properties.get(key, {})) for key, part in value.items()}
    if isinstance(value, list):
        own = schema.get("items", {})
        return [trimmed(part, own) for part in _rejoined(value, own)]
    if not _cut(value, schema):
        return value
    text = str(value)
    end = max(text.rfind(mark) for mark in (". ", "! ", "? ", "。"))
    if end >= len(text) // 3:
        return text[: end + 1]
    return text.rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _cut(value: Any, schema: Schema) -> bool:
    """Tell whether a text ran into its bound in the middle of a sentence."""
    most = schema.get("maxLength")
    if not isinstance(value, str) or not most or len(value) < most - 1:
        return False
    return not value.rstrip().endswith(_SENTENCE_ENDS)


def _rejoined(items: Sequence[Any], schema: Schema) -> list[Any]:
    """Return items with those put together again that are one text, cut in two by its bound."""
    found: list[Any] = []
    for item in items:
        if found and isinstance(item, str) and item[:1].islower() and _cut(found[-1], schema):
            found[-1] += item
        else:
            found.append(item)
    return found
