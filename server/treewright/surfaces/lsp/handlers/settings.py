"""Settings as they change."""

from lsprotocol import types

from treewright.surfaces.lsp.session import Session


async def changed(session: Session, params: types.DidChangeConfigurationParams) -> None:
    """Take changed settings; what does not fit is told and left as it was."""
    session.room.configure(params.settings)
