"""Finds a run's glossary, reads its root's words, and settles the terms."""

from pathlib import Path

from treewright.app.roots import ResolvedRoot
from treewright.errors import RequestError
from treewright.explore.glossary import (
    FALLBACK_SOURCES,
    Ask,
    read_glossary,
    root_terms,
    settle_terms,
    settled_event,
)
from treewright.presets.schema import Preset
from treewright.store.durable import shown
from treewright.tree.event import GlossarySettled
from treewright.workspace.decode import Unreadable, read_source


def glossary_step(
    preset: Preset, root: ResolvedRoot, named: str, *, skip: bool, ask: Ask | None = None
) -> GlossarySettled:
    """Run the glossary step.

    Args:
        preset: may name glossary paths.
        root: whose terms are settled; code has no prose to take terms from.
        named: what `--glossary` says, absolute; empty to look for one.
        skip: `--no-grill`.
        ask: asks a person; None takes every recommendation.

    Raises:
        RequestError: `glossary_unreadable` when the named file cannot be read.
        RunError: `glossary_conflict`.
    """
    if skip:
        return GlossarySettled(source="", skipped=True)
    source = _source(preset, root.workspace, named)
    terms = root_terms(_root_text(root))
    if source is None:
        return settled_event("", [])
    text = read_source(source)
    if isinstance(text, Unreadable):
        raise RequestError(
            "glossary_unreadable",
            f"The glossary {shown(source)} cannot be read: {text.reason}.",
            "Name another with --glossary, or skip the step with --no-grill.",
        )
    name = (
        source.relative_to(root.workspace).as_posix()
        if source.is_relative_to(root.workspace)
        else str(source)
    )
    return settled_event(name, settle_terms(terms, read_glossary(text.text), ask))


def _source(preset: Preset, workspace: Path, named: str) -> Path | None:
    if named:
        path = Path(named)
        if not path.is_file():
            raise RequestError(
                "glossary_unreadable", f"There is no glossary at {shown(path)}.", "Check --glossary."
            )
        return path
    for relative in (*preset.glossary_paths, *FALLBACK_SOURCES):
        path = workspace / relative
        if path.is_file() and path.resolve().is_relative_to(workspace.resolve()):
            return path
    return None


def _root_text(root: ResolvedRoot) -> str:
    if root.spec.kind == "artifact":
        read = read_source(root.workspace / root.spec.path)
        return "" if isinstance(read, Unreadable) else read.text
    return root.prose
