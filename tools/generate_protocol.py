"""Writes `extension/src/protocol.ts` from the messages of the language server.

    python tools/generate_protocol.py            write it
    python tools/generate_protocol.py --check    exit 1 when it is stale

The models in `server/treewright/surfaces/lsp/messages/` are the one schema of both sides (contract: surfaces, 2).
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from treewright.surfaces.lsp.messages import catalogue, events, findings, methods, runs, trees
from treewright.surfaces.lsp.messages.message import Message
from treewright.surfaces.lsp.settings import EditorSettings

TARGET = Path(__file__).resolve().parent.parent / "extension" / "src" / "protocol.ts"
_HEAD = """\
// Generated from server/treewright/surfaces/lsp/messages by tools/generate_protocol.py. Do not edit.

import { NotificationType, RequestType } from 'vscode-languageclient/node';
"""


def generated() -> str:
    """Return the text of `protocol.ts`."""
    schemas = _schemas()
    parts = [_HEAD]
    parts += [_interface(name, schema) for name, schema in schemas.items()]
    parts.append(_table("Requests", "What the extension asks the server.", methods.REQUESTS))
    parts.append(_notifications())
    parts.append(_table("ClientRequests", "What the server asks the extension.", methods.CLIENT_REQUESTS))
    return "\n".join(parts)


def _schemas() -> dict[str, dict[str, Any]]:
    """Return each model's schema by name: what may be left out when it is received here, is always there when sent."""
    received = [asked for asked, _ in methods.REQUESTS.values()]
    received.append(EditorSettings)
    received += [answer for _, answer in methods.CLIENT_REQUESTS.values()]
    sent = [answer for _, answer in methods.REQUESTS.values()]
    sent += [*methods.NOTIFICATIONS.values(), *(asked for asked, _ in methods.CLIENT_REQUESTS.values())]
    found: dict[str, dict[str, Any]] = {}
    for models, mode in ((sent, "serialization"), (received, "validation")):
        inputs: Any = [(model, mode) for model in dict.fromkeys(models)]
        _, schema = models_json_schema(inputs, by_alias=True)
        found.update(schema["$defs"])
    families = (runs, trees, findings, catalogue, events)
    order = [
        name
        for family in families
        for name, value in vars(family).items()
        if _is_message(value) and value.__module__ == family.__name__
    ]
    return {name: found[name] for name in [*order, EditorSettings.__name__] if name in found}


def _is_message(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Message)


def _interface(name: str, schema: dict[str, Any]) -> str:
    lines = []
    if about := schema.get("description"):
        text = re.sub(r"\s*\n\s*", " ", about).strip()
        lines.append(f"/** {text} */")
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    if not properties:
        return "\n".join([*lines, f"export type {name} = Record<string, never>;", ""])
    lines.append(f"export interface {name} {{")
    for key, value in properties.items():
        optional = "" if key in required else "?"
        lines.append(f"  {key}{optional}: {_type(value)};")
    return "\n".join([*lines, "}", ""])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    if "const" in schema:
        return f"'{schema['const']}'"
    if "enum" in schema:
        return " | ".join(f"'{value}'" for value in schema["enum"])
    match schema.get("type"):
        case "string":
            return "string"
        case "integer" | "number":
            return "number"
        case "boolean":
            return "boolean"
        case "null":
            return "null"
        case "array":
            inner = _type(schema.get("items", {}))
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case "object":
            extra = schema.get("additionalProperties")
            return f"Record<string, {_type(extra) if isinstance(extra, dict) else 'unknown'}>"
        case _:
            return "unknown"


def _table(name: str, about: str, methods: Mapping[str, tuple[type[BaseModel], type[BaseModel]]]) -> str:
    lines = [f"/** {about} */", f"export const {name} = {{"]
    for method, (asked, answer) in methods.items():
        lines.append(
            f"  {_key(method)}: new RequestType<{asked.__name__}, {answer.__name__}, ErrorData>('{method}'),"
        )
    error = (
        "/** The `data` of a response's error: `code` decides, never the text. */\n"
        "export interface ErrorData {\n"
        "  code: string;\n"
        "  hint?: string;\n"
        "  details?: Record<string, unknown>;\n"
        "  faults?: { field: string; message: string }[];\n"
        "}\n\n"
    )
    return (error if name == "Requests" else "") + "\n".join([*lines, "} as const;", ""])


def _notifications() -> str:
    lines = ["/** What the server tells the extension. */", "export const Notifications = {"]
    for method, model in methods.NOTIFICATIONS.items():
        lines.append(f"  {_key(method)}: new NotificationType<{model.__name__}>('{method}'),")
    return "\n".join([*lines, "} as const;", ""])


def _key(method: str) -> str:
    head, *rest = method.split("/")[1:]
    return head + "".join(part[0].upper() + part[1:] for part in rest)


def main() -> int:
    """Write the file, or say whether it is stale."""
    text = generated()
    if "--check" in sys.argv[1:]:
        fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        if not fresh:
            sys.stderr.write(f"{TARGET} is stale: run python tools/generate_protocol.py\n")
        return 0 if fresh else 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
