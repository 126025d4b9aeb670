"""From scores and gates to a verdict."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.explore.scoring import Evidence, decide
from treewright.presets.loader import load_preset
from treewright.tree.run import Role

PRESETS = {name: load_preset(name) for name in ("brainstorm", "attack", "design", "code-audit")}
RANK = {Role.PRUNED: 0, Role.KEPT: 1, Role.ADVANCES: 2}


def scores(preset: str, *values: int) -> dict[str, int]:
    return dict(zip(PRESETS[preset].dim_keys(), values, strict=True))


@pytest.mark.requirement("exploration:ending:one-verdict", "exploration:flow:scores")
@pytest.mark.parametrize("name", PRESETS)
def test_every_combination_of_scores_gives_the_role_of_its_sum_or_a_lower_one(name: str) -> None:
    preset = PRESETS[name]
    for values in itertools.product(range(4), repeat=5):
        verdict = decide(preset, dict(zip(preset.dim_keys(), values, strict=True)), Evidence())
        total = sum(values)
        by_sum = Role.ADVANCES if total >= 11 else Role.KEPT if total >= 8 else Role.PRUNED
        assert verdict.reasons
        assert RANK[verdict.role] <= RANK[by_sum]
        if name == "brainstorm":
            assert verdict.role is by_sum


@pytest.mark.requirement("exploration:preset:refuted-first")
@pytest.mark.parametrize("name", ["attack", "code-audit"])
def test_a_shown_defense_prunes_whatever_the_score(name: str) -> None:
    verdict = decide(PRESETS[name], scores(name, 3, 3, 3, 3, 3), Evidence(defense_shown=True, dominated=True))
    assert verdict.role is Role.PRUNED


@pytest.mark.requirement("exploration:preset:confirmed-needs-fix")
@pytest.mark.parametrize("name", ["attack", "code-audit"])
def test_what_advances_without_a_fix_is_kept(name: str) -> None:
    verdict = decide(
        PRESETS[name], scores(name, 3, 3, 3, 3, 3), Evidence(missing=frozenset({"proposed_fix"}))
    )
    assert verdict.role is Role.KEPT


@pytest.mark.requirement("exploration:preset:confirmed-needs-exploit")
def test_a_finding_that_nobody_can_reach_is_kept() -> None:
    assert decide(PRESETS["code-audit"], scores("code-audit", 3, 3, 3, 3, 0), Evidence()).role is Role.KEPT
    assert (
        decide(PRESETS["code-audit"], scores("code-audit", 3, 3, 3, 3, 1), Evidence()).role is Role.ADVANCES
    )


@pytest.mark.requirement("exploration:preset:violated-constraint")
def test_an_option_that_violates_a_constraint_is_pruned_whatever_the_sum() -> None:
    keys = PRESETS["design"].dim_keys()
    values = {key: 0 if key == "F" else 3 for key in keys}
    assert decide(PRESETS["design"], values, Evidence()).role is Role.PRUNED


@pytest.mark.requirement("exploration:flow:dominated-blocked")
def test_a_node_dominated_by_unverified_citations_is_blocked() -> None:
    assert (
        decide(PRESETS["brainstorm"], scores("brainstorm", 3, 3, 3, 3, 3), Evidence(dominated=True)).role
        is Role.BLOCKED
    )


@pytest.mark.requirement("exploration:rules:f3-failed-check-lowers")
@given(st.lists(st.integers(0, 3), min_size=5, max_size=5), st.integers(1, 3))
def test_a_failed_number_lowers_the_verdict_by_one_role(values: list[int], failed: int) -> None:
    sound = decide(PRESETS["brainstorm"], scores("brainstorm", *values), Evidence()).role
    lowered = decide(
        PRESETS["brainstorm"], scores("brainstorm", *values), Evidence(failed_numbers=failed)
    ).role
    assert RANK[lowered] == max(0, RANK[sound] - 1)


@pytest.mark.requirement("exploration:preset:gates", "exploration:preset:nothing-weakens")
@given(
    st.sampled_from(sorted(PRESETS)),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.booleans(),
    st.integers(0, 2),
)
def test_gates_and_evidence_only_ever_lower_a_verdict(
    name: str, values: list[int], shown: bool, failed: int
) -> None:
    total = sum(values)
    by_sum = Role.ADVANCES if total >= 11 else Role.KEPT if total >= 8 else Role.PRUNED
    verdict = decide(
        PRESETS[name], scores(name, *values), Evidence(defense_shown=shown, failed_numbers=failed)
    )
    assert RANK[verdict.role] <= RANK[by_sum]
