"""Skills and slash commands: made from the presets, in the format that agents take, and stale ones are told."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.unit.repository.source import ROOT
from treewright.app.context import Context
from treewright.app.skills import skills, write_skills
from treewright.errors import PresetError
from treewright.presets.skills import COMPATIBILITY_MOST, DESCRIPTION_MOST, NAME_MOST, Skill
from treewright.surfaces.cli.main import cli
from treewright.surfaces.mcp.cards import all_cards

SHIPPED = {"attack", "brainstorm", "code-audit", "design", "chain", "search", "deliberation"}


@pytest.fixture
def made() -> dict[str, Skill]:
    """Return the skills by their commands."""
    return {skill.command: skill for skill in skills(Context())[0]}


def front(text: str) -> dict[str, object]:
    """Return a file's front matter."""
    found: dict[str, object] = yaml.safe_load(text.split("---\n")[1])
    return found


@pytest.mark.requirement("agents:skills:generated")
def test_the_files_in_this_repository_are_as_the_presets_have_them() -> None:
    done = write_skills(Context(), ROOT / "agents", check=True)
    assert done.changed == [], "run treewright skills --into agents"
    wanted = {ROOT / "agents" / path for skill in skills(Context())[0] for path in skill.files()}
    assert set((ROOT / "agents").rglob("*.md")) == wanted


@pytest.mark.requirement("agents:skills:every")
def test_each_preset_and_chain_search_and_deliberation_has_one(made: dict[str, Skill]) -> None:
    assert set(made) == SHIPPED


@pytest.mark.requirement("agents:skills:format")
@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_each_is_in_the_format_and_says_when_and_when_not(made: dict[str, Skill], name: str) -> None:
    skill = made[name]
    matter = front(skill.skill)
    assert set(matter) == {"name", "description", "license", "compatibility", "metadata"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", str(matter["name"]))
    assert f"skills/{matter['name']}/SKILL.md" in skill.files()
    assert len(str(matter["name"])) <= NAME_MOST
    assert len(str(matter["description"])) <= DESCRIPTION_MOST
    assert len(str(matter["compatibility"])) <= COMPATIBILITY_MOST
    for told in ("Use when: ", "Not when: "):
        assert len(str(matter["description"]).partition(told)[2]) > 40
    prompt = skill.files()[f"commands/treewright/{name}.md"]
    assert set(front(prompt)) == {"description", "argument-hint"}
    assert "$ARGUMENTS" in prompt
    assert "$" not in skill.skill.partition("---\n")[2].replace("$0", "")


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_tool_and_option_that_is_named_exists(made: dict[str, Skill], name: str) -> None:
    text = made[name].skill
    words = set(re.findall(r"`([a-z_]+)`", text))
    parameters = {each.name for card in all_cards().values() for each in card.parameters}
    assert words - set(all_cards()) - parameters - {"treewright", name} == set()
    for line in re.findall(r"^treewright .*$", text, re.MULTILINE):
        command, *arguments = shlex.split(line)[1:]
        found = cli.get_command(None, command)  # type: ignore[arg-type]  # it looks at no context
        assert found is not None
        options = {option for param in found.params for option in param.opts}
        assert {each for each in arguments if each.startswith("--")} <= options


@pytest.mark.requirement("agents:skills:own")
def test_a_preset_of_the_users_gets_one_and_a_changed_preset_makes_it_stale(
    isolated_home: Path, tmp_path: Path
) -> None:
    folder = isolated_home / "treewright" / "presets"
    folder.mkdir(parents=True)
    text = (ROOT / "presets" / "attack.md").read_text(encoding="utf-8")
    own = folder / "mine.md"
    own.write_text(text.replace("name: attack\n", "name: mine\n", 1), encoding="utf-8")
    assert len(write_skills(Context(), tmp_path, ("mine",)).changed) == 2
    assert "tree --preset mine FILE" in (tmp_path / "skills/treewright-mine/SKILL.md").read_text(
        encoding="utf-8"
    )
    assert write_skills(Context(), tmp_path, ("mine",), check=True).changed == []
    own.write_text(
        own.read_text(encoding="utf-8").replace("not-when: ", "not-when: Never on Sundays. "),
        encoding="utf-8",
    )
    assert len(write_skills(Context(), tmp_path, ("mine",), check=True).changed) == 2


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PresetError) as told:
        write_skills(Context(), tmp_path, ("nope",))
    assert told.value.code == "preset_not_found"
    assert list(tmp_path.iterdir()) == []


def test_triggers_that_no_agent_would_read_whole_are_refused(isolated_home: Path, tmp_path: Path) -> None:
    folder = isolated_home / "treewright" / "presets"
    folder.mkdir(parents=True)
    text = (ROOT / "presets" / "attack.md").read_text(encoding="utf-8")
    text = text.replace("name: attack\n", "name: mine\n", 1).replace(
        "not-when: ", f"not-when: {'word ' * 250}", 1
    )
    (folder / "mine.md").write_text(text, encoding="utf-8")
    with pytest.raises(PresetError, match="agents take 1024"):
        write_skills(Context(), tmp_path)
