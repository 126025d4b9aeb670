"""The language of a run is settled once."""

import pytest

from treewright.errors import RunError
from treewright.explore.language import canonical, dominant, settle, settle_resumed
from treewright.tree.run import Language


@pytest.mark.requirement("exploration:language:recorded", "exploration:language:settled-once")
@pytest.mark.parametrize(
    ("request_", "text", "language"),
    [
        (None, "如何让构建更快?", Language(request="en", output="en", source="default")),
        ("de", "anything", Language(request="de", output="de", source="explicit")),
        (
            "auto",
            "如何让构建更快,同时保持可复现?",
            Language(request="auto", output="zh", source="auto-detected"),
        ),
        ("ZH", "", Language(request="zh", output="zh", source="explicit")),
    ],
)
def test_a_new_run_records_request_output_and_source(
    request_: str | None, text: str, language: Language
) -> None:
    assert settle(request_, text) == language


@pytest.mark.requirement("exploration:language:auto", "exploration:language:chinese")
@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("How can we make the build faster for everybody in the team?", "en"),
        ("如何让构建更快,同时保持可复现?", "zh"),
        ("如何讓建置更快,同時保持可重現?", "zh"),
        ("ビルドをもっと速くするにはどうすればよいですか", "ja"),
        ("빌드를 더 빠르게 하려면 어떻게 해야 합니까", "ko"),
        ("Как сделать сборку быстрее для всей команды?", "ru"),
        ("Wie können wir den Build für alle im Team schneller und besser machen?", "de"),
        ("Comment rendre la compilation plus rapide pour tous les membres de l'équipe?", "fr"),
        ("¿Cómo podemos hacer que la compilación sea más rápida para todos los del equipo?", "es"),
        ("Como podemos fazer com que a compilação seja mais rápida para todos os da equipe?", "pt"),
        ("src/build/main.py", "en"),
        ("def f(x):\n    return x + 1\n", "en"),
        ("", "en"),
        ("12345", "en"),
        ("Make 构建 the 更快 build 系统 faster 而且 cheaper 现在", "en"),
        ("使用 pytest 和 GitHub Actions 让构建更快的方法有哪些,怎样衡量效果", "zh"),
    ],
)
def test_auto_takes_the_dominant_language_and_english_when_in_doubt(text: str, tag: str) -> None:
    assert dominant(text) == tag


@pytest.mark.requirement("exploration:language:mismatch")
def test_a_stored_language_holds_on_resume() -> None:
    stored = Language(request="zh", output="zh", source="explicit")
    assert settle_resumed(stored, None).output == "zh"
    assert settle_resumed(stored, "ZH") == stored.model_copy(update={"source": "resume"})
    assert settle_resumed(stored, "auto").output == "zh"
    for other in ("zh-Hant", "en", "ja"):
        with pytest.raises(RunError) as caught:
            settle_resumed(stored, other)
        assert caught.value.code == "language_mismatch"
    assert settle_resumed(None, None) == Language(request="en", output="en", source="legacy-default")


@pytest.mark.parametrize(
    ("tag", "usual"),
    [("EN", "en"), ("zh_hant", "zh-Hant"), ("pt-br", "pt-BR"), ("zh-CN", "zh"), ("AUTO", "auto")],
)
def test_tags_are_brought_to_their_usual_spelling(tag: str, usual: str) -> None:
    assert canonical(tag) == usual


@pytest.mark.parametrize("tag", ["", "english please", "e", "../x", "zh;rm"])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(RunError) as caught:
        canonical(tag)
    assert caught.value.code == "language_unknown"
