"""A pass: one node put through the framings, from the first question to the last settled child."""

from dataclasses import dataclass, field
from enum import StrEnum


class FramingStep(StrEnum):
    """Where one framing of a pass stands."""

    ASKED = "asked"
    """waits for an answer"""
    ANSWERED = "answered"
    """waits for its proposals' citations to be checked"""
    CHECKED = "checked"
    """has usable proposals"""
    EXAMINED = "examined"
    """found nothing and says what it looked at"""
    VOID = "void"
    """gave nothing usable, with the reason"""

    @property
    def final(self) -> bool:
        """Whether nothing more is awaited from the framing."""
        return self in (FramingStep.CHECKED, FramingStep.EXAMINED, FramingStep.VOID)


@dataclass(slots=True)
class FramingState:
    """One framing of a pass.

    Attributes:
        step: where it stands.
        attempt: of the latest answer.
        tries: answers that were not usable.
        answer_at, checked_at: numbers of the events with the latest bodies; -1 before.
        reason: why the latest answer was not usable.
        admitted: its usable proposals have become children.
    """

    step: FramingStep = FramingStep.ASKED
    attempt: int = 0
    tries: int = 0
    answer_at: int = -1
    checked_at: int = -1
    reason: str = ""
    admitted: bool = False

    def fail(self, reason: str) -> None:
        """Count an answer that was not usable; the framing is asked again."""
        self.step = FramingStep.ASKED
        self.tries += 1
        self.reason = reason


@dataclass(slots=True)
class Pass:
    """A node's expansion.

    Attributes:
        node: the node being expanded.
        round: the round it belongs to.
        framings: by letter, in the order A to L.
        members: the children it drafted.
        active: members in progress.
        blocked: members waiting to be rerouted.
        reroutes: ordinals of framing E reserved for the replacement of each rerouted member.
    """

    node: str
    round: int
    framings: dict[str, FramingState] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    active: int = 0
    blocked: int = 0
    reroutes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def opened(cls, node: str, round_number: int, letters: str) -> "Pass":
        """Return a pass in which every framing waits for an answer."""
        return cls(node, round_number, {letter: FramingState() for letter in letters})

    def next_to_admit(self) -> str | None:
        """Return the first letter not yet admitted, when it is final and so are all before it."""
        for letter, state in self.framings.items():
            if state.admitted:
                continue
            return letter if state.step.final else None
        return None

    def all_admitted(self) -> bool:
        """Whether every framing's children are known."""
        return all(state.admitted for state in self.framings.values())
