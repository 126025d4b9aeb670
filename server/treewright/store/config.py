"""The configuration: packaged defaults, the user's file, the workspace's file, and what a run was told.

Later layers win, except that a workspace's file may never set an endpoint, a key, a cap above the user's or a
kernel's permissions: a cloned repository is not trusted. A key that is not known is an error that names the
nearest one that is.
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from treewright.data import data_path
from treewright.errors import StoreError
from treewright.regular import TooLargeError, read_regular
from treewright.store.durable import shown, storage_error
from treewright.store.paths import Root, find_root, home_folder
from treewright.store.settings import ProviderSection, Settings, trust_rules
from treewright.store.toml_lines import key_lines, line_of

WORKSPACE_FILE = ".treewright.toml"
_LARGEST_FILE = 1 << 20

Layer = Literal["default", "user", "workspace", "run"]
Key = tuple[str, ...]


class Source(NamedTuple):
    """Where a setting's value comes from.

    Attributes:
        layer: which layer set it.
        file: the file; empty for what a run was told.
        line: the line in the file, from 1; 0 without a file.
    """

    layer: Layer
    file: str = ""
    line: int = 0

    def named(self) -> str:
        """Return the place as messages name it: `file:line`, or the layer."""
        return f"{shown(self.file)}:{self.line}" if self.file else "what the run was told"


class Notice(NamedTuple):
    """Something about the configuration that the user should know.

    Attributes:
        code: stable, such as `W051`.
        message: one sentence.
        key: the dotted setting; may be empty.
        error: whether the thing asked for cannot be done.
    """

    code: str
    message: str
    key: str = ""
    error: bool = False


class Configuration(NamedTuple):
    """The settings of a run, and where each comes from.

    Attributes:
        settings: merged and checked.
        sources: the source of each dotted key that was set, defaults included.
        root: where the store is.
        notices: what the user should know.
    """

    settings: Settings
    sources: dict[str, Source]
    root: Root
    notices: tuple[Notice, ...]

    def is_default(self, key: str) -> bool:
        """Tell whether a dotted key has its packaged value because nobody set it."""
        return self.sources.get(key, Source("default")).layer == "default"


class _Values(NamedTuple):
    layer: Layer
    file: Path | None
    values: dict[str, Any]
    lines: dict[Key, int]

    def source(self, key: Key) -> Source:
        if self.file is None:
            return Source(self.layer)
        return Source(self.layer, str(self.file), line_of(self.lines, key))


def load_config(
    *,
    workspace: Path | None = None,
    trusted: bool = True,
    run: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Configuration:
    """Return the settings that hold.

    Args:
        workspace: the workspace whose `.treewright.toml` counts; None for no such layer.
        trusted: False leaves the workspace's file unread (an untrusted folder in the editor).
        run: what the run was told, by dotted key: `{"search.spend_cap_usd": Decimal("1.00")}`; wins over all.
        environ: environment variables; the process's own by default.

    Raises:
        StoreError: `config_unreadable`, `config_syntax`, `config_unknown_key`, `config_invalid` or
            `config_not_allowed`, with `file:line` of the place.
    """
    own = home_folder(environ) / "config.toml"
    layers = [_read("default", data_path("config", "defaults.toml")), _read("user", own)]
    settings, sources = _merge(layers)
    notices = list(_open_secrets(own, settings))
    if workspace is not None and trusted:
        local = _read("workspace", workspace / WORKSPACE_FILE)
        _refuse_untrusted(local, settings)
        layers.append(local)
    layers.append(_Values("run", None, _nested(run or {}), {}))
    settings, sources = _merge(layers)
    store = settings.store
    root = find_root(environ, root=store.root, sessions_dir=store.sessions_dir, index_path=store.index_path)
    return Configuration(settings, sources, root, tuple(notices))


def check_search(config: Configuration, *, kernels: bool) -> list[Notice]:
    """Return what a search's settings ask for that cannot be done or should be known (contract: search, 5).

    Args:
        config: the settings.
        kernels: whether kernels can be had.

    Returns:
        `E052` search enabled without kernels, `W051` max_candidates above 5, `W052` absent cap.
    """
    found = []
    search = config.settings.search
    if search.enabled and not kernels:
        found.append(
            Notice("E052", "Searching needs kernels and there are none here.", "search.enabled", error=True)
        )
    if search.max_candidates > 5:
        found.append(
            Notice(
                "W051",
                f"max_candidates is {search.max_candidates}: above 5, branches cost more than they bring.",
                "search.max_candidates",
            )
        )
    if config.is_default("search.spend_cap_usd"):
        found.append(
            Notice(
                "W052",
                f"No spend cap is set; the default of {search.spend_cap_usd} USD holds.",
                "search.spend_cap_usd",
            )
        )
    return found


def _read(layer: Layer, path: Path) -> _Values:
    try:
        if not path.is_file():
            return _Values(layer, path, {}, {})
        text = read_regular(path, _LARGEST_FILE).decode("utf-8-sig")
        values = tomllib.loads(text, parse_float=Decimal)
    except UnicodeDecodeError as fault:
        raise StoreError(
            "config_unreadable", f"{shown(path)} is not UTF-8 text.", "Save it as UTF-8.", {"path": str(path)}
        ) from fault
    except TooLargeError as fault:
        raise StoreError("config_unreadable", f"{shown(path)} is over {_LARGEST_FILE} bytes.") from fault
    except OSError as fault:
        raise storage_error(fault, path, "read") from fault
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise StoreError(
            "config_syntax", f"{shown(path)} is not valid TOML: {fault}.", "", {"path": str(path)}
        ) from fault
    return _Values(layer, path, values, key_lines(text))


def _merge(layers: list[_Values]) -> tuple[Settings, dict[str, Source]]:
    merged: dict[str, Any] = {}
    sources: dict[Key, Source] = {}
    for layer in layers:
        for key, value in _leaves(layer.values):
            _put(merged, key, value)
            sources[key] = layer.source(key)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as faults:
        raise _told(faults.errors()[0], sources) from faults
    return settings, {".".join(key): source for key, source in sources.items()}


def _told(fault: ErrorDetails, sources: dict[Key, Source]) -> StoreError:
    """Turn the first fault of a validation into an error with its place."""
    key = tuple(str(part) for part in fault["loc"])
    known = _known(key, sources)
    place = sources.get(known, Source("run"))
    if fault["type"] == "extra_forbidden":
        name = ".".join(key)
        nearest = _nearest(name)
        return StoreError(
            "config_unknown_key",
            f"{place.named()}: `{name}` is not a setting.",
            f"Did you mean `{nearest}`?",
            {"key": name, "nearest": nearest, "file": place.file, "line": place.line},
        )
    name = ".".join(known if known == key[: len(known)] else key)
    return StoreError(
        "config_invalid",
        f"{place.named()}: `{name}`: {_plainly(fault)}.",
        "Correct the value.",
        {"key": name, "file": place.file, "line": place.line},
    )


def _plainly(fault: ErrorDetails) -> str:
    message = fault["msg"].replace("Value error, ", "")
    if fault["type"] == "is_instance_of":
        message = "Input should be a number"
    if fault["type"] == "model_type":
        message = "Input should be a table"
    return message[0].lower() + message[1:]


def _known(key: Key, sources: dict[Key, Source]) -> Key:
    """Return the key that was set and is nearest to the one at fault: itself, one around it, or one beside it."""
    near = {each: _shared(each, key) for each in sources}
    most = max(near.values())
    return min((each for each, shared in near.items() if shared == most), key=len) if most else ()


def _shared(one: Key, other: Key) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _refuse_untrusted(local: _Values, user: Settings) -> None:
    """Raise when a workspace's file sets what only the user may set."""
    rules = trust_rules()
    for key, value in _leaves(local.values):
        name = ".".join(key[:2])
        rule = rules.get(name) or rules.get(key[0], "open")
        if rule == "open" or _allowed(rule, value, _current(user, key)):
            continue
        place = local.source(key)
        meant = {"lower": "raise", "lower_cap": "raise", "off": "switch on"}.get(rule, "set")
        raise StoreError(
            "config_not_allowed",
            f"{place.named()}: a workspace may not {meant} `{'.'.join(key)}`.",
            "Set it in your own config.toml, or for this run.",
            {"key": ".".join(key), "file": place.file, "line": place.line},
        )


def _allowed(rule: str, value: Any, current: Any) -> bool:
    if rule == "off":
        return value is False
    if rule not in ("lower", "lower_cap") or isinstance(value, bool):
        return False
    if not isinstance(value, int | float | Decimal):
        return True  # of a wrong type: the validation says so
    if rule == "lower_cap" and current == 0:
        return True
    return (rule == "lower" or value != 0) and Decimal(str(value)) <= Decimal(str(current))


def _current(settings: Settings, key: Key) -> Any:
    value: Any = settings
    for part in key:
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value


def _open_secrets(path: Path, settings: Settings) -> Iterator[Notice]:
    """Warn of a key that other users of the machine can read."""
    secret = any(provider.api_key.get_secret_value() for provider in settings.providers.values())
    if secret and path.stat().st_mode & 0o077:
        yield Notice("config_readable_by_others", f"Others can read the keys in {shown(path)}: chmod 600 it.")


def _leaves(values: Mapping[str, Any], above: Key = ()) -> Iterator[tuple[Key, Any]]:
    for name, value in values.items():
        key = (*above, name)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, key)
        else:
            yield key, value


def _put(merged: dict[str, Any], key: Key, value: Any) -> None:
    at = merged
    for part in key[:-1]:
        inner = at.get(part)
        if not isinstance(inner, dict):
            inner = at[part] = {}
        at = inner
    at[key[-1]] = value


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        _put(nested, tuple(name.split(".")), value)
    return nested


def _nearest(name: str) -> str:
    """Return the known key that is most like an unknown one: in its own table where that is known."""
    section, _, rest = name.partition(".")
    if section == "providers" and "." in rest:
        provider, _, key = rest.partition(".")
        return f"providers.{provider}.{_closest(key, list(ProviderSection.model_fields))}"
    keys = [known.partition(".")[2] for known in trust_rules() if known.startswith(f"{section}.")]
    if keys:
        return f"{section}.{_closest(rest, keys)}"
    return _closest(section, list(Settings.model_fields))


def _closest(name: str, known: list[str]) -> str:
    return difflib.get_close_matches(name, known, 1, 0.0)[0]
