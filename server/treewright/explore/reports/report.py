"""`REPORT.md`: what came of a run, and what it stands on (contract: exploration, 8)."""

from collections.abc import Iterator, Mapping

from treewright.counted import counted
from treewright.explore.convergence import FRAMINGS, conditions, terminal_count
from treewright.explore.ports import Bodies
from treewright.explore.reports.markdown import code_span, one_line
from treewright.explore.reports.record import node_record, ranked, standing, verified_share
from treewright.explore.rules.text import items
from treewright.presets.schema import Preset
from treewright.tree import event as e
from treewright.tree.body import FieldValue
from treewright.tree.fold import Tree
from treewright.tree.ids import ROOT
from treewright.tree.node import Node
from treewright.tree.run import Role

TOP = 5
"""Deliverables named in the report."""
LISTED = 25
"""Lines of a list before the rest is only counted."""


def report(
    tree: Tree, preset: Preset, bodies: Bodies, decided: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the report section by section.

    Args:
        decided: node id to why a finding does not count any more; these are listed in a section of their own.
    """
    yield _status(tree, preset)
    yield _top(tree, preset, bodies)
    yield _decided(tree, preset, bodies, decided or {})
    yield _figures(tree, preset)
    yield _rounds(tree)
    yield _conditions(tree)
    yield _framings(tree, bodies)
    yield _self_audit(tree, preset, bodies)
    yield _deferrals(tree, preset)
    yield _evidence(tree, bodies)
    yield _spend(tree)
    yield _next_steps(tree, bodies)


def _decided(tree: Tree, preset: Preset, bodies: Bodies, decided: Mapping[str, str]) -> str:
    """What was accepted or dismissed before: out of the way, but never out of sight."""
    if not decided:
        return ""
    lines = ["## Decided before", "", f"{len(decided)} of the findings count no longer:", ""]
    for node, why in list(decided.items())[:LISTED]:
        record = node_record(preset, bodies, tree.nodes[node])
        lines.append(f"- {node} {code_span(record.node.position)}: {one_line(why)}")
    if len(decided) > LISTED:
        lines.append(f"- and {len(decided) - LISTED} more")
    return "\n".join(lines) + "\n\n"


def _status(tree: Tree, preset: Preset) -> str:
    started = tree.started
    assert started is not None
    named = f"{tree.status.value}={tree.reason}" if tree.status.value == "EARLY_STOP" else tree.status.value
    lines = [
        f"# Report: {one_line(tree.root.statement or started.root.text or started.root.path)}",
        "",
        f"**{named}**" + (f" — {one_line(tree.reason)}" if tree.reason and "=" not in named else ""),
        "",
        f"- preset: {preset.name}, performer: {started.performer or 'unknown'}",
        f"- run: {started.run}, started {started.at}",
        f"- language: {started.language.output} ({started.language.source})",
        f"- caps: {_caps(tree)}",
    ]
    if started.performer == "static":
        lines.append("- evidence: static analysis only; no language model took part")
    if tree.option("no_grill", False):
        lines.append("- the glossary step was skipped, so convergence is not claimed strongly")
    if why := str(tree.details.get("why") or ""):
        lines.append(f"- why: {one_line(why)}")
    if tree.details.get("unfinished"):
        lines.append(f"- unfinished: {', '.join(tree.details['unfinished'][:LISTED])}")
    return "\n".join(lines) + "\n\n"


def _caps(tree: Tree) -> str:
    given = {k: v for k, v in tree.caps.model_dump().items() if v is not None}
    if tree.started and tree.started.performer == "static":
        given.pop("spend_usd", None)  # nothing is called that costs
    return ", ".join(f"{name} {value}" for name, value in given.items()) or "none"


def first_action(preset: Preset, fields: dict[str, FieldValue]) -> str:
    """Return the first concrete thing to do about a node: the head of its fix, else of its potential, else nothing."""
    parts = preset.parts
    for name in (parts.fix, parts.potential, parts.predictions):
        found = items(fields.get(name or "", ""))
        if found:
            return found[0]
    return ""


def _top(tree: Tree, preset: Preset, bodies: Bodies) -> str:
    best = ranked(preset, standing(tree, Role.ADVANCES))
    lines = [f"## Top {preset.subject_label}s", ""]
    if best:
        lines += ["The figure in brackets is the sum of the five scores, at most 15.", ""]
    else:
        lines.append(f"No {preset.subject_label} is {preset.label(Role.ADVANCES)}.")
    for node in best[:TOP]:
        record = node_record(preset, bodies, node)
        lines.append(f"1. **{node.id}** ({node.total}) {one_line(node.statement)}")
        if action := first_action(preset, record.fields):
            lines.append(f"   First action: {one_line(action)}")
    more = len(best) - TOP
    if more > 0:
        lines += ["", f"{more} more in {preset.output_artifacts.primary}."]
    return "\n".join(lines) + "\n\n"


def _listed(title: str, nodes: list[Node]) -> list[str]:
    lines = ["", f"### {title}: {len(nodes)}", ""]
    for n in nodes[:LISTED]:
        why = f" — {one_line(n.reasons[-1])}" if len(n.reasons) > 1 else ""
        lines.append(f"- {n.id} ({n.total}) {one_line(n.statement)}{why}")
    if len(nodes) > LISTED:
        lines.append(f"- and {len(nodes) - LISTED} more in tree.md")
    return lines if nodes else []


def _figures(tree: Tree, preset: Preset) -> str:
    counting = [n for n in tree.descendants() if n.counts]
    merged = sum(1 for n in tree.descendants() if n.merged_into)
    deepest = max((n.depth for n in tree.descendants()), default=0)
    shape = (
        f"{counted(len(tree.nodes) - 1, 'node')}, {terminal_count(tree)} terminal, depth {deepest}, "
        f"{counted(len(tree.rounds), 'round')}, {merged} merged."
    )
    lines = [
        "## Tree",
        "",
        shape,
        "",
        "| verdict | nodes |",
        "| --- | --- |",
    ]
    lines += [f"| {preset.label(role)} | {sum(1 for n in counting if n.role is role)} |" for role in Role]
    aside = {
        "merged": merged,
        "superseded": sum(1 for n in tree.descendants() if n.superseded_by),
        "unresolved": sum(1 for n in tree.descendants() if n.unresolved),
    }
    lines += [f"| {name} | {count} |" for name, count in aside.items() if count]
    lines += _listed(preset.label(Role.KEPT), ranked(preset, standing(tree, Role.KEPT)))
    lines += _listed(preset.label(Role.PRUNED), ranked(preset, standing(tree, Role.PRUNED)))
    return "\n".join(lines) + "\n\n"


def _rounds(tree: Tree) -> str:
    lines = ["## Rounds", "", "| round | expanded | new nodes | converging |", "| --- | --- | --- | --- |"]
    lines += [f"| {r.number} | {len(r.frontier)} | {r.new_nodes} | {r.new_converging} |" for r in tree.rounds]
    return "\n".join(lines) + "\n\n"


def _conditions(tree: Tree) -> str:
    lines = ["## Conditions", "", "| | condition | met | figures |", "| --- | --- | --- | --- |"]
    for state in conditions(tree):
        figures = ", ".join(
            f"{k} {v}" for k, v in state.figures.items() if v not in ([], "", None, False, True)
        )
        if state.figures.get("frontier_empty"):
            figures += "; met because nothing is left to expand"
        lines.append(
            f"| {state.number} | {state.name} | {'yes' if state.met else 'no'} | {one_line(figures)} |"
        )
    return "\n".join(lines) + "\n\n"


def _framings(tree: Tree, bodies: Bodies) -> str:
    lines = ["## Framings on the root", ""]
    records = {r.framing: r for r in tree.records if r.node == ROOT}
    for letter in FRAMINGS:
        how = tree.root_fired.get(letter, "not fired")
        line = f"- {letter}: {how}"
        if letter in records and how != "answered":
            record = records[letter]
            event = bodies.read(record.at)
            examined = event.examined if isinstance(event, e.FramingAnswered) else None
            if examined:
                line += f"; {counted(examined.sites, 'site')}, {counted(len(examined.questions), 'question')}"
                line += f": {one_line(examined.note)}" if examined.note else ""
            else:
                line += f": {one_line(record.reason)}"
        lines.append(line)
    elsewhere = sum(1 for r in tree.records if r.node != ROOT)
    if elsewhere:
        lines += [
            "",
            f"Below the root, {counted(elsewhere, 'framing')} brought no child; each is in the journal with its reason.",
        ]
    for node, reason in list(tree.void_passes.items())[:LISTED]:
        lines.append(f"- the pass of {node} is void: {one_line(reason)}")
    return "\n".join(lines) + "\n\n"


def _summary(tree: Tree, bodies: Bodies) -> e.Summarised | None:
    event = bodies.read(tree.summarised_at) if tree.summarised_at >= 0 else None
    return event if isinstance(event, e.Summarised) else None


def _self_audit(tree: Tree, preset: Preset, bodies: Bodies) -> str:
    summary = _summary(tree, bodies)
    high_risk = [n for n in tree.descendants() if n.framing == "K" and n.scores and n.counts]
    advancing = sum(1 for n in high_risk if n.role is Role.ADVANCES)
    lines = ["## Self-audit", ""]
    if summary and summary.narrative:
        lines += [one_line(summary.narrative), ""]
    weird = summary.weirdest_branch if summary else ""
    lines.append(f"- weirdest branch: {one_line(weird) or _weirdest(tree)}")
    lines.append(
        f"- framing K: {counted(len(high_risk), 'branch', 'branches')} derived, {advancing} {preset.label(Role.ADVANCES)}"
    )
    blind = summary.blind_spots if summary else []
    lines += [f"- blind spot: {one_line(text)}" for text in blind]
    if not blind:
        lines.append("- blind spots: none named")
    return "\n".join(lines) + "\n\n"


def _weirdest(tree: Tree) -> str:
    """Name the standing node whose statement shares least with its siblings'."""
    from treewright.explore.merging import cosine, trigrams

    nodes = [n for n in tree.children(ROOT) if n.counts][:60]
    grams = {n.id: trigrams(n.statement) for n in nodes}
    best, lowest = "", 2.0
    for node in nodes:
        nearest = max((cosine(grams[node.id], grams[o.id]) for o in nodes if o is not node), default=0.0)
        if nearest < lowest:
            best, lowest = f"{node.id} (nearest sibling at cosine {nearest:.2f})", nearest
    return best or "none"


def _deferrals(tree: Tree, preset: Preset) -> str:
    superseded = [n for n in tree.descendants() if n.superseded_by]
    unresolved = [n for n in tree.descendants() if n.unresolved]
    blocked = [n for n in tree.descendants() if n.role is Role.BLOCKED and n.counts]
    lines = [
        "## Deferral audit (F8)",
        "",
        f"{preset.label(Role.BLOCKED)}: {len(blocked)}; superseded: {len(superseded)}; unresolved: {len(unresolved)}.",
    ]
    lines += [
        f"- {n.id} superseded by {n.superseded_by}: {one_line('; '.join(n.reasons))}"
        for n in superseded[:LISTED]
    ]
    lines += [f"- {n.id} unresolved: {one_line('; '.join(n.reasons))}" for n in unresolved[:LISTED]]
    return "\n".join(lines) + "\n\n"


def _evidence(tree: Tree, bodies: Bodies) -> str:
    holds, total = verified_share(tree)
    share = f"{100 * holds / total:.0f} %" if total else "none were given"
    lines = ["## Evidence", "", f"Citations that hold: {holds} of {total} ({share})."]
    event = bodies.read(tree.grounded_at) if tree.grounded_at >= 0 else None
    if isinstance(event, e.Grounded):
        lines += [
            "",
            f"Read: {counted(len(event.read), 'file')}." if event.read else "Read: the root as given.",
        ]
        if event.unread:
            lines += ["", f"Not read: {len(event.unread)}", ""]
            lines += [
                f"- {code_span(entry.get('path', ''))}: {one_line(entry.get('reason', ''))}"
                for entry in event.unread[: LISTED * 4]
            ]
            if len(event.unread) > LISTED * 4:
                lines.append(f"- and {len(event.unread) - LISTED * 4} more, all in the journal")
    return "\n".join(lines) + "\n\n"


def _spend(tree: Tree) -> str:
    s = tree.spend
    if not s.calls:
        return "## Spend\n\nNothing: no language model was called.\n\n"
    return (
        f"## Spend\n\n{s.usd:.4f} USD; {counted(s.calls, 'call')}, {s.prompt_tokens} prompt and {s.completion_tokens} "
        f"completion tokens, {s.seconds:.0f} s of model time.\n\n"
    )


def _next_steps(tree: Tree, bodies: Bodies) -> str:
    summary = _summary(tree, bodies)
    lines = ["## Next steps", ""]
    steps = summary.next_steps[:3] if summary else []
    for step in steps:
        node = str(step.get("node", ""))
        evidence = f" (evidence: {node})" if node in tree.nodes else ""
        lines.append(f"1. {one_line(str(step.get('text', '')))}{evidence}")
    if not steps:
        best = sorted(standing(tree, Role.ADVANCES), key=lambda n: -n.total)[:3]
        lines += [f"1. Act on {n.id}: {one_line(n.statement)} (evidence: {n.id})" for n in best]
        if not best:
            lines.append("1. Nothing advances; read the kept nodes, or widen the root.")
    return "\n".join(lines) + "\n"
