"""The four shipped presets are what the contract says they are."""

import pytest

from treewright.data import shipped_path
from treewright.presets.framings import LETTERS
from treewright.presets.loader import list_presets, load_preset, parse_preset
from treewright.presets.schema import Preset
from treewright.tree.run import Role

NAMES = ("brainstorm", "attack", "design", "code-audit")
TABLE = {
    "brainstorm": {
        "kind": ("topic", "idea"),
        "labels": ["PROMISING", "MARGINAL", "DEAD-END", "NEEDS-MORE-INFO"],
        "dims": "S scientific-value, N novelty, F feasibility, K falsifiability, B branch-potential",
        "fields": "idea_statement, parent_framing, derivation, assumptions, predictions, falsifiability, "
        "novelty_vs_literature, feasibility, risks, branch_potential, external_resources, verdict_provisional",
        "primary": "shortlist.md",
        "secondary": {"blocked": "pending.md", "kept": "marginal.md"},
        "sort": (),
    },
    "attack": {
        "kind": ("artifact", "critique"),
        "labels": ["CONFIRMED", "MARGINAL", "REFUTED", "INCOMPLETE_FORBIDDEN"],
        "dims": "S severity, P specificity, R reproducibility, F fixability, B sub-critique-fan-out",
        "fields": "critique_statement, parent_framing, artifact_position, evidence, assumptions, predictions, "
        "artifact_defense, alternative_interpretations, proposed_fix, external_check, sub_critique_potential, "
        "verdict_provisional",
        "primary": "confirmed.md",
        "secondary": {"kept": "marginal.md", "refuted": "refuted.md"},
        "sort": ("S",),
    },
    "design": {
        "kind": ("design-prompt", "option"),
        "labels": ["RECOMMENDED", "VIABLE", "NOT-RECOMMENDED", "NEEDS-MORE-INFO"],
        "dims": "V value, R reversibility, C cost, F fit-with-constraints, E evidence-strength",
        "fields": "option_statement, parent_framing, mechanism, assumptions, predictions, trade_offs, prior_art, "
        "implementation_cost, operational_risks, migration_path, external_dependencies, verdict_provisional",
        "primary": "options.md",
        "secondary": {"kept": "viable.md", "pruned": "rejected.md", "blocked": "pending.md"},
        "sort": (),
    },
    "code-audit": {
        "kind": ("code", "finding"),
        "labels": ["CONFIRMED", "MARGINAL", "REFUTED", "INCOMPLETE_FORBIDDEN"],
        "dims": "S severity, P position-specificity, R reproducibility, F fixability, X exploit-likelihood",
        "fields": "finding_statement, parent_framing, code_position, root_cause, assumptions, exploit_path, "
        "mitigation_present, alternative_interpretations, proposed_fix, threat_model_context, related_findings, "
        "verdict_provisional",
        "primary": "findings.md",
        "secondary": {"kept": "marginal.md", "refuted": "refuted.md"},
        "sort": ("S", "X"),
    },
}
MINIMUMS = {
    ("brainstorm", "research"): {"current_research_topic": 1, "stable_work": 0, "open_problems": 0, "implicit_assumptions": 5},
    ("brainstorm", "problem"): dict.fromkeys(
        ["problem_statement", "hard_constraints", "soft_preferences", "already_tried", "known_failure_modes", "success_criteria"], 0
    ),
    ("attack", "default"): {"central_claim": 1, "method_skeleton": 0, "key_evidence": 0, "explicit_assumptions": 3, "implicit_assumptions": 5},
    ("design", "default"): {"goal_statement": 1, "hard_constraints": 3, "soft_preferences": 0, "non_goals": 2, "current_state_summary": 0, "prior_art_observed": 0},
    ("code-audit", "default"): dict.fromkeys(
        ["target_summary", "entry_points", "inputs_from_caller", "external_dependencies", "threat_surface", "deployment_context"], 0
    ),
}  # fmt: skip


@pytest.fixture(params=NAMES)
def preset(request: pytest.FixtureRequest) -> Preset:
    return load_preset(request.param)


@pytest.mark.requirement("exploration:preset:shipped-four")
def test_it_has_the_fixed_names_labels_dimensions_fields_and_files(preset: Preset) -> None:
    due = TABLE[preset.name]
    assert (preset.root_kind, preset.subject_label) == due["kind"]
    assert [preset.label(role) for role in Role] == due["labels"]
    assert ", ".join(f"{d.key} {d.name}" for d in preset.score_dims) == due["dims"]
    assert ", ".join(preset.node_schema) == due["fields"]
    artifacts = preset.output_artifacts
    assert (artifacts.primary, artifacts.secondary, artifacts.sort_by) == (
        due["primary"],
        due["secondary"],
        due["sort"],
    )


@pytest.mark.requirement("exploration:preset:root-field-minimums")
def test_its_root_fields_have_the_minimum_items_of_the_contract(preset: Preset) -> None:
    for schema in preset.root_schemas:
        due = MINIMUMS[preset.name, schema.mode]
        assert [f.name for f in schema.fields] == list(due)
        assert all(f.min_items >= due[f.name] for f in schema.fields)
    assert {(preset.name, s.mode) for s in preset.root_schemas} == {
        key for key in MINIMUMS if key[0] == preset.name
    }


def test_it_has_no_fault_and_no_warning(preset: Preset) -> None:
    path = shipped_path("presets", f"{preset.name}.md")
    assert parse_preset(path.read_text(encoding="utf-8"), str(path))[1] == []


def test_every_part_the_engine_needs_is_named_and_every_field_has_a_rule_with_a_line_about_it(
    preset: Preset,
) -> None:
    assert {"subject", "framing", "evidence", "assumptions", "defense", "external", "verdict"} <= set(
        preset.parts.named()
    )
    assert all(preset.rule(field).about for field in preset.node_schema)
    assert (preset.parts.position is not None) == (preset.root_kind in ("artifact", "code"))


def test_it_has_a_note_for_every_framing(preset: Preset) -> None:
    assert set(preset.framing_notes) == set(LETTERS) | {"X"}


@pytest.mark.parametrize("name", ["attack", "code-audit"])
@pytest.mark.requirement("presets:gates:as-data")
def test_refuting_comes_first_and_confirming_needs_a_fix(name: str) -> None:
    preset = load_preset(name)
    first, second = preset.gates[:2]
    assert (first.when, first.field, first.then, first.always) == (
        "defense_shown",
        preset.parts.defense,
        Role.PRUNED,
        True,
    )
    assert (second.when, second.field, second.then, second.always) == (
        "field_missing",
        "proposed_fix",
        Role.KEPT,
        False,
    )


@pytest.mark.requirement("presets:gates:as-data")
def test_an_unreachable_finding_and_a_broken_constraint_have_gates() -> None:
    reach = load_preset("code-audit").gate("score_below")
    assert [(g.dim, g.value, g.then, g.always) for g in reach] == [("X", 1, Role.KEPT, False)]
    breach = load_preset("design").gate("score_below")
    assert [(g.dim, g.value, g.then, g.always) for g in breach] == [("F", 1, Role.PRUNED, True)]


def test_design_writes_a_file_for_each_option_and_a_table() -> None:
    artifacts = load_preset("design").output_artifacts
    assert artifacts.each == "option_<id>.md"
    assert "trade_offs" in artifacts.table


def test_its_own_prose_keeps_clear_of_the_words_it_forbids(preset: Preset) -> None:
    from treewright.explore.rules.lexicon import KINDS, find

    for text in (preset.description, preset.use_when, preset.grounding, *preset.framing_notes.values()):
        assert [hit for kind in KINDS for hit in find(kind, text, "en")] == []


def test_it_is_short_enough_for_a_small_model(preset: Preset) -> None:
    assert len(preset.grounding) < 2500
    assert len(preset.verdict_detail) < 1500
    assert max(len(note) for note in preset.framing_notes.values()) < 300


def test_the_list_shows_them_with_their_descriptions() -> None:
    assert {s.name: s.source for s in list_presets()} == dict.fromkeys(NAMES, "shipped")
    assert all(s.description and not s.faults for s in list_presets())
