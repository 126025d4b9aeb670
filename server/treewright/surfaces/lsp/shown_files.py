"""Documents of ours shown in editors: as virtual documents where the client takes them, else as files of the cache."""

import asyncio
from typing import TYPE_CHECKING

from pygls.exceptions import JsonRpcException

from treewright.store.durable import make_folder, replace_file
from treewright.store.paths import slug
from treewright.surfaces.lsp.uris import to_uri, virtual_parts

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session


async def show_text(session: "Session", uri: str, text: str) -> bool:
    """Show a document where the client can; False when it cannot."""
    if not session.can("window.show_document.support"):
        return False
    address = uri if session.room.virtual.offered else await asyncio.to_thread(_as_file, session, uri, text)
    try:
        answer = await session.ask("window/showDocument", {"uri": address, "takeFocus": True})
    except JsonRpcException:
        return False
    return isinstance(answer, dict) and bool(answer.get("success"))


def _as_file(session: "Session", uri: str, text: str) -> str:
    folder = session.app.context.configuration().root.cache / "shown"
    make_folder(folder, private=True)
    name = "-".join(slug(part.removesuffix(".md")) for part in virtual_parts(uri) or ["document"])
    path = folder / f"{name}.md"
    replace_file(path, [text.encode("utf-8", "replace")], private=True, durable=False)
    return to_uri(path)
