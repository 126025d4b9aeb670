"""What can be chosen: presets and models."""

import asyncio

from treewright.surfaces.lsp import messages as m
from treewright.surfaces.lsp.session import Session


async def presets(session: Session, request: m.PresetsRequest) -> m.PresetsResult:
    """List the shipped presets and the user's."""
    del request  # it says nothing
    found = await asyncio.to_thread(session.app.presets)
    return m.PresetsResult(
        presets=[
            m.PresetRow(name=p.name, description=p.description, source=p.source, path=p.path, faults=p.faults)
            for p in found
        ]
    )
