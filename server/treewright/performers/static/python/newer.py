"""Python 3.12 and later as an older parser takes it: same lines, same columns.

An older `ast` refuses an f-string whose inner strings use its own quotes or hold a backslash, type parameters, `type`
statements and template strings. Each is replaced by a form of the same width that means the same, or as nearly as it can.
"""

import re

_PREFIX = re.compile(r"(?i)(?:[rbuft]|br|rb|fr|rf|tr|rt)?(?=['\"])")
STANDING = {"_sq_": "'", "_dq_": '"', "_nl_": "\n", "_cr_": "\r", "_bs_": "\\"}
"""Names of the width of a short text that no older parser takes within braces, with that text."""
_SHORT = {"\\'": "_sq_", '\\"': "_dq_", "\\n": "_nl_", "\\r": "_cr_", "\\\\": "_bs_"}
_BRACKETS = r"\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]"
_PARAMETERS = re.compile(rf"^(\s*(?:async\s+)?(?:def|class)\s+\w+)({_BRACKETS})(?=\s*[(:])", re.MULTILINE)
_TYPE = re.compile(rf"^(\s*)type\s+(\w+)({_BRACKETS})?(?=\s*=)", re.MULTILINE)


def aged(text: str) -> str:
    """Rewrite the newer forms; text without them comes back as it was.

    Args:
        text: newlines are LF.
    """
    text = _PARAMETERS.sub(lambda found: found[1] + " " * len(found[2]), text)
    text = _TYPE.sub(lambda found: f"{found[1]}{found[2]}".ljust(len(found[0])), text)
    scan = _Scan(text)
    scan.run()
    return "".join(scan.out)


class _Scan:
    """Walks over the text once, rewriting what stands in the braces of f-strings."""

    def __init__(self, text: str) -> None:
        self.text, self.out, self.at = text, list(text), 0

    def run(self) -> None:
        """Go over the whole text."""
        while self.at < len(self.text):
            self._step("")

    def _step(self, taken: str) -> None:
        """One token of code; `taken` are the quotes of the strings around it."""
        found = _PREFIX.match(self.text, self.at)
        if found is not None:
            self._string(found.end() - self.at, taken)
        elif self.text[self.at] == "#" and not taken:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif self.text[self.at].isidentifier():
            while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] == "_"):
                self.at += 1
        else:
            self.at += 1

    def _string(self, width: int, taken: str) -> None:
        start = self.at
        prefix = self.text[start : start + width].lower()
        quote = self.text[start + width]
        mark = quote * 3 if self.text.startswith(quote * 3, start + width) else quote
        self.at = start + width + len(mark)
        holes = "f" in prefix or "t" in prefix
        if "t" in prefix:
            self.out[start : start + width] = (
                self.text[start : start + width].replace("t", "f").replace("T", "F")
            )
        inside = self.at
        while self.at < len(self.text) and not self.text.startswith(mark, self.at):
            if self.text[self.at] == "\n" and len(mark) == 1:
                break  # a string that never ends: no string
            if self.text[self.at] == "\\" or (holes and self.text.startswith("{{", self.at)):
                self.at += 2
            elif holes and self.text[self.at] == "{":
                self._hole(taken + quote, mark)
            else:
                self.at += 1
        end = self.at
        self.at = min(self.at + len(mark), len(self.text))
        if taken:
            self._fit(start + width, inside, end, quote, taken)

    def _hole(self, taken: str, mark: str) -> None:
        """What stands between braces, format text included."""
        depth = 0
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "\n" and len(mark) == 1:
                return
            if sign in "}])" and depth <= 1:
                self.at += 1
                return
            if sign in "{[(":
                depth += 1
            elif sign in "}])":
                depth -= 1
            self._step(taken)

    def _fit(self, opens: int, inside: int, end: int, quote: str, taken: str) -> None:
        """A string within braces: other quotes than the ones around it, and no backslash."""
        free = next((other for other in "'\"" if other not in taken), "")
        clean = not any(sign in self.out[inside:end] for sign in ("\\", *taken))
        if quote not in taken and clean:
            return
        short = _SHORT.get("".join(self.out[inside:end]))
        if short is not None and self.at - opens == len(short):
            self.out[opens : self.at] = short
            return
        if not free:  # three deep in the same quotes: a name of the same width stands for the text
            self.out[opens : self.at] = "_" * (self.at - opens)
            return
        width = inside - opens
        self.out[opens:inside] = free * width
        self.out[end : end + width] = free * width
        for index in range(inside, end):
            if self.out[index] == "\\" or self.out[index] == free or self.out[index] in taken:
                self.out[index] = " "
