"""The part of JSON schema that our answers use: naming each fault of a value, and what should be there."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from treewright.errors import ModelError
from treewright.models.provider import JsonSchema

_KNOWN = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "title",
        "description",
        "default",
        "examples",
        "format",
        "$schema",
        "discriminator",
    }
)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
_SHOWN_MOST = 60


@dataclass(frozen=True, slots=True)
class ShapeFault:
    """One place where a value does not fit.

    Attributes:
        path: JSON path, such as `$.items[2].name`.
        problem: what is wrong there.
        expected: what should be there.
    """

    path: str
    problem: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; expected {self.expected}"


def check_schema(schema: JsonSchema) -> None:
    """Refuse a schema that uses what this module does not know: it would not be held.

    Raises:
        ModelError: `schema_unsupported`.
    """
    for part in _parts(schema):
        unknown = set(part) - _KNOWN
        if unknown:
            raise ModelError(
                "schema_unsupported",
                f"The answer's schema uses {', '.join(sorted(unknown))}, which is not checked.",
            )


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(schema, Mapping):
        return
    yield schema
    for name in ("properties", "$defs"):
        for part in schema.get(name, {}).values():
            yield from _parts(part)
    for name in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(name, []):
            yield from _parts(part)
    for name in ("items", "additionalProperties"):
        yield from _parts(schema.get(name))


def shape_faults(value: Any, schema: JsonSchema) -> list[ShapeFault]:
    """Return every fault, in reading order; none when the value fits."""
    return list(_Judge(schema).faults(value, schema, "$"))


def expected_shape(schema: JsonSchema, at: JsonSchema | None = None) -> str:
    """Return a short skeleton of what a schema wants, for a message to a model."""
    return json.dumps(_skeleton(at or schema, schema, 0), ensure_ascii=False)


def resolve(schema: Any, root: JsonSchema) -> Mapping[str, Any]:
    """Return a schema with its reference followed."""
    for _ in range(16):
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" not in schema:
            return schema
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        found = root.get("$defs", {}).get(name)
        if found is None:
            raise ModelError("schema_unsupported", f"The answer's schema refers to an unknown part {name!r}.")
        schema = found
    raise ModelError("schema_unsupported", "The answer's schema refers to itself without end.")


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the JSON types that a schema names; none when it names none."""
    wanted = schema.get("type")
    if isinstance(wanted, str):
        return (wanted,)
    if isinstance(wanted, list):
        return tuple(wanted)
    return ("object",) if "properties" in schema else ()


def is_type(value: Any, name: str) -> bool:
    """Whether a value is of a JSON type; a boolean is no integer, an infinity no number."""
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, _TYPES.get(name, object))


def shape_faults_at(value: Any, schema: Any, root: JsonSchema) -> list[ShapeFault]:
    """Return the faults of a value against a part of a schema."""
    return list(_Judge(root).faults(value, schema, "$"))


class _Judge:
    def __init__(self, root: JsonSchema) -> None:
        self.root = root

    def faults(self, value: Any, schema: Any, path: str) -> Iterator[ShapeFault]:
        schema = resolve(schema, self.root)
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            yield from self._option_faults(value, options, path)
        for part in schema.get("allOf", []):
            yield from self.faults(value, part, path)
        expected = self._expected(schema)
        if "enum" in schema and not _is_one_of(value, schema["enum"]):
            yield ShapeFault(path, f"{_shown(value)} is not allowed", expected)
            return
        if "const" in schema and not _is_one_of(value, [schema["const"]]):
            yield ShapeFault(path, f"{_shown(value)} is not allowed", expected)
            return
        types = types_of(schema)
        if types and not any(is_type(value, name) for name in types):
            yield ShapeFault(path, f"{_shown(value)} is {_kind(value)}", expected)
            return
        yield from self._limit_faults(value, schema, path, expected)
        if isinstance(value, dict):
            yield from self._object_faults(value, schema, path)
        elif isinstance(value, list) and "items" in schema:
            for number, item in enumerate(value):
                yield from self.faults(item, schema["items"], f"{path}[{number}]")

    def _option_faults(self, value: Any, options: list[Any], path: str) -> Iterator[ShapeFault]:
        found = [list(self.faults(value, option, path)) for option in options]
        if all(found):
            # the option that came closest says most: its faults lie deeper than the value itself
            inner = [faults for faults in found if all(fault.path != path for fault in faults)]
            yield from min(inner or found, key=len)

    def _object_faults(
        self, value: dict[str, Any], schema: Mapping[str, Any], path: str
    ) -> Iterator[ShapeFault]:
        properties = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                expected = self._expected(resolve(properties.get(key, {}), self.root))
                yield ShapeFault(f"{path}.{key}", "is missing", expected)
        more = schema.get("additionalProperties", True)
        for key, item in value.items():
            if key in properties:
                yield from self.faults(item, properties[key], f"{path}.{key}")
            elif more is False:
                yield ShapeFault(f"{path}.{key}", "is no known key", f"one of {', '.join(properties)}")
            elif isinstance(more, Mapping):
                yield from self.faults(item, more, f"{path}.{key}")

    def _limit_faults(
        self, value: Any, schema: Mapping[str, Any], path: str, expected: str
    ) -> Iterator[ShapeFault]:
        if isinstance(value, str | list):
            kind = "Length" if isinstance(value, str) else "Items"
            unit = "characters" if isinstance(value, str) else "items"
            size = len(value)
            if size < schema.get(f"min{kind}", 0) or size > schema.get(f"max{kind}", math.inf):
                yield ShapeFault(path, f"has {size} {unit}", expected)
        if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
            yield ShapeFault(path, f"{_shown(value)} does not match", expected)
        if isinstance(value, list) and schema.get("uniqueItems"):
            seen = [json.dumps(item, sort_keys=True, ensure_ascii=False) for item in value]
            if len(set(seen)) < len(seen):
                yield ShapeFault(path, "holds an item twice", expected)
        if isinstance(value, int | float) and not isinstance(value, bool):
            low = value < schema.get("minimum", -math.inf) or value <= schema.get(
                "exclusiveMinimum", -math.inf
            )
            high = value > schema.get("maximum", math.inf) or value >= schema.get(
                "exclusiveMaximum", math.inf
            )
            if low or high:
                yield ShapeFault(path, f"{value} is out of range", expected)

    def _expected(self, schema: Mapping[str, Any]) -> str:
        if "enum" in schema:
            return "one of " + ", ".join(json.dumps(word, ensure_ascii=False) for word in schema["enum"])
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False)
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            return " or ".join(dict.fromkeys(self._expected(resolve(part, self.root)) for part in options))
        types = " or ".join(types_of(schema)) or "a value"
        limits = [f"{name} {schema[name]}" for name in _LIMITS if name in schema]
        if "properties" in schema:
            limits.append(f"with keys {', '.join(schema['properties'])}")
        return types + (f" ({', '.join(limits)})" if limits else "")


_LIMITS = (
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "uniqueItems",
)


def _is_one_of(value: Any, allowed: list[Any]) -> bool:
    return any(type(value) is type(word) and value == word for word in allowed)


def _kind(value: Any) -> str:
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "null" if value is None else "an object")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_MOST else text[:_SHOWN_MOST] + "..."


def _skeleton(schema: Any, root: JsonSchema, depth: int) -> Any:
    schema = resolve(schema, root)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _skeleton(options[0], root, depth)
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return schema["const"]
    types = types_of(schema)
    if "object" in types and depth < 6:
        return {key: _skeleton(part, root, depth + 1) for key, part in schema.get("properties", {}).items()}
    if "array" in types and depth < 6:
        return [_skeleton(schema.get("items", {}), root, depth + 1)]
    return " | ".join(types) or "any"
