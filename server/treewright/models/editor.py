"""The editor's own language model, asked through a call that the editor connection hands in.

Its use is paid for in the editor, so it is not metered in money; tokens are counted (contract: exploration, 7).
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from treewright.models.classify import classify_sample
from treewright.models.faults import read_fault
from treewright.models.http_provider import merge, with_schema_in_prompt
from treewright.models.prices import UNMETERED
from treewright.models.provider import (
    Completion,
    EditorCall,
    Outcome,
    ProviderInfo,
    Request,
    Sample,
    TextSink,
    Usage,
)
from treewright.models.secrets import redact
from treewright.models.tokens import tokens_about
from treewright.models.wire import unless_cancelled

_CODES = {
    "NoPermissions": Outcome.UNAUTHORISED,
    "Blocked": Outcome.OVER_QUOTA,
    "NotFound": Outcome.MODEL_NOT_FOUND,
    "Cancelled": Outcome.CANCELLED,
}
"""`LanguageModelError.code` of the VS Code API; `Blocked` also stands for a quota that is used up."""

_HINTS = {
    Outcome.UNAUTHORISED: "allow the model from a command in the editor, or choose another model",
    Outcome.MODEL_NOT_FOUND: "the editor offers no such model; choose another model",
}


class EditorProvider:
    """Asks the editor.

    The call gets `{messages: [{role, text}], maxTokens, temperature?, stop?, model?}` and returns `{text,
    finishReason?, promptTokens?, completionTokens?}` or `{error: {code, message}}`. It is one text per call.
    """

    def __init__(
        self,
        call: EditorCall,
        *,
        model: str = "",
        context_tokens: int | None = None,
        timeout_s: float = 600.0,
        concurrency: int = 4,
    ) -> None:
        """Set up; nothing is asked yet, since an editor asks for consent only after a user's action.

        Args:
            call: sends one request to the editor and awaits its answer.
            model: the editor's id of the model; empty lets the editor choose.
            context_tokens: `maxInputTokens` of the model when known.
            timeout_s: seconds for one answer.
            concurrency: calls together.
        """
        self._call = call
        self._timeout_s = timeout_s
        self._info = ProviderInfo(
            name=f"editor:{model}" if model else "editor",
            kind="editor",
            model=model,
            endpoint="",
            price=UNMETERED,
            context_tokens=context_tokens,
            concurrency=concurrency,
        )

    @property
    def info(self) -> ProviderInfo:
        """What is known without asking."""
        return self._info

    async def complete(
        self, request: Request, *, on_text: TextSink | None = None, cancel: asyncio.Event | None = None
    ) -> Completion:
        """Answer one request; see `Provider.complete`."""
        sinks = [on_text, *[None] * (request.samples - 1)]
        parts = await asyncio.gather(*(self._one(request, sink, cancel) for sink in sinks))
        return merge(tuple(parts)) if len(parts) > 1 else parts[0]

    async def close(self) -> None:
        """Nothing to release: the connection is the editor's."""

    async def _one(
        self, request: Request, on_text: TextSink | None, cancel: asyncio.Event | None
    ) -> Completion:
        begun = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await unless_cancelled(self._send(request), cancel)
        except TimeoutError:
            return self._failed(
                request, Outcome.TIMED_OUT, f"the editor gave no answer within {self._timeout_s:g} s"
            )
        except (ConnectionError, EOFError) as gone:
            return self._failed(request, Outcome.UNREACHABLE, f"the editor is gone: {gone}")
        if reply is None:
            return self._failed(request, Outcome.CANCELLED, "cancelled")
        error = reply.get("error")
        if isinstance(error, Mapping):
            return self._refused(request, error)
        done = self._classified(request, reply, asyncio.get_running_loop().time() - begun)
        if on_text is not None and done.text:
            on_text(done.text)
        return done

    async def _send(self, request: Request) -> Mapping[str, Any]:
        shown = with_schema_in_prompt(request)
        asked: dict[str, Any] = {
            "messages": [{"role": message.role, "text": message.text} for message in shown.messages],
            "maxTokens": request.max_tokens,
        }
        if request.temperature is not None:
            asked["temperature"] = request.temperature
        if request.stop:
            asked["stop"] = list(request.stop)
        if self._info.model:
            asked["model"] = self._info.model
        return await self._call(asked)

    def _classified(self, request: Request, reply: Mapping[str, Any], elapsed_s: float) -> Completion:
        text = str(reply.get("text") or "")
        reported = reply.get("completionTokens")
        finish = reply.get("finishReason")
        sample = classify_sample(
            text,
            finish_reason=str(finish) if finish else None,
            ended=True,
            completion_tokens=reported if isinstance(reported, int) else None,
            max_tokens=request.max_tokens,
        )
        prompt = reply.get("promptTokens")
        usage = Usage(
            prompt_tokens=prompt if isinstance(prompt, int) else tokens_about(request.prompt),
            completion_tokens=reported if isinstance(reported, int) else tokens_about(text),
            estimated=not (isinstance(prompt, int) and isinstance(reported, int)),
        )
        return self._done(request, sample.outcome, "", (sample,), usage, elapsed_s)

    def _refused(self, request: Request, error: Mapping[str, Any]) -> Completion:
        code = str(error.get("code") or "")
        outcome = _CODES.get(code) or read_fault(200, {"error": dict(error)}).outcome
        said = redact(str(error.get("message") or code or "no reason given"))
        hint = _HINTS.get(outcome)
        return self._failed(request, outcome, f"{said}; {hint}" if hint else said)

    def _failed(self, request: Request, outcome: Outcome, detail: str) -> Completion:
        return self._done(request, outcome, detail, (), Usage(), 0.0)

    def _done(
        self,
        request: Request,
        outcome: Outcome,
        detail: str,
        samples: tuple[Sample, ...],
        usage: Usage,
        elapsed_s: float,
    ) -> Completion:
        return Completion(
            provider=self._info.name,
            model=self._info.model,
            outcome=outcome,
            samples=samples,
            usage=usage,
            detail=detail or ("" if outcome is Outcome.COMPLETE else outcome.value),
            elapsed_s=elapsed_s,
            structured="none" if request.schema is None else "prompt",
        )
