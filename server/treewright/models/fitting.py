"""Fitting a value to a schema where the change is certain.

Fitting never invents: a number written as a string becomes a number, `"false"` becomes false, a word of an enum in
another letter case becomes that word. Anything else stays as it is and is reported as a fault.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from treewright.models.loose_json import read_loose
from treewright.models.provider import JsonSchema
from treewright.models.shape import is_type, resolve, shape_faults_at, types_of

_INTEGER = re.compile(r"\s*[-+]?\d{1,400}(?:\.0+)?\s*")


def coerce(value: Any, schema: JsonSchema) -> tuple[Any, tuple[str, ...]]:
    """Return the value with the schema's types where the change is certain, and what was changed.

    Args:
        value: JSON data; it is not changed itself.
        schema: the schema; `$ref` refers to its own `$defs`.
    """
    fitter = _Fitter(schema)
    return fitter.fit(value, schema, "$"), tuple(dict.fromkeys(fitter.notes))


class _Fitter:
    def __init__(self, root: JsonSchema) -> None:
        self.root = root
        self.notes: list[str] = []

    def fit(self, value: Any, schema: Any, path: str) -> Any:
        schema = resolve(schema, self.root)
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            return self._fit_option(value, options, path)
        for part in schema.get("allOf", []):
            value = self.fit(value, part, path)
        if "enum" in schema:
            return self._word(value, schema["enum"], path)
        if "const" in schema:
            return self._word(value, [schema["const"]], path)
        types = types_of(schema)
        if types and not any(is_type(value, name) for name in types):
            value = self._retype(value, types, schema, path)
        if isinstance(value, dict):
            return self._object(value, schema, path)
        if isinstance(value, list) and "items" in schema:
            return [self.fit(item, schema["items"], f"{path}[{number}]") for number, item in enumerate(value)]
        return value

    def _fit_option(self, value: Any, options: list[Any], path: str) -> Any:
        if any(not shape_faults_at(value, option, self.root) for option in options):
            return value
        for option in options:
            trial = _Fitter(self.root)
            fitted = trial.fit(value, option, path)
            if not shape_faults_at(fitted, option, self.root):
                self.notes.extend(trial.notes)
                return fitted
        return value

    def _word(self, value: Any, allowed: list[Any], path: str) -> Any:
        if value in allowed and not isinstance(value, bool):
            return value
        if not isinstance(value, str):
            same = [word for word in allowed if isinstance(word, str) and not isinstance(value, dict | list)]
            matching = [word for word in same if word == str(value)]
            return matching[0] if len(matching) == 1 else value
        wanted = _folded(value)
        matching = [word for word in allowed if _folded(str(word)) == wanted]
        if len(matching) == 1 and matching[0] != value:
            self.notes.append(f"letter case of {path}")
            return matching[0]
        return value

    def _retype(self, value: Any, types: tuple[str, ...], schema: Mapping[str, Any], path: str) -> Any:
        for name in types:
            changed = self._as_type(value, name, schema)
            if changed is not None:
                self.notes.append(f"type of {path}")
                return changed
        return value

    def _as_type(self, value: Any, name: str, schema: Mapping[str, Any]) -> Any:
        if isinstance(value, str):
            return _from_string(value, name)
        if name == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        if name == "string" and isinstance(value, int | float) and not isinstance(value, bool):
            return json.dumps(value)
        if name == "object" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            return value[0]
        if name == "array" and isinstance(value, dict) and "items" in schema:
            items = resolve(schema["items"], self.root)
            return [value] if "object" in types_of(items) else None
        return None

    def _object(self, value: dict[str, Any], schema: Mapping[str, Any], path: str) -> dict[str, Any]:
        properties = schema.get("properties", {})
        if not properties:
            return value
        named = self._named(self._unwrapped(value, properties, path), properties, path)
        required = set(schema.get("required", []))
        closed = schema.get("additionalProperties") is False
        found: dict[str, Any] = {}
        for key, item in named.items():
            part = properties.get(key)
            if part is None:
                if closed:
                    self.notes.append(f"extra key {key!r} of {path} left out")
                else:
                    found[key] = item
            elif item is None and key not in required and shape_faults_at(None, part, self.root):
                self.notes.append(f"null for the optional {path}.{key}")
            else:
                found[key] = self.fit(item, part, f"{path}.{key}")
        return found

    def _unwrapped(self, value: dict[str, Any], properties: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return the inner object of `{"answer": {...}}` when only that one has the wanted keys."""
        if path == "$" and len(value) == 1:
            ((key, inner),) = value.items()
            if key not in properties and isinstance(inner, dict) and set(inner) & set(properties):
                self.notes.append(f"wrapped in {key!r}")
                return inner
        return value

    def _named(self, value: dict[str, Any], properties: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return the object with keys in the schema's spelling: letter case, blanks, hyphens."""
        spelled = {_folded(key): key for key in properties}
        found: dict[str, Any] = {}
        for key, item in value.items():
            name = key if key in properties else spelled.get(_folded(key), key)
            if name != key and name not in value and name not in found:
                self.notes.append(f"spelling of {path}.{name}")
                found[name] = item
            else:
                found[key] = item
        return found


def _folded(word: str) -> str:
    return re.sub(r"[\s_-]+", "_", word.strip().casefold())


def _from_string(text: str, name: str) -> Any:
    plain = text.strip()
    if name == "integer" and _INTEGER.fullmatch(plain):
        return int(plain.partition(".")[0])
    if name == "number":
        try:
            number = float(plain)
        except ValueError:
            return None
        return (
            (int(plain) if _INTEGER.fullmatch(plain) and "." not in plain else number)
            if math.isfinite(number)
            else None
        )
    if name == "boolean" and plain.casefold() in {"true", "false"}:
        return plain.casefold() == "true"
    if name in {"object", "array"}:
        if plain[:1] not in {"{", "["}:
            return [text] if name == "array" and plain else None
        try:
            loose = read_loose(plain)
        except ValueError:
            return None
        fits = isinstance(loose.value, dict if name == "object" else list) and not loose.cut_off
        return loose.value if fits else None
    return None
