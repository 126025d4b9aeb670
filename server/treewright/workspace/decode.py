"""Bytes of a source file to text, with what was decided said aloud.

A decoder that guesses silently moves columns and turns quotes into noise, so every answer names the
encoding and why it was chosen. Line ends are kept as they are: an edit made from this text must not
re-write a file's newlines (field report pocc/pre-commit-hooks#21).
"""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from treewright.regular import NotRegularError, TooLargeError, read_regular

MAX_BYTES = 16 * 1024 * 1024
"""Larger files are reported as skipped: 16 MiB is the reader's limit elsewhere in the project too."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
)
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text and how it was read.

    Attributes:
        text: the text without a byte order mark, newlines as they stand in the file.
        encoding: a Python codec name.
        reason: `bom`, `cookie`, `utf-8`, `cp1252` or `latin-1`.
        bom: the byte order mark to write back in front of the text, or empty.
    """

    text: str
    encoding: str
    reason: str
    bom: bytes = b""

    @property
    def stated(self) -> str:
        """One phrase for a report; empty for plain UTF-8."""
        if self.reason == "utf-8":
            return ""
        names = {
            "bom": f"{self.encoding} by its byte order mark",
            "cookie": f"{self.encoding} by its coding comment",
            "cp1252": "cp1252, since the bytes are not valid UTF-8",
            "latin-1": "latin-1, since the bytes are neither UTF-8 nor cp1252",
        }
        return names[self.reason]

    def encode(self, text: str) -> bytes:
        """Return the bytes of a changed text in the encoding the file already has.

        Raises:
            UnicodeEncodeError: the new text has characters that the file's encoding cannot hold.
        """
        return self.bom + text.encode(self.encoding)

    def lines(self) -> list[str]:
        """Split at LF, CRLF or CR only, the ends dropped: the lines an editor counts."""
        return split_lines(self.text)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that was not read, and why: `gone`, `denied`, `special`, `binary`, `too-large`, `encoding`, `error`."""

    reason: str
    detail: str = ""


def split_lines(text: str) -> list[str]:
    """Split text into lines the way editors and the `ast` module count them.

    `str.splitlines` also splits at form feeds and U+2028, which would shift every later line number.
    """
    return _LINE_END.split(text)


def decode_bytes(data: bytes) -> Decoded | Unreadable:
    """Decode the bytes of a source file.

    Order: byte order mark, NUL bytes (binary), PEP 263 cookie, UTF-8, cp1252, Latin-1.

    Args:
        data: the whole file.
    """
    for mark, name, codec in _BOMS:
        if data.startswith(mark):
            return _decode_marked(data, mark, name, codec)
    if b"\0" in data:
        return Unreadable("binary", "it holds NUL bytes")
    cookie = _cookie(data)
    if cookie is not None:
        try:
            return Decoded(data.decode(cookie), cookie, "utf-8" if cookie == "utf-8" else "cookie")
        except UnicodeDecodeError:
            pass  # a cookie that does not fit its file is passed over, as editors do
    try:
        return Decoded(data.decode("utf-8"), "utf-8", "utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return Decoded(data.decode("cp1252"), "cp1252", "cp1252")
    except UnicodeDecodeError:
        return Decoded(data.decode("latin-1"), "latin-1", "latin-1")


def _decode_marked(data: bytes, mark: bytes, name: str, codec: str) -> Decoded | Unreadable:
    try:
        text = data[len(mark) :].decode(codec)
    except UnicodeDecodeError as error:
        return Unreadable("encoding", f"it starts as {name} but byte {error.start} is not")
    if "\0" in text:
        return Unreadable("binary", "it holds NUL characters")
    return Decoded(text, codec, "bom", mark)


def _cookie(data: bytes) -> str | None:
    """Return the codec of a PEP 263 comment in the first two lines, normalised, or None."""
    for line in data[:4096].splitlines()[:2]:
        found = _COOKIE.match(line)
        if found:
            try:
                info = codecs.lookup(found.group(1).decode("ascii", "replace"))
            except LookupError:
                return None
            # Only text encodings: `rot13` or `hex` in a cookie must not run as a transform.
            return info.name if getattr(info, "_is_text_encoding", True) else None
        if line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None


def read_source(path: Path, max_bytes: int = MAX_BYTES) -> Decoded | Unreadable:
    """Read and decode one file; every failure is a value, never an exception.

    Args:
        path: the file.
        max_bytes: files larger than this are not read.
    """
    data = read_bytes(path, max_bytes)
    return data if isinstance(data, Unreadable) else decode_bytes(data)


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes | Unreadable:
    """Read a regular file whole, or say why not; a pipe or a device is not waited for."""
    try:
        return read_regular(path, max_bytes)
    except NotRegularError:
        return Unreadable("special", "it is no regular file")
    except TooLargeError:
        return Unreadable("too-large", f"it is larger than {max_bytes} bytes")
    except FileNotFoundError:
        return Unreadable("gone", "it was there when the folder was listed and is not any more")
    except PermissionError:
        return Unreadable("denied", "reading it is not permitted")
    except OSError as error:
        return Unreadable("error", error.strerror or type(error).__name__)
