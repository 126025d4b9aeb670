"""Frames read from a stream."""

import io

import pytest

from treewright.surfaces.lsp import wire
from treewright.surfaces.lsp.wire import BadFrame, read_frame


def frames(data: bytes) -> list[wire.Frame]:
    stream = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
    found: list[wire.Frame] = []
    while (frame := read_frame(stream)) is not None:
        found.append(frame)
    return found


def test_frames_follow_each_other() -> None:
    assert frames(b"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]") == [b"{}", b"[1]"]


def test_other_headers_and_bare_line_feeds_are_taken() -> None:
    assert frames(b"Content-Type: x\ncontent-length:2\n\n{}") == [b"{}"]


def test_a_stream_that_ends_inside_a_message_ends() -> None:
    assert frames(b"Content-Length: 20\r\n\r\n{}") == []


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"Content-Length: -1\r\n\r\n", b"x" * 10_000])
def test_what_is_no_header_cannot_be_gone_on_from(data: bytes) -> None:
    (bad,) = frames(data)[:1]
    assert isinstance(bad, BadFrame)
    assert not bad.recoverable


@pytest.mark.requirement("lsp:wire:too-large")
def test_a_message_that_is_too_large_is_skipped_and_the_next_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "LARGEST_FRAME", 10)
    bad, good = frames(b"Content-Length: 11\r\n\r\n" + b"x" * 11 + b"Content-Length: 2\r\n\r\n{}")
    assert isinstance(bad, BadFrame)
    assert bad.recoverable
    assert good == b"{}"
