"""What an editor sends and shows: opened texts, edits, and the diagnostics of each file."""

from pathlib import Path
from typing import Any

from tests.contract.lsp.raw import RawClient

PUBLISH = "textDocument/publishDiagnostics"
FULL = {
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "tagSupport": {"valueSet": [1, 2]},
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "versionSupport": True,
        },
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
    },
    "workspace": {"workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {}}},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
}
"""A client that can do everything, and gets diagnostics sent."""


def open_text(client: RawClient, uri: str, text: str, language: str = "python", version: int = 1) -> None:
    """Open a text."""
    item = {"uri": uri, "languageId": language, "version": version, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})


def edit(
    client: RawClient, uri: str, version: int, start: tuple[int, int], end: tuple[int, int], text: str
) -> None:
    """Replace a range."""
    change = {
        "range": {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        },
        "text": text,
    }
    client.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]},
    )


def published(client: RawClient, uri: str, count: int | None = None) -> list[dict[str, Any]]:
    """Return the diagnostics of the next publish for an address, with so many entries."""
    found: list[dict[str, Any]] = client.notification(
        PUBLISH,
        lambda p: p["uri"] == uri and (count is None or len(p["diagnostics"]) == count),
    )["diagnostics"]
    return found


def lines_of(diagnostics: list[dict[str, Any]]) -> list[int]:
    """Return the first lines, from 0, sorted."""
    return sorted(each["range"]["start"]["line"] for each in diagnostics)


def cut(text: str, range_: dict[str, Any], encoding: str = "utf-16") -> str:
    """Return what a range of a text holds, read as a client reads it."""
    lines = text.replace("\r\n", "\n").split("\n")

    def units(line: str, count: int) -> str:
        size = {"utf-16": 2, "utf-8": 1, "utf-32": 4}[encoding]
        codec = {"utf-16": "utf-16-le", "utf-8": "utf-8", "utf-32": "utf-32-le"}[encoding]
        return line.encode(codec)[: count * size].decode(codec)

    start, end = range_["start"], range_["end"]
    if start["line"] == end["line"]:
        line = lines[start["line"]]
        return units(line, end["character"])[len(units(line, start["character"])) :]
    first = lines[start["line"]][len(units(lines[start["line"]], start["character"])) :]
    last = units(lines[end["line"]], end["character"])
    return "\n".join([first, *lines[start["line"] + 1 : end["line"]], last])


def uri_of(path: Path) -> str:
    """Return a path's address as editors write it."""
    return path.as_uri()
