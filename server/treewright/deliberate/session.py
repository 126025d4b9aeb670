"""What a session is: the document that both deliberation modes write (contract: deliberation, 1).

Unknown fields are refused. Which step a thought is at is never stored: see `treewright.deliberate.phase`.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from treewright.deliberate.utility import Utility

Mode = Literal["serial", "subagent"]
Status = Literal["active", "finalized", "archived"]


def _with_zone(moment: datetime) -> datetime:
    """Read a timestamp without a zone as UTC, so that timestamps of any origin compare."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


Moment = Annotated[datetime, AfterValidator(_with_zone)]


class Document(BaseModel):
    """A part of the session document; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class CritiqueRound(Document):
    """One turn of the serial loop: a lens, what it found, the text that answers it, what that gained."""

    round_index: int = Field(ge=0)
    lens: str
    critique_text: str = ""
    refined_content: str = ""
    delta_score: float | None = Field(default=None, ge=-1, le=1)
    """Change of the mean score; None before scoring, and on the first round, which is the baseline."""


class SpecialistRound(Document):
    """One candidate of one specialist."""

    round_index: int = Field(ge=0)
    agent_role: str
    candidate_content: str
    utility_vector: Utility
    equilibrium_state: str = "pending"
    """`pending` while its round is open; then `in_equilibrium`, `off_equilibrium` or `preferred`."""
    was_selected: bool = False


class Thought(Document):
    """One thought of a stage, with the rounds that made it."""

    id: str
    stage: str
    position: int = Field(ge=1)
    timestamp: Moment
    content: str
    """The draft while the thought is open, the final text once it is committed."""
    draft: str | None = None
    """The text as first written, kept when a commit replaced it."""
    tags: list[str] = Field(default_factory=list)
    axioms: list[str] = Field(default_factory=list)
    challenged_assumptions: list[str] = Field(default_factory=list)
    critique_rounds: list[CritiqueRound] = Field(default_factory=list)
    specialist_rounds: list[SpecialistRound] = Field(default_factory=list)
    final_utility_scores: Utility | None = None
    committed: bool = False

    _encoded: bytes | None = PrivateAttr(default=None)

    @property
    def first_text(self) -> str:
        """The text before any round changed it."""
        return self.content if self.draft is None else self.draft

    @property
    def latest_text(self) -> str:
        """The best text so far: last refinement, else last selected candidate, else the draft."""
        for critique in reversed(self.critique_rounds):
            if critique.refined_content:
                return critique.refined_content
        for candidate in reversed(self.specialist_rounds):
            if candidate.was_selected:
                return candidate.candidate_content
        return self.content

    @model_validator(mode="after")
    def _numbered_rounds(self) -> "Thought":
        if self.critique_rounds and self.specialist_rounds:
            raise ValueError("a thought has critique rounds or specialist rounds, not both")
        if [one.round_index for one in self.critique_rounds] != list(range(len(self.critique_rounds))):
            raise ValueError("critique rounds are numbered 0, 1, 2, ...")
        return self


class MoveRecord(Document):
    """One move of the session's file."""

    from_path: str
    to_path: str
    timestamp: Moment


class Decision(Document):
    """Something a person decided about the session, such as `keep_here`."""

    action: str
    timestamp: Moment


class Session(Document):
    """One hard question and everything thought about it."""

    id: str = Field(pattern=r"^[0-9a-f]{32}$")
    question: str
    created_at: Moment
    mode: Mode | None = None
    expected_stages: list[str] = Field(min_length=1)
    current_stage: str
    current_thought_id: str | None = None
    status: Status = "active"
    finalized_at: Moment | None = None
    save_path: str = ""
    overrides: dict[str, dict[str, Any]] = Field(default_factory=dict)
    move_history: list[MoveRecord] = Field(default_factory=list)
    decisions: list[Decision] = Field(default_factory=list)
    thoughts: list[Thought] = Field(default_factory=list)

    @model_validator(mode="after")
    def _consistent(self) -> "Session":
        if len(set(self.expected_stages)) != len(self.expected_stages):
            raise ValueError("stage names are different from each other")
        if self.current_stage not in self.expected_stages:
            raise ValueError("current_stage is one of expected_stages")
        ids = [thought.id for thought in self.thoughts]
        if len(set(ids)) != len(ids):
            raise ValueError("thought ids are different from each other")
        if self.current_thought_id is not None and self.current_thought is None:
            raise ValueError("current_thought_id names an uncommitted thought")
        return self

    @property
    def current_thought(self) -> Thought | None:
        """The thought being worked on, or None."""
        if self.current_thought_id is None:
            return None
        for thought in reversed(self.thoughts):
            if thought.id == self.current_thought_id:
                return None if thought.committed else thought
        return None

    @property
    def stage_index(self) -> int:
        """Position of the current stage, from 0."""
        return self.expected_stages.index(self.current_stage)

    @property
    def at_last_stage(self) -> bool:
        """Whether no stage follows the current one."""
        return self.stage_index == len(self.expected_stages) - 1

    def committed_in(self, stage: str) -> list[Thought]:
        """Return the committed thoughts of a stage, in order."""
        return [thought for thought in self.thoughts if thought.stage == stage and thought.committed]
