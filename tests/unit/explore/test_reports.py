"""What a run puts out."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from tests.unit.explore.growing import CITATION, MemoryRun, none_verified, seeded
from treewright.errors import RequestError
from treewright.explore.reports.deliverables import deliverables, selected
from treewright.explore.reports.document import tree_json
from treewright.explore.reports.inert import inert
from treewright.explore.reports.markdown import code_span, node_markdown, tree_markdown
from treewright.explore.reports.page import page
from treewright.explore.reports.picture import picture
from treewright.explore.reports.radial import layout
from treewright.explore.reports.record import node_record
from treewright.explore.reports.report import report
from treewright.explore.reports.sarif import sarif
from treewright.explore.tasks import Brief, DeriveResult, Result, TaskKind
from treewright.tree.citation import Edit
from treewright.tree.run import Role

HOSTILE = "</script><img src=x onerror=alert(1)> [run](command:evil) ]]> \u2028 & \"q\" 'x'"


def hostile(brief: Brief) -> Result:
    """Answer as usual, with text that tries to get out."""
    result = seeded(advance=40)(brief)
    if isinstance(result, DeriveResult):
        fields = dict(result.body.fields) | {brief.preset.node_schema[4]: [HOSTILE, f"# heading\n{HOSTILE}"]}
        edits = [Edit(path="a.py", start=1, end=1, old="x = 1\n", new="x = 2\n")]
        body = result.body.model_copy(update={"fields": fields, "edits": edits, "cwe": "CWE-89"})
        return DeriveResult(body=body)
    return result


BRAINSTORM = MemoryRun().grow(seeded(advance=40))
DESIGN = MemoryRun("design").grow(seeded(advance=40))
AUDIT = MemoryRun("code-audit").grow(hostile)


def written(run: MemoryRun) -> dict[str, str]:
    """Return a run's deliverables by name."""
    return {name: "".join(parts) for name, parts in deliverables(run.tree, run.materials.preset, run)}


@pytest.mark.requirement("exploration:output:tree-md")
def test_the_outline_shows_every_node_with_its_verdict_below_its_parent() -> None:
    text = "".join(tree_markdown(BRAINSTORM.tree, BRAINSTORM.materials.preset, BRAINSTORM, "Title"))
    outline = text.split("\n## ")[0]
    for node in BRAINSTORM.tree.nodes.values():
        assert re.search(rf"^{'  ' * node.depth}- {re.escape(node.id)} \[", outline, re.MULTILINE)
        section = text.split(f"\n## {node.id}\n")[1].split("\n## ")[0]
        if node.parent is not None:
            assert f"parent: {node.parent}, framing {node.framing}" in section
            assert f"sum {node.total}" in section
            for field in BRAINSTORM.materials.preset.node_schema:
                assert f"**{field}**" in section
        if node.children:
            assert ", ".join(node.children) in section


@pytest.mark.requirement("exploration:output:deliverables")
def test_the_primary_file_has_one_section_an_entry_best_first() -> None:
    text = written(BRAINSTORM)["shortlist.md"]
    ids = re.findall(r"^## (\S+)$", text, re.MULTILINE)
    totals = [BRAINSTORM.tree.nodes[node].total for node in ids]
    assert len(ids) == sum(1 for n in BRAINSTORM.tree.descendants() if n.role is Role.ADVANCES and n.counts)
    assert totals == sorted(totals, reverse=True)


@pytest.mark.requirement("exploration:output:options")
def test_a_design_has_a_trade_off_table_and_a_file_for_each_option() -> None:
    files = written(DESIGN)
    ids = re.findall(r"^## (\S+)$", files["options.md"], re.MULTILINE)
    assert ids
    assert {f"option_{node}.md" for node in ids} <= set(files)
    assert "| trade_offs |" in files["options.md"] or "trade_offs" in files["options.md"].split("## ")[0]
    assert files["options.md"].count("\n| ") == len(ids) + 2


@pytest.mark.requirement("exploration:preset:refuted-lists-defended")
def test_refuted_lists_only_nodes_with_a_shown_defense() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node == "B1":
            shown = CITATION.model_copy(update={"field": "mitigation_present"})
            body = result.body.model_copy(
                update={"defense_shown": True, "citations": [*result.body.citations, shown]}
            )
            return DeriveResult(body=body)
        return result

    run = MemoryRun("code-audit").grow(answer)
    assert [n.id for n in selected(run.tree, run.materials.preset, "refuted")] == ["B1"]
    assert sum(1 for n in run.tree.descendants() if n.role is Role.PRUNED) > 1
    assert re.findall(r"^## (\S+)$", written(run)["refuted.md"], re.MULTILINE) == ["B1"]


def test_a_defense_that_is_only_claimed_refutes_nothing() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node == "B1":
            return DeriveResult(body=result.body.model_copy(update={"defense_shown": True}))
        return result

    run = MemoryRun("code-audit").grow(answer)
    assert selected(run.tree, run.materials.preset, "refuted") == []


@pytest.mark.requirement("exploration:output:report")
def test_the_report_says_everything_that_the_contract_lists() -> None:
    text = "".join(report(BRAINSTORM.tree, BRAINSTORM.materials.preset, BRAINSTORM))
    for title in (
        "Top ideas",
        "Tree",
        "Rounds",
        "Conditions",
        "Framings on the root",
        "Self-audit",
        "Deferral audit (F8)",
        "Evidence",
        "Spend",
        "Next steps",
    ):
        assert f"\n## {title}\n" in text
    assert text.startswith("# Report: Root of s.\n\n**CONVERGED**")
    assert "NEEDS-MORE-INFO | 0 |" in text
    assert "First action:" in text
    assert "(100 %)" in text


def test_a_report_of_an_unfinished_run_can_be_made_at_any_moment() -> None:
    for limit in range(0, 60, 7):
        run = MemoryRun().grow(seeded(advance=40), limit=limit)
        text = "".join(report(run.tree, run.materials.preset, run))
        assert "**GROWING**" in text
        json.loads("".join(tree_json(run.tree, run.materials.preset, run)))
        assert "".join(page(run.tree, run.materials.preset, run, "t")).endswith("</html>\n")


@pytest.mark.requirement("exploration:output:tree-json")
def test_tree_json_has_every_node_with_its_fields_and_citation_states() -> None:
    document = json.loads("".join(tree_json(AUDIT.tree, AUDIT.materials.preset, AUDIT)))
    assert document["tree"][0]["id"] == "0"
    assert len(document["tree"]) == len(AUDIT.tree.nodes) == document["nodes"] + 1
    node = next(n for n in document["tree"] if n["id"] == "A1")
    assert set(AUDIT.materials.preset.node_schema) <= set(node["fields"])
    assert node["citations"][0]["state"] == "verified"
    assert document["status"] == "CONVERGED"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.data = ""
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self._in = tag if dict(attrs).get("type") == "application/json" else ""

    def handle_data(self, data: str) -> None:
        if self._in:
            self.data += data


@pytest.mark.requirement("exploration:output:html")
def test_the_page_is_one_file_that_text_of_nodes_cannot_get_out_of() -> None:
    text = "".join(page(AUDIT.tree, AUDIT.materials.preset, AUDIT, HOSTILE))
    parsed = _Page()
    parsed.feed(text)
    assert parsed.tags.count("script") == 2
    assert "img" not in parsed.tags
    assert parsed.handlers == []
    assert not re.search(r'(?:src|href)="', text.split("</style>")[0])
    data = json.loads(parsed.data)
    assert HOSTILE in data["tree"][1]["fields"][AUDIT.materials.preset.node_schema[4]]
    assert "default-src 'none'" in text


@pytest.mark.requirement("exploration:output:svg")
def test_the_picture_is_sound_svg_with_a_dot_a_node_and_a_ring_a_level() -> None:
    text = "".join(picture(AUDIT.tree, AUDIT.materials.preset, HOSTILE))
    root = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    dots = [c for c in root.iter(f"{space}circle") if c.find(f"{space}title") is not None]
    assert len(dots) == len(AUDIT.tree.nodes)
    depth = max(n.depth for n in AUDIT.tree.nodes.values())
    assert len({round(p.radius) for p in layout(AUDIT.tree).values()}) == depth + 1
    fills = {c.get("fill") for c in dots}
    assert "#1a7f4e" in fills


@pytest.mark.requirement("exploration:output:sarif")
def test_sarif_has_one_result_a_standing_finding_with_fix_and_rule() -> None:
    log = json.loads("".join(sarif(AUDIT.tree, AUDIT.materials.preset, AUDIT)))
    run = log["runs"][0]
    standing = [n for n in AUDIT.tree.descendants() if n.counts and n.role in (Role.ADVANCES, Role.KEPT)]
    assert len(run["results"]) == len(standing) > 0
    for result in run["results"]:
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a.py"
        replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
        assert replacement["insertedContent"]["text"] == "x = 2\n"
    assert {r["id"] for r in run["tool"]["driver"]["rules"]} == {r["ruleId"] for r in run["results"]}


def test_an_accepted_finding_is_suppressed_and_stays_in_the_log() -> None:
    first = json.loads("".join(sarif(AUDIT.tree, AUDIT.materials.preset, AUDIT)))["runs"][0]["results"][0]
    mark = first["partialFingerprints"]["treewright/v1"]
    log = json.loads("".join(sarif(AUDIT.tree, AUDIT.materials.preset, AUDIT, {mark: "known and bounded"})))
    result = next(r for r in log["runs"][0]["results"] if r["partialFingerprints"]["treewright/v1"] == mark)
    assert result["suppressions"][0]["justification"] == "known and bounded"


def test_sarif_of_anything_but_code_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        list(sarif(BRAINSTORM.tree, BRAINSTORM.materials.preset, BRAINSTORM))
    assert caught.value.code == "not_code"


@pytest.mark.requirement("exploration:output:long-fields")
def test_a_field_of_over_a_hundred_lines_is_pointed_to() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node == "A1":
            fields = dict(result.body.fields) | {"derivation": [f"Step {'x' * 3}." for _ in range(150)]}
            return DeriveResult(body=result.body.model_copy(update={"fields": fields}))
        return result

    run = MemoryRun().grow(answer)
    record = node_record(run.materials.preset, run, run.tree.nodes["A1"])
    assert "See [nodes/A1.md](nodes/A1.md)." in node_markdown(record, files=True)
    assert node_markdown(record).count("Step xxx.") == 150


@pytest.mark.requirement("exploration:evidence:states-shown")
def test_a_node_shows_its_citations_with_their_states() -> None:
    def answer(brief: Brief) -> Result:
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer, verify=none_verified)
    node = next(n for n in run.tree.descendants() if n.checked_at >= 0)
    text = node_markdown(node_record(run.materials.preset, run, node))
    assert "unverified [NEEDS_VERIFICATION]" in text


def test_prose_cannot_open_headings_html_or_command_links() -> None:
    text = inert("# no\n<b>x</b>\n[go](command:x) [ok](https://a.b) [here](a.py:3)\n```\n# code <i>\n")
    assert text.splitlines()[0] == "\\# no"
    assert "&lt;b>" in text
    assert "](command:" not in text
    assert "[ok](https://a.b)" in text
    assert "[here](a.py:3)" in text
    assert "# code <i>" in text
    assert text.count("```") == 2


@pytest.mark.parametrize("text", ["a`b", "``", "`a", "a", "x ``` y"])
def test_a_code_span_is_not_closed_by_its_own_text(text: str) -> None:
    span = code_span(text)
    ticks = re.match(r"`+", span)
    assert ticks
    assert span.endswith(ticks[0])
    assert ticks[0] not in span[len(ticks[0]) : -len(ticks[0])].replace(" ", "x") or len(ticks[0]) > 1


def test_every_task_kind_is_asked_at_least_once_in_a_whole_run() -> None:
    kinds = {task.partition("/")[0] for task in BRAINSTORM.done}
    assert {TaskKind.GROUND.value, "propose", "derive", "verify", "summarise"} <= kinds
