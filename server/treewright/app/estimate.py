"""What a round of a run will take, shown before it starts (contract: exploration, 7)."""

from dataclasses import dataclass

from treewright.counted import counted
from treewright.explore.convergence import FRAMINGS
from treewright.models.memory import EndpointMemory
from treewright.models.prices import PriceKind, estimate_run
from treewright.models.provider import Provider
from treewright.performers.model.performer import Sizes, sizes_for
from treewright.presets.schema import Preset
from treewright.store.config import Configuration

CHILDREN_A_ROUND = 13
"""Children of a node: one a framing, and two of E."""
REVISED_SHARE = 0.5
"""Nodes that need one revision, as seen with small models."""
_PROMPT_CLOSE, _ANSWER_CLOSE = 1100, 220
_PROMPT_ROOMY, _ANSWER_ROOMY = 5000, 1100


@dataclass(frozen=True, slots=True)
class Estimate:
    """What expanding one node, such as the root, takes.

    Attributes:
        tasks: framings, derivations and revisions.
        calls: to the model.
        tokens: prompt and answer together.
        usd: None when the price is unknown.
        seconds: None when the speed was not measured yet.
        metered: whether it costs money.
    """

    tasks: int
    calls: int
    tokens: int
    usd: float | None
    seconds: float | None
    metered: bool

    def text(self) -> str:
        """Return it as one line."""
        parts = [
            f"{counted(self.tasks, 'task')} in {counted(self.calls, 'call')}",
            f"about {self.tokens:,} tokens",
        ]
        if self.metered and self.usd is not None:
            parts.append(f"{self.usd:.2f} USD")
        elif not self.metered:
            parts.append("no cost in money")
        if self.seconds is not None:
            parts.append(f"{max(1, round(self.seconds / 60))} min at the measured speed")
        return "a round on one node: " + ", ".join(parts)


def estimate_round(
    provider: Provider, preset: Preset, configuration: Configuration, concurrency: int
) -> Estimate:
    """Estimate the expansion of one node.

    Args:
        provider: who is asked.
        preset: decides how many calls a node takes.
        configuration: where measured speeds are remembered.
        concurrency: tasks in flight.
    """
    sizes = sizes_for(provider)
    derivations = CHILDREN_A_ROUND + int(CHILDREN_A_ROUND * REVISED_SHARE)
    calls = (
        len(FRAMINGS)
        + CHILDREN_A_ROUND * _calls_a_node(sizes, preset)
        + int(CHILDREN_A_ROUND * REVISED_SHARE)
    )
    close = sizes.style.close
    info = provider.info
    speed = EndpointMemory(configuration.root.cache / "endpoints.json").facts(info.endpoint, info.model).speed
    found = estimate_run(
        info.price,
        calls=calls,
        prompt_tokens=_PROMPT_CLOSE if close else _PROMPT_ROOMY,
        completion_tokens=_ANSWER_CLOSE if close else _ANSWER_ROOMY,
        tokens_per_second=speed.tokens_per_second if speed.calls else None,
        concurrency=min(concurrency, info.concurrency),
    )
    return Estimate(
        tasks=len(FRAMINGS) + derivations,
        calls=calls,
        tokens=found.prompt_tokens + found.completion_tokens,
        usd=found.usd,
        seconds=found.seconds,
        metered=info.price.kind in (PriceKind.KNOWN, PriceKind.UNKNOWN),
    )


def _calls_a_node(sizes: Sizes, preset: Preset) -> int:
    from treewright.performers.model.shapes import groups, own_fields

    due = [name for name in preset.node_schema if name not in own_fields(preset)]
    return len(groups(due, sizes.style)) + 1 if sizes.style.close else 1
