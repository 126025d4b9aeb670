"""Fetching web pages as evidence, only when the user asked for online checks.

A page's address comes from a model or a document, so it is not trusted: http and https only, no address of this
machine or its network, every redirect looked at again, and the connection goes to the very address that was looked
at, so that a name cannot point elsewhere in between.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit

from treewright.models.html_text import readable_text

if TYPE_CHECKING:
    import httpx

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host and port to its addresses."""

_TEXT_KINDS = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/ld+json")
_AGENT = "treewright (checks citations)"


class FetchOutcome(StrEnum):
    """How fetching ended; only `FETCHED` may verify a citation."""

    FETCHED = "fetched"
    NOT_ALLOWED = "not_allowed"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    BAD_STATUS = "bad_status"
    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    TOO_MANY_REDIRECTS = "too_many_redirects"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPolicy:
    """What may be fetched.

    Attributes:
        timeout_s: seconds for a page, redirects included.
        most_bytes: largest page.
        redirects: redirects followed.
        private: also addresses of this machine and of private networks.
        concurrency: pages together.
    """

    timeout_s: float = 20.0
    most_bytes: int = 4 << 20
    redirects: int = 5
    private: bool = False
    concurrency: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A fetched page, or why there is none.

    Attributes:
        url: as asked.
        final_url: after redirects.
        outcome: how it ended.
        status: HTTP status, None when nothing answered.
        title: of an HTML page.
        text: readable text, empty unless fetched.
        detail: what is wrong, in one sentence.
    """

    url: str
    final_url: str
    outcome: FetchOutcome
    status: int | None = None
    title: str = ""
    text: str = ""
    detail: str = ""


class _RefusedError(Exception):
    def __init__(self, outcome: FetchOutcome, detail: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.status = status


@dataclass(slots=True)
class PageFetcher:
    """Fetches each page once a run."""

    policy: FetchPolicy = field(default_factory=FetchPolicy)
    resolve: Resolver | None = None
    transport: "httpx.AsyncBaseTransport | None" = None
    _pages: dict[str, Page] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    _turns: asyncio.Semaphore | None = None

    async def fetch(self, url: str) -> Page:
        """Return a page; the same one when it is asked for again. Never raises for what the network did."""
        address = url.partition("#")[0].strip()
        if self._turns is None:
            self._turns = asyncio.Semaphore(self.policy.concurrency)
        async with self._locks.setdefault(address, asyncio.Lock()):
            if address not in self._pages:
                async with self._turns:
                    self._pages[address] = await self._page(address)
        return self._pages[address]

    async def _page(self, url: str) -> Page:
        import httpx

        at = [url]
        try:
            async with asyncio.timeout(self.policy.timeout_s):
                return await self._follow(url, at)
        except TimeoutError:
            return _no_page(url, at[-1], FetchOutcome.TIMED_OUT, f"no answer in {self.policy.timeout_s:g} s")
        except _RefusedError as refused:
            return _no_page(url, at[-1], refused.outcome, str(refused), refused.status)
        except httpx.HTTPError as error:
            said = " ".join(str(error).split()) or type(error).__name__
            return _no_page(url, at[-1], FetchOutcome.UNREACHABLE, said)
        except httpx.InvalidURL:
            return _no_page(url, at[-1], FetchOutcome.NOT_ALLOWED, "this is no valid address")

    async def _follow(self, url: str, at: list[str]) -> Page:
        import httpx

        limit = self.policy.timeout_s
        async with httpx.AsyncClient(transport=self.transport, trust_env=False, timeout=limit) as client:
            for _ in range(self.policy.redirects + 1):
                request = await self._checked_request(client, at[-1])
                response = await client.send(request, stream=True)
                try:
                    if response.is_redirect and response.headers.get("location"):
                        at.append(urljoin(at[-1], response.headers["location"]))
                        continue
                    return await self._read(url, at[-1], response)
                finally:
                    await response.aclose()
        raise _RefusedError(FetchOutcome.TOO_MANY_REDIRECTS, f"more than {self.policy.redirects} redirects")

    async def _checked_request(self, client: "httpx.AsyncClient", url: str) -> "httpx.Request":
        """Return a request to the address that was checked, with the name kept for TLS and the Host header."""
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise _RefusedError(FetchOutcome.NOT_ALLOWED, "this is no valid address") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise _RefusedError(FetchOutcome.NOT_ALLOWED, "only http and https addresses are fetched")
        if parts.username is not None or parts.password is not None:
            raise _RefusedError(
                FetchOutcome.NOT_ALLOWED, "addresses with a user name or password are not fetched"
            )
        try:
            server_name = parts.hostname.encode("idna")
        except UnicodeError:
            raise _RefusedError(FetchOutcome.NOT_ALLOWED, "this is no valid address") from None
        address = await self._allowed_address(parts.hostname, port)
        host = f"[{address}]" if ":" in address else address
        pinned = urlunsplit((parts.scheme, f"{host}:{port}", parts.path or "/", parts.query, ""))
        named = f"[{parts.hostname}]" if ":" in parts.hostname else server_name.decode("ascii")
        default = port == (443 if parts.scheme == "https" else 80)
        headers = {
            "Host": named if default else f"{named}:{port}",
            "User-Agent": _AGENT,
            "Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.1",
        }
        return client.build_request("GET", pinned, headers=headers, extensions={"sni_hostname": server_name})

    async def _allowed_address(self, host: str, port: int) -> str:
        try:
            addresses = _literal(host) or await (self.resolve or _system_resolver)(host, port)
        except (OSError, UnicodeError):
            raise _RefusedError(FetchOutcome.UNREACHABLE, f"the name {host} is not known") from None
        if not addresses:
            raise _RefusedError(FetchOutcome.UNREACHABLE, f"the name {host} is not known")
        if not self.policy.private and not all(_is_public(address) for address in addresses):
            raise _RefusedError(
                FetchOutcome.NOT_ALLOWED, f"{host} is this machine or lies in a private network"
            )
        return addresses[0]

    async def _read(self, url: str, final_url: str, response: "httpx.Response") -> Page:
        status = response.status_code
        if status != 200:
            raise _RefusedError(FetchOutcome.BAD_STATUS, f"it answered with status {status}", status)
        kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
        if not kind.startswith(_TEXT_KINDS):
            raise _RefusedError(FetchOutcome.NOT_TEXT, f"it is {kind}, not text", status)
        raw = bytearray()
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) > self.policy.most_bytes:
                limit = self.policy.most_bytes >> 20
                raise _RefusedError(FetchOutcome.TOO_LARGE, f"it is larger than {limit} MiB", status)
        is_html = "html" in kind
        title, text = readable_text(bytes(raw), response.charset_encoding, is_html=is_html)
        return Page(
            url=url,
            final_url=final_url,
            outcome=FetchOutcome.FETCHED,
            status=status,
            title=title,
            text=text,
        )


def _no_page(url: str, final_url: str, outcome: FetchOutcome, detail: str, status: int | None = None) -> Page:
    return Page(url=url, final_url=final_url, outcome=outcome, detail=detail, status=status)


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    if mapped is not None:
        ip = mapped
    return ip.is_global and not ip.is_multicast


def _literal(host: str) -> list[str]:
    """Return the address that a host is by itself, in the forms that connecting accepts."""
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        return []


async def _system_resolver(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
