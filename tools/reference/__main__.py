"""Write docs/reference from the code in every language, or say which pages are stale.

python -m tools.reference            write the pages
python -m tools.reference --check    write nothing; exit 1 when a page is not as the code would have it
python -m tools.reference --missing  say the sentences that have no translation yet, as lines to be filled in
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.reference.commands import commands_page
from tools.reference.errors import errors_page
from tools.reference.settings import settings_page
from tools.reference.tools import tools_page
from tools.reference.words import LANGUAGES, Words
from treewright.presets.documents import source_digest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDER = DOCS / "reference"
_MAKERS = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "tools.md": tools_page,
    "errors.md": errors_page,
}


def pages(words: Words) -> dict[str, str]:
    """Return each page in a language by its file's name."""
    return {words.link(name): make(words) for name, make in _MAKERS.items()}


def all_pages() -> dict[str, str]:
    """Return each page in every language by its file's name."""
    return {name: text for language in ("en", *LANGUAGES) for name, text in pages(Words(language)).items()}


def stale(folder: Path, wanted: dict[str, str]) -> list[str]:
    """Return the names of pages that are missing or not as they should be."""
    return [
        name
        for name, text in wanted.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def renewed(manifest: str, wanted: dict[str, str]) -> str:
    """Return docs/languages.json with the digests of the generated pages: they are translated sentence by sentence."""
    for name in _MAKERS:
        digest = source_digest(wanted[name])
        manifest = re.sub(rf'("docs/reference/{name}": .*"digest": ")[^"]*', rf"\g<1>{digest}", manifest)
    return manifest


def main(arguments: Sequence[str]) -> int:
    """Write or check the pages; return 0, or 1 when some are stale and only a look was asked for."""
    if "--missing" in arguments:
        for language in LANGUAGES:
            words = Words(language)
            pages(words)
            for english in dict.fromkeys(words.missing):
                sys.stdout.write(f'{json.dumps(english, ensure_ascii=False)} = ""\n')
        return 0
    wanted = all_pages()
    changed = stale(FOLDER, wanted)
    if "--check" not in arguments:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in changed:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        manifest = DOCS / "languages.json"
        manifest.write_text(renewed(manifest.read_text(encoding="utf-8"), wanted), encoding="utf-8")
    for name in changed:
        sys.stderr.write(f"[docs] docs/reference/{name}\n")
    return 1 if changed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
