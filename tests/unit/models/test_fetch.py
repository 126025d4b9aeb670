"""Fetching pages as evidence: what is fetched, what is not, and what text comes of it."""

import asyncio

import httpx
import pytest

from tests.unit.models.loopback import Loopback, Reply
from treewright.models.fetch import FetchOutcome, FetchPolicy, PageFetcher
from treewright.models.html_text import readable_text

pytestmark = pytest.mark.asyncio

OPEN = FetchPolicy(private=True, timeout_s=3)
PAGE = b"<html><head><title>A  title</title><style>x{}</style></head><body><h1>Head</h1><p>One &amp; two<script>no()</script></p></body>"


def html(body: bytes = PAGE, status: int = 200, **headers: str) -> Reply:
    return Reply([body], status, {"content-type": "text/html; charset=utf-8", **headers})


async def fetched(replies, policy=OPEN, path="/page", **settings):
    async with Loopback(replies) as server:
        fetcher = PageFetcher(policy, **settings)
        page = await fetcher.fetch(server.url.removesuffix("/v1") + path)
        return page, server


@pytest.mark.requirement("models:fetch:text")
async def test_a_page_is_fetched_once_and_its_readable_text_taken():
    async with Loopback([html()]) as server:
        fetcher = PageFetcher(OPEN)
        url = server.url + "/a"
        first, second = await asyncio.gather(fetcher.fetch(url), fetcher.fetch(url + "#part"))
    assert first is second and len(server.asked) == 1
    assert (first.outcome, first.status, first.title) == (FetchOutcome.FETCHED, 200, "A title")
    assert first.text == "Head\nOne & two"
    assert "authorization" not in server.asked[0].headers and "cookie" not in server.asked[0].headers


@pytest.mark.requirement("models:fetch:no-private-address")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/x",
        "http://localhost/x",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http://user:word@example.org/",
        "javascript:alert(1)",
        "http://exa mple:bad/",
        "http://example.org:99999/",
        "not a url",
        "",
    ],
)
async def test_addresses_that_are_not_public_web_pages_are_not_fetched(url):
    page = await PageFetcher(FetchPolicy(timeout_s=3)).fetch(url)
    assert page.outcome in {FetchOutcome.NOT_ALLOWED, FetchOutcome.UNREACHABLE} and page.text == ""
    if url.startswith("http://1") or "::" in url or "localhost" in url:
        assert page.outcome is FetchOutcome.NOT_ALLOWED


@pytest.mark.requirement("models:fetch:no-private-address")
async def test_a_redirect_to_a_private_address_is_looked_at_again():
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.7"] if host == "inside.example" else ["93.184.216.34"]

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["host"])
        return httpx.Response(302, headers={"location": "http://inside.example/secret"})

    fetcher = PageFetcher(FetchPolicy(timeout_s=3), resolve, httpx.MockTransport(answer))
    page = await fetcher.fetch("http://outside.example/")
    assert page.outcome is FetchOutcome.NOT_ALLOWED and page.final_url == "http://inside.example/secret"
    assert asked == ["outside.example"]


async def test_the_connection_goes_to_the_address_that_was_checked_under_the_page_s_own_name():
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with Loopback([html()]) as server:
        port = server.url.split(":")[2].split("/")[0]
        page = await PageFetcher(OPEN, resolve=resolve).fetch(f"http://docs.example:{port}/x?q=1")
    assert page.outcome is FetchOutcome.FETCHED
    assert server.asked[0].headers["host"] == f"docs.example:{port}"
    assert server.asked[0].path == "/x?q=1"


@pytest.mark.requirement("models:fetch:limits")
async def test_pages_that_are_too_large_not_text_missing_or_endless_say_so():
    page, _ = await fetched([html(b"x" * 3000)], FetchPolicy(private=True, most_bytes=1000))
    assert page.outcome is FetchOutcome.TOO_LARGE
    page, _ = await fetched([Reply([b"%PDF"], headers={"content-type": "application/pdf"})])
    assert page.outcome is FetchOutcome.NOT_TEXT
    page, _ = await fetched([html(b"gone", 404)])
    assert (page.outcome, page.status, page.text) == (FetchOutcome.BAD_STATUS, 404, "")
    page, server = await fetched([html(b"", 302, location="/again")])
    assert page.outcome is FetchOutcome.TOO_MANY_REDIRECTS and len(server.asked) == 6
    page, _ = await fetched([Reply([b"x"], hold=asyncio.Event())], FetchPolicy(private=True, timeout_s=0.2))
    assert page.outcome is FetchOutcome.TIMED_OUT


async def test_a_relative_redirect_is_followed():
    page, server = await fetched([html(b"", 301, location="next?x=1"), html()], path="/a/b")
    assert page.outcome is FetchOutcome.FETCHED and server.asked[1].path == "/a/next?x=1"
    assert page.final_url.endswith("/a/next?x=1")


@pytest.mark.parametrize(
    ("raw", "charset", "expected"),
    [
        ("<p>Grün</p>".encode("latin-1"), "iso-8859-1", "Grün"),
        ('<meta charset="gbk"><p>中文</p>'.encode("gbk"), None, "中文"),
        (b"\xef\xbb\xbf<p>x</p>", "ascii", "x"),
        (b"<p>x</p>", "no-such-charset", "x"),
        (b"<head><title>t</title><p>no closing head</p>", None, "no closing head"),
        (b"<head><script>if (a<b) {}</script></head><body>a<br>b<noscript>c</noscript>", None, "a\nb"),
        (b"<p>cut <b>off", None, "cut off"),
    ],
)
async def test_text_is_decoded_and_markup_taken_out(raw, charset, expected):
    assert readable_text(raw, charset, is_html=True)[1] == expected
