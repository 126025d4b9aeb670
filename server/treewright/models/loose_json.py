"""JSON as models write it: single quotes, trailing commas, Python's literals, comments, raw line breaks, no end.

Nothing is invented: what a text leaves open at its end is closed and reported as `cut_off`; what cannot be read
raises `ValueError`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from treewright.models.sse import whole_characters

_DEPTH_MOST = 200
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?![\w.])")
_NUMBER_BEGUN = re.compile(r"[-+.\d][\d_.eE+-]*\Z")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "undefined": None,
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
}
_CLOSERS = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}


@dataclass(frozen=True, slots=True)
class Loose:
    """What was read.

    Attributes:
        value: the value.
        end: position after it.
        cut_off: whether the text ended before the value did.
        tidied: what was not JSON, in words.
    """

    value: Any
    end: int
    cut_off: bool
    tidied: tuple[str, ...]


def read_loose(text: str, start: int = 0) -> Loose:
    """Read one value that starts at a position.

    Raises:
        ValueError: it is no value even in this generous reading, or is nested deeper than 200 levels.
    """
    reader = _Reader(text, start)
    value = reader.value(0)
    return Loose(value, reader.at, reader.cut_off, tuple(dict.fromkeys(reader.tidied)))


class _Missing:
    """Stands for a value of which nothing was written."""


_MISSING = _Missing()


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.cut_off = False
        self.tidied: list[str] = []

    def value(self, depth: int) -> Any:
        found = self._value(depth)
        if found is _MISSING:
            raise ValueError("the text ends before a value begins")
        return found

    def _value(self, depth: int) -> Any:
        if depth > _DEPTH_MOST:
            raise ValueError("nested too deeply")
        self._space()
        if self.at >= len(self.text):
            self.cut_off = True
            return _MISSING
        sign = self.text[self.at]
        if sign == "{":
            return self._object(depth)
        if sign == "[" or sign == "(":
            return self._array(depth, "]" if sign == "[" else ")")
        if sign in _CLOSERS or self.text.startswith(("r'", 'r"'), self.at):
            return self._string()
        return self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while True:
            if self._closes("}"):
                return found
            key = self._key()
            if key is None:
                return found
            self._space()
            if self.at >= len(self.text):
                self.cut_off = True
                return found
            if self.text[self.at] not in ":=":
                raise ValueError(f"no colon after the key {key!r}")
            self.at += 2 if self.text.startswith("=>", self.at) else 1
            value = self._value(depth + 1)
            if value is _MISSING:
                return found
            if key in found:
                self.tidied.append("repeated key")
            found[key] = value
            if self.cut_off or not self._separated("}"):
                return found

    def _array(self, depth: int, closer: str) -> list[Any]:
        self.at += 1
        if closer == ")":
            self.tidied.append("tuple")
        found: list[Any] = []
        while True:
            if self._closes(closer):
                return found
            value = self._value(depth + 1)
            if value is _MISSING:
                return found
            found.append(value)
            if self.cut_off or not self._separated(closer):
                return found

    def _closes(self, closer: str) -> bool:
        self._space()
        if self.at >= len(self.text):
            self.cut_off = True
            return True
        if self.text[self.at] == closer:
            self.at += 1
            return True
        return False

    def _separated(self, closer: str) -> bool:
        """Step over the comma; return False when the container ends here."""
        self._space()
        if self.at >= len(self.text):
            self.cut_off = True
            return False
        sign = self.text[self.at]
        if sign == ",":
            self.at += 1
            self._space()
            if self.text.startswith(closer, self.at):
                self.tidied.append("trailing comma")
            return True
        if sign == closer:
            return True  # the loop's own test closes
        if sign in _CLOSERS or sign in "{[":
            self.tidied.append("missing comma")
            return True
        if sign == ";":
            self.at += 1
            self.tidied.append("semicolon")
            return True
        raise ValueError(f"neither a comma nor {closer!r} at position {self.at}")

    def _key(self) -> str | None:
        if self.text[self.at] in _CLOSERS:
            key = self._string()
            return None if self.cut_off else key
        word = _WORD.match(self.text, self.at)
        number = word or _NUMBER.match(self.text, self.at)
        if number is None:
            raise ValueError(f"no key at position {self.at}")
        self.at = number.end()
        self.tidied.append("unquoted key")
        if self.at >= len(self.text):
            self.cut_off = True
            return None
        return number.group()

    def _string(self) -> str:
        if self.text[self.at] == "r":
            self.at += 1
        quote = self.text[self.at]
        triple = quote * 3
        if quote in "\"'" and self.text.startswith(triple, self.at):
            return self._triple(triple)
        if quote != '"':
            self.tidied.append("other quotes")
        closer = _CLOSERS[quote]
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "\\":
                parts.append(self._escape())
                continue
            if sign == closer and self._really_closes(closer):
                self.at += 1
                return whole_characters("".join(parts))
            if sign in "\n\r\t":
                self.tidied.append("raw line break in a string")
            parts.append(sign)
            self.at += 1
        self.cut_off = True
        return whole_characters("".join(parts))

    def _really_closes(self, closer: str) -> bool:
        """Whether a quote ends its string, or is an unescaped quote in the middle of it.

        It ends the string when what follows is what may follow a string.
        """
        after = _SPACE.match(self.text, self.at + 1)
        at = after.end() if after else self.at + 1
        if at >= len(self.text) or self.text[at] in ":}])":
            return True
        if self.text[at] == ",":
            rest = _SPACE.match(self.text, at + 1)
            begins = self.text[rest.end() : rest.end() + 1] if rest else ""
            known = begins in _CLOSERS or begins in "{[}](-" or begins.isdigit()
            if begins == "" or known or _starts_word(self.text, rest.end() if rest else at + 1):
                return True
            self.tidied.append("unescaped quote")
            return False
        if self.text[at] in "\"'{[;=" and closer == '"':
            return "\n" in self.text[self.at + 1 : at] or self.text[at] in "{[;="
        self.tidied.append("unescaped quote")
        return False

    def _triple(self, triple: str) -> str:
        self.tidied.append("triple quotes")
        end = self.text.find(triple, self.at + 3)
        self.cut_off = end < 0
        stop = len(self.text) if end < 0 else end
        found = self.text[self.at + 3 : stop]
        self.at = stop if end < 0 else end + 3
        return found

    def _escape(self) -> str:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter == "u":
            digits = self.text[self.at + 2 : self.at + 6]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.at += 6
                return chr(int(digits, 16))
        self.at += 2
        if not letter:
            self.cut_off = True
            return ""
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if letter in "\"'\\/`\n":
            return "" if letter == "\n" else letter
        self.tidied.append("unknown escape")
        return "\\" + letter

    def _scalar(self) -> Any:
        number = _NUMBER.match(self.text, self.at)
        if number is None and _NUMBER_BEGUN.match(self.text, self.at):
            self.at = len(self.text)
            self.cut_off = True
            return _MISSING
        if number:
            self.at = number.end()
            if self.at >= len(self.text):
                self.cut_off = True  # more digits may have been coming
            return _number(number.group(), self.tidied)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise ValueError(f"no value at position {self.at}")
        found = word.group()
        if found in _WORDS:
            self.at = word.end()
            if found not in {"true", "false", "null"}:
                self.tidied.append("Python literal")
            return _WORDS[found]
        if word.end() >= len(self.text) and any(known.startswith(found) for known in _WORDS):
            self.at = word.end()
            self.cut_off = True
            return _MISSING
        raise ValueError(f"{found!r} is no JSON value")

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        if found and found.end() > self.at:
            skipped = found.group()
            if not skipped.isspace():
                self.tidied.append("comment")
            self.at = found.end()


def _starts_word(text: str, at: int) -> bool:
    word = _WORD.match(text, at)
    if word is None:
        return False
    return word.group() in _WORDS or text[word.end() : word.end() + 1] == ":"


def _number(written: str, tidied: list[str]) -> int | float:
    plain = written.replace("_", "")
    if plain != written or plain.startswith(("+", ".", "-.")) or plain.endswith("."):
        tidied.append("number format")
    try:
        value = json.loads(plain)
    except ValueError:
        return float(plain) if any(sign in plain for sign in ".eE") else int(plain)
    return value if isinstance(value, int | float) else float(plain)
