"""One streamed POST: time limits, cancelling, retries, and what each failure is.

Only what certainly cost nothing is tried again here: a refused connection, a 429 or 5xx, an overload before the
first piece of text. Once text has arrived, the call ends with what there is, and whoever called decides.
"""

import asyncio
import json
import logging
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from treewright.models.backoff import Clock, RetryPolicy, SystemClock, parse_retry_after
from treewright.models.faults import ServerFault, read_fault
from treewright.models.provider import Outcome
from treewright.models.secrets import Key, Origin, redact
from treewright.models.sse import EventReader, ServerEvent
from treewright.parsing import load_json

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

RESPONSE_MOST_BYTES = 32 << 20
_ERROR_BODY_MOST = 64 << 10
_DRAIN_S = 1.0
"""How long the end of a finished answer is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds allowed for each phase of one try."""

    connect_s: float = 10.0
    first_token_s: float = 180.0
    idle_s: float = 60.0
    total_s: float = 900.0


class AnswerReader(Protocol):
    """Gathers what one kind of endpoint streams."""

    @property
    def started(self) -> bool:
        """Whether any text or reasoning arrived."""

    @property
    def fault(self) -> ServerFault | None:
        """An error that the stream carried."""

    @property
    def ended(self) -> bool:
        """Whether the server said that it is done."""

    def event(self, event: ServerEvent) -> None:
        """Take one event of a stream."""

    def whole(self, body: Mapping[str, Any]) -> None:
        """Take a whole answer, from an endpoint that does not stream."""

    def reset(self) -> None:
        """Forget everything, before another try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a call went on the wire; `outcome` is `COMPLETE` when the answer itself is to be classified."""

    outcome: Outcome
    fault: ServerFault | None = None
    detail: str = ""
    retry_after_s: float | None = None
    tries: int = 1
    elapsed_s: float = 0.0
    first_token_s: float | None = None


@dataclass(slots=True)
class _Try:
    started_at: float
    first_token_at: float | None = None
    retry_after_s: float | None = None


@dataclass(slots=True, kw_only=True)
class Wire:
    """A connection to one endpoint."""

    base_url: str
    key: Key | None = None
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Clock = field(default_factory=SystemClock)
    transport: "httpx.AsyncBaseTransport | None" = None
    extra_secrets: tuple[Key, ...] = ()
    _client: "httpx.AsyncClient | None" = field(default=None, init=False, repr=False)

    def hide(self, text: str) -> str:
        """Return text with every key of this endpoint taken out."""
        keys = (self.key, *self.extra_secrets) if self.key else self.extra_secrets
        return redact(text, keys)

    @property
    def call_limit_s(self) -> float:
        """Seconds after which a call has certainly ended, with every try and wait."""
        wait = self.retry.most_s * (1 + self.retry.jitter) + self.timeouts.first_token_s
        return self.timeouts.total_s + self.timeouts.connect_s + (self.retry.tries - 1) * wait

    async def post(
        self, path: str, payload: Mapping[str, Any], reader: AnswerReader, cancel: asyncio.Event | None
    ) -> Reply:
        """Send a payload, and hand what comes back to the reader; tried again while that is safe."""
        begun = self.clock.monotonic()
        state = _Try(begun)
        tries = 0
        while True:
            tries += 1
            reader.reset()
            state = _Try(self.clock.monotonic())
            reply = await unless_cancelled(self._try(path, payload, reader, state), cancel)
            wait = self._wait_after(reply, reader, tries)
            if wait is None:
                break
            if await unless_cancelled(self._sleep(wait), cancel) is None:
                reply = None
                break
        first = None if state.first_token_at is None else state.first_token_at - state.started_at
        if reply is None:
            reply = Reply(outcome=Outcome.CANCELLED, detail="cancelled")
        return Reply(
            outcome=reply.outcome,
            fault=reply.fault,
            detail=self.hide(reply.detail),
            retry_after_s=state.retry_after_s,
            tries=tries,
            elapsed_s=self.clock.monotonic() - begun,
            first_token_s=first,
        )

    async def get_json(self, path: str, *, timeout_s: float) -> tuple[int, Any]:
        """Return status and decoded JSON of a GET; the JSON is None when the body is not JSON.

        Raises:
            httpx.HTTPError: nothing answered.
        """
        client = self._open_client()
        response = await client.get(self._url(path), headers=self._headers(), timeout=timeout_s)
        with suppress(ValueError):
            return response.status_code, response.json()
        return response.status_code, None

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _sleep(self, seconds: float) -> bool:
        await self.clock.sleep(seconds)
        return True

    def _wait_after(self, reply: Reply | None, reader: AnswerReader, tries: int) -> float | None:
        if reply is None or reader.started:
            return None
        if reply.outcome is Outcome.OVERLOADED:
            return self.retry.wait_before(tries, reply.retry_after_s)
        if reply.outcome is Outcome.UNREACHABLE and tries < self.retry.unreachable_tries:
            return self.retry.wait_before(tries, None)
        return None

    async def _try(self, path: str, payload: Mapping[str, Any], reader: AnswerReader, state: _Try) -> Reply:
        import httpx

        body = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
        limits = self.timeouts
        try:
            async with asyncio.timeout(limits.first_token_s) as limit:
                async with self._open_client().stream(
                    "POST", self._url(path), content=body, headers=self._headers()
                ) as response:
                    return await self._read(response, reader, state, limit)
        except TimeoutError:
            if reader.ended:
                return Reply(outcome=Outcome.COMPLETE)
            return Reply(outcome=Outcome.TIMED_OUT, detail=_timeout_detail(limits, reader.started))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Reply(
                outcome=Outcome.UNREACHABLE, detail=f"{self._shown()} cannot be reached: {_reason(error)}"
            )
        except httpx.HTTPError as error:
            if reader.ended:
                return Reply(outcome=Outcome.COMPLETE)
            if reader.started:
                return Reply(outcome=Outcome.INTERRUPTED, detail=f"the answer broke off: {_reason(error)}")
            return Reply(
                outcome=Outcome.UNREACHABLE, detail=f"{self._shown()} closed the connection: {_reason(error)}"
            )

    async def _read(
        self, response: "httpx.Response", reader: AnswerReader, state: _Try, limit: asyncio.Timeout
    ) -> Reply:
        state.retry_after_s = parse_retry_after(response.headers.get("retry-after"), self.clock.now())
        if response.is_redirect:
            return Reply(outcome=Outcome.BAD_REQUEST, detail=self._redirect_detail(response))
        if response.status_code != 200:
            return self._fault(read_fault(response.status_code, await _some(response)), state)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in {"text/html", "application/xhtml+xml"}:
            return Reply(outcome=Outcome.BAD_RESPONSE, detail=f"{self._shown()} answered with a web page")
        if kind == "application/json":
            return await self._read_whole(response, reader, state)
        return await self._read_stream(response, reader, state, limit)

    async def _read_stream(
        self, response: "httpx.Response", reader: AnswerReader, state: _Try, limit: asyncio.Timeout
    ) -> Reply:
        events = EventReader()
        size = 0
        loop = asyncio.get_running_loop()
        end = loop.time() + self.timeouts.total_s
        draining = False
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > RESPONSE_MOST_BYTES:
                return Reply(outcome=Outcome.BAD_RESPONSE, detail="the answer is larger than 32 MiB")
            if draining:
                continue  # read to the end, so that the connection can be used again
            for event in events.feed(chunk):
                reader.event(event)
            if reader.started:
                if state.first_token_at is None:
                    state.first_token_at = self.clock.monotonic()
                limit.reschedule(min(end, loop.time() + self.timeouts.idle_s))
            if reader.fault is not None:
                return self._fault(reader.fault, state)
            draining = reader.ended
            if draining:
                limit.reschedule(loop.time() + _DRAIN_S)
        for event in events.finish():
            reader.event(event)
        if reader.fault is not None:
            return self._fault(reader.fault, state)
        if size and not events.seen:
            return Reply(
                outcome=Outcome.BAD_RESPONSE, detail=f"{self._shown()} answered with no event stream"
            )
        return Reply(outcome=Outcome.COMPLETE)

    async def _read_whole(self, response: "httpx.Response", reader: AnswerReader, state: _Try) -> Reply:
        raw = await _some(response, RESPONSE_MOST_BYTES)
        try:
            body = load_json(raw)
        except ValueError:
            return Reply(
                outcome=Outcome.BAD_RESPONSE, detail="the answer is not the JSON that it claims to be"
            )
        if not isinstance(body, dict):
            return Reply(outcome=Outcome.BAD_RESPONSE, detail="the answer is JSON of another shape")
        reader.whole(body)
        state.first_token_at = self.clock.monotonic()
        if reader.fault is not None:
            return self._fault(reader.fault, state)
        return Reply(outcome=Outcome.COMPLETE)

    def _fault(self, fault: ServerFault, state: _Try) -> Reply:
        said = f"HTTP {fault.status}" if fault.status not in {0, 200} else "inside the stream"
        return Reply(
            outcome=fault.outcome,
            fault=fault,
            detail=f"{self._shown()} said ({said}): {fault.message}",
            retry_after_s=state.retry_after_s,
        )

    def _open_client(self) -> "httpx.AsyncClient":
        import httpx

        if self._client is None:
            # at debug level it logs response headers, in which a server may echo a key
            logging.getLogger("httpcore").setLevel(logging.WARNING)
            loopback = Origin.of(self.base_url).is_loopback
            limits = self.timeouts
            self._client = httpx.AsyncClient(
                transport=self.transport,
                follow_redirects=False,
                trust_env=not loopback,  # a proxy setting must not carry loopback traffic away
                timeout=httpx.Timeout(None, connect=limits.connect_s, write=limits.total_s),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=16),
            )
        return self._client

    def _url(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    def _shown(self) -> str:
        return str(Origin.of(self.base_url))

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        headers.update(self.headers)
        if self.key is not None:
            value = self.key.value_for(self.base_url)
            headers[self.key_header] = f"Bearer {value}" if self.key_header == "Authorization" else value
        return headers

    def _redirect_detail(self, response: "httpx.Response") -> str:
        target = urlsplit(response.headers.get("location", ""))
        where = f" to {target.scheme}://{target.hostname}" if target.hostname else ""
        return (
            f"{self._shown()} redirects{where}; requests and keys do not follow, configure the final address"
        )


async def unless_cancelled(work: Coroutine[Any, Any, T], cancel: asyncio.Event | None) -> T | None:
    """Return what the work returns, or None as soon as `cancel` is set; the work is then cancelled and awaited."""
    if cancel is None:
        return await work
    if cancel.is_set():
        work.close()
        return None
    task = asyncio.ensure_future(work)
    stop = asyncio.ensure_future(cancel.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for waiting in (task, stop):
            waiting.cancel()
        await asyncio.gather(task, stop, return_exceptions=True)


async def pass_on(cancel: asyncio.Event | None, stop: asyncio.Event) -> None:
    """Set `stop` once `cancel` is set: for a call that may also be stopped for a reason of our own."""
    if cancel is not None:
        await cancel.wait()
        stop.set()


async def _some(response: "httpx.Response", most: int = _ERROR_BODY_MOST) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        parts.append(chunk)
        size += len(chunk)
        if size >= most:
            break
    return b"".join(parts)[:most]


def _timeout_detail(limits: Timeouts, started: bool) -> str:
    if started:
        return f"no more text for {limits.idle_s:g} s, or the answer took over {limits.total_s:g} s"
    return f"no text within {limits.first_token_s:g} s"


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__
