"""Puts a prompt together: what is due first, what is optional marked so that it is left out first when the context is small."""

from collections.abc import Sequence

from treewright.explore.rules.text import as_text
from treewright.explore.tasks import Brief, NodeView, TaskKind
from treewright.models.provider import Message, Section
from treewright.performers.model import small as close
from treewright.performers.model.evidence import Excerpt
from treewright.performers.model.material import Lead
from treewright.performers.model.prompts import prompt, small
from treewright.performers.model.shapes import Style, about_field, children_of, shown_field, verbatim
from treewright.presets.schema import Preset

COMMON_ENDS = "====="
"""Ends the part of a task that many tasks have in common."""
KNOWN_SHOWN = 8
"""Statements of the tree that a small model is shown."""
_FIELD_SHOWN = 240

# What goes first when the context is too small: the highest number.
_GLOSSARY, _FACTS_OF_PARENT, _PROFILE, _ROOT_FIELDS, _KNOWN = 6, 5, 4, 3, 2


def _due(text: str) -> Section:
    return Section(text=text)


def messages(
    brief: Brief, style: Style, task: str, excerpt: Excerpt, leads: Sequence[Lead] = ()
) -> tuple[Message, ...]:
    """Return the messages of one call.

    What many calls have in common comes first, so that a server can keep it.

    Args:
        brief: of the task.
        style: how to ask.
        task: what is asked in this part.
        excerpt: what can be cited.
        leads: static findings that belong to the task.
    """
    system = [_due(small("system") if style.close else prompt("system"))]
    if brief.language.output != "en":
        system.append(_due(prompt("language", language=brief.language.output)))
    common, marked, own = task.partition(COMMON_ENDS)
    common, task = (common.strip(), own.strip()) if marked else ("", task)
    cited = [] if excerpt.empty else [_due(prompt("excerpt", lines=excerpt.text()))]
    first = brief.preset.root_kind == "artifact"  # most tasks are shown the same part of a text
    sections = [*_root(brief, style), *(cited if first else []), *([_due(common)] if common else [])]
    sections += [*_lineage(brief), *([] if first else cited)]
    if leads:
        facts = "\n".join(f"- {lead.text}" for lead in leads)
        sections.append(Section(text=prompt("leads", facts=facts), name="static findings", priority=1))
    sections += _optional(brief, style)
    cite = "cite_none" if excerpt.empty else "cite_listed" if style.close else "cite_free"
    sections.append(_due(f"{task}\n\n{prompt(cite)}"))
    if faults := faults_of(brief):
        sections.append(_due(prompt("faults", faults=faults)))
    return (Message("system", tuple(system)), Message("user", tuple(sections)))


def _root(brief: Brief, style: Style) -> list[Section]:
    if brief.root is None:
        text = brief.root_spec.text or ("" if brief.root_spec.inferred else brief.root_spec.path)
        return [_due(prompt("root", statement=text))] if text else []
    sections = [_due(prompt("root", statement=brief.root.statement))]
    if brief.root.fields and not (
        style.close and (not brief.root.evidence or brief.root_spec.kind == "artifact")
    ):
        # what a small model says of a root without sources is its own invention, and it would copy it from here;
        # what it says of a text stands in the text, and it would talk about that in place of its line
        shown = "\n".join(shown_field(n, v, _FIELD_SHOWN) for n, v in brief.root.fields.items())
        text = prompt("root_fields", fields=shown)
        sections.append(Section(text=text, name="root fields", priority=_ROOT_FIELDS))
    return sections


def _lineage(brief: Brief) -> list[Section]:
    if not brief.lineage:
        return []
    parent = brief.lineage[-1]
    shown = prompt("lineage", label=brief.preset.subject_label, id=parent.id, statement=parent.statement)
    sections = [_due(shown)]
    fields = _telling(brief.preset, parent)
    if fields:
        text = prompt("lineage_fields", fields=fields)
        sections.append(Section(text=text, name="fields of the parent", priority=_FACTS_OF_PARENT))
    return sections


def _telling(preset: Preset, node: NodeView) -> str:
    parts = preset.parts
    names = [parts.evidence, parts.assumptions, parts.predictions, parts.defense, parts.fix]
    return "\n".join(shown_field(n, node.fields[n], _FIELD_SHOWN) for n in names if n and n in node.fields)


def _optional(brief: Brief, style: Style) -> list[Section]:
    found: list[Section] = []
    if brief.known and brief.task.kind is TaskKind.PROPOSE:
        most = KNOWN_SHOWN if style.close else len(brief.known)
        text = "\n".join(f"- {statement[:160]}" for statement in brief.known[-most:])
        known = small("known", statements=text) if style.close else prompt("known", statements=text)
        found.append(Section(text=known, name="known statements", priority=_KNOWN))
    if brief.profile_notes:
        text = prompt("profile", notes=brief.profile_notes)
        found.append(Section(text=text, name="field profile", priority=_PROFILE))
    if brief.glossary:
        terms = "\n".join(f"- {term}: {meaning}" for term, meaning in list(brief.glossary.items())[:20])
        found.append(Section(text=prompt("glossary", terms=terms), name="glossary", priority=_GLOSSARY))
    return found


def faults_of(brief: Brief) -> str:
    """Return what the last answer of a repeated ground or propose lacked; a revision has it in its task."""
    if brief.task.kind not in (TaskKind.GROUND, TaskKind.PROPOSE):
        return ""
    return "\n".join(f"- {violation.message}" for violation in brief.violations[:6])


def ground_task(brief: Brief, names: Sequence[str]) -> str:
    """Return what is asked of a root, or of some of its fields."""
    wanted = {field.name: field for field in brief.preset.root_schema(brief.mode).fields}
    lines = []
    for name in names:
        least = f" (at least {wanted[name].min_items} items)" if wanted[name].min_items > 1 else ""
        lines.append(f"- `{name}`{least}: {wanted[name].about}")
    parts = [prompt("ground.task", fields="\n".join(lines))]
    if not verbatim(brief):
        parts.append(prompt("ground.statement"))
    if brief.root_spec.inferred:
        parts.append(prompt("ground.inferred"))
    if brief.options.get("seed_from"):
        parts.append(prompt("ground.seeded"))
    return "\n\n".join(parts)


def propose_task(brief: Brief, style: Style, *, citing: bool = True, places: Sequence[str] = ()) -> str:
    """Return what is asked of a framing.

    Args:
        brief: of the task.
        style: how to ask.
        citing: whether there are lines to cite.
        places: the lines of a text that a small model is to talk about; none where it may choose.
    """
    framing, preset = brief.framing, brief.preset
    assert framing is not None
    need = framing.requirement
    if style.close:
        return "\n".join([close.propose_task(brief, citing=citing, places=places), *_demands(brief)])
    count = children_of(brief)
    label = preset.subject_label
    parts = [
        prompt(
            "propose.task",
            count=count,
            label=label,
            plural="s" if count > 1 else "",
            node="the root" if brief.task.node == "0" else brief.task.node,
            parent=label if brief.lineage else "root",
            framing=framing.instruction(preset),
            about=preset.rule(preset.parts.subject).about,
            subject="this root" if not brief.root else brief.root.statement[:160].rstrip("."),
        )
    ]
    if preset.parts.position:
        parts.append(prompt("propose.position", label=label))
    if need.listed and not brief.task.replaces:
        parts.append(prompt("propose.listed", count=need.listed, what=need.listed_as))
    if need.labels and not brief.task.replaces:
        parts.append(prompt("propose.labels", labels=", ".join(need.labels)))
    return "\n".join([*parts, *_demands(brief)])


def _demands(brief: Brief) -> list[str]:
    need = brief.framing.requirement if brief.framing else None
    found = []
    if need is not None and need.new_branch:
        found.append(prompt("propose.new_branch"))
    if need is not None and need.high_risk:
        found.append(prompt("propose.high_risk"))
    if brief.obstacle:
        found.append(prompt("propose.obstacle", obstacle=brief.obstacle))
    return found


def draft_of(brief: Brief) -> str:
    """Return what the proposal already says."""
    proposal = brief.proposal
    if proposal is None:
        return ""
    lines = [
        shown_field("evidence", proposal.evidence) if proposal.evidence else "",
        shown_field("assumptions", list(proposal.assumptions)) if proposal.assumptions else "",
        shown_field("predictions", list(proposal.predictions)) if proposal.predictions else "",
        shown_field("against it", proposal.defense) if proposal.defense else "",
        f"- place: {proposal.position}" if proposal.position else "",
    ]
    return "\n".join(line for line in lines if line)


def statement_of(brief: Brief) -> str:
    """Return the statement of the node that is worked out."""
    if brief.previous is not None:
        return as_text(brief.previous.fields.get(brief.preset.parts.subject, ""))
    return brief.proposal.statement if brief.proposal else ""


def derive_task(
    brief: Brief, style: Style, names: Sequence[str], filled: dict[str, object], *, cites: bool
) -> str:
    """Return what is asked of some fields of a node."""
    preset = brief.preset
    if brief.task.kind is TaskKind.REVISE:
        faults = [v for v in brief.violations if v.field in names or not v.field]
        told = "\n".join(
            f"- `{v.field}`: {v.message}" + (f" (“{v.quote}”)" if v.quote else "") for v in faults
        )
        text = prompt("revise.task", label=preset.subject_label, statement=statement_of(brief), faults=told)
        if not style.close and brief.previous:  # a small model copies what it is shown, faults and all
            now = {name: brief.previous.fields[name] for name in names if name in brief.previous.fields}
            filled = {**now, **filled}
    elif style.close:
        parts = [close.derive_task(brief, statement_of(brief), draft_of(brief), filled, names)]
        return "\n\n".join([*parts, *_of_fields(brief, style, names, cites=cites)])
    else:
        text = prompt(
            "derive.task", label=preset.subject_label, statement=statement_of(brief), draft=draft_of(brief)
        )
    parts = [text]
    if filled:
        shown = "\n".join(shown_field(n, v, _FIELD_SHOWN) for n, v in filled.items())
        parts.append(prompt("derive.done", fields=shown))
    if names:
        due = "\n".join(about_field(brief, name) for name in names)
        parts.append(close.fields_due(brief, names) if style.close else prompt("derive.fields", fields=due))
    return "\n\n".join([*parts, *_of_fields(brief, style, names, cites=cites)])


def _of_fields(brief: Brief, style: Style, names: Sequence[str], *, cites: bool) -> list[str]:
    """Return what some fields ask for beside their texts: checks of numbers, lines that support them."""
    preset = brief.preset
    parts = []
    numeric = [name for name in names if preset.rule(name).numeric]
    if numeric:
        which = "numbers_none" if style.close else "numbers_free"
        parts.append(prompt(f"derive.{which}", names=" and ".join(f"`{name}`" for name in numeric)))
    if style.close and cites:
        citing = [name for name in names if preset.rule(name).must_cite]
        parts += [prompt("derive.supports", field=f"{name}_lines") for name in citing]
    return parts


def judge_task(brief: Brief, style: Style, excerpt: Excerpt, filled: dict[str, object] | None = None) -> str:
    """Return how scores, and the defense where it decides, are asked for; a small model is shown what was `filled` in."""
    preset = brief.preset
    dims = "\n".join(f"- `{dim.key}` {dim.name}. {dim.desc}" for dim in preset.score_dims)
    parts = [prompt("derive.scores", dims=dims)]
    if style.close:
        parts = [close.judge_task(brief, statement_of(brief), filled or {})]
    if preset.gate("defense_shown") and not excerpt.empty:
        name = "derive.defense_listed" if style.close else "derive.defense"
        parts.append(prompt(name, **({"field": "answered_by"} if style.close else {})))
    if preset.parts.fix and preset.root_kind == "code" and not style.close:
        parts.append(prompt("derive.fix"))
    return "\n\n".join(parts)


def outline_of(brief: Brief) -> str:
    """Return the figures and the best nodes that a summary starts from."""
    best = [
        f"- {entry['id']} ({entry['score']}): {str(entry['statement'])[:200]}"
        for entry in brief.outline.get("best", [])
    ]
    figures = ", ".join(f"{count} {label}" for label, count in brief.outline.get("by_label", {}).items())
    return "\n".join([f"{brief.outline.get('nodes', 0)} nodes: {figures}", *best])
