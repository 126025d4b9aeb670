"""The shape of an answer to each task, derived from the preset, and how an answer becomes a result.

A task is asked in one or several parts. With room there is one part; for a small context, parts of a few fields each. `close` answers
are for models that decode under a grammar: lines to cite are listed as choices and lengths are bounded, so that a model that repeats
itself comes to an end. What the engine fills in by itself (framing, provisional verdict, the offline mark) is never asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treewright.explore.rules.text import as_text
from treewright.explore.tasks import Brief, TaskKind
from treewright.performers.model.evidence import Excerpt
from treewright.performers.model.forms import PLAIN, form_pattern, forms_of
from treewright.performers.model.prompts import small_text
from treewright.presets.schema import DIM_MAXIMUM, FieldRule, Preset

TEXT_MOST = 400
"""Characters of a text in a close answer; grammars with longer bounds are slow to build."""
ITEM_MOST = 240
STATEMENT_MOST = 300
LISTED_MOST = 160
CHOICES_MOST = 40
"""Lines that a close answer may choose among."""
FIELDS_PER_PART = 5
"""Fields that a small model fills in at once without losing the thread."""

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Style:
    """How answers are asked for.

    Attributes:
        close: bounded lengths, listed lines, few fields a part.
        plain: close answers are in the letters of English.
    """

    close: bool = False
    plain: bool = False

    def text(self, most: int = TEXT_MOST, forms: Sequence[str] = ()) -> Schema:
        """Return the schema of a text that may not be empty.

        Args:
            most: characters of a close answer.
            forms: sentences with `…` for the words that the model brings; the text is one of them, or any where there are none.
        """
        if not self.close:
            return {"type": "string"}
        found: Schema = {"type": "string", "minLength": 1, "maxLength": most}
        if forms:
            found["pattern"] = f"^({'|'.join(form_pattern(form, most) for form in forms)})$"
        elif self.plain:
            found["pattern"] = f"^{PLAIN}{{1,{most}}}$"
        return found

    def items(self, least: int, most: int, forms: Sequence[str] = ()) -> Schema:
        """Return the schema of a list of texts."""
        found: Schema = {"type": "array", "items": self.text(ITEM_MOST, forms), "minItems": least}
        return {**found, "maxItems": most} if self.close else found


def closed_object(properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object that has exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def loosened(schema: Schema) -> Schema:
    """Return what an answer must fit: the schema without the bounds that only keep a small model from running on.

    A line that is not in the list is no fault of shape either: checking its citation tells what it is worth.
    """
    found: Schema = {}
    for key, value in schema.items():
        if key in ("maxLength", "maxItems", "pattern"):
            continue
        if key == "properties":
            found[key] = {name: loosened(part) for name, part in value.items()}
        elif key == "items":
            found[key] = loosened(value)
        elif key == "enum" and any("| " in str(choice) for choice in value):
            return {"type": "string"}
        else:
            found[key] = value
    return found


def lines_schema(style: Style, excerpt: Excerpt, least: int, most: int) -> Schema | None:
    """Return the schema of citations of an excerpt; None when there is nothing to cite."""
    if excerpt.empty:
        return None
    if style.close:
        choices = excerpt.labels(CHOICES_MOST)
        if not choices:
            return None
        least = min(least, len(choices))
        return {"type": "array", "items": {"enum": choices}, "minItems": least, "maxItems": most}
    return {"type": "array", "items": _place_schema(), "minItems": least}


def _place_schema() -> Schema:
    return closed_object(
        {
            "path": {"type": "string"},
            "start": {"type": "integer", "minimum": 1},
            "end": {"type": "integer", "minimum": 1},
            "quote": {"type": "string"},
        }
    )


# --- ground ---------------------------------------------------------------------------------------------


def root_fields(brief: Brief) -> list[str]:
    """Return the root fields that are due: all, or those that an earlier answer lacked."""
    return [field.name for field in brief.preset.root_schema(brief.mode).fields]


VERBATIM_MOST = 300
"""Characters up to which a topic or prompt is the root's statement as it is (contract: exploration, 3)."""


def verbatim(brief: Brief) -> str:
    """Return the statement that the user's own words are; empty when one has to be written."""
    text = " ".join(brief.root_spec.text.split())
    return text if len(text) <= VERBATIM_MOST else ""


def ground_schema(
    brief: Brief, style: Style, excerpt: Excerpt, names: Sequence[str], *, first: bool
) -> Schema:
    """Return the shape of a root, or of a part of it.

    Args:
        brief: of the task.
        style: how to ask.
        excerpt: what can be cited.
        names: the fields of this part.
        first: whether this part has the statement and the citations.
    """
    wanted = {field.name: field for field in brief.preset.root_schema(brief.mode).fields}
    shape: dict[str, Schema] = {"statement": style.text(ITEM_MOST)} if first and not verbatim(brief) else {}
    for name in names:
        least = max(1, wanted[name].min_items)
        if style.close:
            shape[name] = style.items(least, least) if least > 1 else style.text()
        else:
            shape[name] = style.items(least, least + 2)
    lines = lines_schema(style, excerpt, 1, 4) if first else None
    if lines:
        shape["citations"] = lines
    return closed_object(shape)


# --- propose --------------------------------------------------------------------------------------------


def children_of(brief: Brief) -> int:
    """Return how many proposals are asked of a framing: one for one that is replaced."""
    return 1 if brief.task.replaces or brief.framing is None else max(1, brief.framing.requirement.children)


def propose_schema(brief: Brief, style: Style, excerpt: Excerpt, forms: Sequence[str] = ()) -> Schema:
    """Return the shape of what a framing brings; `forms` are the sentences that a statement may be."""
    need = brief.framing.requirement if brief.framing else None
    children = children_of(brief)
    one: dict[str, Schema] = {"statement": style.text(STATEMENT_MOST, forms)}
    if style.close:  # what it rests on is thought of first
        one = {"evidence": style.text(ITEM_MOST), **one}
    position = brief.preset.parts.position
    must = bool(position and brief.preset.rule(position).must_cite)
    lines = lines_schema(style, excerpt, 1 if must else 0, 1 if style.close else 2)
    if lines:
        one = {"citations": lines, **one} if must else {**one, "citations": lines}
    one |= {
        **({} if style.close else {"evidence": style.text()}),
        "assumptions": _drafted(brief.preset, brief.preset.parts.assumptions, style),
        "predictions": _drafted(brief.preset, brief.preset.parts.predictions, style),
        "defense": style.text(ITEM_MOST),
    }
    proposals: Schema = {"type": "array", "items": closed_object(one), "minItems": children}
    if style.close:
        proposals["maxItems"] = children
    shape: dict[str, Schema] = {}
    if need and need.listed and not brief.task.replaces:
        shape[need.listed_as] = {
            "type": "array",
            "items": style.text(int(small_text("listed_most", need.listed_as) or LISTED_MOST)),
            "minItems": need.listed,
            "maxItems": need.listed,
        }
    return closed_object({**shape, "proposals": proposals})


def _drafted(preset: Preset, field: str | None, style: Style) -> Schema:
    """Return the shape of items of a proposal: with a small context as many as the field needs, so that they are asked for once."""
    rule = preset.rule(field) if field else None
    least = max(1, rule.min_items) if rule is not None and style.close and not rule.must_have_steps else 1
    return style.items(least, least if style.close else least + 1)


# --- derive and revise ----------------------------------------------------------------------------------


def own_fields(preset: Preset) -> frozenset[str]:
    """Return the fields that nobody is asked for: the engine or this performer knows them."""
    parts = preset.parts
    return frozenset(
        name for name in (parts.subject, parts.framing, parts.verdict, parts.external, parts.position) if name
    )


def due_fields(brief: Brief) -> list[str]:
    """Return the fields to fill in: all that are not known, or for a revision those with faults."""
    known = own_fields(brief.preset)
    every = [name for name in brief.preset.node_schema if name not in known]
    if brief.task.kind is not TaskKind.REVISE or brief.previous is None:
        return every
    faulty = {violation.field for violation in brief.violations}
    subject = brief.preset.parts.subject
    due = [name for name in every if name in faulty]
    return [subject, *due] if subject in faulty else due


def field_schema(rule: FieldRule, style: Style, forms: Sequence[str] = ()) -> Schema:
    """Return the shape of a field by its rule: a list where items, steps or sentences are due, else a text.

    Args:
        rule: of the field.
        style: how to ask.
        forms: the sentences that the text, or each of its items, may be.
    """
    if rule.must_have_steps:
        least = max(2, rule.min_items, rule.min_sentences)
        return style.items(least, least + 2, forms)
    if rule.min_items > 1:
        return style.items(rule.min_items, rule.min_items + 1, forms)
    if style.close and rule.min_sentences > 1:
        return style.items(rule.min_sentences, rule.min_sentences + 1, forms)
    return style.text(forms=forms)


def supports_name(field: str) -> str:
    """Return the key under which a close answer gives the lines that support a field."""
    return f"{field}_lines"


def cited_fields(preset: Preset, names: Sequence[str]) -> list[str]:
    """Return those of the fields that must cite, the position left out."""
    return [name for name in names if preset.rule(name).must_cite and name != preset.parts.position]


def derive_schema(brief: Brief, style: Style, excerpt: Excerpt, names: Sequence[str]) -> Schema:
    """Return the shape of some fields of a node with what they cite."""
    shape: dict[str, Schema] = {}
    for name in names:
        if style.close and name in cited_fields(brief.preset, [name]):
            lines = lines_schema(style, excerpt, 1, 2)
            if lines:
                shape[supports_name(name)] = lines
        shape[name] = field_schema(
            brief.preset.rule(name), style, forms_of(brief, name) if style.plain else ()
        )
    if not style.close:
        if not excerpt.empty:
            place = _place_schema()
            field = {"enum": [*(n for n in brief.preset.node_schema)]}
            properties = {"field": field, **place["properties"]}
            shape["citations"] = {"type": "array", "items": closed_object(properties)}
        if any(brief.preset.rule(name).numeric for name in names):
            shape["numeric_checks"] = {"type": "array", "items": _number_schema(names)}
    return closed_object(shape)


def _number_schema(names: Sequence[str]) -> Schema:
    text = {"type": "string"}
    return closed_object(
        {"field": {"enum": list(names)}, "claim": text, "expression": text, "expected": text}
    )


def judge_schema(brief: Brief, style: Style, excerpt: Excerpt) -> Schema:
    """Return the shape of the scores, and of the defense where the preset has a gate for one."""
    preset = brief.preset
    shape: dict[str, Schema] = {}
    if preset.gate("defense_shown") and not excerpt.empty:
        if style.close:
            proposal = brief.proposal
            lines = excerpt.answers(proposal.citations, CHOICES_MOST, proposal.statement) if proposal else []
            shape["answered_by"] = {"enum": ["NONE", *lines]}
        else:
            shape["defense_shown"] = {"type": "boolean"}
    score = {"type": "integer", "minimum": 0, "maximum": DIM_MAXIMUM}
    if style.close:
        score = {"enum": list(range(DIM_MAXIMUM + 1))}
        shape["weakest"] = style.text(LISTED_MOST)
    shape["scores"] = closed_object({key: dict(score) for key in preset.dim_keys()})
    if preset.parts.fix and preset.root_kind == "code" and not style.close:
        text = {"type": "string"}
        line = {"type": "integer", "minimum": 0}
        edit = closed_object({"path": text, "start": line, "end": line, "new": text})
        shape["edits"] = {"type": "array", "items": edit}
    return closed_object(shape)


def groups(names: Sequence[str], style: Style) -> list[list[str]]:
    """Return the fields in the parts they are asked in."""
    if not style.close:
        return [list(names)] if names else []
    count = -(-len(names) // FIELDS_PER_PART)
    size = -(-len(names) // count) if count else 1
    return [list(names[at : at + size]) for at in range(0, len(names), size)]


def join_schemas(schemas: Sequence[Schema]) -> Schema:
    """Return one shape with the keys of several."""
    properties: dict[str, Schema] = {}
    for schema in schemas:
        properties |= schema["properties"]
    return closed_object(properties)


# --- external and summarise -----------------------------------------------------------------------------


def texts_schema(style: Style, key: str, most: int) -> Schema:
    """Return the shape of a short list of texts under one key."""
    return closed_object({key: {"type": "array", "items": style.text(ITEM_MOST), "maxItems": most}})


def quotes_schema(addresses: Sequence[str]) -> Schema:
    """Return the shape of quotations from fetched pages."""
    quote = closed_object({"url": {"enum": list(addresses)}, "quote": {"type": "string"}})
    return closed_object({"citations": {"type": "array", "items": quote, "maxItems": 4}})


def summary_schema(brief: Brief, style: Style) -> Schema:
    """Return the shape of the report's narrative."""
    ids = [str(entry["id"]) for entry in brief.outline.get("best", [])]
    node: Schema = {"enum": ids} if ids else {"type": "string"}
    step = closed_object({"text": style.text(ITEM_MOST), "node": node})
    return closed_object(
        {
            "weirdest_branch": node,
            "why_weird": style.text(ITEM_MOST),
            "blind_spots": style.items(1, 2),
            "next_steps": {"type": "array", "items": step, "minItems": 1, "maxItems": 3},
            "narrative": style.text(500),
        }
    )


def about_field(brief: Brief, name: str) -> str:
    """Return one line that says what belongs in a field, and how much."""
    rule = brief.preset.rule(name)
    due = []
    if rule.must_have_steps:
        due.append("a list of steps")
    if rule.min_items > 1:
        due.append(f"at least {rule.min_items} items")
    if rule.min_sentences > 1:
        due.append(f"at least {rule.min_sentences} sentences")
    if rule.must_cite:
        due.append("cited")
    more = f" ({', '.join(due)})" if due else ""
    return f"- `{name}`{more}: {rule.about}"


def shown_field(name: str, value: object, most: int = 400) -> str:
    """Return a field that is already there, shortened."""
    text = " ".join(as_text(value if isinstance(value, str | list) else str(value)).split())
    return f"- {name}: {text[:most]}{'…' if len(text) > most else ''}"
