"""A scripted caller: answers each task by its schema, in words that break no rule."""

import hashlib
from typing import Any

from mcp import Client

from tests.contract.mcp.serving import call

_WORDS = [
    "cache",
    "layer",
    "image",
    "module",
    "import",
    "worker",
    "queue",
    "pool",
    "region",
    "bundle",
    "trace",
    "probe",
    "socket",
    "kernel",
    "page",
    "table",
    "index",
    "shard",
    "log",
    "frame",
    "cursor",
    "batch",
    "lock",
    "lease",
    "quota",
    "token",
    "buffer",
    "stream",
    "header",
]


def words(seed: str, count: int = 9) -> str:
    """Return a sentence that a seed decides."""
    digest = hashlib.sha256(seed.encode("utf-8")).digest()
    chosen = [_WORDS[digest[index] % len(_WORDS)] for index in range(count)]
    return f"The {' '.join(chosen)} {digest[20:24].hex().translate(str.maketrans('0123456789', 'ghijklmnop'))} holds."


def filled(schema: dict[str, Any], seed: str, score: int) -> Any:
    """Return a value of a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {
                name: score if name in ("S", "N", "F", "K", "B") else filled(each, f"{seed}.{name}", score)
                for name, each in schema["properties"].items()
                if name not in ("citations", "numeric_checks")
            }
        case "array":
            count = max(2, schema.get("minItems", 1))
            count = min(count, schema.get("maxItems", count))
            return [filled(schema["items"], f"{seed}.{index}", score) for index in range(count)]
        case "integer":
            return score
        case "boolean":
            return False
        case _:
            return f"{words(seed)} {words(seed + '+')}"


async def think(client: Client, run: str, *, score: int = 2, most: int = 200) -> list[str]:
    """Fill a run's tasks in until it ends, and return the ids of those that were done, in order."""
    done: list[str] = []
    for _ in range(most):
        due = await call(client, "tree_next", run=run)
        if due["next_tool"] != "tree_submit":
            return done
        answer = filled(due["schema"], due["task"], score)
        taken = await call(client, "tree_submit", run=run, task=due["task"], answer=answer)
        assert taken.get("accepted"), taken
        assert not taken["faults"], taken
        done.append(due["task"])
    raise AssertionError(f"the run did not end within {most} tasks")
