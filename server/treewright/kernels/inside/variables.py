"""Lists or inspects what stands in a session's namespace; its text is evaluated in the kernel.

`asked` is None (list) or a name; `answer` becomes JSON text.
"""

from __future__ import annotations

import json
from typing import Any

asked: str | None = globals().get("asked")  # put here by the expression that runs this
namespace: dict[str, Any] = globals().get("namespace", {})

_SHORT, _LONG = 120, 4000
_HIDDEN = {"In", "Out", "exit", "quit", "open", "get_ipython"}


def _text(value: Any, limit: int) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  any object's repr may fail; the list goes on
        return f"<no repr: {type(error).__name__}>"
    return text if len(text) <= limit else f"{text[:limit]}..."


def _size(value: Any) -> int | None:
    try:
        return len(value)
    except Exception:  # noqa: BLE001  most objects have none
        return None


def _listed() -> list[dict[str, Any]]:
    return [
        {"name": name, "type": type(value).__name__, "size": _size(value), "value": _text(value, _SHORT)}
        for name, value in sorted(namespace.items())
        if not name.startswith("_") and name not in _HIDDEN
    ]


def _inspected(name: str) -> dict[str, Any] | None:
    import inspect

    head, *rest = name.split(".")
    if head not in namespace:
        return None
    value = namespace[head]
    for part in rest:
        if not hasattr(value, part):
            return None
        value = getattr(value, part)
    found: dict[str, Any] = {
        "name": name,
        "type": type(value).__name__,
        "module": str(getattr(type(value), "__module__", "")),
        "size": _size(value),
        "value": _text(value, _LONG),
        "doc": (inspect.getdoc(value) or "")[:_LONG],
        "members": [one for one in dir(value) if not one.startswith("_")][:200],
    }
    asks: tuple[tuple[str, Any], ...] = (
        ("signature", lambda: str(inspect.signature(value))),
        ("source", lambda: inspect.getsource(value)),
    )
    for key, ask in asks:
        try:
            found[key] = ask()[:_LONG]
        except (TypeError, ValueError, OSError):
            found[key] = ""
    return found


answer = json.dumps(_listed() if asked is None else _inspected(asked))
