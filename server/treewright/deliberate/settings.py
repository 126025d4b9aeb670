"""Settings of deliberation, and what one session may change of them (contract: deliberation, 1)."""

import difflib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treewright.deliberate.ports import Endpoint
from treewright.deliberate.stages import stage_table
from treewright.errors import RequestError

Name = Annotated[str, Field(min_length=1, max_length=100)]
EngineName = Literal["manual", "nash", "necort"]


class Section(BaseModel):
    """One table of the configuration; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModesSettings(Section):
    """`[modes]`."""

    default_prompt_user: bool = True
    """Ask for the mode even when a default is set."""
    default: Literal["", "serial", "subagent"] = ""
    """The mode of a session that names none; only used when `default_prompt_user` is false."""


class SerialSettings(Section):
    """`[serial]`."""

    max_rounds: int = Field(default=3, ge=1, le=50)
    score_threshold: float = Field(default=0.05, ge=0, le=1)
    edit_distance_epsilon: float = Field(default=0.05, ge=0, le=1)
    fast_mode: bool = False
    """One critique round a thought instead of `max_rounds`."""
    default_lenses: list[str] | dict[str, list[str]] = Field(
        default_factory=lambda: list(stage_table().lens_order)
    )
    """The order in which lenses are tried after a stage's own; or, by stage, the stage's own."""

    @property
    def round_cap(self) -> int:
        """How many rounds a thought may take."""
        return 1 if self.fast_mode else self.max_rounds


class SubagentSettings(Section):
    """`[subagent]`."""

    engine: EngineName = "manual"
    agents: list[Name] = Field(
        default_factory=lambda: ["Analysis", "Creativity", "Skeptic"], min_length=1, max_length=12
    )
    max_rounds: int = Field(default=2, ge=1, le=50)
    equilibrium_threshold: float = Field(default=0.75, ge=0, le=1)
    sequential_fallback: bool = True
    """With several endpoints, whether tasks of one that fails are retried in sequence on the others."""
    endpoint: str = ""
    endpoints: list[str] = Field(default_factory=list)
    model: str = ""
    timeout: float = Field(default=120.0, gt=0, le=3600)
    necort_path: str = ""

    @property
    def urls(self) -> list[str]:
        """Every configured endpoint once, the single one first."""
        return list(dict.fromkeys(url.strip() for url in [self.endpoint, *self.endpoints] if url.strip()))


class StageSettings(Section):
    """`[stages]`."""

    default: list[Name] = Field(
        default_factory=lambda: list(stage_table().default), min_length=1, max_length=50
    )


class AutopilotSettings(Section):
    """`[autopilot]`."""

    enabled: bool = False
    endpoint: str = ""
    model: str = ""
    temperature: float = Field(default=0.7, ge=0, le=2)


class DeliberationSettings(Section):
    """The operator's settings of both modes."""

    modes: ModesSettings = ModesSettings()
    serial: SerialSettings = SerialSettings()
    subagent: SubagentSettings = SubagentSettings()
    stages: StageSettings = StageSettings()
    autopilot: AutopilotSettings = AutopilotSettings()


OVERRIDABLE: dict[str, type[Section]] = {
    "serial": SerialSettings,
    "subagent": SubagentSettings,
    "stages": StageSettings,
}
"""Tables that a session may change for itself."""

NOT_IMPORTED = {"subagent": ("endpoint", "endpoints", "necort_path")}
"""Overrides that an imported document may not bring along: they would call an address, or run code, that
nobody on this machine chose."""


def checked_overrides(raw: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Validate a session's overrides, nested (`{"serial": {...}}`) or dotted (`{"serial.max_rounds": 2}`).

    Raises:
        RequestError: `unknown_override` with the nearest valid key, or `bad_override` with the fault.
    """
    nested: dict[str, dict[str, Any]] = {}
    for key, value in raw.items():
        table, dot, name = str(key).strip().partition(".")
        if dot:
            nested.setdefault(table, {})[name] = value
        elif isinstance(value, dict):
            nested.setdefault(table, {}).update(value)
        else:
            nested.setdefault(_table_of(table), {})[table] = value
    return {table: _checked_table(table, values) for table, values in nested.items()}


def _table_of(name: str) -> str:
    """Find the one table that has a key; refuse a key that is in none or in several."""
    tables = [table for table, model in OVERRIDABLE.items() if name in model.model_fields]
    if len(tables) == 1:
        return tables[0]
    if tables:
        choice = " or ".join(f"{table}.{name}" for table in tables)
        raise RequestError("unknown_override", f"The override {name} is ambiguous.", f"Write {choice}.")
    raise _unknown(name)


def _unknown(name: str) -> RequestError:
    valid = [f"{table}.{key}" for table, model in OVERRIDABLE.items() for key in model.model_fields]
    bare = {key.partition(".")[2]: key for key in valid}
    near = difflib.get_close_matches(name, valid, 1, 0.3) or [
        bare[key] for key in difflib.get_close_matches(name.rpartition(".")[2], list(bare), 1, 0.3)
    ]
    hint = f"Did you mean {near[0]}?" if near else f"Valid keys: {', '.join(valid)}."
    return RequestError("unknown_override", f"There is no setting {name} to override.", hint)


def _checked_table(table: str, values: dict[str, Any]) -> dict[str, Any]:
    model = OVERRIDABLE.get(table)
    if model is None:
        raise _unknown(f"{table}.{next(iter(values), '')}".rstrip("."))
    for key in values:
        if key not in model.model_fields:
            raise _unknown(f"{table}.{key}")
    try:
        checked = model.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([table, *(str(step) for step in fault["loc"])])
        raise RequestError("bad_override", f"The override {where} cannot be used: {fault['msg']}.") from error
    return {key: getattr(checked, key) for key in values}


def for_session(operator: DeliberationSettings, overrides: dict[str, dict[str, Any]]) -> DeliberationSettings:
    """Return the settings that hold for a session.

    Raises:
        RequestError: as `checked_overrides`.
    """
    if not overrides:
        return operator
    tables = {
        table: OVERRIDABLE[table].model_validate({**getattr(operator, table).model_dump(), **values})
        for table, values in checked_overrides(overrides).items()
    }
    return operator.model_copy(update=tables)


def specialist_endpoints(operator: DeliberationSettings, session: DeliberationSettings) -> list[Endpoint]:
    """Return where a session's specialists are called; the operator's key goes only where the operator said.

    Args:
        operator: the settings before the session's overrides.
        session: the settings after them.
    """
    trusted = set(operator.subagent.urls)
    chosen = session.subagent
    return [Endpoint(url, chosen.model, chosen.timeout, url in trusted) for url in chosen.urls]
