"""What a server's error means: an HTTP status and a body, or an error inside a stream, to an `Outcome`."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from treewright.data import data_path
from treewright.models.provider import Outcome
from treewright.parsing import load_json

_DETAIL_MOST = 300
_LIMIT_SAID = re.compile(
    r"(?:context (?:length|size|window)[^\d]{0,40}|available context size \(|maximum of |> )(\d{3,8})",
    re.IGNORECASE,
)
_PROMPT_SAID = re.compile(
    r"(?:request \(|resulted in |prompt is too long: |requested )(\d{3,8})(?: tokens)?", re.IGNORECASE
)

_SAID_OF_EVERYTHING = frozenset(
    {"invalid_request_error", "bad_request", "badrequesterror", "api_error", "server_error"}
)
"""Codes that some servers give to nearly every error; they decide only when nothing better does."""


@dataclass(frozen=True, slots=True)
class ServerFault:
    """An error as a server told it.

    Attributes:
        outcome: what it means.
        message: the server's words, shortened, keys not yet hidden.
        parameter: the request parameter it complains about, when it names one.
        status: HTTP status, 200 inside a stream.
        context_tokens, prompt_tokens: figures that an overflow named.
    """

    outcome: Outcome
    message: str
    parameter: str = ""
    status: int = 0
    context_tokens: int | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    outcome: Outcome
    codes: frozenset[str]
    statuses: frozenset[int]
    phrases: tuple[str, ...]


@cache
def _rules() -> tuple[_Rule, ...]:
    table = tomllib.loads(data_path("models", "faults.toml").read_text(encoding="utf-8"))
    return tuple(
        _Rule(
            Outcome(row["outcome"]),
            frozenset(row["codes"]),
            frozenset(row["statuses"]),
            tuple(row["phrases"]),
        )
        for row in table["fault"]
    )


def read_fault(status: int, body: bytes | str | Mapping[str, Any]) -> ServerFault:
    """Return what an error response means.

    Args:
        status: HTTP status; 200 for an error inside a stream.
        body: the response body, or the JSON object that a stream carried.
    """
    error = _error_of(body)
    message = str(error.get("message") or f"HTTP status {status} without a message")
    words = _codes_of(error)
    outcome = _outcome(status, words, message.lower())
    limit, prompt = _figures(error, message) if outcome is Outcome.CONTEXT_OVERFLOW else (None, None)
    return ServerFault(
        outcome=outcome,
        message=" ".join(message.split())[:_DETAIL_MOST],
        parameter=str(error.get("param") or ""),
        status=status,
        context_tokens=limit,
        prompt_tokens=prompt,
    )


def _outcome(status: int, words: frozenset[str], message: str) -> Outcome:
    for rule in _rules():
        if rule.codes & (words - _SAID_OF_EVERYTHING):
            return rule.outcome
    for rule in _rules():
        if any(phrase in message for phrase in rule.phrases) and _phrase_fits(rule.outcome, status):
            return rule.outcome
    for rule in _rules():
        if status in rule.statuses:
            return rule.outcome
    for rule in _rules():
        if rule.codes & words:
            return rule.outcome
    return Outcome.OVERLOADED if status >= 500 or status == 200 else Outcome.BAD_RESPONSE


def _phrase_fits(outcome: Outcome, status: int) -> bool:
    """Whether a mere phrase may decide: a 401 is no overload whatever its words."""
    if status in {401, 403}:
        return outcome in {Outcome.OVER_QUOTA, Outcome.UNAUTHORISED}
    if status in {400, 404, 413, 422}:
        return outcome is not Outcome.OVERLOADED
    return True


def _error_of(body: bytes | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the error object: `{"error": {...}}`, `{"error": "text"}`, `{"detail": ...}` or bare."""
    if isinstance(body, bytes | str):
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        try:
            parsed = load_json(text)
        except ValueError:
            return {"message": _plain(text)}
    else:
        parsed = dict(body)
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return {"message": str(parsed)}
    inner = parsed.get("error", parsed)
    if isinstance(inner, str):
        return {**{key: value for key, value in parsed.items() if key != "error"}, "message": inner}
    error = dict(inner) if isinstance(inner, Mapping) else {}
    if "message" not in error:
        said = error.get("detail", parsed.get("detail", parsed.get("message")))
        if said is not None:
            error["message"] = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return error


def _plain(text: str) -> str:
    """Return an HTML or text error page as one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def _codes_of(error: Mapping[str, Any]) -> frozenset[str]:
    metadata = error.get("metadata")
    found = [error.get("code"), error.get("type"), error.get("status")]
    if isinstance(metadata, Mapping):
        found.append(metadata.get("error_type"))
    return frozenset(str(value).lower() for value in found if value is not None)


def _figures(error: Mapping[str, Any], message: str) -> tuple[int | None, int | None]:
    limit, prompt = error.get("n_ctx"), error.get("n_prompt_tokens")
    if not isinstance(limit, int):
        said = _LIMIT_SAID.search(message)
        limit = int(said.group(1)) if said else None
    if not isinstance(prompt, int):
        said = _PROMPT_SAID.search(message)
        prompt = int(said.group(1)) if said else None
    return limit, prompt
