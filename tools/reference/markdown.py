"""The little Markdown that the generated pages are made of."""

from collections.abc import Iterable, Sequence

from tools.reference.words import Words

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


def page(title: str, name: str, words: Words, *parts: str) -> str:
    """Return a page of its parts, empty ones left out.

    Args:
        title: in English. name: the English page's file, for the line that leads to the same page in another language.
    """
    other = f"{name.removesuffix('.md')}.zh.md"
    banner = f"English · [中文]({other})" if words.language == "en" else f"[English]({name}) · 中文"
    kept = [part.strip("\n") for part in parts if part.strip()]
    return "\n\n".join([f"# {words(title)}", banner, MADE, *kept]) + "\n"
