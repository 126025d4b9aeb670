"""The external cross-check X: the model says where to look, our code fetches, the model quotes, our code checks the quotation.

A search result's snippet is never evidence: only pages that were fetched are shown, and only they can be quoted.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol
from urllib.parse import quote_plus, urlsplit

from treewright.explore.tasks import Brief, ExternalResult
from treewright.models.tokens import tokens_about
from treewright.performers.model import shapes
from treewright.performers.model.prompts import prompt
from treewright.performers.model.shapes import Style
from treewright.tree.citation import Citation

QUERIES_MOST = 2
PAGES_MOST = 3
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]]+")


class FetchedPage(Protocol):
    """A page: its text is empty when it could not be had."""

    @property
    def text(self) -> str:
        """Readable text."""

    @property
    def status(self) -> int | None:
        """HTTP status."""


class Lookup(Protocol):
    """Fetches pages; only there when the run is online.

    Attributes:
        search_url: a search service's address with `{query}`; empty for none.
    """

    search_url: str

    async def page(self, url: str) -> FetchedPage:
        """Fetch a page."""
        ...

    async def links(self, url: str) -> list[str]:
        """Fetch a page of results and return the addresses it leads to."""
        ...


Ask = Callable[[str, str, shapes.Schema], Awaitable[dict[str, Any]]]


async def external(brief: Brief, style: Style, lookup: Lookup, ask: Ask, room: int) -> ExternalResult:
    """Return quotations of fetched pages that bear on a node.

    Args:
        brief: of the task.
        style: how to ask.
        lookup: fetches.
        ask: asks the model for a part.
        room: tokens of page text to show.
    """
    framing = brief.framing.instruction(brief.preset) if brief.framing else ""
    label = brief.preset.subject_label
    if lookup.search_url:
        task = prompt("external.queries", count=QUERIES_MOST, label=label, framing=framing)
        answer = await ask("queries", task, shapes.texts_schema(style, "queries", QUERIES_MOST))
        found = [
            await lookup.links(search_address(lookup.search_url, str(q)))
            for q in answer["queries"][:QUERIES_MOST]
        ]
        addresses = [address for links in found for address in links]
    else:
        task = prompt("external.addresses", count=PAGES_MOST, label=label, framing=framing)
        answer = await ask("addresses", task, shapes.texts_schema(style, "addresses", PAGES_MOST))
        addresses = [match[0] for each in answer["addresses"] if (match := _ADDRESS.search(str(each)))]
    pages = await _pages(lookup, list(dict.fromkeys(addresses))[: PAGES_MOST * 2])
    if not pages:
        return ExternalResult(reason="no page that was named could be read")
    words = brief.lineage[-1].statement if brief.lineage else ""
    shown = "\n\n".join(
        f"## {url}\n{telling_part(text, words, room // len(pages))}" for url, text in pages.items()
    )
    task = f"{prompt('external.quotes', label=label)}\n\n{shown}"
    answer = await ask("quotes", task, shapes.quotes_schema(list(pages)))
    field = brief.preset.parts.external or ""
    cited = [
        Citation(kind="url", field=field, url=str(each["url"]), quote=str(each["quote"]))
        for each in answer["citations"]
        if str(each["quote"]).strip()
    ]
    return ExternalResult(
        citations=cited, reason="" if cited else "the pages that were read do not bear on it"
    )


def search_address(template: str, query: str) -> str:
    """Return the address of a search; a template without `{query}` gets it as `q`."""
    text = quote_plus(query)
    if "{query}" in template:
        return template.replace("{query}", text)
    return f"{template}{'&' if urlsplit(template).query else '?'}q={text}"


async def _pages(lookup: Lookup, addresses: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for address in addresses:
        page = await lookup.page(address)
        if page.status == 200 and page.text.strip():
            found[address] = page.text
        if len(found) >= PAGES_MOST:
            break
    return found


def telling_part(text: str, words: str, most_tokens: int) -> str:
    """Return the paragraphs of a page that share most words with a statement, in reading order, as much as fits."""
    wanted = set(re.findall(r"\w{4,}", words.casefold()))
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n|\n", text) if len(p.strip()) > 20]
    ranked = sorted(
        range(len(paragraphs)),
        key=lambda n: (-len(wanted & set(re.findall(r"\w{4,}", paragraphs[n].casefold()))), n),
    )
    chosen: list[int] = []
    used = 0
    for number in ranked:
        size = tokens_about(paragraphs[number])
        if used + size > most_tokens and chosen:
            continue
        chosen.append(number)
        used += size
        if used >= most_tokens:
            break
    return "\n".join(paragraphs[number][: most_tokens * 5] for number in sorted(chosen))
