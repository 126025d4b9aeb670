"""The tools as clients see them."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from treewright.data import data_path
from treewright.data.codes import code_meanings
from treewright.deliberate.engine import Deliberation
from treewright.deliberate.toolcard import tool_cards
from treewright.surfaces.mcp.calls import TARGETS
from treewright.surfaces.mcp.cards import MOST_TOOLS, NAME_MOST, all_cards, choose
from treewright.surfaces.mcp.directive import _advice

CONTRACT = [
    "tree_start",
    "tree_next",
    "tree_submit",
    "tree_status",
    "tree_node",
    "tree_children",
    "tree_resume",
    "tree_stop",
    "tree_report",
    "tree_chain",
    "list_presets",
    "search_start",
    "search_submit_candidate",
    "search_result",
    "cap_reserve",
    "cap_settle",
    "cap_status",
    "kernel_exec",
    "kernel_list_vars",
    "kernel_inspect",
    "kernel_reset",
    "kernel_interrupt",
    "kernel_install_pkg",
    "audit_code",
    "validate_preset",
]
LONGEST_PREFIX = "mcp__claude_ai_treewright__"
"""What a client puts before a name; with it, 64 characters is the shortest limit known."""


@pytest.mark.requirement("mcp:tools:named")
def test_every_tool_of_the_contract_is_there() -> None:
    names = set(all_cards())
    assert set(CONTRACT) <= names
    assert names - set(CONTRACT) == {*tool_cards("tools"), *tool_cards("autopilot")}
    for card in all_cards().values():
        assert card.title
        assert len(card.description) >= 15
        assert card.input_schema()["type"] == "object"
        assert {"ok", "message", "next_tool"} <= set(card.output_schema()["properties"])


@pytest.mark.requirement("mcp:tools:groups")
def test_groups_choose_the_tools() -> None:
    default = {card.name for card in choose((), autopilot=False)}
    assert {"tree_start", "audit_code", "validate_preset", "start_session", "search_start"} <= default
    for hidden in (
        "cap_reserve",
        "cap_settle",
        "cap_status",
        "export_session",
        "import_session",
        "render_session",
        "kernel_exec",
    ):
        assert hidden not in default
    assert {card.name for card in choose(("all",), autopilot=True)} == set(all_cards())
    assert all(card.name.startswith("kernel_") for card in choose(("kernel",), autopilot=False))
    with pytest.raises(ValueError, match="explorer"):
        choose(("explorer",), autopilot=False)


@pytest.mark.requirement("mcp:tools:forty")
@pytest.mark.parametrize("autopilot", [False, True])
def test_the_default_selection_has_forty_tools_at_most_the_essential_ones_first(autopilot: bool) -> None:
    cards = choose((), autopilot=autopilot)
    names = [card.name for card in cards]
    assert len(names) <= MOST_TOOLS
    assert names[:3] == ["tree_start", "tree_next", "tree_submit"]
    assert autopilot is ("run_stage_autopilot" in names)
    assert {"next_action", "commit_thought", "finalize_session", "search_result"} <= set(names)
    for name in all_cards():
        assert len(name) < NAME_MOST
        assert len(LONGEST_PREFIX + name) <= 64


def test_no_autopilot_tool_exists_while_it_is_off() -> None:
    assert not [card.name for card in choose(("all",), autopilot=False) if "autopilot" in card.name]


@pytest.mark.requirement("mcp:tools:annotations")
def test_tools_that_change_something_do_not_claim_to_read_only() -> None:
    effects = {name: card.effect for name, card in all_cards().items()}
    assert set(effects.values()) == {"read", "write", "destroy"}
    for name in ("tree_start", "tree_submit", "cap_reserve", "start_session", "audit_code"):
        assert effects[name] == "write"
    for name in ("kernel_exec", "clear_session", "move_session"):
        assert effects[name] == "destroy"
    for name in ("tree_status", "tree_node", "next_action", "list_sessions", "search_result", "cap_status"):
        assert effects[name] == "read"


def test_the_parameters_of_deliberation_are_those_of_the_engine() -> None:
    for name in {*tool_cards("tools"), *tool_cards("autopilot")}:
        parameters = list(inspect.signature(getattr(Deliberation, name)).parameters.values())[1:]
        card = all_cards()[name]
        own = [p for p in card.parameters if p.name != "handle"]
        assert [p.name for p in own] == [p.name for p in parameters], name
        for ours, theirs in zip(own, parameters, strict=True):
            assert ours.required is (theirs.default is inspect.Parameter.empty), (name, ours.name)


def test_schemas_are_flat() -> None:
    for card in all_cards().values():
        for parameter in card.parameters:
            schema = parameter.schema()
            assert isinstance(schema["type"], str), (card.name, parameter.name)
            assert "properties" not in schema
            assert schema["description"]


def test_every_tool_of_ours_leads_to_a_function() -> None:
    own = {name for name, card in all_cards().items() if not card.loose}
    assert set(TARGETS) == own
    for target in TARGETS.values():
        module, _, name = target.partition(":")
        assert inspect.iscoroutinefunction(
            getattr(importlib.import_module(f"treewright.surfaces.mcp.tools.{module}"), name)
        )


@pytest.mark.requirement("mcp:answers:directive")
def test_every_tool_that_an_answer_names_exists() -> None:
    folder = Path(inspect.getfile(choose)).parent
    named = set()
    for path in folder.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"\"((?:tree|search|cap|kernel|audit|list|validate|next)_[a-z_]+)\"", source))
    told = {name for name in named if name not in all_cards()}
    assert told <= {"search_verified", "next_tool"}, told
    for code, advice in _advice().items():
        assert code in code_meanings(), code
        assert not advice.next_tool or advice.next_tool in all_cards()


def test_hints_for_agents_never_speak_of_flags() -> None:
    text = data_path("mcp", "advice.toml").read_text(encoding="utf-8")
    assert not re.findall(r"\s--[a-z]", text)
