"""Finding, reading and refusing presets."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from treewright.errors import PresetError
from treewright.presets.loader import find_preset, list_presets, load_preset, load_preset_file, parse_preset
from treewright.presets.schema import Gate, OutputArtifacts, Preset
from treewright.tree.run import Role

SAMPLE = (Path(__file__).parent / "samples" / "preset.md").read_text(encoding="utf-8")


def write(path: Path, text: str = SAMPLE, name: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("name: sample\n", f"name: {name or path.stem}\n"), encoding="utf-8")
    return path


def parsed(text: str = SAMPLE) -> Preset:
    preset, faults = parse_preset(text, "sample.md")
    assert preset is not None, [str(f) for f in faults]
    return preset


@pytest.mark.requirement("exploration:preset:lookup-order")
def test_a_reference_is_a_shipped_name_then_a_name_of_the_user_s_then_a_path(tmp_path: Path) -> None:
    mine = write(tmp_path / "root" / "presets" / "mine.md")
    shadow = write(tmp_path / "root" / "presets" / "attack.md")
    elsewhere = write(tmp_path / "work" / "sub" / "other.md")
    root = tmp_path / "root"
    assert find_preset("mine", root) == mine
    assert find_preset("attack", root) != shadow
    assert find_preset("sub/other.md", root, tmp_path / "work") == elsewhere
    assert find_preset(str(elsewhere), root) == elsewhere
    assert load_preset("mine", root).name == "mine"
    assert [s.name for s in list_presets(root)] == ["attack", "brainstorm", "code-audit", "design", "mine"]


@pytest.mark.parametrize(
    ("reference", "hint"),
    [("atack", "did you mean attack?"), ("", "known presets"), ("./attack", ""), ("zzzz", "known presets")],
)
def test_an_unknown_reference_names_the_nearest(reference: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(PresetError) as caught:
        find_preset(reference, tmp_path, tmp_path)
    assert caught.value.code == "preset_not_found"
    assert hint in caught.value.hint


def test_a_name_cannot_leave_the_presets_folder(tmp_path: Path) -> None:
    write(tmp_path / "secret.md")
    (tmp_path / "root" / "presets").mkdir(parents=True)
    with pytest.raises(PresetError, match="there is no preset"):
        find_preset("../../secret", tmp_path / "root", tmp_path / "root")


def test_an_invalid_preset_is_refused_with_every_fault(tmp_path: Path) -> None:
    path = write(
        tmp_path / "sample.md", SAMPLE.replace("key: B", "key: R").replace("use-when: Never.", "use-when: 1")
    )
    with pytest.raises(PresetError) as caught:
        load_preset_file(path)
    assert caught.value.code == "preset_invalid"
    assert [f["rule"] for f in caught.value.details["faults"]] == ["E121", "E207"]
    assert f"{path}:4:11: E121" in caught.value.message
    (broken,) = [s for s in list_presets(tmp_path.parent) if s.name == "sample"] or [None]
    assert broken is None


def test_a_broken_preset_of_the_user_s_is_listed_with_its_number_of_faults(tmp_path: Path) -> None:
    write(tmp_path / "presets" / "bad.md", SAMPLE.replace("key: B", "key: R"))
    summary = {s.name: s for s in list_presets(tmp_path)}["bad"]
    assert (summary.faults, summary.description, summary.source) == (1, "", "user")


@pytest.mark.parametrize("data", [b"\xff\xfe---", b"---\nname: \x92\n"])
def test_a_file_that_is_not_utf8_is_refused_with_its_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sample.md"
    path.write_bytes(data)
    with pytest.raises(PresetError) as caught:
        load_preset_file(path)
    assert (caught.value.code, caught.value.details["line"]) == (
        "preset_unreadable",
        1 if data[0] == 0xFF else 2,
    )


def test_a_folder_or_a_huge_file_is_refused(tmp_path: Path) -> None:
    folder, huge = tmp_path / "a.md", tmp_path / "b.md"
    folder.mkdir()
    huge.write_bytes(b"x" * 1_000_001)
    for path in (folder, huge):
        with pytest.raises(PresetError) as caught:
            load_preset_file(path)
        assert caught.value.code == "preset_unreadable"


@pytest.mark.requirement("exploration:preset:name-equals-file")
def test_a_name_that_differs_from_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PresetError, match="make them equal"):
        load_preset_file(write(tmp_path / "other.md", name="sample"))


@pytest.mark.requirement("exploration:preset:description-required")
def test_use_when_may_be_left_out_and_a_description_may_not() -> None:
    assert parsed(SAMPLE.replace("use-when: Never.\n", "")).use_when == ""
    preset, faults = parse_preset(SAMPLE.replace('description: "A preset for tests."\n', ""), "sample.md")
    assert preset is None
    assert [f.rule for f in faults] == ["E124"]


@pytest.mark.requirement("presets:custom:contract-keys-suffice")
def test_a_preset_with_the_contract_s_keys_alone_is_complete() -> None:
    start, end = SAMPLE.index("parts:"), SAMPLE.index("output_artifacts:")
    text = SAMPLE[:start] + SAMPLE[end:].replace("    refuted: nay.md\n", "").replace(
        "  table: [claim, remedy]\n", ""
    )
    preset = parsed(text)
    assert preset.parts.subject == "claim"
    assert preset.parts.assumptions == "assumptions"
    assert preset.gates == ()
    assert preset.rule("evidence").min_items == 1
    assert [f.name for f in preset.root_schema().fields] == [
        "central_claim", "method_skeleton", "key_evidence", "explicit_assumptions", "implicit_assumptions"
    ]  # fmt: skip


@pytest.mark.requirement("exploration:preset:any-language-prose")
def test_prose_may_be_in_any_language() -> None:
    text = SAMPLE.replace('"A preset for tests."', "テスト用の設定。").replace(
        "Read it.", "Прочитай. 请阅读。"
    )
    text = text.replace("advances: YEP", "advances: 有望")
    preset = parsed(text)
    assert preset.description == "テスト用の設定。"
    assert preset.grounding == "Прочитай. 请阅读。"
    assert preset.role_of("有望") is Role.ADVANCES


def test_the_digest_does_not_depend_on_line_ends_or_byte_order_mark() -> None:
    variants = [SAMPLE, SAMPLE.replace("\n", "\r\n"), "\ufeff" + SAMPLE]
    assert len({parsed(text).digest for text in variants}) == 1
    assert parsed(SAMPLE.replace("Never.", "Ever.")).digest != parsed().digest


def test_a_preset_survives_being_written_and_read_as_json() -> None:
    preset = parsed()
    assert Preset.model_validate_json(preset.model_dump_json()) == preset


def test_roles_labels_and_modes_are_looked_up() -> None:
    preset = parsed()
    assert preset.label(Role.PRUNED) == "NAY"
    assert preset.role_of(" soso ") is Role.KEPT
    assert preset.role_of("YEP!") is None
    assert preset.root_schema().mode == preset.root_schema("whole").mode == "whole"
    with pytest.raises(KeyError):
        preset.root_schema("problem")


def test_entries_are_sorted_by_the_product_or_the_sum() -> None:
    scores = {"S": 3, "P": 2, "R": 1, "F": 0, "B": 3}
    assert parsed().output_artifacts.sort_value(scores) == 6
    assert OutputArtifacts(primary="a.md").sort_value(scores) == 9


@pytest.mark.requirement("exploration:preset:gates")
@pytest.mark.parametrize(
    "gate",
    [
        {"when": "score_below", "then": "kept", "because": "x"},
        {"when": "score_below", "field": "a", "then": "kept", "because": "x"},
        {"when": "field_missing", "field": "a", "dim": "S", "value": 1, "then": "kept", "because": "x"},
        {"when": "field_missing", "field": "a", "then": "advances", "because": "x"},
        {"when": "field_missing", "field": "a", "then": "blocked", "because": "x"},
        {"when": "defense_shown", "field": "a", "then": "kept", "always": True, "because": "x"},
    ],
)
def test_a_gate_has_the_arguments_of_its_kind_and_only_lowers(gate: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Gate.model_validate(gate)


def test_a_preset_built_in_code_must_agree_with_itself() -> None:
    data = parsed().model_dump()
    for change in (
        {"node_schema": ["same"] * 12},
        {"verdict_enum": dict.fromkeys(Role, "X")},
        {"field_rules": {"unknown": {}}},
        {"output_artifacts": {"primary": "a.md", "sort_by": ["Q"]}},
    ):
        with pytest.raises(ValidationError):
            Preset.model_validate({**data, **change})
