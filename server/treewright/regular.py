"""Reading files that somebody else named: regular ones only, never waited for, never more than said.

A repository can plant a pipe, a device or a link to one in place of any file, and a person can name one by mistake: a
pipe that nobody writes to keeps its reader waiting for ever, and a device has no end. What is refused is an `OSError`
with a sentence as its `strerror`, so that whoever tells people of unreadable files tells of these too.
"""

import errno
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""For opening without waiting for somebody to write."""
LARGEST_STORED = 1 << 30
"""bytes; what we wrote ourselves may be long, but not without end"""
LARGEST_TEXT = 16 * 1024 * 1024
"""bytes; a text that a person hands in is smaller (contract: surfaces, 4)"""


class NotRegularError(OSError):
    """What stands there is a pipe, a device or a socket."""


class TooLargeError(OSError):
    """The file has more bytes than asked for."""


def open_regular(path: Path, buffering: int = io.DEFAULT_BUFFER_SIZE) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: the file; a link is followed.
        buffering: bytes read at once, over 1.

    Raises:
        NotRegularError: it is none; nothing was read from it.
        OSError: it cannot be opened.
    """
    # Looked at first, since opening alone already has effects on some devices; and again once it is open.
    _check(path.stat(), path)
    return _checked(os.open(path, FLAGS), path, buffering)


def read_regular(path: Path, most: int = LARGEST_TEXT) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: the file; a link is followed.
        most: how many bytes it may have.

    Raises:
        NotRegularError: it is none; nothing was read from it.
        TooLargeError: it has more bytes.
        OSError: it cannot be opened or read.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        # The size says nothing about the files that a system makes up while they are read (below /proc).
        data = b"" if size > most else stream.read(most + 1)
    if data is None:  # the kernel's log, which calls itself regular and has nothing to say at present
        raise NotRegularError(errno.EAGAIN, "it is no regular file", str(path))
    if size > most or len(data) > most:
        raise TooLargeError(errno.EFBIG, f"it is larger than {most} bytes", str(path))
    return data


def read_regular_text(path: Path, most: int = LARGEST_TEXT) -> str:
    """Return the text of a regular file in UTF-8, line ends as `Path.read_text` gives them.

    Raises:
        NotRegularError, TooLargeError, OSError: as `read_regular`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_regular(path, most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _check(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularError(errno.EINVAL, "it is no regular file", str(path))


def _checked(descriptor: int, path: Path, buffering: int) -> BinaryIO:
    try:
        _check(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb", buffering=buffering)
    except BaseException:
        os.close(descriptor)
        raise
