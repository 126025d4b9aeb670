"""Checks that a page and its translation say the same: `docs/languages.json` and the pairs that it lists.

The manifest names every page by its path below the folder that holds the manifest's folder:

    {"source": "en", "translations": ["zh"],
     "pages": {"docs/presets.md": {"zh": "docs/presets.zh.md", "digest": "<SHA-256>"},
               "docs/architecture.md": {"not_translated": "for contributors"},
               "docs/examples/": {"not_translated": "a folder: everything below it"}}}

The digest is that of the source, with LF line ends, at the time when its translation was last reviewed: when the
source changes, the pair is stale until someone has looked at it.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treewright.counted import counted
from treewright.parsing import load_json
from treewright.presets.body import fences, headings, walk
from treewright.presets.fault import Fault, Mark, fault_at
from treewright.presets.frontmatter import normalised
from treewright.regular import read_regular

MANIFEST = "languages.json"

_START = Mark(line=1, column=1, end_column=1)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_TAG = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*\Z")
_CODE = re.compile(r"(?P<ticks>`+)(?!`)(?P<text>.+?)(?<!`)(?P=ticks)(?!`)")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|--|;)(?:\s.*)?\Z")
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"https?://\S+")
_LETTER = re.compile(r"[^\W\d_]")
_SCRIPTS = {
    "zh": re.compile(r"[\u3400-\u9fff\uf900-\ufaff]"),
    "ja": re.compile(r"[\u3040-\u30ff\u3400-\u9fff]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
}
_PARAGRAPH_LETTERS = 30
"""letters from which a paragraph is long enough to be judged"""
_PARAGRAPH_SHARE = 0.25
"""share of letters in the language's script below which a paragraph counts as not translated"""


def source_digest(text: str) -> str:
    """Return the digest that the manifest keeps: SHA-256 (hex) of the text with LF line ends, without BOM."""
    return hashlib.sha256(normalised(text).encode("utf-8")).hexdigest()


def manifest_faults(manifest: Path) -> list[Fault]:
    """Return the faults of a manifest and of every pair that it lists."""
    path = str(manifest)
    try:
        text = read_regular(manifest).decode("utf-8-sig")
        data = load_json(text)
    except json.JSONDecodeError as error:
        mark = Mark(line=error.lineno, column=error.colno, end_column=error.colno)
        return [fault_at(path, mark, "E601", f"not valid JSON: {error.msg}")]
    except (OSError, ValueError) as error:
        return [fault_at(path, _START, "E601", f"cannot be read: {error.__class__.__name__}")]
    faults = list(_manifest_is_malformed(path, text, data))
    if faults:
        return faults
    faults += _page_is_unlisted(manifest, text, data)
    for source, entry in data["pages"].items():
        for language in (key for key in entry if key in data["translations"]):
            faults += _pair_faults(manifest, _find(text, f'"{source}"'), source, language, entry)
    return faults


def _manifest_is_malformed(path: str, text: str, data: Any) -> Iterator[Fault]:
    """E601: the manifest names its languages, and each page has translations with a digest or says why not."""
    pages = data.get("pages") if isinstance(data, dict) else None
    languages = data.get("translations") if isinstance(data, dict) else None
    if (
        not isinstance(pages, dict)
        or not isinstance(languages, list)
        or not isinstance(data.get("source"), str)
    ):
        yield fault_at(path, _START, "E601", "the manifest must be a map with source, translations and pages")
        return
    for tag in languages:
        if not isinstance(tag, str) or not _TAG.match(tag):
            yield fault_at(path, _find(text, '"translations"'), "E601", f"{tag} is no language tag")
    for name, entry in pages.items():
        fault = _entry_fault(name, entry, languages)
        if fault:
            yield fault_at(path, _find(text, f'"{name}"'), "E601", f"{name}: {fault}")


def _entry_fault(name: str, entry: Any, languages: list[str]) -> str:
    """Return what is wrong with a page's entry; empty when nothing is."""
    if not isinstance(entry, dict) or not all(isinstance(value, str) and value for value in entry.values()):
        return "an entry maps keys to text"
    if ".." in name.split("/") or name.startswith("/"):
        return "a page is named by its path below the project"
    if "not_translated" in entry:
        return "" if len(entry) == 1 else "not_translated stands alone, with the reason"
    if set(entry) != {*languages, "digest"}:
        return f"an entry holds {', '.join(languages)} and digest, or not_translated"
    if not _DIGEST.match(entry["digest"]):
        return "digest must be a SHA-256 in lower case hexadecimal digits"
    wrong = [tag for tag in languages if entry[tag] != f"{name.removesuffix('.md')}.{tag}.md"]
    return f"its {wrong[0]} page must be {name.removesuffix('.md')}.{wrong[0]}.md" if wrong else ""


def _page_is_unlisted(manifest: Path, text: str, data: dict[str, Any]) -> Iterator[Fault]:
    """E609: every page below the manifest's folder is listed, is a translation, or lies in a listed folder."""
    base = manifest.resolve().parent.parent
    pages: dict[str, dict[str, str]] = data["pages"]
    known = {
        *pages,
        *(entry[tag] for entry in pages.values() for tag in data["translations"] if tag in entry),
    }
    folders = tuple(name for name in pages if name.endswith("/"))
    for page in sorted(manifest.resolve().parent.rglob("*.md")):
        name = page.relative_to(base).as_posix()
        if name not in known and not name.startswith(folders):
            message = f"{name} is not listed; translate it, or list it under not_translated with the reason"
            yield fault_at(str(manifest), _find(text, '"pages"'), "E609", message)


def _find(text: str, wanted: str) -> Mark:
    at = max(text.find(wanted), 0)
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Mark(line=line, column=column, end_column=column + len(wanted))


def _pair_faults(
    manifest: Path, where: Mark, source: str, language: str, entry: dict[str, str]
) -> list[Fault]:
    """Return the faults of one pair: E602 when a file is missing, E603 when it is stale, then their content's."""
    base = manifest.parent.parent if manifest.parent.name else manifest.resolve().parent.parent
    texts = []
    for name in (source, entry[language]):
        try:
            texts.append(normalised(read_regular(base / name).decode("utf-8")))
        except (OSError, UnicodeDecodeError):
            message = f"{name} is listed and cannot be read"
            return [fault_at(str(manifest), where, "E602", message)]
    faults = []
    current = source_digest(texts[0])
    if current != entry["digest"]:
        message = f"{source} changed since {entry[language]} was reviewed; review it, then set the digest to {current}"
        faults.append(fault_at(str(manifest), where, "E603", message))
    names = (str(base / source), str(base / entry[language]))
    return [*faults, *pair_text_faults(texts[0], texts[1], names[0], names[1], language)]


def pair_text_faults(
    source: str, translation: str, source_path: str, path: str, language: str
) -> list[Fault]:
    """Return the faults of a translation held against its source.

    Args:
        source, translation: the two texts.
        source_path, path: their names, for faults and for the banner.
        language: tag of the translation.
    """
    lines, source_lines = normalised(translation).split("\n"), normalised(source).split("\n")
    return [
        *_banner_is_missing(source_lines, source_path, path),
        *_banner_is_missing(lines, path, source_path),
        *_headings_differ(source_lines, lines, path),
        *_fences_differ(source_lines, lines, path),
        *_tokens_differ(source_lines, lines, path),
        *_body_is_not_translated(source_lines, lines, path, language),
    ]


def _banner_is_missing(lines: list[str], path: str, other: str) -> Iterator[Fault]:
    """E604: within its first five lines each page of a pair links to the other."""
    name = Path(other).name
    if not any(f"]({name})" in line for line in lines[:5]):
        message = f"a banner with a link to {name} is missing from the first five lines"
        yield fault_at(path, _START, "E604", message)


def _headings_differ(source: list[str], lines: list[str], path: str) -> Iterator[Fault]:
    """E605: both pages have the same headings, level by level."""
    ours, theirs = headings(lines), headings(source)
    for own, other in zip(ours, theirs, strict=False):
        if own.level != other.level:
            message = (
                f"the heading should have level {other.level}, as {other.title} on line {other.line} there"
            )
            yield fault_at(path, own.mark, "E605", message)
            return
    if len(ours) != len(theirs):
        mark = ours[-1].mark if ours else _START
        yield fault_at(
            path, mark, "E605", f"{counted(len(ours), 'heading')} here, {len(theirs)} in the source"
        )


def _fences_differ(source: list[str], lines: list[str], path: str) -> Iterator[Fault]:
    """E606: both pages show the same examples; only comments in them may be translated."""
    ours, theirs = fences(lines), fences(source)
    if len(ours) != len(theirs):
        mark = Mark(line=ours[-1].line if ours else 1, column=1, end_column=4)
        yield fault_at(
            path, mark, "E606", f"{counted(len(ours), 'code block')} here, {len(theirs)} in the source"
        )
        return
    for own, other in zip(ours, theirs, strict=True):
        if own.info != other.info or _without_comments(own.lines) != _without_comments(other.lines):
            mark = Mark(line=own.line, column=1, end_column=4)
            message = f"the code block differs from the one on line {other.line} of the source"
            yield fault_at(path, mark, "E606", message)


def _without_comments(lines: tuple[str, ...]) -> list[str]:
    return [kept for line in lines if (kept := _COMMENT.sub("", line).rstrip())]


def _tokens_differ(source: list[str], lines: list[str], path: str) -> Iterator[Fault]:
    """E607: identifiers, flags, keys and file names in code spans are the same, and as many."""
    ours, theirs = _tokens(lines), _tokens(source)
    for token, count in (theirs - Counter(ours.elements())).items():
        message = f"the machine token `{token}` of the source is missing here ({count} times)"
        yield fault_at(path, _START, "E607", message)
    first = _first_places(lines)
    for token in ours - theirs:
        yield fault_at(path, first[token], "E607", f"the machine token `{token}` is not in the source")


def _tokens(lines: list[str]) -> Counter[str]:
    return Counter(found["text"] for _, found in _code_spans(lines))


def _first_places(lines: list[str]) -> dict[str, Mark]:
    places: dict[str, Mark] = {}
    for number, found in _code_spans(lines):
        mark = Mark(line=number, column=found.start() + 1, end_column=found.end() + 1)
        places.setdefault(found["text"], mark)
    return places


def _code_spans(lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line, fenced in walk(lines, 1):
        if not fenced:
            for found in _CODE.finditer(line):
                yield number, found


def _body_is_not_translated(source: list[str], lines: list[str], path: str, language: str) -> Iterator[Fault]:
    """E608: the prose is in the language; comments, code and addresses do not count for or against it."""
    script = _SCRIPTS.get(language.partition("-")[0])
    theirs = {" ".join(text.split()) for _, text in _paragraphs(source)}
    for number, text in _paragraphs(lines):
        letters = _LETTER.findall(text)
        if len(letters) < _PARAGRAPH_LETTERS:
            continue
        if script is None:
            bad = " ".join(text.split()) in theirs
        else:
            bad = sum(1 for letter in letters if script.match(letter)) < _PARAGRAPH_SHARE * len(letters)
        if bad:
            mark = Mark(line=number, column=1, end_column=1)
            yield fault_at(path, mark, "E608", f"this paragraph is not in {language}")
    if script is not None and not any(script.search(text) for _, text in _paragraphs(lines)):
        yield fault_at(path, _START, "E608", f"the page holds no text in {language}")


def _paragraphs(lines: list[str]) -> list[tuple[int, str]]:
    """Return the prose of a page by paragraph, each with its 1-based line, code and addresses taken out."""
    kept = "\n".join("" if fenced else line for _, line, fenced in walk(lines, 1))
    kept = _HTML_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), kept)
    out: list[tuple[int, str]] = []
    start, block = 1, list[str]()
    for number, line in enumerate([*kept.split("\n"), ""], 1):
        prose = _URL.sub(" ", _LINK.sub(r"\1", _CODE.sub(" ", line)))
        if line.strip():
            start = start if block else number
            block.append(prose)
        elif block:
            out.append((start, " ".join(block)))
            block = []
    return out
