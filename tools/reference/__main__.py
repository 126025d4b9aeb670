"""Write docs/reference from the code, or say which pages are stale.

python -m tools.reference            write the pages
python -m tools.reference --check    write nothing; exit 1 when a page is not as the code would have it
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from tools.reference.commands import commands_page
from tools.reference.errors import errors_page
from tools.reference.settings import settings_page
from tools.reference.tools import tools_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return each page by its file's name."""
    return {
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "tools.md": tools_page(),
        "errors.md": errors_page(),
    }


def stale(folder: Path, wanted: dict[str, str]) -> list[str]:
    """Return the names of pages that are missing or not as they should be."""
    return [
        name
        for name, text in wanted.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: Sequence[str]) -> int:
    """Write or check the pages; return 0, or 1 when some are stale and only a look was asked for."""
    wanted = pages()
    changed = stale(FOLDER, wanted)
    if "--check" not in arguments:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in changed:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
    for name in changed:
        sys.stderr.write(f"[docs] docs/reference/{name}\n")
    return 1 if changed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
