"""The sentences of the generated pages in another language: `tools/reference/<language>/*.toml`, English to translation."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

_CODE = re.compile(r"`[^`]*`")
HERE = Path(__file__).resolve().parent
LANGUAGES = ("zh",)
"""Languages besides English that every generated page is made in (contract: surfaces, "Documentation")."""


class Words:
    """What says the sentences of a page in one language.

    Args:
        language: `en`, or one of `LANGUAGES`.
        told: translations by the English sentence; None reads those of the language.
    """

    def __init__(self, language: str, told: Mapping[str, str] | None = None) -> None:
        self.language = language
        self.missing: list[str] = []
        self.used: set[str] = set()
        self._told = {} if language == "en" else told if told is not None else translations(language)

    def __call__(self, text: str) -> str:
        """Return a sentence in the language; one that was never translated comes back as it is and is noted."""
        plain = " ".join(text.split())
        if self.language == "en" or _CODE.fullmatch(plain) or not any(letter.isalpha() for letter in plain):
            return text
        self.used.add(plain)
        if plain not in self._told:
            self.missing.append(plain)
            return text
        return self._told[plain]

    def link(self, page: str) -> str:
        """Return the name of a page in the language: `errors.md`, `errors.zh.md`."""
        return page if self.language == "en" else f"{page.removesuffix('.md')}.{self.language}.md"


def translations(language: str) -> dict[str, str]:
    """Return every translated sentence of a language by the English one.

    Raises:
        ValueError: two files translate the same sentence differently.
    """
    found: dict[str, str] = {}
    for path in sorted((HERE / language).glob("*.toml")):
        for english, said in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if found.setdefault(english, said) != said:
                raise ValueError(f"{path.name}: {english!r} is translated in two ways")
    return found
