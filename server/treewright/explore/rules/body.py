"""All the rules on a body, in the order a performer should mend them."""

from collections.abc import Iterable

from treewright.explore.rules import f1_memory, f3_derivation, f8_deferral, structure
from treewright.presets.schema import Preset
from treewright.tree.body import Derivation
from treewright.tree.citation import CheckedCitation, Violation


def check_body(preset: Preset, body: Derivation, language: str) -> list[Violation]:
    """Return every violation that a body's text shows by itself.

    Args:
        preset: the preset in force.
        body: what the performer derived.
        language: the run's output language; its lexicon and the English one apply.
    """
    return [
        *structure.check(preset, body),
        *f8_deferral.check(body, language),
        *f1_memory.check_prose(preset, body, language),
        *f3_derivation.check(preset, body, language),
    ]


def check_citations(
    preset: Preset, body: Derivation, citations: Iterable[CheckedCitation]
) -> list[Violation]:
    """Return the violations that show once the citations were checked."""
    checked = list(citations)
    found = f1_memory.check_evidence(preset, body, checked)
    if not found and f1_memory.dominated(checked):
        unverified = [c for c in checked if not c.state.holds and c.state != "weak"]
        faults = "; ".join(f"{c.citation.label()}: {c.reason}" for c in unverified[:3])
        found.append(
            Violation(
                rule="F1", message=f"most citations could not be verified ({faults}); quote what stands there"
            )
        )
    return found
