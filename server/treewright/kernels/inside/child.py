# ruff: noqa: PTH100, PTH120
# (pathlib is Python that a candidate can patch, and slow to import; these functions are C)
"""Runs one plan in a plain interpreter: `python child.py CHANNEL`, the plan on standard input.

For interpreters without ipykernel: a kernel of ours starts this in its own box and hands it the check channel.
Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any


def load_texts(name: str, texts: list[str], into: dict[str, Any] | None = None) -> Any:
    """Execute a module's texts with builtins of its own."""
    import builtins

    module = types.ModuleType(name)
    module.__dict__.update(into or {})
    module.__dict__["__builtins__"] = dict(vars(builtins))
    sys.modules[name] = module
    try:
        for text in texts:
            exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102  our own files
    finally:
        del sys.modules[name]
    return module


def main() -> None:
    """Read the request, run it, end at once."""
    here = os.path.dirname(os.path.abspath(__file__))
    request = json.load(sys.stdin)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    sys.path[:] = [*request["path"], *(entry for entry in sys.path if os.path.abspath(entry or ".") != here)]
    encode = load_texts("<treewright plain>", [request["plain"]]).encode
    guard = load_texts("<treewright guard>", request["guard"], {"encode": encode})
    pytests = load_texts("<treewright pytests>", request["pytests"], {"guard": guard})
    write = os.write

    def forward(stream: str, text: str) -> None:
        view = memoryview(text.encode("utf-8", "replace"))
        while view:
            view = view[write(1 if stream == "stdout" else 2, view) :]

    plan = request["plan"]
    (pytests if plan.get("pytest") else guard).run(plan, guard.send_to_descriptor(int(sys.argv[1])), forward)
    os._exit(0)


if __name__ == "__main__":
    main()
