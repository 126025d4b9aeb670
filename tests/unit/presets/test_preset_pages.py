"""The pages on presets, profiles and lenses: their examples are valid, their tables true, their translations fresh."""

from pathlib import Path

import pytest

from treewright.presets.body import fences
from treewright.presets.lenses import SHIPPED_ORDER
from treewright.presets.loader import list_presets, load_preset
from treewright.presets.preset_file import PRESET_SHAPE
from treewright.presets.profiles import list_profiles
from treewright.presets.validator import FileKind, validate_paths, validate_text

DOCS = Path(__file__).resolve().parents[3] / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "kind", "file"),
    [
        ("presets", "preset", "risk-review.md"),
        ("profiles", "profile", "compilers.md"),
        ("lenses", "lens", "cost_of_delay.md"),
    ],
)
def test_the_example_of_a_page_is_valid_as_it_stands(name: str, kind: FileKind, file: str) -> None:
    (example,) = [f for f in fences(page(name).splitlines()) if f.info == "markdown"]
    assert [str(fault) for fault in validate_text(kind, "\n".join(example.lines), file)] == []


def test_the_page_on_presets_names_every_shipped_one_with_its_file_and_every_key() -> None:
    text = page("presets")
    for summary in list_presets():
        preset = load_preset(summary.name)
        assert f"| `{preset.name}` |" in text
        assert f"| `{preset.output_artifacts.primary}` |" in text
    for key in {**PRESET_SHAPE.required, **PRESET_SHAPE.optional}:
        assert f"`{key}`" in text


def test_the_other_pages_name_every_shipped_profile_and_lens() -> None:
    assert all(f"`{name}`" in page("profiles") for name in list_profiles())
    assert all(f"| `{name}` |" in page("lenses") for name in SHIPPED_ORDER)


def test_the_pages_and_their_translations_have_no_fault() -> None:
    names = [f"{name}{tag}.md" for name in ("presets", "profiles", "lenses") for tag in ("", ".zh")]
    told = [str(f) for f in validate_paths([DOCS / "languages.json", *(DOCS / name for name in names)])]
    assert [line for line in told if any(name in line for name in names)] == []
