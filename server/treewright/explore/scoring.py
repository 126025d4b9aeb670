"""From scores, gates and evidence to a verdict: a pure function, exactly one verdict for every input."""

from collections.abc import Mapping
from dataclasses import dataclass

from treewright.presets.schema import ADVANCES_FROM, KEPT_FROM, Gate, Preset
from treewright.tree.run import Role

_LOWERED = {Role.ADVANCES: Role.KEPT, Role.KEPT: Role.PRUNED}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What checking a node showed, as far as its verdict depends on it.

    Attributes:
        defense_shown: a defense or mitigation with a citation that holds.
        missing: fields that are empty or only say that there is nothing.
        dominated: more of its citations are unverified than not.
        failed_numbers: numeric checks that gave something else than the text says.
    """

    defense_shown: bool = False
    missing: frozenset[str] = frozenset()
    dominated: bool = False
    failed_numbers: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """A role and why, each reason a short clause."""

    role: Role
    reasons: tuple[str, ...]


def decide(preset: Preset, scores: Mapping[str, int], evidence: Evidence) -> Verdict:
    """Decide a node's role (contract: exploration, 1 gates, 2 F3, 3 scores).

    Args:
        preset: gives the gates.
        scores: an integer 0 to 3 for each of the preset's dimensions.
        evidence: what checking showed.
    """
    for gate in preset.gates:
        if gate.always and _fires(gate, scores, evidence):
            return Verdict(gate.then, (gate.because,))
    if evidence.dominated:
        return Verdict(Role.BLOCKED, ("most of its citations could not be verified",))
    role, reasons = _by_sum(sum(scores.values()))
    if role is Role.ADVANCES:
        for gate in preset.gates:
            if not gate.always and _fires(gate, scores, evidence):
                role = gate.then
                reasons.append(gate.because)
                break
    if evidence.failed_numbers:
        role = _LOWERED.get(role, role)
        reasons.append(f"{evidence.failed_numbers} numeric check(s) failed: one role lower")
    return Verdict(role, tuple(reasons))


def _by_sum(total: int) -> tuple[Role, list[str]]:
    if total >= ADVANCES_FROM:
        return Role.ADVANCES, [f"sum {total} >= {ADVANCES_FROM}"]
    if total >= KEPT_FROM:
        return Role.KEPT, [f"sum {total} in {KEPT_FROM} to {ADVANCES_FROM - 1}"]
    return Role.PRUNED, [f"sum {total} < {KEPT_FROM}"]


def _fires(gate: Gate, scores: Mapping[str, int], evidence: Evidence) -> bool:
    if gate.when == "defense_shown":
        return evidence.defense_shown
    if gate.when == "field_missing":
        return gate.field in evidence.missing
    return scores[gate.dim or ""] < (gate.value or 0)
