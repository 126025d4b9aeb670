"""What the deliberation engine sees of the outside."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

Clock = Callable[[], datetime]
"""Tells the time, with a zone."""

NewId = Callable[[], str]
"""Makes a new id: 32 hexadecimal digits (uuid4)."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What the index holds about a session beside its path."""

    mode: str | None
    status: str
    created_at: datetime
    updated_at: datetime
    question: str = ""


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One session of the index."""

    session_id: str
    path: str
    facts: SessionFacts


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session document as read."""

    content: bytes
    version: str
    """Changes whenever the file changes, whoever wrote it."""
    note: str = ""
    """Empty, or one sentence to tell the user: the file was damaged and what was taken instead."""


class SessionStore(Protocol):
    """Keeps session documents. Every method raises `StoreError` with a code when it cannot.

    Codes that the engine explains to the caller: `session_not_found`, `lock_timeout`, `session_damaged`,
    `move_not_absolute`, `move_parent_missing`, `move_is_folder`, `move_exists`,
    `move_parent_not_writable`, `move_same_file`, `move_verify_failed`, `storage_failed`.
    """

    def turn(self, session_id: str) -> AbstractContextManager[object]:
        """Take turns with the other threads of this process; a thread that has its turn may take it again.

        Args:
            session_id: the session; "" for what all sessions share. Never held while a model is called.
        """
        ...

    def edit(self, session_id: str) -> AbstractContextManager[None]:
        """Hold the session against every other writer, in this process and others."""
        ...

    def version(self, session_id: str) -> str:
        """Return the version of the file, cheaply."""
        ...

    def read(self, session_id: str) -> StoredSession:
        """Read the document; from the one kept beside it when the main file does not parse."""
        ...

    def place(self, session_id: str) -> str:
        """Return the absolute path that a session has, or will have when it is new."""
        ...

    def create(self, session_id: str, parts: Sequence[bytes], facts: SessionFacts) -> str:
        """Write a new session durably and index it; return its version."""
        ...

    def save(self, session_id: str, parts: Sequence[bytes], facts: SessionFacts) -> str:
        """Replace the document durably (called inside `edit`); return the new version."""
        ...

    def delete(self, session_id: str) -> None:
        """Remove the document and its index entry (called inside `edit`)."""
        ...

    def entries(self) -> list[SessionEntry]:
        """List the index."""
        ...

    def move(self, session_id: str, new_path: str, rewrite: "Rewrite", *, force: bool) -> "MovedTo":
        """Move the document: write the rewritten one, verify it, index it, unlink the original.

        Not called inside `edit`: it holds the session itself. On failure the original, the index and whatever
        was at the destination are as before.

        Args:
            session_id: the session.
            new_path: absolute path of the new file, or of an existing folder to put it in.
            rewrite: makes the moved document of the present one and its new path.
            force: replace a file that is there.
        """
        ...


Rewrite = Callable[[bytes, str], tuple[Sequence[bytes], SessionFacts]]
"""Makes the parts and the index facts of a moved document of its present bytes and its new path."""


@dataclass(frozen=True, slots=True)
class MovedTo:
    """Where a document is now."""

    path: str
    warning: str = ""
    """Empty, or one sentence: the copy stands, but the original could not be removed."""


class Ask(Protocol):
    """One short question of a lens."""

    @property
    def key(self) -> str:
        """Its name, in snake case."""
        ...

    @property
    def label(self) -> str:
        """Its name as people read it."""
        ...

    @property
    def told(self) -> str:
        """What is asked, with its rule."""
        ...

    @property
    def quote(self) -> bool:
        """Whether the answer is a sentence of the text."""
        ...

    @property
    def begins(self) -> str:
        """The words that the answer begins with; empty for any."""
        ...


class Lens(Protocol):
    """A critique lens."""

    @property
    def name(self) -> str:
        """Stable name, such as `weak_evidence`."""
        ...

    @property
    def attacks(self) -> str:
        """What it looks for, in one line."""
        ...

    @property
    def directive(self) -> str:
        """The whole prompt: what to attack, and what to answer."""
        ...

    @property
    def guidance(self) -> str:
        """The prompt without what to answer."""
        ...

    @property
    def asks(self) -> Sequence[Ask]:
        """What to answer, in order; empty for a lens that leaves it to its guidance."""
        ...


class Form(Protocol):
    """The shape of an answer, for a model that can be held to one."""

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema, with bounds that only a grammar needs."""
        ...

    def text(self, answers: Mapping[str, Any]) -> str:
        """Return an answer of that shape as text."""
        ...


Lenses = Mapping[str, Lens]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is to be called."""

    url: str
    model: str
    timeout: float
    use_operator_key: bool
    """False when the session, not the operator, chose the endpoint: it is called without a key."""


@dataclass(frozen=True, slots=True)
class ModelTask:
    """One prompt for a language model."""

    id: str
    """Deterministic: the same step of the same session always has the same id."""
    kind: str
    """`candidate`, `improve`, `rate`, `draft`, `critique`, `refine` or `score`."""
    prompt: str
    temperature: float
    scores_wanted: bool = False
    """Whether the answer is one JSON object of the seven dimensions."""
    form: Form | None = None
    """The shape of the answer, which is told as text; None for free text."""


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """Tasks that may be performed in any order, and the endpoints to spread them over.

    With several endpoints they run concurrently, one task an endpoint at a time; with one, in sequence.
    """

    tasks: Sequence[ModelTask]
    endpoints: Sequence[Endpoint]
    fallback: bool = True
    """Whether what one endpoint fails at is tried on the others, in sequence."""


@dataclass(frozen=True, slots=True)
class TaskAnswers:
    """What came back: text by task id, and why the missing ones are missing."""

    texts: Mapping[str, str]
    faults: Mapping[str, str] = field(default_factory=dict)


class TaskDriver(Protocol):
    """Performs model tasks; blocking, so called off the event loop. Faults are values."""

    def perform(self, plan: TaskPlan) -> TaskAnswers:
        """Perform every task once."""
        ...


@dataclass(frozen=True, slots=True)
class Negotiation:
    """What a foreign specialist engine came to in one round."""

    candidates: Sequence[str]
    """The rated texts, in the order of the specialists."""
    ratings: Sequence[float]
    """The mean rating of each, 0 to 1."""
    selected: int
    """Index of the winner."""
    in_equilibrium: Sequence[int]
    """Indices of the candidates that the engine counts as its equilibrium."""


class Negotiator(Protocol):
    """The pinned third-party core behind its adapter; blocking. Raises `ModelError` when it cannot."""

    def negotiate(
        self, prompt: str, specialists: int, endpoints: Sequence[Endpoint], checkout: str
    ) -> Negotiation:
        """Run one round of negotiation between `specialists` voices about `prompt`.

        Args:
            prompt: the whole question with its context.
            specialists: how many candidates compete, 2 or more.
            endpoints: where to call; at least one.
            checkout: folder of the core, or empty for the vendored one.
        """
        ...
