"""What was found out about endpoints, kept so that it is found out once.

The file is a cache: it can be deleted at any time, and a damaged one is started anew.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from treewright.parsing import load_json
from treewright.regular import read_regular_text

Structured: TypeAlias = Literal["json_schema", "json_object", "prompt"]
LADDER: tuple[Structured, ...] = ("json_schema", "json_object", "prompt")

_SPEED_WEIGHT = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one endpoint wants to be asked.

    Attributes:
        refused: means of imposing a schema that it turned down.
        dropped: optional parameters that it turned down.
        renamed_max: it wants `max_completion_tokens` instead of `max_tokens`.
        one_sample: it answers with one sample however many are asked for.
    """

    refused: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    renamed_max: bool = False
    one_sample: bool = False

    @property
    def structured(self) -> Structured:
        """The best means that was not turned down."""
        return next((means for means in LADDER if means not in self.refused), "prompt")

    def joined(self, other: "Dialect") -> "Dialect":
        """Return what either knows: calls in flight together learn different things."""
        return Dialect(
            refused=self.refused | other.refused,
            dropped=self.dropped | other.dropped,
            renamed_max=self.renamed_max or other.renamed_max,
            one_sample=self.one_sample or other.one_sample,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Measured speed of one call at a time, a moving average.

    Attributes:
        tokens_per_second: after the first token.
        first_token_s: seconds until the first token.
        calls: how many calls were measured.
    """

    tokens_per_second: float = 0.0
    first_token_s: float = 0.0
    calls: int = 0

    def after(self, tokens: int, first_token_s: float, rest_s: float) -> "Speed":
        """Return the average with one more call in it; a call too short to measure changes nothing."""
        if tokens < 8 or rest_s <= 0:
            return self
        weight = _SPEED_WEIGHT if self.calls else 1.0
        return Speed(
            tokens_per_second=self.tokens_per_second + weight * (tokens / rest_s - self.tokens_per_second),
            first_token_s=self.first_token_s + weight * (first_token_s - self.first_token_s),
            calls=self.calls + 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """Everything remembered of one model at one endpoint; the context size only while the process lives."""

    dialect: Dialect = field(default_factory=Dialect)
    speed: Speed = field(default_factory=Speed)
    context_tokens: int | None = None


class EndpointMemory:
    """Facts by endpoint and model, in memory and, given a path, in a file."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what an earlier process found out.

        Args:
            path: JSON file; None keeps everything in memory only.
        """
        self._path = path
        self._facts: dict[str, EndpointFacts] = _read(path) if path else {}

    def facts(self, endpoint: str, model: str) -> EndpointFacts:
        """Return what is known, defaults when nothing is."""
        return self._facts.get(_name(endpoint, model), EndpointFacts())

    def learn(self, endpoint: str, model: str, **changes: Any) -> EndpointFacts:
        """Change facts (`dialect`, `speed`, `context_tokens`) and write them down, unless nothing changed."""
        before = self.facts(endpoint, model)
        after = replace(before, **changes)
        if after != before:
            self._facts[_name(endpoint, model)] = after
            if "speed" not in changes or before.speed.calls == 0:
                self.save()
        return after

    def save(self) -> None:
        """Write the file by atomic replace; a disk that refuses costs nothing but asking again."""
        if self._path is None:
            return
        merged = {**_read(self._path), **self._facts}
        table = {name: _plain(facts) for name, facts in merged.items()}
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, scratch = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(table, file, indent=1, sort_keys=True)
                Path(scratch).replace(self._path)
            except OSError:
                Path(scratch).unlink(missing_ok=True)
                raise


def _name(endpoint: str, model: str) -> str:
    return f"{endpoint}|{model}"


def _plain(facts: EndpointFacts) -> dict[str, Any]:
    table = asdict(facts)
    del table["context_tokens"]  # a server may be started with another context tomorrow
    for key in ("refused", "dropped"):
        table["dialect"][key] = sorted(table["dialect"][key])
    return table


def _read(path: Path) -> dict[str, EndpointFacts]:
    try:
        table = load_json(read_regular_text(path))
        return {str(name): _facts_of(entry) for name, entry in table.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _facts_of(entry: Mapping[str, Any]) -> EndpointFacts:
    dialect = dict(entry["dialect"])
    return EndpointFacts(
        dialect=Dialect(
            refused=frozenset(map(str, dialect["refused"])),
            dropped=frozenset(map(str, dialect["dropped"])),
            renamed_max=bool(dialect["renamed_max"]),
            one_sample=bool(dialect["one_sample"]),
        ),
        speed=Speed(**entry["speed"]),
    )
