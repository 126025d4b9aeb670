"""Keys: bound to one endpoint, and kept out of everything that is written down.

A key is handed out only for a URL of the origin (scheme, host and port) that it was configured for, and its
value appears in no `repr`, no error and no pickle (contract: design, Performers and providers).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

from treewright.errors import ModelError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK_NAMES = {"localhost", "localhost.localdomain", "ip6-localhost"}
HIDDEN = "[key hidden]"

_KEY_SHAPES = re.compile(
    r"(?:sk|pk|rk|gsk|xai|hf|ghp|AIza|nvapi|pplx)[-_A-Za-z0-9]{16,}|(?<=Bearer )\S{8,}|(?<=x-api-key: )\S{8,}"
)
_SHOWN_OF_MASKED = re.compile(r"\b(?:sk|pk)-[A-Za-z0-9_-]*\*{2,}[A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL, normalised so that equal endpoints are equal."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> "Origin":
        """Return the origin of an endpoint's URL.

        Raises:
            ModelError: `endpoint_invalid`; not http(s), no host, a bad port, or a user name in it.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise _invalid_endpoint("is not a URL") from None
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise _invalid_endpoint("does not start with http:// or https:// and a host")
        if parts.username is not None or parts.password is not None:
            raise _invalid_endpoint("holds a user name or password; put it in api_key instead")
        if parts.query or parts.fragment:
            raise _invalid_endpoint("has a query or fragment; keys do not belong in a URL")
        return cls(parts.scheme, parts.hostname.lower().rstrip("."), port or _DEFAULT_PORTS[parts.scheme])

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine."""
        return self.host in _LOOPBACK_NAMES or self.host == "::1" or self.host.startswith("127.")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _DEFAULT_PORTS[self.scheme] == self.port
        return f"{self.scheme}://{host}" + ("" if default else f":{self.port}")


class Key:
    """The key of one endpoint. Its value leaves only through `value_for`."""

    __slots__ = ("_origin", "_value")

    def __init__(self, value: str, endpoint: str) -> None:
        """Bind a key to an endpoint.

        Args:
            value: the key; blanks around it are dropped.
            endpoint: URL of the endpoint.

        Raises:
            ModelError: `key_invalid`; it is empty or holds characters that no header may.
        """
        value = value.strip()
        if not value or not value.isascii() or not value.isprintable() or " " in value:
            raise ModelError(
                "key_invalid",
                "The key for this endpoint is empty or holds blanks, line breaks or other foreign characters.",
                "Copy the key again; it is one word of plain characters.",
            )
        self._value = value
        self._origin = Origin.of(endpoint)

    @property
    def origin(self) -> Origin:
        """The only origin that this key is for."""
        return self._origin

    def value_for(self, url: str) -> str:
        """Return the key, when the URL lies at its endpoint.

        Raises:
            ModelError: `key_bound_elsewhere`; it lies elsewhere.
        """
        target = Origin.of(url)
        if target != self._origin:
            raise ModelError(
                "key_bound_elsewhere",
                f"A key configured for {self._origin} was not sent to {target}.",
                "Configure a key for that endpoint by itself.",
            )
        return self._value

    def hide_in(self, text: str) -> str:
        """Return text without this key."""
        return text.replace(self._value, HIDDEN)

    def __repr__(self) -> str:
        return f"Key({HIDDEN} for {self._origin})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be written down."""
        raise TypeError("a key is not pickled")


def redact(text: str, keys: Iterable[Key] = ()) -> str:
    """Return text without the given keys and without anything shaped like one."""
    for key in keys:
        text = key.hide_in(text)
    text = _SHOWN_OF_MASKED.sub(HIDDEN, text)
    return _KEY_SHAPES.sub(HIDDEN, text)


def find_key(
    endpoint: str,
    *,
    name: str,
    settings: Mapping[str, object],
    handed: Mapping[str, str],
    environment: Mapping[str, str],
    vendor_variables: Mapping[str, str],
) -> Key | None:
    """Return the key of an endpoint, or None when it has none.

    Looked for in this order: handed in by the editor's secret storage, `api_key_env`, `api_key`, then the vendor's
    own variable, and that only at the vendor's own host.

    Args:
        endpoint: URL of the endpoint.
        name: the endpoint's name in the configuration.
        settings: the endpoint's table; `api_key` and `api_key_env` are read.
        handed: keys by endpoint name.
        environment: environment variables.
        vendor_variables: host name to variable name, such as `api.openai.com` to `OPENAI_API_KEY`.

    Raises:
        ModelError: `key_missing`; `api_key_env` names a variable that is not set.
    """
    if handed.get(name):
        return Key(handed[name], endpoint)
    variable = settings.get("api_key_env")
    if isinstance(variable, str):
        if not environment.get(variable):
            raise ModelError(
                "key_missing",
                f"The environment variable {variable} that holds the key of {name!r} is not set.",
                f"Set {variable}, or remove api_key_env from the endpoint.",
            )
        return Key(environment[variable], endpoint)
    written = settings.get("api_key")
    if isinstance(written, str) and written:
        return Key(written, endpoint)
    vendor = vendor_variables.get(Origin.of(endpoint).host)
    if vendor and environment.get(vendor) and Origin.of(endpoint).scheme == "https":
        return Key(environment[vendor], endpoint)
    return None


def _invalid_endpoint(fault: str) -> ModelError:
    return ModelError(
        "endpoint_invalid",
        f"The endpoint's address {fault}.",
        "An endpoint looks like http://127.0.0.1:11434/v1 or https://api.example.com/v1.",
    )
