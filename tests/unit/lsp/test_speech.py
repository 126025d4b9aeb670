"""What the server says in the editor's language."""

import re
import tomllib
from pathlib import Path

import pytest

from treewright.data import data_path
from treewright.surfaces import lsp
from treewright.surfaces.lsp.actions import TITLES
from treewright.surfaces.lsp.handlers.commands import REASONS
from treewright.surfaces.lsp.jobs import SO_FAR
from treewright.surfaces.lsp.speech import language_of, say

_SAID = re.compile(r'\bsay\(\s*(?:self\.language,\s*)?"([^"]+)"')


def said() -> set[str]:
    """Return every text that the server has said in the user's language."""
    texts = {SO_FAR, *TITLES.values(), *(reason for several in REASONS.values() for reason in several)}
    for source in Path(lsp.__path__[0]).rglob("*.py"):
        texts.update(_SAID.findall(source.read_text(encoding="utf-8")))
    return texts


@pytest.mark.requirement("lsp:language:chinese")
def test_every_text_that_is_said_stands_in_chinese_and_nothing_else_does() -> None:
    known = tomllib.loads(data_path("editor", "zh-cn.toml").read_text(encoding="utf-8"))
    assert known.keys() == said()
    for english, chinese in known.items():
        assert re.findall(r"\{\d\}", english) == re.findall(r"\{\d\}", chinese), english
        assert not chinese.isascii(), english


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("zh-cn", "zh-cn"),
        ("zh_CN", "zh-cn"),
        ("zh", "zh-cn"),
        ("zh-Hans-CN", "zh-cn"),
        ("zh-TW", ""),
        ("zh-Hant-HK", ""),
        ("en", ""),
        ("de-DE", ""),
        (None, ""),
    ],
)
def test_a_locale_is_served_in_the_language_that_is_there(locale: str | None, language: str) -> None:
    assert language_of(locale) == language


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert say("", "Fix: {0}", "{1} {x}") == "Fix: {1} {x}"
    assert say("zh-cn", "Fix: {0}", "eval {x}") == "修复：eval {x}"
    assert say("zh-cn", "not there {0}") == "not there {0}"
