"""Asking the editor's own model, from whatever thread a run is driven in."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pygls.exceptions import JsonRpcException

from treewright.surfaces.lsp.messages.events import ModelCompleteRequest, ModelCompleteResult

if TYPE_CHECKING:
    from treewright.models.provider import EditorCall
    from treewright.surfaces.lsp.session import Session

METHOD = "treewright/model/complete"


def editor_call(session: "Session", home: asyncio.AbstractEventLoop) -> "EditorCall":
    """Return the call that `EditorProvider` makes, from any thread.

    Args:
        session: whose client is asked.
        home: the loop that the session lives on.
    """

    async def call(request: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = ModelCompleteRequest.model_validate(dict(request))
        params = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
        flight = asyncio.run_coroutine_threadsafe(_ask(session, params), home)
        try:
            return await asyncio.wrap_future(flight)
        except asyncio.CancelledError:
            flight.cancel()
            raise

    return call


async def _ask(session: "Session", params: dict[str, Any]) -> Mapping[str, Any]:
    if not session.settings.editor_model:
        return _error("NotFound", "the editor offers no model")
    try:
        reply = await session.ask(METHOD, params)
    except JsonRpcException as refusal:
        return _error(_word(refusal.data), refusal.message)
    try:
        answer = ModelCompleteResult.model_validate(reply)
    except ValidationError as unfit:
        return _error("Invalid", f"the editor's answer does not fit: {unfit.errors()[0]['msg']}")
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


def _word(data: Any) -> str:
    return str(data.get("code", "Unknown")) if isinstance(data, Mapping) else "Unknown"


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
