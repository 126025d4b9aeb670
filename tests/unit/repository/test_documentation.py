"""Links in the documentation lead somewhere, and every page is accounted for in `docs/languages.json`."""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.unit.repository.source import ROOT, tracked_files

DOCS = ROOT / "docs"
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(
    r"!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]\n]+\]:\s+(\S+)", re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
_MARKUP = re.compile(r"[*`]|\[([^\]]*)\]\([^)]*\)")


def pages() -> list[Path]:
    """Return every Markdown page of ours: docs, the pages at the top, the extension's; not samples or third parties."""
    skipped = ("docs/examples/flawed-shop", "tests/fixtures", "vendor", "presets", "lenses", "server")
    return [
        path
        for path in tracked_files()
        if path.suffix == ".md" and not path.relative_to(ROOT).as_posix().startswith(skipped)
    ]


def slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading (without the number it adds to a repeated one)."""
    plain = _MARKUP.sub(lambda match: match.group(1) or "", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return every anchor of a page."""
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    found: dict[str, int] = {}
    names = set(_ANCHOR.findall(text))
    for heading in _HEADING.findall(text):
        name = slug(heading)
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return frozenset(names)


def broken_links(path: Path) -> Iterator[str]:
    """Yield each relative link of a page whose file or anchor does not exist."""
    text = _CODE.sub("", _FENCE.sub("", path.read_text(encoding="utf-8")))
    for inline, reference in _LINK.findall(text):
        target = unquote(inline or reference)
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{target}: no such heading"


def languages() -> dict[str, dict[str, str]]:
    """Return `docs/languages.json`'s pages: path below the checkout to its entry."""
    pages: dict[str, dict[str, str]] = json.loads((DOCS / "languages.json").read_text(encoding="utf-8"))[
        "pages"
    ]
    return pages


def test_every_relative_link_leads_to_a_file_and_a_heading() -> None:
    told = [f"{path.relative_to(ROOT)}: {fault}" for path in pages() for fault in broken_links(path)]
    assert not told, "\n" + "\n".join(told)


def test_every_file_in_docs_is_accounted_for() -> None:
    listed = languages()
    entries = [*listed, *(entry["zh"] for entry in listed.values() if "zh" in entry)]
    missing = [
        name
        for path in tracked_files()
        if (name := path.relative_to(ROOT).as_posix()).startswith("docs/")
        and name != "docs/languages.json"
        and not any(name == entry or (entry.endswith("/") and name.startswith(entry)) for entry in entries)
    ]
    assert not missing, "add to docs/languages.json: " + ", ".join(missing)
    assert [entry for entry in entries if not entry.endswith("/") and not (ROOT / entry).exists()] == []


def test_each_page_is_translated_or_says_why_not() -> None:
    for name, entry in languages().items():
        assert set(entry) in ({"zh", "digest"}, {"not_translated"}), name
        if "zh" in entry:
            assert entry["zh"] == name.removesuffix(".md") + ".zh.md"


def test_every_page_has_its_twin() -> None:
    """Two lists of what was measured and of rules, made by programs and growing with them, are English alone."""
    alone = {
        name
        for name, entry in languages().items()
        if "not_translated" in entry and (name.endswith(".md") or any((ROOT / name).glob("*.md")))
    }
    assert alone == {"docs/benchmarks.md", "docs/rules.md"}


def test_each_translation_was_made_from_the_page_as_it_is() -> None:
    stale = []
    for name, entry in languages().items():
        if "zh" in entry:
            source = (ROOT / name).read_text(encoding="utf-8").replace("\r\n", "\n")
            if hashlib.sha256(source.encode()).hexdigest() != entry["digest"]:
                stale.append(name)
    assert not stale, "translate what changed, then write the new digest: " + ", ".join(stale)


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("[x](missing.md)", "no such file"),
        ("[x](other.md#nowhere)", "no such heading"),
        ("[x](#nowhere)", "no such heading"),
        ("[x]: missing.md", "no such file"),
        ("[x](other.md#a-second-part)", ""),
        ("[x](#top)", ""),
        ("[x](https://example.org/missing.md)", ""),
        ("`[x](missing.md)`", ""),
        ("```\n[x](missing.md)\n```", ""),
    ],
)
def test_a_broken_link_is_told(tmp_path: Path, link: str, told: str) -> None:
    (tmp_path / "other.md").write_text("# A\n\n## A `second` part\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Top\n\n{link}\n", encoding="utf-8")
    found = list(broken_links(page))
    assert told in found[0] if found else not told, found
