"""The readable text of a web page, in which a quotation is looked for."""

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BREAKING = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "td",
        "th",
        "tr",
        "ul",
    ]
)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def readable_text(raw: bytes, charset: str | None, *, is_html: bool) -> tuple[str, str]:
    """Return title and text of a page.

    Args:
        raw: the body.
        charset: as the server declared it; a byte order mark wins over it, a `meta` is asked when it is None.
        is_html: whether markup is to be taken out.
    """
    text = _decode(raw, charset, is_html)
    if not is_html:
        return "", text
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return _one_line(reader.title), reader.text()


def _decode(raw: bytes, charset: str | None, is_html: bool) -> str:
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    if charset is None and is_html:
        declared = _META_CHARSET.search(raw[:4096])
        charset = declared.group(1).decode("ascii") if declared else None
    try:
        return raw.decode(charset or "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._in_title = False
        self._silent: list[str] = []
        self._parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag == "body":
            self._silent.clear()  # a head that was never closed must not silence the page
        elif tag in _SILENT:
            self._silent.append(tag)
        elif tag in _BREAKING:
            if self._silent == ["head"]:
                self._silent.clear()  # pages may leave out </head> and <body>
            self._parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in _BREAKING:
            self._parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            while self._silent and self._silent.pop() != tag:
                pass
        elif tag in _BREAKING:
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._parts.append(data)

    def text(self) -> str:
        lines = (_one_line(line) for line in "".join(self._parts).split("\n"))
        return "\n".join(line for line in lines if line)


def _one_line(text: str) -> str:
    return " ".join(text.split())
