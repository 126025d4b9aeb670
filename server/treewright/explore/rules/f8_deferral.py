"""F8, no deferred leaves.

"Future work", "TODO", "needs more investigation" and their equivalents are violations in every field: what is missing is obtained, or
the node is rerouted into a sibling that can be filled.
"""

from treewright.explore.rules.lexicon import find
from treewright.explore.rules.text import as_text
from treewright.tree.body import Derivation
from treewright.tree.citation import Violation


def check(body: Derivation, language: str) -> list[Violation]:
    """Return deferrals in a body's prose."""
    return [
        Violation(
            rule="F8",
            field=name,
            quote=hit.phrase,
            message=f"“{hit.phrase}” defers; obtain what is missing now, or say what is known",
        )
        for name, value in body.fields.items()
        for hit in find("deferral", as_text(value), language)
    ]
