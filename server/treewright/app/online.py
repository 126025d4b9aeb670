"""Pages for online checks: fetched once a process, by our own code, and only when the user asked for it."""

import asyncio
import re
from dataclasses import dataclass
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from treewright.models.fetch import Page, PageFetcher

LINKS_MOST = 8
_ADDRESS = "https?://[^\\s<>\"'()\\[\\]]+"


@dataclass(slots=True)
class CheckedPage:
    """A page as the verifier looks at it."""

    status: int
    text: str
    problem: str


class Web:
    """Fetches pages for the cross-check X and for the verifier, each once.

    Attributes:
        search_url: a search service's address; empty for none.
    """

    def __init__(self, search_url: str = "", fetcher: PageFetcher | None = None) -> None:
        """Use a fetcher."""
        self.search_url = search_url
        self._fetcher = fetcher or PageFetcher()

    async def page(self, url: str) -> Page:
        """Fetch a page; never raises for what the network did."""
        return await self._fetcher.fetch(url)

    async def links(self, url: str) -> list[str]:
        """Fetch a page of results and return the addresses of other hosts that stand in its text.

        What the page says about them is no evidence and is not kept.
        """
        page = await self.page(url)
        own = urlsplit(url).hostname
        found = dict.fromkeys(re.findall(_ADDRESS, page.text))
        return [address for address in found if urlsplit(address).hostname != own][:LINKS_MOST]

    async def checked(self, url: str) -> CheckedPage:
        """Fetch a page for a citation."""
        page = await self.page(url)
        problem = "" if page.status == 200 and page.text else page.detail or page.outcome.value
        return CheckedPage(page.status or 0, page.text, problem)


_webs: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Web]]" = WeakKeyDictionary()


def shared_web(search_url: str) -> Web:
    """Return the pages of the running loop: what X read is not fetched again to be checked."""
    return _webs.setdefault(asyncio.get_running_loop(), {}).setdefault(search_url, Web(search_url))
