"""Selection by equilibrium: specialists propose, rate each other, improve (contract: deliberation, 3).

The rating game: each specialist backs one candidate, and what it gets from backing a candidate is the mean
of the seven ratings it gave it. All backing the same candidate is a pure-strategy equilibrium when nobody
would gain more than epsilon by backing another one. The round is a state machine: `ready` names the tasks,
`accept` takes an answer, in any order, and the outcome depends on the answers alone, so several endpoints at
once and one in sequence come to the same result.
"""

from collections.abc import Sequence

from treewright.deliberate.phase import NASH_STATES
from treewright.deliberate.ports import ModelTask
from treewright.deliberate.reading import Unclear, read_scores, read_text
from treewright.deliberate.session import SpecialistRound
from treewright.deliberate.specialists import Brief
from treewright.deliberate.stages import stage_table
from treewright.deliberate.utility import DIMENSIONS, Utility, weighted_mean

MAX_TRIES = 3
"""How often one task is performed before the round counts as failed."""

GENERATION_TEMPERATURE = 0.8
RATING_TEMPERATURE = 0.0


class NashRound:
    """One round of the rating game.

    Args:
        brief: what the specialists are told.
        previous: the candidates of the round before, one a specialist; empty on the first.
    """

    def __init__(self, brief: Brief, previous: Sequence[SpecialistRound]) -> None:
        self._brief = brief
        self._previous = {one.agent_role: one for one in previous}
        self._best = next((one for one in previous if one.was_selected), None)
        self._candidates: dict[int, str] = {}
        self._ratings: dict[tuple[int, int], Utility] = {}
        self._tries: dict[str, int] = {}
        self._faults: dict[str, str] = {}

    @property
    def round_index(self) -> int:
        """Which round of the thought this is, from 0."""
        return self._brief.round_index

    @property
    def failed(self) -> str:
        """Why the round cannot be finished, or "" while it can."""
        spent = [task for task, tries in self._tries.items() if tries >= MAX_TRIES and task in self._faults]
        return (
            f"{spent[0]} gave no usable answer in {MAX_TRIES} tries: {self._faults[spent[0]]}"
            if spent
            else ""
        )

    def retry(self) -> None:
        """Let tasks that used up their tries be tried again; what was answered stays."""
        self._tries.clear()

    def ready(self) -> list[ModelTask]:
        """Return every task that can be performed now; empty when the round is finished or failed."""
        if self.failed:
            return []
        count = range(len(self._brief.roles))
        missing = [number for number in count if number not in self._candidates]
        if missing:
            return [self._candidate_task(number) for number in missing]
        return [
            self._rating_task(rater, rated)
            for rater in count
            for rated in count
            if (rater, rated) not in self._ratings
        ]

    def accept(self, task_id: str, text: str) -> None:
        """Take the answer to a task; one that was answered before changes nothing.

        An answer that cannot be read counts as a try, and the task stays ready until it has used its tries.
        """
        if not any(task.id == task_id for task in self.ready()):
            return
        kind, *numbers = task_id.rpartition(":")[0].rpartition(":")[2], *task_id.rpartition(":")[2].split("-")
        try:
            if kind == "rate":
                self._ratings[int(numbers[0]), int(numbers[1])] = _full_scores(text)
            else:
                self._candidates[int(numbers[0])] = read_text("candidate", text, "a text")
            self._faults.pop(task_id, None)
        except Unclear as unclear:
            self.reject(task_id, unclear.problem)

    def reject(self, task_id: str, fault: str) -> None:
        """Note that performing a task failed."""
        self._tries[task_id] = self._tries.get(task_id, 0) + 1
        self._faults[task_id] = fault

    def outcome(self) -> list[SpecialistRound] | None:
        """Return the closed round, or None while tasks are missing."""
        count = len(self._brief.roles)
        if len(self._ratings) < count * count:
            return None
        payoffs = [[self._ratings[rater, rated].mean for rated in range(count)] for rater in range(count)]
        vectors = [
            weighted_mean([self._ratings[rater, rated] for rater in range(count)], list(self._brief.weights))
            for rated in range(count)
        ]
        stable = equilibria(payoffs, stage_table().nash_epsilon)
        selected = select(stable or list(range(count)), [vector.mean for vector in vectors])
        calm, preferred, other = NASH_STATES
        return [
            SpecialistRound(
                round_index=self._brief.round_index,
                agent_role=role,
                candidate_content=self._candidates[number],
                utility_vector=vectors[number],
                equilibrium_state=calm if number in stable else preferred if number == selected else other,
                was_selected=number == selected,
            )
            for number, role in enumerate(self._brief.roles)
        ]

    def _candidate_task(self, number: int) -> ModelTask:
        role = self._brief.roles[number]
        own = self._previous.get(role)
        improve = own is not None and self._best is not None
        prompt = (
            self._brief.improve_prompt(own, self._best)
            if own is not None and self._best is not None
            else self._brief.candidate_prompt(role)
        )
        kind = "improve" if improve else "candidate"
        return ModelTask(
            f"{self._brief.thought_id}:{self.round_index}:{kind}:{number}",
            kind,
            prompt,
            GENERATION_TEMPERATURE,
        )

    def _rating_task(self, rater: int, rated: int) -> ModelTask:
        prompt = self._brief.rating_prompt(self._brief.roles[rater], self._candidates[rated])
        task_id = f"{self._brief.thought_id}:{self.round_index}:rate:{rater}-{rated}"
        return ModelTask(task_id, "rate", prompt, RATING_TEMPERATURE, scores_wanted=True)


def _full_scores(text: str) -> Utility:
    """Read a rating; all seven dimensions must be there, since none is invented."""
    scores = read_scores("scores", text)
    missing = [name for name in DIMENSIONS if name not in scores]
    if missing:
        raise Unclear("scores", f"missing: {', '.join(missing)}", "all seven dimensions", "")
    return Utility(**scores)


def equilibria(payoffs: Sequence[Sequence[float]], epsilon: float) -> list[int]:
    """Return the candidates on which all specialists backing it is an equilibrium.

    Args:
        payoffs: by specialist, then by candidate, what it gets from backing the candidate.
        epsilon: the gain that is too small to switch for.

    Returns:
        Indices of candidates, ascending; empty when every candidate would lose a backer.
    """
    return [
        candidate
        for candidate in range(len(payoffs[0]))
        if all(max(row) - row[candidate] <= epsilon + 1e-9 for row in payoffs)
    ]


def select(among: Sequence[int], means: Sequence[float]) -> int:
    """Return the candidate with the highest mean; of equals the earliest."""
    return max(among, key=lambda candidate: (round(means[candidate], 12), -candidate))
