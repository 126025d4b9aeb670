"""The language a run is written in, settled once (contract: exploration, 6).

Identifiers, keys, labels, statuses, file names, code and quotations are never translated; prose is.
"""

import re
import tomllib
from functools import cache

from treewright.data import data_path
from treewright.errors import RunError
from treewright.tree.run import Language

AUTO = "auto"
DEFAULT = "en"
_CODE = re.compile(
    r"```.*?```|`[^`]*`|https?://\S+|[\w./\\-]+\.[A-Za-z]\w{0,4}\b|[A-Za-z_]+\([^)]*\)", re.DOTALL
)
_WORD = re.compile(r"[^\W\d_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_LIKE_CODE = re.compile(r"[{};=<>]|\bdef\b|\bfunction\b|\bimport\b|->|=>")
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


@cache
def known_languages() -> dict[str, dict[str, object]]:
    """Return the languages that a text can be told to be in, by tag."""
    return tomllib.loads(data_path("languages.toml").read_text(encoding="utf-8"))


def canonical(tag: str) -> str:
    """Return a language tag in its usual spelling: `ZH` is `zh`, `zh_hant` is `zh-Hant`.

    Raises:
        RunError: `language_unknown` when it is no language tag.
    """
    text = tag.strip().replace("_", "-")
    if text.casefold() == AUTO:
        return AUTO
    if not _TAG.fullmatch(text):
        raise RunError(
            "language_unknown", f"{tag!r} is no language tag.", "Use a tag such as en, zh or pt-BR, or auto."
        )
    first, *rest = text.split("-")
    fitted = [
        part.title() if len(part) == 4 else part.upper() if len(part) == 2 else part.lower() for part in rest
    ]
    joined = "-".join([first.lower(), *fitted])
    return "zh" if joined in ("zh-CN", "zh-Hans", "zh-Hans-CN", "zh-SG") else joined


def settle(request: str | None, root_text: str) -> Language:
    """Settle a new run's language.

    Args:
        request: what `--lang` says; None when nothing was said.
        root_text: the root in the user's words; empty for a path or code.

    Raises:
        RunError: `language_unknown`.
    """
    if request is None:
        return Language(request=DEFAULT, output=DEFAULT, source="default")
    tag = canonical(request)
    if tag == AUTO:
        return Language(request=AUTO, output=dominant(root_text), source="auto-detected")
    return Language(request=tag, output=tag, source="explicit")


def settle_resumed(stored: Language | None, request: str | None) -> Language:
    """Settle a resumed run's language: what it has, whatever is asked.

    Args:
        stored: what the run was started with; None for a run from before languages were kept.
        request: what `--lang` says now; None when nothing was said.

    Raises:
        RunError: `language_mismatch` when another one is asked for; the run is left as it was.
    """
    kept = stored or Language(request=DEFAULT, output=DEFAULT, source="legacy-default")
    if request is None:
        return kept.model_copy(update={"source": "resume"}) if stored else kept
    tag = canonical(request)
    if tag not in (AUTO, kept.output):
        raise RunError(
            "language_mismatch",
            f"This run is written in {kept.output}; it cannot go on in {tag}.",
            f"Resume it without --lang (or with --lang {kept.output}), or start a new run.",
            {"stored": kept.output, "asked": tag},
        )
    return kept.model_copy(update={"source": "resume"}) if stored else kept


def dominant(text: str) -> str:
    """Return the dominant language of a text; `en` when it is mixed, too short to tell, a path or code.

    Chinese characters without kana or hangul are `zh` (Simplified); `zh-Hant` has to be asked for.
    """
    prose = _CODE.sub(" ", text)
    if len(_LIKE_CODE.findall(prose)) > max(2, len(prose) // 60):
        return DEFAULT
    words = [word.casefold() for word in _WORD.findall(prose)]
    characters = sum(map(len, words))
    if not characters:
        return DEFAULT
    by_script = _by_script(prose, characters)
    return by_script or _by_words(words)


def _by_script(prose: str, characters: int) -> str:
    """Tell by writing system; a language that has one to itself must hold half of the letters.

    One CJK character counts as two Latin letters, for it says about as much.
    """
    cjk = len(_CJK.findall(prose))
    weight = characters + cjk
    counts = {
        tag: len(re.findall(str(entry["script"]), prose)) * (2 if tag != "ru" else 1)
        for tag, entry in known_languages().items()
        if "script" in entry
    }
    if counts["ja"] and counts["ja"] + counts["zh"] > weight / 2 and counts["ja"] * 6 > counts["zh"]:
        return "ja"
    best = max(counts, key=lambda tag: counts[tag])
    if counts[best] > weight / 2:
        return best
    return DEFAULT if sum(counts.values()) > weight / 5 else ""


def _by_words(words: list[str]) -> str:
    """Tell by function words; the best must be clearly ahead."""
    scores = {
        tag: sum(word in frozenset(map(str, entry["words"])) for word in words)  # type: ignore[call-overload]  # the file says that it is a list
        for tag, entry in known_languages().items()
        if "words" in entry
    }
    ranked = sorted(scores, key=lambda tag: -scores[tag])
    first, second = ranked[0], ranked[1]
    clear = scores[first] >= 2 and scores[first] * 10 >= len(words) and scores[first] > 1.3 * scores[second]
    return first if clear else DEFAULT
