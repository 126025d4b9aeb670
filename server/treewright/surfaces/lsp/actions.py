"""What can be done about a finding, as commands: the client's own where it has them, else the server's."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.surfaces.lsp.session import Session

SERVER_PREFIX = "treewright.lsp."
CLIENT_PREFIX = "treewright.finding."
"""A client that sets `clientCommands` has these registered itself, and asks for reasons with its own boxes."""


TITLES = {
    "search": "Search for a verified fix",
    "open": "Open the finding",
    "deeper": "Explore deeper",
    "accept": "Accept the risk…",
    "dismiss": "False alarm…",
    "issue": "Copy as issue text",
}
"""What is offered for a finding, in this order; the first executes code."""


def command_for(session: "Session", kind: str, run: str, node: str, title: str) -> dict[str, Any]:
    """Return a command on a finding.

    Args:
        session: the client's.
        kind: `open`, `deeper`, `accept`, `dismiss`, `issue` or `search`.
        run, node: the finding.
        title: what the user reads.
    """
    prefix = CLIENT_PREFIX if session.settings.client_commands else SERVER_PREFIX
    return {"title": title, "command": prefix + kind, "arguments": [{"run": run, "node": node}]}
