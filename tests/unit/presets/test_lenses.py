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
def test_the_eight_are_shipped_each_with_steps_a_form_and_an_end() -> None:
    library = load_lenses()
    assert library.names() == SHIPPED_ORDER
    assert library.faults == ()
    for lens in library.lenses.values():
        assert lens.shipped and lens.title and lens.attacks and lens.produces
        assert lens.directive.count("\n1. ") == 1 and "\n6. " in lens.directive, "six numbered steps"
        assert "Answer in this form" in lens.directive and "End with one line" in lens.directive
        assert len(lens.directive) < 2000, "fits a small context beside the thought"


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
