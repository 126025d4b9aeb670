"""The eight lenses and those of the user's."""

from pathlib import Path

import pytest

from treewright.errors import PresetError
from treewright.presets.lenses import SHIPPED_ORDER, load_lenses

SAMPLE = (Path(__file__).parent / "samples" / "lens.md").read_text(encoding="utf-8")


def add(root: Path, name: str, text: str = SAMPLE) -> None:
    (root / "lenses").mkdir(exist_ok=True)
    (root / "lenses" / f"{name}.md").write_text(
        text.replace("name: sample", f"name: {name}"), encoding="utf-8"
    )


@pytest.mark.requirement("presets:lenses:eight-shipped")
def test_the_eight_are_shipped_each_short_with_a_few_questions_to_answer() -> None:
    library = load_lenses()
    assert library.names() == SHIPPED_ORDER
    assert library.faults == ()
    for lens in library.lenses.values():
        assert lens.shipped and lens.title and lens.attacks and lens.produces
        assert 3 <= len(lens.asks) <= 4
        assert len({one.key for one in lens.asks}) == len(lens.asks)
        assert all(one.told in lens.directive and one.label in lens.directive for one in lens.asks)
        assert lens.directive.startswith(lens.guidance)
        assert len(lens.directive) < 1000, "small beside the thought in a small context"
        assert "..." not in lens.directive, "nothing to fill in that a small model copies instead"


def test_a_lens_of_a_user_s_may_leave_the_form_to_its_text(tmp_path: Path) -> None:
    add(tmp_path, "devil")
    found = load_lenses(tmp_path).get("devil")
    assert found.asks == () and found.directive == found.guidance


@pytest.mark.requirement("presets:lenses:user-adds-overrides")
def test_the_user_s_lenses_add_and_override_by_name(tmp_path: Path) -> None:
    add(tmp_path, "steel_man")
    add(tmp_path, "devil")
    library = load_lenses(tmp_path)
    assert library.names() == (*SHIPPED_ORDER, "devil")
    assert library.get("steel_man").attacks == "What tests attack."
    assert not library.get("steel_man").shipped and library.get("overconfidence").shipped


@pytest.mark.requirement("presets:lenses:user-adds-overrides")
def test_a_faulty_override_leaves_the_shipped_lens_in_place_and_is_told(tmp_path: Path) -> None:
    add(tmp_path, "steel_man", "---\nname: steel_man\n---\n")
    (tmp_path / "lenses" / "latin.md").write_bytes(b"\xff")
    library = load_lenses(tmp_path)
    assert library.get("steel_man").shipped
    assert {f.rule for f in library.faults} == {"E100", "E124", "E402", "E403"}


@pytest.mark.parametrize("name", ["steel_man", "Steel Man", " steel-man "])
def test_a_name_is_found_however_a_model_spells_it(name: str) -> None:
    assert load_lenses().get(name).name == "steel_man"


def test_an_unknown_lens_names_the_nearest() -> None:
    with pytest.raises(PresetError) as caught:
        load_lenses().get("steelman")
    assert caught.value.code == "lens_not_found"
    assert caught.value.hint == "did you mean steel_man?"
