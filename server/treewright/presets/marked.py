"""Values of a front matter that still know where they stand in the file."""

import re
from dataclasses import dataclass
from typing import Literal

from treewright.presets.fault import Mark

ScalarStyle = Literal["plain", "quoted", "block", "broken"]
ScalarKind = Literal["text", "number", "flag", "nothing", "date"]

# What the YAML readers that people also use would turn into something else than text. Single letters
# (y, n) are left out on purpose: score dimensions are called N.
_FLAG = re.compile(r"(?:yes|no|on|off|true|false)\Z", re.IGNORECASE)
_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9a-f_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?|\.[0-9]+"
    r"|\.inf|\.nan)\Z",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[Tt ].*)?\Z")
_NOTHING = re.compile(r"(?:~|null)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value: `text` as written, unescaped, without quotes and comment.

    A `broken` one stands for a value that could not be read and was reported, so that its key is not missed.
    """

    mark: Mark
    text: str
    style: ScalarStyle = "plain"

    @property
    def kind(self) -> ScalarKind:
        """What a YAML reader would take the value for; anything quoted is text."""
        if self.style != "plain":
            return "text"
        if _NOTHING.match(self.text):
            return "nothing"
        if _FLAG.match(self.text):
            return "flag"
        if _NUMBER.match(self.text):
            return "number"
        return "date" if _DATE.match(self.text) else "text"


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list, block or flow."""

    mark: Mark
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of a map."""

    key: ScalarNode
    value: "Node"


@dataclass(frozen=True, slots=True)
class MapNode:
    """A map, block or flow, in the order of the file; a repeated key was dropped and reported."""

    mark: Mark
    entries: tuple[Entry, ...]

    def get(self, key: str) -> "Node | None":
        """Return the value of a key, or None."""
        return next((entry.value for entry in self.entries if entry.key.text == key), None)

    def key_mark(self, key: str) -> Mark:
        """Return where a key stands, or where the map starts when it is absent."""
        return next((entry.key.mark for entry in self.entries if entry.key.text == key), self.mark)


Node = ScalarNode | ListNode | MapNode


def describe(node: Node) -> str:
    """Return what a node is in words, for messages: `the number 123`, `a list`."""
    if isinstance(node, ListNode):
        return "a list"
    if isinstance(node, MapNode):
        return "a nested map"
    names = {"number": "the number", "flag": "the flag", "date": "the date", "text": "the text"}
    return "nothing" if node.kind == "nothing" else f"{names[node.kind]} {node.text}"
