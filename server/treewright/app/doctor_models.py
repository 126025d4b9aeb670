"""What `treewright doctor` says of language models: whether each can be opened, and whether one of this machine answers."""

import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import urlsplit

from treewright.app.checkup import Checkup
from treewright.app.context import Context
from treewright.errors import TreewrightError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_CONNECT_S = 1.0
"""seconds in which a server of this machine takes a connection; other machines are never asked"""


def models(context: Context) -> Iterator[Checkup]:
    """Look at the configured providers, at the default, and at the package for embedded models."""
    try:
        settled = context.configuration()
    except TreewrightError:
        return  # told above
    from treewright.app.providers import open_provider

    settings = settled.settings
    default = settings.models.default
    for name in settings.providers:
        try:
            endpoint = open_provider(context, settled, name).info.endpoint
            yield _reached(name, endpoint, "configured" + (", the default" if name == default else ""))
        except TreewrightError as fault:
            yield Checkup(f"model {name}", "missing", fault.message, fault.hint)
    if not settings.providers and not default:
        yield Checkup(
            "models",
            "optional",
            "none is configured; `treewright audit` needs none",
            "treewright models shows what answers here; name one with --model, or set [models] default.",
        )
    elif default and default not in settings.providers:
        try:
            open_provider(context, settled, default)
        except TreewrightError as fault:
            yield Checkup("models.default", "missing", fault.message, fault.hint)
    if find_spec("xllamacpp") is None:
        yield Checkup(
            "embedded models",
            "optional",
            "not installed",
            f"{sys.executable} -m pip install 'treewright[local]'",
        )


def _reached(name: str, endpoint: str, told: str) -> Checkup:
    """Return what is known of a configured provider; only a server of this machine is knocked at."""
    address = urlsplit(endpoint)
    if address.hostname not in _LOOPBACK:
        return Checkup(f"model {name}", "good", told)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname, port), _CONNECT_S):
            return Checkup(f"model {name}", "good", f"{told}; {endpoint} takes connections")
    except OSError:
        mend = "Start the model's server, or correct endpoint; treewright models shows what answers here."
        return Checkup(f"model {name}", "missing", f"{told}; nothing answers at {endpoint}", mend)
