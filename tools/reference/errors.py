"""The page of the error codes: what each means, how the command line leaves, what to do."""

import tomllib
from itertools import groupby

from tools.reference.markdown import code, page, table
from tools.reference.words import Words
from treewright.data import data_path
from treewright.data.codes import code_meanings

_INTRODUCTION = """\
A program decides by the code, never by the text of a message. The terminal shows the message and a hint and leaves with
the exit code (see [commands](commands.md#exit-codes)); `--format json` of `treewright cap`, tools over MCP and the language
server name the code itself. What a model or a kernel did (cut off, refused, timed out, died) is part of a run's record, not
an error, unless nothing could go on.
"""

_HEADS = ("code", "exit", "meaning", "what to do")


def errors_page(words: Words) -> str:
    """Return the page."""
    titles = tomllib.loads(data_path("areas.toml").read_text(encoding="utf-8"))
    parts = [words(_INTRODUCTION)]
    for area, meanings in groupby(code_meanings().values(), key=lambda each: each.area):
        rows = [
            (code(each.code), str(int(each.exit)), words(each.summary), words(each.act)) for each in meanings
        ]
        parts += [f"## {words(titles[area])}", table([words(head) for head in _HEADS], rows)]
    return page("Errors", "errors.md", words, *parts)
