"""Answers any task of the model performer from the schema of its request: well-formed, different for each prompt, and decided by it alone."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treewright.models.provider import Request

_WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "island",
    "jetty",
    "kelp",
    "lagoon",
    "meadow",
    "north",
    "orchard",
    "prairie",
    "quarry",
    "ridge",
    "summit",
    "tundra",
    "upland",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
    "anchor",
    "beacon",
    "copper",
    "drift",
    "eagle",
    "falcon",
    "glacier",
    "hollow",
    "iron",
    "juniper",
    "kestrel",
    "lantern",
    "marble",
]


@dataclass
class Answerer:
    """Fills a schema in.

    Attributes:
        invents: share of citations whose quotation stands nowhere, 0 to 1.
        score: given to every dimension; None decides by the prompt.
        phrase: put into every text field, as a hedge that has to be sent back.
        once: put the phrase only into answers that no fault was named in.
        tamper: changes each answer at last.
    """

    invents: float = 0.0
    score: int | None = 2
    phrase: str = ""
    once: bool = True
    tamper: Callable[[dict[str, Any], str], dict[str, Any]] | None = None

    def __call__(self, request: Request) -> str:
        """Answer a request of a provider."""
        assert request.schema is not None
        return json.dumps(self.fill(request.schema, request.prompt), ensure_ascii=False)

    def fill(self, schema: Mapping[str, Any], prompt: str) -> dict[str, Any]:
        """Return data that fits the schema."""
        seed = hashlib.sha256(prompt.encode()).hexdigest()
        answer = self._value(schema, seed, prompt, "$")
        return self.tamper(answer, prompt) if self.tamper else answer

    def _value(self, schema: Mapping[str, Any], seed: str, prompt: str, path: str) -> Any:
        mark = hashlib.sha256(f"{seed}{path}".encode()).hexdigest()
        if "enum" in schema:
            if set(schema["enum"]) == {0, 1, 2, 3} and self.score is not None:
                return self.score
            return schema["enum"][int(mark, 16) % len(schema["enum"])]
        kind = schema.get("type")
        if kind == "object":
            if {"path", "start", "end", "quote"} <= set(schema["properties"]):
                return self._place(schema, mark, prompt, path)
            return {
                name: self._value(part, seed, prompt, f"{path}.{name}")
                for name, part in schema["properties"].items()
            }
        if kind == "array":
            least = schema.get("minItems", 1)
            least = 0 if path in ("$.numeric_checks", "$.edits") else max(1, least)
            return [self._value(schema["items"], seed, prompt, f"{path}[{n}]") for n in range(least)]
        if kind == "integer":
            return min(2, schema.get("maximum", 2)) if self.score is None else self.score
        if kind == "boolean":
            return False
        return self._text(mark, prompt)

    def _text(self, mark: str, prompt: str) -> str:
        numbers = [int(mark[at : at + 4], 16) for at in range(0, 60, 4)]
        words = [_WORDS[n % len(_WORDS)] for n in numbers]
        sentences = [
            f"The {words[n]} {words[n + 1]} meets the {words[n + 2]} {words[n + 3]}." for n in (0, 4, 8)
        ]
        if self.phrase and not (self.once and "# Faults" in prompt):
            sentences.insert(1, f"{self.phrase} {words[12]}.")
        return " ".join(sentences)

    def _place(self, schema: Mapping[str, Any], mark: str, prompt: str, path: str) -> dict[str, Any]:
        number = int(mark, 16)
        shown = _shown(prompt)
        if (number % 1000) / 1000 < self.invents or not shown:
            at = {
                "path": shown[0][0] if shown else "a.py",
                "start": 1,
                "end": 1,
                "quote": f"invented_{mark[:8]}()",
            }
        else:
            name, line, text = shown[number % len(shown)]
            at = {"path": name, "start": line, "end": line, "quote": text}
        if "field" in schema["properties"]:
            due = (
                re.findall(r"^- `(\w+)`[^:\n]*cited", prompt, re.MULTILINE)
                or schema["properties"]["field"]["enum"]
            )
            at["field"] = due[number % len(due)]
        return at


def _shown(prompt: str) -> list[tuple[str, int, str]]:
    """Return path, line and text of the numbered lines that a prompt shows."""
    found, path = [], ""
    for line in prompt.splitlines():
        if match := re.match(r"File `(.+)`:$", line):
            path = match[1]
        elif path and (match := re.match(r"(\d+)\| (.*\w.*)$", line)):
            found.append((path, int(match[1]), match[2]))
    return found
