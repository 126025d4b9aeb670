"""The state machine: what is ready, what a result changes, what follows."""

import random

import pytest

from tests.unit.explore.growing import CITATION, MemoryRun, all_verified, none_verified, seeded
from treewright.errors import RunError
from treewright.explore.tasks import (
    Brief,
    DeriveResult,
    GroundResult,
    ProposeResult,
    Result,
    SummariseResult,
    TaskKind,
    VerifyResult,
)
from treewright.tree.body import Examined, Proposal
from treewright.tree.citation import CheckedCitation, CitationState
from treewright.tree.event import RoundStarted
from treewright.tree.node import Phase
from treewright.tree.run import Caps, Role, Status


def whole_proposal(text: str, **changes: object) -> Proposal:
    """Return a proposal that has everything that is due."""
    given = {
        "statement": text,
        "evidence": "It stands there.",
        "assumptions": ["It is read."],
        "predictions": ["It fails."],
        "defense": "None was found.",
        "citations": [CITATION],
    }
    return Proposal.model_validate(given | changes)


@pytest.mark.requirement("exploration:flow:framings-ready-at-once")
def test_the_twelve_framings_of_the_root_are_ready_together() -> None:
    run = MemoryRun().grow(seeded(), until=lambda task: task.kind is TaskKind.PROPOSE)
    tasks = run.explorer.ready(64)
    assert [task.framing for task in tasks] == list("ABCDEFGHIJKL")
    assert {task.kind for task in tasks} == {TaskKind.PROPOSE}


@pytest.mark.requirement("exploration:flow:order-independent")
@pytest.mark.parametrize("seed", range(6))
def test_the_same_answers_give_the_same_tree_in_whatever_order_they_arrive(seed: int) -> None:
    straight = MemoryRun().grow(seeded(advance=30))
    shuffled = MemoryRun().grow(seeded(advance=30), order=random.Random(seed))
    assert len(straight.tree.nodes) > 30
    assert shuffled.outline() == straight.outline()
    assert shuffled.tree.status is straight.tree.status


@pytest.mark.requirement("exploration:ending:resumed-same", "exploration:resume:only-undone")
@pytest.mark.parametrize("cut", [1, 5, 14, 33, 60, 90])
def test_a_run_cut_off_anywhere_ends_as_if_it_had_not_been(cut: int) -> None:
    whole = MemoryRun().grow(seeded(advance=30))
    first = MemoryRun().grow(seeded(advance=30), limit=cut)
    second = first.reopened().grow(seeded(advance=30))
    assert second.outline() == whole.outline()
    assert not set(first.done) & set(second.done)
    assert first.done + second.done == whole.done


def test_a_run_cut_off_within_what_follows_from_one_result_ends_the_same() -> None:
    whole = MemoryRun().grow(seeded(advance=30))
    for length in range(1, len(whole.lines), 23):
        part = whole.reopened()
        part.lines = whole.lines[:length]
        again = part.reopened().grow(seeded(advance=30))
        assert again.outline() == whole.outline()
        assert again.tree.status is whole.tree.status


def test_a_result_for_a_task_already_done_changes_nothing() -> None:
    run = MemoryRun().grow(seeded(), until=lambda task: task.kind is TaskKind.DERIVE)
    task = run.explorer.ready(1)[0]
    result = seeded()(run.explorer.brief(task))
    run.submit(task, result)
    lines = list(run.lines)
    run.submit(task, result)
    assert run.lines == lines


def test_a_result_of_another_kind_is_refused() -> None:
    run = MemoryRun().grow(seeded(), until=lambda task: task.kind is TaskKind.PROPOSE)
    with pytest.raises(RunError) as caught:
        run.explorer.accept(run.explorer.ready(1)[0].id, SummariseResult())
    assert caught.value.code == "wrong_result"


@pytest.mark.requirement("exploration:ending:all-framings", "exploration:ending:frontier-empty")
def test_a_run_converges_with_every_condition_met_and_recorded() -> None:
    run = MemoryRun().grow(seeded(advance=25))
    assert run.tree.status is Status.CONVERGED
    assert [state.met for state in run.tree.rounds[-1].conditions] == [True] * 6
    assert not run.tree.frontier
    assert sorted(run.tree.root_fired) == list("ABCDEFGHIJKL")


@pytest.mark.requirement("exploration:ending:conditions-recorded")
def test_each_round_records_all_six_conditions_with_figures() -> None:
    run = MemoryRun().grow(seeded(advance=60))
    assert len(run.tree.rounds) >= 2
    for closed in run.tree.rounds:
        assert [state.number for state in closed.conditions] == [1, 2, 3, 4, 5, 6]
        assert all(state.figures for state in closed.conditions)
    assert not run.tree.rounds[0].conditions[3].met


@pytest.mark.requirement("exploration:flow:frontier")
def test_the_frontier_is_expanded_highest_score_first() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node in ("B1", "D1"):
            high = 3 if brief.task.node == "D1" else 2
            scores = dict.fromkeys(result.body.scores, 3) | {"B": high}
            return DeriveResult(body=result.body.model_copy(update={"scores": scores}))
        return result

    run = MemoryRun().grow(answer)
    rounds = [e for e in map(run.read, range(1, len(run.lines) + 1)) if isinstance(e, RoundStarted)]
    assert rounds[1].frontier == ["D1", "B1"]


@pytest.mark.requirement("exploration:flow:framing-retried-then-void", "exploration:rules:f4-void-pass")
def test_a_framing_without_a_usable_answer_is_asked_again_then_void_with_the_reason() -> None:
    asked: list[str] = []

    def answer(brief: Brief) -> Result:
        if brief.task.framing == "C" and brief.task.kind is TaskKind.PROPOSE:
            asked.append(brief.task.id)
            return ProposeResult(reason="no other field applies")
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer)
    assert asked == ["propose/0/C/1", "propose/0/C/2"]
    assert run.tree.root_fired["C"] == "void"
    assert [r.reason for r in run.tree.records] == ["no other field applies"]
    assert run.tree.status is Status.CONVERGED


@pytest.mark.requirement("exploration:ending:high-risk", "exploration:rules:f4-high-risk-child")
def test_a_run_without_a_high_risk_branch_after_three_tries_stops_early() -> None:
    asked: list[str] = []

    def answer(brief: Brief) -> Result:
        if brief.task.framing == "K" and brief.task.kind is TaskKind.PROPOSE:
            asked.append(brief.task.id)
            return ProposeResult()
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer)
    assert len(asked) == 3
    assert (run.tree.status, run.tree.reason) == (Status.EARLY_STOP, "no_high_risk_branch")


@pytest.mark.requirement("exploration:offline:framings-fire", "exploration:offline:clean-project")
def test_framings_that_examined_and_found_nothing_count_as_fired() -> None:
    def answer(brief: Brief) -> Result:
        if brief.task.kind is TaskKind.PROPOSE:
            return ProposeResult(examined=Examined(questions=["is there a sink?"], sites=12))
        return seeded()(brief)

    run = MemoryRun("code-audit").grow(answer)
    assert run.tree.status is Status.CONVERGED
    assert len(run.tree.nodes) == 1
    assert set(run.tree.root_fired.values()) == {"examined"}


@pytest.mark.requirement("exploration:flow:early-duplicates")
def test_the_same_statement_at_the_same_position_is_drafted_once() -> None:
    def answer(brief: Brief) -> Result:
        if brief.task.kind is TaskKind.PROPOSE and brief.task.node == "0":
            text = "Same  Words here." if brief.task.framing == "B" else "same words here"
            if brief.task.framing in "AB":
                return ProposeResult(proposals=[whole_proposal(text)])
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer)
    assert "A1" in run.tree.nodes
    assert "B1" not in run.tree.nodes
    assert run.tree.root_fired["B"] == "answered"


@pytest.mark.requirement("exploration:flow:max-branches-floor")
def test_max_branches_keeps_a_place_for_each_framing() -> None:
    run = MemoryRun(caps=Caps(max_branches=12)).grow(seeded(advance=0, width=5))
    assert sorted(n.framing for n in run.tree.children("0")) == list("ABCDEFGHIJKL")
    with pytest.raises(ValueError, match="max_branches"):
        Caps(max_branches=11)


@pytest.mark.requirement("exploration:flow:revise-quotes-violations", "exploration:flow:derivation-checked")
def test_violations_come_back_as_a_revise_task_that_quotes_them() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        if (
            isinstance(result, DeriveResult)
            and brief.task.kind is TaskKind.DERIVE
            and brief.task.node == "A1"
        ):
            fields = dict(result.body.fields) | {
                "risks": "",
                "feasibility": "It will probably work. It is cheap.",
            }
            return DeriveResult(body=result.body.model_copy(update={"fields": fields}))
        if brief.task.kind is TaskKind.REVISE:
            seen.append([(v.rule, v.field, v.quote) for v in brief.violations])
            assert brief.previous is not None
            assert brief.previous.fields["feasibility"] == "It will probably work. It is cheap."
        return result

    seen: list[list[tuple[str, str, str]]] = []
    run = MemoryRun().grow(answer)
    assert seen == [[("field-missing", "risks", ""), ("F1", "feasibility", "probably")]]
    assert run.tree.nodes["A1"].revision == 2
    assert run.tree.nodes["A1"].role in (Role.PRUNED, Role.KEPT)


@pytest.mark.requirement("exploration:rules:f8-reroute", "exploration:rules:f8-deferral-blocks")
def test_a_node_that_stays_deferred_is_rerouted_into_a_sibling_that_can_be_filled() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node == "A1":
            fields = dict(result.body.fields) | {"risks": ["This is left for future work."] * 3}
            return DeriveResult(body=result.body.model_copy(update={"fields": fields}))
        if brief.task.replaces:
            assert "F8 risks" in brief.obstacle
        return result

    run = MemoryRun().grow(answer)
    first = run.tree.nodes["A1"]
    assert first.revision == 4  # derived once, revised three times
    assert first.tag == "SUPERSEDED_BY=E3"
    assert run.tree.nodes["E3"].rerouted_from == "A1"
    assert run.tree.nodes["E3"].role in (Role.PRUNED, Role.KEPT)
    assert run.tree.status is Status.CONVERGED


@pytest.mark.requirement("exploration:rules:f8-unresolved", "exploration:ending:no-blocked")
def test_after_two_reroutes_a_node_is_unresolved_and_the_run_still_converges() -> None:
    def answer(brief: Brief) -> Result:
        result = seeded(advance=0)(brief)
        node = run.tree.nodes[brief.task.node]
        if isinstance(result, DeriveResult) and (node.id == "A1" or node.rerouted_from):
            fields = dict(result.body.fields) | {"risks": ""}
            return DeriveResult(body=result.body.model_copy(update={"fields": fields}))
        return result

    run = MemoryRun()
    run.grow(answer)
    chain = [n for n in run.tree.nodes.values() if n.id == "A1" or n.rerouted_from]
    assert [n.tag for n in chain] == ["SUPERSEDED_BY=E3", "SUPERSEDED_BY=E4", "UNRESOLVED"]
    assert run.tree.status is Status.CONVERGED
    assert not run.tree.waiting[Phase.BLOCKED]


def test_a_reroute_that_brings_nothing_counts_as_one() -> None:
    def answer(brief: Brief) -> Result:
        if brief.task.replaces:
            return ProposeResult(reason="nothing else")
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node == "A1":
            return DeriveResult(body=result.body, refuses="I cannot help with that")
        return result

    run = MemoryRun().grow(answer)
    assert run.tree.nodes["A1"].unresolved
    assert run.tree.nodes["A1"].reroutes == 2
    assert any("refuses" in reason for reason in run.tree.nodes["A1"].reasons)


@pytest.mark.requirement("exploration:flow:citations-before-count", "exploration:rules:f1-citation-required")
def test_a_finding_whose_position_cannot_be_verified_never_becomes_a_node() -> None:
    run = MemoryRun("code-audit").grow(seeded(), verify=none_verified)
    assert len(run.tree.nodes) == 1
    assert run.tree.root_fired["A"] == "void"
    assert "position could not be verified" in run.tree.records[0].reason


@pytest.mark.requirement("exploration:rules:f1-unverifiable-tagged")
def test_no_node_advances_on_citations_that_do_not_hold_and_none_is_handed_on() -> None:
    def verify(brief: Brief) -> VerifyResult:
        if brief.task.framing:
            return all_verified(brief)
        return none_verified(brief)

    run = MemoryRun("code-audit").grow(seeded(advance=1000), verify=verify)
    assert len(run.tree.nodes) > 12
    assert not [n for n in run.tree.nodes.values() if n.role is Role.ADVANCES]


def test_only_citations_that_hold_are_given_to_a_child() -> None:
    def verify(brief: Brief) -> VerifyResult:
        states = [CitationState.VERIFIED, CitationState.UNVERIFIED]
        return VerifyResult(
            citations=[
                [CheckedCitation(citation=c, state=states[i % 2]) for i, c in enumerate(group)]
                for group in brief.checks
            ]
        )

    seen: list[int] = []

    def answer(brief: Brief) -> Result:
        if brief.task.kind is TaskKind.PROPOSE and brief.lineage:
            seen.append(len(brief.lineage[-1].evidence))
        result = seeded(advance=100)(brief)
        if isinstance(result, DeriveResult):
            second = CITATION.model_copy(update={"start": 2, "end": 2})
            return DeriveResult(body=result.body.model_copy(update={"citations": [CITATION, second]}))
        return result

    MemoryRun("attack", caps=Caps(rounds=2)).grow(answer, verify=verify)
    assert set(seen) == {1}


@pytest.mark.requirement("exploration:flow:root-underspecified")
def test_a_root_that_stays_unfilled_stops_the_run_by_name() -> None:
    def answer(brief: Brief) -> Result:
        return GroundResult(statement="A root.", fields={"open_problems": ["one"]})

    run = MemoryRun().grow(answer)
    assert (run.tree.status, run.tree.reason) == (Status.EARLY_STOP, "root_underspecified")
    assert run.done == ["ground/0/1", "ground/0/2", "ground/0/3"]


@pytest.mark.requirement("exploration:flow:tool-blocked")
@pytest.mark.parametrize("failure", ["root_unparseable", "tool_blocked"])
def test_a_root_that_cannot_be_had_stops_the_run_by_name(failure: str) -> None:
    run = MemoryRun().grow(lambda brief: GroundResult(failure=failure, reason="denied"))
    assert (run.tree.status, run.tree.reason) == (Status.EARLY_STOP, failure)


def test_a_performer_that_fails_twice_on_a_node_blocks_it_and_the_run_goes_on() -> None:
    run = MemoryRun()
    run.settle()
    failed = 0
    while tasks := run.explorer.ready(1):
        task = tasks[0]
        if task.id.startswith("derive/B1/"):
            failed += 1
            run.fail(task, "nonsense")
            continue
        brief = run.explorer.brief(task)
        run.submit(task, all_verified(brief) if task.kind is TaskKind.VERIFY else seeded(advance=0)(brief))
    assert failed == 2
    assert run.tree.nodes["B1"].superseded_by
    assert run.tree.status is Status.CONVERGED


@pytest.mark.requirement("exploration:framings:x-own-field")
@pytest.mark.parametrize(
    ("preset", "field"), [("brainstorm", "external_resources"), ("code-audit", "related_findings")]
)
def test_offline_the_external_field_says_that_nothing_was_looked_up(preset: str, field: str) -> None:
    run = MemoryRun(preset).grow(seeded(advance=0))
    body = run.read(run.tree.nodes["A1"].derived_at)
    assert "external_resources_unchecked=true" in str(body.body.fields[field])  # type: ignore[union-attr]


@pytest.mark.requirement("exploration:framings:x-only-online")
def test_the_cross_check_runs_once_a_node_when_online_and_never_offline() -> None:
    online = MemoryRun(online=True).grow(seeded(advance=0))
    asked = [task for task in online.done if task.startswith("external/")]
    assert sorted(asked) == sorted(f"external/{n.id}/1" for n in online.tree.nodes.values() if n.parent)
    offline = MemoryRun().grow(seeded(advance=0))
    assert not [task for task in offline.done if task.startswith("external/")]


@pytest.mark.requirement("exploration:rules:f6-nobody-asked")
def test_nobody_but_performers_is_ever_asked() -> None:
    run = MemoryRun().grow(seeded(advance=30))
    assert {task.partition("/")[0] for task in run.done} <= {kind.value for kind in TaskKind} | {"reroute"}


@pytest.mark.requirement("exploration:flow:proposal-complete")
@pytest.mark.parametrize("missing", ["statement", "evidence", "assumptions", "predictions", "defense"])
def test_an_incomplete_proposal_is_sent_back_with_what_it_lacks(missing: str) -> None:
    told: list[str] = []

    def answer(brief: Brief) -> Result:
        if brief.task.id.startswith("propose/0/A/"):
            told.extend(v.message for v in brief.violations)
            empty: object = [] if missing in ("assumptions", "predictions") else ""
            whole = brief.task.attempt == 2
            return ProposeResult(
                proposals=[whole_proposal("An idea.", **({} if whole else {missing: empty}))]
            )
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer)
    assert told == [f"proposal 1: no {missing}"]
    assert run.tree.nodes["A1"].statement == "An idea."


@pytest.mark.requirement("exploration:framings:e-two-children")
def test_framing_e_with_one_child_is_asked_for_both_and_its_last_answer_is_taken() -> None:
    told: list[str] = []

    def answer(brief: Brief) -> Result:
        if brief.task.id.startswith("propose/0/E/"):
            told.extend(v.message for v in brief.violations)
            return ProposeResult(proposals=[whole_proposal("Relax the deadline.")])
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer)
    assert told == ["2 children (relax, tighten) are due, 1 can be used"]
    assert [n.id for n in run.tree.children("0") if n.framing == "E"] == ["E1"]


@pytest.mark.requirement("exploration:framings:l-new-branch")
def test_framing_l_may_not_repeat_what_the_tree_has() -> None:
    def answer(brief: Brief) -> Result:
        if brief.task.kind is TaskKind.PROPOSE and brief.task.framing in "AL":
            tail = "." if brief.task.framing == "A" else "!"
            old = whole_proposal(f"Keep the cache warm over night for the first request{tail}")
            new = whole_proposal("Ask who pays for the cache at all.")
            return ProposeResult(proposals=[old] if brief.task.framing == "A" else [old, new])
        return seeded(advance=0)(brief)

    run = MemoryRun().grow(answer)
    brought = [n.statement for n in run.tree.children("0") if n.framing == "L"]
    assert brought == ["Ask who pays for the cache at all."]


@pytest.mark.requirement("exploration:rules:f2-new-branch-differs", "exploration:rules:f2-merged-visible")
@pytest.mark.parametrize(("second", "merges"), [("It fails at noon.", True), ("It fails at night.", False)])
def test_siblings_alike_in_words_and_predictions_merge_and_stay_visible(second: str, merges: bool) -> None:
    statements = {
        "A": "The cache is filled late, so the first request of a day is slow.",
        "B": "The cache is filled late, which makes a slow request out of the first of each day.",
    }

    def answer(brief: Brief) -> Result:
        letter = brief.task.framing
        if brief.task.kind is TaskKind.PROPOSE and brief.task.node == "0" and letter in statements:
            return ProposeResult(proposals=[whole_proposal(statements[letter])])
        result = seeded(advance=0)(brief)
        if isinstance(result, DeriveResult) and brief.task.node in ("A1", "B1"):
            said = second if brief.task.node == "B1" else "It fails at noon."
            fields = dict(result.body.fields) | {"predictions": [said, said, said]}
            scores = dict.fromkeys(result.body.scores, 3)
            return DeriveResult(body=result.body.model_copy(update={"fields": fields, "scores": scores}))
        return result

    run = MemoryRun().grow(answer)
    assert run.tree.nodes["B1"].tag == ("MERGED_INTO=A1" if merges else "")
    assert run.tree.nodes["B1"].expanded is not merges
    assert "B1" in [n.id for n in run.tree.children("0")]


@pytest.mark.requirement("exploration:flow:merging-after-scoring")
def test_merging_waits_until_every_child_of_the_pass_is_scored() -> None:
    run = MemoryRun().grow(seeded(advance=0))
    kinds = [type(run.read(n)).__name__ for n in range(1, len(run.lines) + 1)]
    closed = kinds.index("PassClosed")
    assert all(
        kind != "NodeMerged"
        for kind in kinds[: max(i for i, k in enumerate(kinds[:closed]) if k == "VerdictGiven")]
    )


@pytest.mark.requirement("exploration:rules:f1-hedging", "exploration:rules:f3-skipped-derivation")
@pytest.mark.parametrize(
    ("language", "text", "rule"),
    [
        ("en", "It will probably work out well.", "F1"),
        ("zh", "这个方案也许有效。", "F1"),
        ("de", "Das ist vermutlich richtig.", "F1"),
        ("en", "The proof is obvious and left out.", "F3"),
    ],
)
def test_hedges_and_skipped_steps_are_sent_back_in_the_language_of_the_run(
    language: str, text: str, rule: str
) -> None:
    seen: set[str] = set()

    def answer(brief: Brief) -> Result:
        if brief.task.kind is TaskKind.REVISE and brief.task.node == "A1":
            seen.update(v.rule for v in brief.violations)
        result = seeded(advance=0)(brief)
        if (
            isinstance(result, DeriveResult)
            and brief.task.kind is TaskKind.DERIVE
            and brief.task.node == "A1"
        ):
            fields = dict(result.body.fields) | {"feasibility": f"{text} {text}", "assumptions": [text, text]}
            return DeriveResult(body=result.body.model_copy(update={"fields": fields}))
        return result

    MemoryRun(language=language).grow(answer)
    assert seen == {rule}


@pytest.mark.requirement("exploration:ending:novelty")
def test_the_share_of_converging_nodes_over_two_rounds_is_recorded() -> None:
    run = MemoryRun(caps=Caps(rounds=2)).grow(seeded(advance=60))
    state = run.tree.rounds[-1].conditions[1]
    new = sum(r.new_nodes for r in run.tree.rounds)
    share = sum(r.new_converging for r in run.tree.rounds) / new
    assert state.figures["share"] == round(share, 4)
    assert state.met is (share < 0.15)
