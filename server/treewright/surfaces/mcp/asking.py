"""Asking the client for something in the middle of a call: its model, its user, its roots; in both protocols.

Until 2025-11-25 the server sends a request of its own and waits. Since 2026-07-28 the call is answered with what is needed, and the client
calls again with it: a tool then runs from its beginning, and `ask` finds the answer there. So whatever a tool does before it asks must be
repeatable, and what it asks must be the same each time.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import mcp.types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError

Answer = TypeVar("Answer", bound=BaseModel)
INPUT_REQUIRED_SINCE = "2026-07-28"
"""The first protocol in which a server cannot send requests of its own."""


class InputNeeded(Exception):  # noqa: N818 - not a fault: the call goes on when the client has answered
    """A call cannot go on before the client has answered these requests."""

    def __init__(self, requests: dict[str, Any], answered: Mapping[str, Any]) -> None:
        super().__init__("input needed")
        self.requests = requests
        self.answered = dict(answered)

    def result(self) -> types.InputRequiredResult:
        """Return what the call is answered with; what was answered before travels along, and comes back as it is."""
        state = json.dumps(self.answered) if self.answered else None
        return types.InputRequiredResult(input_requests=self.requests, request_state=state)


class Asking:
    """The client of one call, to be asked."""

    def __init__(
        self, ctx: ServerRequestContext[Any, Any], responses: Mapping[str, Any] | None, state: str | None
    ) -> None:
        """Take a call's context, what the client has answered now, and what it had answered before."""
        self._ctx = ctx
        self.answered: dict[str, Any] = _before(state)
        for key, given in (responses or {}).items():
            self.answered[key] = given.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def _offered(self) -> types.ClientCapabilities:
        return self._ctx.session.client_capabilities or types.ClientCapabilities()

    @property
    def samples(self) -> bool:
        """Whether the client lends its model."""
        return self._offered.sampling is not None

    @property
    def elicits(self) -> bool:
        """Whether the client asks its user."""
        offered = self._offered.elicitation
        return offered is not None and (offered.form is not None or offered.url is None)

    @property
    def names_roots(self) -> bool:
        """Whether the client tells its roots."""
        return self._offered.roots is not None

    @property
    def waits(self) -> bool:
        """Whether a call has to be answered with what is needed, see above."""
        return self._ctx.protocol_version >= INPUT_REQUIRED_SINCE

    async def roots(self) -> list[str] | None:
        """Return the URIs of the client's roots; None when it does not tell them."""
        if not self.names_roots:
            return None
        found = await self._ask("roots", types.ListRootsRequest(), types.ListRootsResult)
        return None if found is None else [str(root.uri) for root in found.roots]

    async def sample(
        self, key: str, system: str, text: str, max_tokens: int
    ) -> types.CreateMessageResult | None:
        """Have the client's model answer once; None when the client or its user refuses.

        Args:
            key: names the request, the same when it is the same.
            system: who the model is.
            text: what is asked.
            max_tokens: of the answer.
        """
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))
        params = types.CreateMessageRequestParams(
            messages=[message], max_tokens=max_tokens, system_prompt=system
        )
        return await self._ask(key, types.CreateMessageRequest(params=params), types.CreateMessageResult)

    async def elicit(
        self, key: str, message: str, choices: Mapping[str, tuple[str, list[str]]]
    ) -> dict[str, str] | None:
        """Ask the client's user to choose; None when the user declines, or there is nobody to ask.

        Args:
            key: names the request.
            message: what it is about.
            choices: field to what it asks, and its options.
        """
        if not self.elicits:
            return None
        properties = {
            name: {"type": "string", "title": title[:120], "enum": options}
            for name, (title, options) in choices.items()
        }
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        found = await self._ask(key, types.ElicitRequest(params=params), types.ElicitResult)
        if found is None or found.action != "accept":
            return None
        return {str(name): str(value) for name, value in (found.content or {}).items()}

    async def _ask(self, key: str, request: Any, kind: type[Answer]) -> Answer | None:
        if self.waits:
            given = self.answered.get(key)
            if given is None:
                raise InputNeeded({key: request}, self.answered)
            try:
                return kind.model_validate(given)
            except ValidationError:
                return None
        try:
            metadata = ServerMessageMetadata(related_request_id=self._ctx.request_id)
            return await self._ctx.session.send_request(request, kind, metadata=metadata)
        except MCPError:
            return None


def _before(state: str | None) -> dict[str, Any]:
    try:
        found = json.loads(state) if state else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
