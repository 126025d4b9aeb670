"""What the server says in the language of the editor, where it has it; else in English.

The English text is the key, as in the extension's own bundles; `{0}` and so on stand for what is filled in.
"""

import tomllib
from functools import cache

from treewright.data import data_path

_TRADITIONAL = ("zh-tw", "zh-hk", "zh-mo", "zh-hant")


def language_of(locale: str | None) -> str:
    """Return the language that a client's locale is served in: `zh-cn`, or empty for English."""
    named = (locale or "").replace("_", "-").lower()
    return "zh-cn" if named.startswith("zh") and not named.startswith(_TRADITIONAL) else ""


def say(language: str, text: str, *filled: object) -> str:
    """Return a text in a language, filled in.

    Args:
        language: as `language_of` gives it.
        text: in English.
        filled: for `{0}`, `{1}` and so on.
    """
    found = _texts(language).get(text, text) if language else text
    return found.format(*filled) if filled else found


@cache
def _texts(language: str) -> dict[str, str]:
    path = data_path("editor", f"{language}.toml")
    found: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))
    return found
