"""The little Markdown that the generated pages are made of."""

from collections.abc import Iterable, Sequence

MADE = "<!-- Made from the code by `make docs`; change the code instead. -->"


def cell(text: str) -> str:
    """Return text as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; nothing when it has no rows."""
    lines = [f"| {' | '.join(cell(each) for each in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *lines])


def code(text: str) -> str:
    """Return text as code in a line; nothing for nothing."""
    return f"`{text}`" if text else ""


def page(title: str, *parts: str) -> str:
    """Return a page of its parts, empty ones left out."""
    return "\n\n".join([f"# {title}", MADE, *(part.strip("\n") for part in parts if part.strip())]) + "\n"
