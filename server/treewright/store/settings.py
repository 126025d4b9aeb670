"""Every setting, typed. The packaged values stand in `data/config/defaults.toml`, not here.

`trust` tells what a workspace's own file may do with a key, since a cloned repository is not trusted (contract:
design, "The store"): `open` set it, `lower` only lower it, `lower_cap` the same where 0 means no cap, `off` only
switch it off, `on` only switch it on, `user` nothing.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, Strict


def _plain_number(value: Any) -> Any:
    """TOML's decimals are read exactly, for money; ratios and seconds are floats."""
    return float(value) if isinstance(value, Decimal) else value


def _exact_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("an amount in USD is a number")  # noqa: TRY004 - pydantic takes ValueError
    return Decimal(str(value)) if isinstance(value, int | float) else value


def Trust(rule: str) -> Any:  # noqa: N802 - reads as the annotation it makes
    """Return the annotation that tells what a workspace may do with a key."""
    return Field(json_schema_extra={"trust": rule})


Usd = Annotated[Decimal, BeforeValidator(_exact_number), Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Share = Annotated[float, BeforeValidator(_plain_number), Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, BeforeValidator(_plain_number), Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
AtLeastOne = Annotated[int, Field(ge=1, le=1_000_000_000)]
Texts = Annotated[tuple[str, ...], Strict(False)]


class Section(BaseModel):
    """One table of the configuration: frozen, strict about types, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class StoreSection(Section):
    """Where things are kept."""

    root: Annotated[str, Trust("user")]
    sessions_dir: Annotated[str, Trust("user")]
    index_path: Annotated[str, Trust("user")]


class ExploreSection(Section):
    """Explorations."""

    spend_cap_usd: Annotated[Usd, Trust("lower")]
    concurrency: Annotated[AtLeastOne, Trust("lower")]
    width: Annotated[Count, Trust("lower_cap")]
    depth: Annotated[Count, Trust("lower_cap")]
    rounds: Annotated[Count, Trust("lower_cap")]
    max_branches: Annotated[Count, Trust("lower_cap")]
    min_frameworks: Annotated[int, Field(ge=12, le=12)]
    min_novelty_ratio: Share
    max_revisions: AtLeastOne
    lang: Annotated[str, Field(min_length=1)]


class OnlineSection(Section):
    """Looking at the network for evidence."""

    enabled: Annotated[bool, Trust("off")]
    search_url: Annotated[str, Trust("user")]


class SearchSection(Section):
    """Code-branch searches."""

    enabled: Annotated[bool, Trust("off")]
    spend_cap_usd: Annotated[Usd, Trust("lower")]
    max_candidates: Annotated[AtLeastOne, Trust("lower")]
    per_branch_timeout_s: Annotated[Seconds, Trust("lower")]


class DeliberateSection(Section):
    """Deliberations against a provider."""

    spend_cap_usd: Annotated[Usd, Trust("lower")]


class ModesSection(Section):
    """How a session's mode is chosen."""

    default: Literal["", "serial", "subagent"]
    default_prompt_user: bool


class StagesSection(Section):
    """The stages of a new session."""

    default: Annotated[Texts, Field(min_length=1)]


class SerialSection(Section):
    """The serial critique loop."""

    max_rounds: AtLeastOne
    score_threshold: Share
    edit_distance_epsilon: Share
    fast_mode: bool
    default_lenses: dict[str, Texts] | Texts


class SubagentSection(Section):
    """Rival specialists."""

    engine: Annotated[Literal["manual", "nash", "necort"], Trust("user")]
    agents: Annotated[Texts, Field(min_length=1)]
    max_rounds: AtLeastOne
    equilibrium_threshold: Share
    sequential_fallback: bool
    endpoint: Annotated[str, Trust("user")]
    endpoints: Annotated[Texts, Trust("user")]
    model: Annotated[str, Trust("user")]
    timeout: Annotated[Seconds, Trust("lower")]
    necort_path: Annotated[str, Trust("user")]


class AutopilotSection(Section):
    """Loops driven inside by a provider."""

    enabled: Annotated[bool, Trust("off")]
    endpoint: Annotated[str, Trust("user")]
    model: Annotated[str, Trust("user")]
    temperature: Annotated[float, BeforeValidator(_plain_number), Field(ge=0, le=2)]


class KernelsSection(Section):
    """What code in a kernel may use."""

    idle_timeout_s: Annotated[Seconds, Trust("user")]
    network: Annotated[bool, Trust("user")]
    allow_install: Annotated[bool, Trust("user")]
    install_allow_list: Annotated[Texts, Trust("user")]
    wheel_folder: Annotated[str, Trust("user")]
    cpu_s: Annotated[Seconds, Trust("user")]
    memory_mb: Annotated[AtLeastOne, Trust("user")]
    processes: Annotated[AtLeastOne, Trust("user")]
    file_mb: Annotated[AtLeastOne, Trust("user")]
    output_kb: Annotated[AtLeastOne, Trust("user")]
    python: Annotated[str, Trust("user")]


class ModelsSection(Section):
    """Which provider is used, and how often an answer may be repaired."""

    default: Annotated[str, Trust("user")]
    max_repairs: Annotated[Count, Trust("lower")]


class ProviderSection(Section):
    """One place where a language model is reached: `[providers.<name>]`. No key of it may come from a workspace.

    Attributes:
        kind: which protocol.
        endpoint: base address; empty for the kind's own.
        model: the model's name, the file of a local one, or `owner/repository/file.gguf` of one from the hub.
        api_key: the key itself; better `api_key_env`.
        api_key_env: name of the environment variable that holds the key.
        free: said outright to cost nothing.
        price_in_usd: USD for a million prompt tokens; None when unknown.
        price_out_usd: USD for a million completion tokens; None when unknown.
        context_tokens: context window; 0 when unknown.
        max_tokens: most tokens of an answer; 0 for the engine's choice.
        temperature: sampling temperature; None for the engine's choice.
        timeout_s: longest wait for an answer, in seconds.
        concurrency: most calls at once; 0 for the run's.
        slots: calls that a local model works on together; 0 for the usual number.
        threads: processor threads of a local model; 0 for those that are idle.
        allow_plain_http: send the key unencrypted to another machine.
        headers: further request headers.
    """

    kind: Literal["openai", "anthropic", "editor", "local", "hub", "scripted"]
    endpoint: str = ""
    model: str = ""
    api_key: Annotated[SecretStr, Strict(False)] = SecretStr("")
    api_key_env: str = ""
    free: bool = False
    price_in_usd: Usd | None = None
    price_out_usd: Usd | None = None
    context_tokens: Count = 0
    max_tokens: Count = 0
    temperature: Annotated[float, BeforeValidator(_plain_number), Field(ge=0, le=2)] | None = None
    timeout_s: Seconds = 120.0
    concurrency: Count = 0
    slots: Annotated[Count, Field(le=32)] = 0
    threads: Annotated[Count, Field(le=1024)] = 0
    allow_plain_http: bool = False
    headers: dict[str, Annotated[SecretStr, Strict(False)]] = Field(default_factory=dict)


class Settings(Section):
    """All settings of one run, merged and checked."""

    store: StoreSection
    explore: ExploreSection
    online: OnlineSection
    search: SearchSection
    deliberate: DeliberateSection
    modes: ModesSection
    stages: StagesSection
    serial: SerialSection
    subagent: SubagentSection
    autopilot: AutopilotSection
    kernels: KernelsSection
    models: ModelsSection
    providers: Annotated[dict[str, ProviderSection], Trust("user")]


def trust_rules() -> dict[str, str]:
    """Return each dotted key's trust rule; `providers` stands for all keys below it."""
    rules: dict[str, str] = {}
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            for key, inner in section.model_fields.items():
                rules[f"{name}.{key}"] = _rule(inner.json_schema_extra)
        else:
            rules[name] = _rule(field.json_schema_extra)
    return rules


def _rule(extra: Any) -> str:
    return str(extra["trust"]) if isinstance(extra, dict) and "trust" in extra else "open"
