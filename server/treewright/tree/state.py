"""What a tree holds: its nodes, and the indexes by which the engine finds what is ready in constant time."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from treewright.tree import event as e
from treewright.tree.body import ConditionState
from treewright.tree.ids import ROOT
from treewright.tree.node import Node, Phase
from treewright.tree.passes import Pass
from treewright.tree.run import Caps, Role, Status

Key = TypeVar("Key", bound=Hashable)

_IDLE = (Phase.SETTLED, Phase.BLOCKED)


@dataclass(slots=True)
class Round:
    """A round: the frontier it expands and what came of it.

    Attributes:
        number: from 1.
        frontier: the nodes expanded in it.
        framings: the letters applied.
        new_nodes: children that settled in it, merged and superseded ones left out.
        new_converging: those in the convergence role.
        conditions: the six conditions at its close; empty while it is open.
        closed: whether it has closed.
    """

    number: int
    frontier: list[str]
    framings: str
    new_nodes: int = 0
    new_converging: int = 0
    conditions: list[ConditionState] = field(default_factory=list)
    closed: bool = False


@dataclass(slots=True)
class Spend:
    """What a run has used: dollars, tokens, seconds, calls."""

    usd: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    calls: int = 0


@dataclass(slots=True)
class Record:
    """A framing that brought no child: what it examined or why it is void; the body is event `at`."""

    node: str
    framing: str
    kind: str
    reason: str
    at: int


class TreeState:
    """A run's state.

    Attributes:
        started: the first event; None before it.
        status, reason, details: where the run stands.
        caps, options: as last set.
        nodes: by id; the root is there from the start.
        grounded_at: number of the event of the accepted root; -1 before.
        ground_attempts: answers to `ground` so far.
        root_checked: the root's citations were checked.
        passes: open passes by the node they expand.
        rounds: all rounds; the last may be open.
        frontier: advancing, not yet expanded nodes that stand for themselves.
        waiting: nodes by phase, in the order they came to it.
        asking: node and letter of the framings that wait for an answer or its check.
        draftable: passes that have an answer to admit.
        quiet: passes in which nothing is in progress.
        records: framings that brought no child.
        root_fired: letters answered or void at the root.
        void_passes: nodes whose pass is void, with the reason.
        high_risk: whether condition 5 holds.
        ending: the status decided at the last round's close; None before.
        summarised_at: number of the event of the summary; -1 before.
        failures, notes: numbers of the events of failed tasks and notes.
        glossary_at: number of the event of the settled glossary; -1 before.
        spend: totals.
        events: how many events were folded.
    """

    def __init__(self) -> None:
        self.started: e.RunStarted | None = None
        self.status = Status.GROWING
        self.reason = ""
        self.details: dict[str, Any] = {}
        self.caps = Caps()
        self.options: dict[str, Any] = {}
        self.nodes: dict[str, Node] = {ROOT: Node(id=ROOT, parent=None, phase=Phase.SETTLED)}
        self.grounded_at = -1
        self.ground_attempts = 0
        self.ground_faulty_at = -1
        self.root_checked = False
        self.passes: dict[str, Pass] = {}
        self.rounds: list[Round] = []
        self.frontier: dict[str, None] = {}
        self.waiting: dict[Phase, dict[str, None]] = {phase: {} for phase in Phase}
        self.asking: dict[tuple[str, str], None] = {}
        self.draftable: dict[str, None] = {}
        self.quiet: dict[str, None] = {}
        self.records: list[Record] = []
        self.root_fired: dict[str, str] = {}
        self.void_passes: dict[str, str] = {}
        self.high_risk = False
        self.ending: Status | None = None
        self.ending_reason = ""
        self.summarised_at = -1
        self.summary_failures = 0
        self.failures: list[int] = []
        self.notes: list[int] = []
        self.glossary_at = -1
        self.spend = Spend()
        self.events = 0

    @property
    def root(self) -> Node:
        """The root node."""
        return self.nodes[ROOT]

    @property
    def round(self) -> Round | None:
        """The open round; None between rounds."""
        return self.rounds[-1] if self.rounds and not self.rounds[-1].closed else None

    @property
    def closed_rounds(self) -> int:
        """How many rounds have closed."""
        return len(self.rounds) - (1 if self.round else 0)

    def option(self, name: str, default: Any) -> Any:
        """Return an option of the run, or a default."""
        return self.options.get(name, default)

    def children(self, node: str) -> list[Node]:
        """Return a node's children in the order drafted."""
        return [self.nodes[child] for child in self.nodes[node].children]

    def descendants(self) -> Iterator[Node]:
        """Yield every node but the root, parents before children."""
        return (node for node in self.nodes.values() if node.parent is not None)

    def move(self, node: Node, phase: Phase) -> None:
        """Bring a node to a phase and keep every index true."""
        self.waiting[node.phase].pop(node.id, None)
        home = self.passes.get(node.parent or "")
        if home is not None and node.id in home.members:
            home.active += (phase not in _IDLE) - (node.phase not in _IDLE)
            home.blocked += (phase is Phase.BLOCKED) - (node.phase is Phase.BLOCKED)
        node.phase = phase
        if phase is not Phase.SETTLED:
            self.waiting[phase][node.id] = None
        if home is not None:
            self.watch(home)

    def add(self, node: Node) -> None:
        """Take a new child into the open pass of its parent."""
        self.nodes[node.id] = node
        self.nodes[node.parent or ROOT].children.append(node.id)
        home = self.passes[node.parent or ROOT]
        home.members[node.id] = None
        home.active += 1
        self.waiting[node.phase][node.id] = None
        self.watch(home)

    def ask(self, home: Pass, letter: str) -> None:
        """Keep the index of framings true after one of a pass has moved."""
        _keep(self.asking, (home.node, letter), not home.framings[letter].step.final)
        self.watch(home)

    def watch(self, home: Pass) -> None:
        """Keep the indexes of passes true after a pass has changed."""
        _keep(self.draftable, home.node, home.next_to_admit() is not None)
        _keep(self.quiet, home.node, home.all_admitted() and home.active == 0)

    def block(self, node: Node, reasons: Iterable[str]) -> None:
        """Give a node the role `blocked`, with the reasons."""
        node.role = Role.BLOCKED
        node.reasons = tuple(reasons)
        self.move(node, Phase.BLOCKED)

    def note_high_risk(self, node: Node) -> None:
        """Note a derived and scored branch of framing K (condition 5)."""
        if node.framing == "K" and node.scores and node.counts:
            self.high_risk = True


def _keep(index: dict[Key, None], key: Key, present: bool) -> None:
    if present:
        index[key] = None
    else:
        index.pop(key, None)
