"""The schema of our own messages and what is generated from it."""

import importlib
import typing
from pathlib import Path

import pytest
from pydantic import ValidationError

from tools import generate_protocol
from treewright.data.codes import code_meanings
from treewright.surfaces.lsp.features import OWN_METHODS
from treewright.surfaces.lsp.messages import catalogue, events, findings, methods, runs, trees
from treewright.surfaces.lsp.messages.message import Message
from treewright.surfaces.lsp.settings import EditorSettings, read_settings


@pytest.mark.requirement("lsp:protocol:fresh")
def test_the_extensions_protocol_is_what_the_messages_say() -> None:
    assert generate_protocol.TARGET.read_text(encoding="utf-8") == generate_protocol.generated(), (
        "run python tools/generate_protocol.py"
    )


@pytest.mark.requirement("lsp:protocol:one-schema")
def test_every_method_of_the_schema_is_answered_with_its_types() -> None:
    assert set(OWN_METHODS) == set(methods.REQUESTS)
    for method, target in OWN_METHODS.items():
        module, _, name = target.partition(":")
        handler = getattr(importlib.import_module(f"treewright.surfaces.lsp.handlers.{module}"), name)
        hints = typing.get_type_hints(handler)
        assert (hints["request"], hints["return"]) == methods.REQUESTS[method], method


def _is_message(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Message) and value is not Message


def test_every_message_says_what_it_is_for() -> None:
    families = (runs, trees, findings, catalogue, events)
    told = [value for family in families for value in vars(family).values() if _is_message(value)]
    assert [model.__name__ for model in told if model.__doc__ in (None, Message.__doc__)] == []


def test_names_come_in_either_way_and_go_out_in_camel_case() -> None:
    assert runs.StartRequest.model_validate({"maxBranches": 12}) == runs.StartRequest.model_validate(
        {"max_branches": 12}
    )
    assert events.FindingsChanged(shown=1, hidden=2).model_dump(by_alias=True) == {"shown": 1, "hidden": 2}
    with pytest.raises(ValidationError):
        runs.StartRequest.model_validate({"maxBranches": 11})


def test_settings_keep_what_fits_and_tell_what_does_not() -> None:
    before = EditorSettings(trusted=True)
    after, faults = read_settings({"treewright": {"showMarginal": True, "locale": 5, "x": 1}}, before)
    assert (after.trusted, after.show_marginal, after.locale) == (True, True, "en")
    assert len(faults) == 2
    assert read_settings([1], before) == (before, ["the settings are no object"])
    assert read_settings(None, before) == (before, [])


def test_the_codes_that_the_surface_raises_are_listed() -> None:
    source = "".join(
        path.read_text(encoding="utf-8") for path in Path("server/treewright/surfaces/lsp").rglob("*.py")
    )
    for code in ("reason_missing", "command_unknown", "document_not_found", "node_is_root", "no_folder"):
        assert f'"{code}"' in source
        assert code in code_meanings()
