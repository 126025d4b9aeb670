"""Nonsense input: no text makes the validator raise, and a large one does not make it slow."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.presets.fault import errors_only
from treewright.presets.loader import parse_preset
from treewright.presets.validator import FileKind, validate_text

SAMPLES = Path(__file__).parent / "samples"
NAMES: dict[FileKind, str] = {
    "preset": "sample.md",
    "profile": "sample.md",
    "lens": "sample.md",
    "framing": "K.md",
}
TEXTS = {kind: (SAMPLES / f"{kind}.md").read_text(encoding="utf-8") for kind in NAMES}
_NOISE = st.one_of(
    st.text(max_size=6),
    st.sampled_from([":", " ", "\n", "- ", "  ", "'", '"', "[", "]", "{", "}", "#", "---\n", "## ", "```\n", "\t", "|", ">", "&", "null", "1", ", "]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(NAMES)), st.data())
def test_a_damaged_file_is_told_or_still_loads_and_never_raises(kind: FileKind, data: st.DataObject) -> None:
    text = TEXTS[kind]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 30)))
        text = text[:start] + data.draw(_NOISE) + text[end:]
    faults = validate_text(kind, text, NAMES[kind])
    lines = text.count("\n") + text.count("\r") + 1
    assert all(1 <= fault.line <= lines + 1 for fault in faults)
    assert faults == sorted(faults, key=lambda f: (f.line, f.column))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_preset_without_errors_is_built_and_one_with_errors_is_not(data: st.DataObject) -> None:
    lines = TEXTS["preset"].split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in "ab")
        lines[i], lines[j] = lines[j], lines[i]
    preset, faults = parse_preset("\n".join(lines), "sample.md")
    assert (preset is None) == bool(errors_only(faults))


@pytest.mark.parametrize(
    "front",
    [
        "\n".join(f"k{i}: v" for i in range(4_000)),
        "a: {" + ", ".join(f"k{i}: v" for i in range(4_000)) + "}",
        "a: [" + ", ".join("v" for _ in range(4_000)) + "]",
        "a:\n" + "\n".join("  - x: y" for _ in range(4_000)),
        "a: " + "x" * 200_000,
        "a: '" + "''" * 20_000,
        "\n".join("\t bad" for _ in range(4_000)),
        "a: >-\n" + "  line\n" * 10_000,
    ],
    ids=["keys", "flow-map", "flow-list", "items", "long", "quotes", "bad-lines", "block"],
)
def test_a_large_front_matter_takes_a_moment(front: str) -> None:
    started = time.process_time()
    validate_text("preset", f"---\n{front}\n---\n" + "## x\n" * 1000, "sample.md")
    assert time.process_time() - started < 3, "seconds"


@pytest.mark.parametrize(
    "piece", ["[", "[x](", "![", "`", "``` ", "| a |", "<!-- ", "a.b:1-", "](", "[a][", "# "]
)
def test_a_large_body_takes_a_moment(piece: str) -> None:
    started = time.process_time()
    validate_text("page", piece * 4_000 + "\n" + (piece * 50 + "\n") * 100, "page.md")
    assert time.process_time() - started < 3, "seconds"
