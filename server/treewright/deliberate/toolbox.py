"""What every deliberation tool shares: loading, saving, the mode gate, and answering instead of raising.

A tool is a method whose first argument after `self` is the session (or, for tools without one, nothing).
The `tool` decorator makes of it a method that takes a session id and loose parameters and always answers a
`Reply`. The rule that a tool needs is checked by `admit`, here and nowhere else.
"""

import difflib
import functools
import inspect
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from treewright.deliberate.encoding import decode, encode
from treewright.deliberate.guidance import Guidance, guide
from treewright.deliberate.ports import (
    Clock,
    Lenses,
    Negotiator,
    NewId,
    SessionFacts,
    SessionStore,
    TaskDriver,
)
from treewright.deliberate.reading import Unclear, read_session_id
from treewright.deliberate.reply import Refusal, Reply, clarification, failure, refusal
from treewright.deliberate.session import Session
from treewright.deliberate.settings import DeliberationSettings, for_session
from treewright.deliberate.toolcard import tool_cards
from treewright.errors import TreewrightError

logger = logging.getLogger(__name__)

Rule = Literal["any", "thinking", "serial", "subagent"]
"""What a tool needs: nothing; a mode and an active session; that, and the mode named."""

CACHED_SESSIONS = 16
"""How many sessions are kept parsed between calls."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside the engine that it is handed.

    Attributes:
        store: keeps the sessions.
        lenses: critique lenses by name.
        settings: the operator's settings, before any session's overrides.
        clock: tells the time, with a zone.
        new_id: makes ids (uuid4 hex).
        driver: performs model tasks for nash and autopilot; None when no provider is configured.
        negotiator: the necort adapter; None when it is not installed.
    """

    store: SessionStore
    lenses: Lenses
    settings: DeliberationSettings
    clock: Clock
    new_id: NewId
    driver: TaskDriver | None = None
    negotiator: Negotiator | None = None


def admit(session: Session, rule: Rule, tool_name: str) -> None:
    """Let a tool work on a session, or refuse it (contract: deliberation, 1 and 5).

    Raises:
        Refusal: `mode_required`, `wrong_mode`, `session_finalized` or `session_archived`.
    """
    if rule == "any":
        return
    if session.status == "archived":
        raise Refusal("session_archived")
    if session.status == "finalized":
        raise Refusal("session_finalized")
    if session.mode is None:
        raise Refusal("mode_required", facts={"session_id": session.id, "modes": mode_lines()})
    if rule not in ("thinking", session.mode):
        raise Refusal("wrong_mode", mode=session.mode, tool=tool_name)


def mode_lines() -> list[dict[str, str]]:
    """Return the modes with the one line each to read to the user."""
    return [{"mode": card.name, "line": card.description} for card in tool_cards("modes").values()]


class Toolbox:
    """State and plumbing of the tools."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._parsed: OrderedDict[str, tuple[str, Session]] = OrderedDict()
        self._notes: dict[str, str] = {}
        self._faulted: set[str | None] = set()

    def settings_of(self, session: Session) -> DeliberationSettings:
        """Return the settings that hold for a session."""
        return for_session(self._around.settings, session.overrides)

    def step(self, session: Session) -> Guidance:
        """Return what is next for a session."""
        return guide(session, self.settings_of(session), faulted=session.current_thought_id in self._faulted)

    def guided(self, session: Session) -> dict[str, Any]:
        """Return the entries of a reply that say what is next for a session."""
        step = self.step(session)
        return {"next_tool": step.tool, "session_id": session.id}

    def line(self, session: Session) -> str:
        """Return the one line that says what is next for a session."""
        return self.step(session).line

    @contextmanager
    def reading(self, session_id: str) -> Iterator[Session]:
        """Open a session for reading.

        Raises:
            StoreError: it cannot be read.
        """
        with self._around.store.turn(session_id):
            yield self._load(session_id)

    @contextmanager
    def editing(self, session_id: str, rule: Rule, tool_name: str) -> Iterator[Session]:
        """Open a session against every other writer, and save it durably on leaving.

        A refusal leaves it as it was. When anything else goes wrong the parsed session is dropped, so that
        memory never holds what the disk does not.

        Raises:
            Refusal: the session does not admit the tool.
            StoreError: it cannot be read or written.
        """
        with self._around.store.turn(session_id), self._around.store.edit(session_id):
            session = self._load(session_id)
            admit(session, rule, tool_name)
            try:
                yield session
                self.save(session)
            except (Refusal, Unclear):
                raise
            except BaseException:
                self.forget(session_id)
                raise

    def save(self, session: Session) -> None:
        """Write a session durably (inside `editing`)."""
        version = self._around.store.save(session.id, encode(session), self.facts(session))
        self.remember(session, version)

    def facts(self, session: Session) -> SessionFacts:
        """Return what the index holds about a session."""
        return SessionFacts(
            session.mode, session.status, session.created_at, self._around.clock(), session.question[:200]
        )

    def remember(self, session: Session, version: str) -> None:
        """Keep a parsed session, known to equal that version of its file."""
        with self._around.store.turn(""):
            self._parsed[session.id] = (version, session)
            self._parsed.move_to_end(session.id)
            while len(self._parsed) > CACHED_SESSIONS:
                self._parsed.popitem(last=False)

    def forget(self, session_id: str) -> None:
        """Drop a parsed session; the next call reads the file."""
        with self._around.store.turn(""):
            self._parsed.pop(session_id, None)

    def take_note(self, session_id: str) -> str:
        """Return, once, what the user is to be told about how a session was read."""
        with self._around.store.turn(""):
            return self._notes.pop(session_id, "")

    def _load(self, session_id: str) -> Session:
        version = self._around.store.version(session_id)
        with self._around.store.turn(""):
            known = self._parsed.get(session_id)
        if known is not None and known[0] == version:
            return known[1]
        stored = self._around.store.read(session_id)
        session = decode(stored.content)
        session.save_path = self._around.store.place(session_id)
        self.remember(session, stored.version)
        if stored.note:
            self._notes[session_id] = stored.note
        return session

    def explain(self, refused: Refusal, session_id: str) -> Reply:
        """Make the reply to a refusal, with the next tool by guidance where the template names none."""
        reply = refusal(refused)
        if session_id:
            reply.setdefault("session_id", session_id)
            if not reply["next_tool"]:
                with self.reading(session_id) as session:
                    reply["next_tool"] = self.step(session).tool
        return reply


Inner = Callable[..., Reply]


def tool(
    rule: Rule = "any", *, opens: Literal["edit", "read", "id", "nothing"] = "edit"
) -> Callable[[Inner], Inner]:
    """Make a method a tool.

    Args:
        rule: what the session must be like.
        opens: how the first parameter reaches the method: the session, open for editing or for reading; its
            id, when the method opens it itself; nothing, when the tool has no session.
    """

    def decorate(method: Inner) -> Inner:
        parameters = list(inspect.signature(method).parameters.values())[1:]
        if opens != "nothing":
            parameters[0] = parameters[0].replace(name="session_id", annotation="object")
        signature = inspect.Signature(parameters)

        @functools.wraps(method)
        def call(self: Toolbox, *args: object, **given: object) -> Reply:
            session_id = ""
            try:
                bound = _bind(method.__name__, signature, args, given)
                if opens == "nothing":
                    return method(self, **bound)
                session_id = read_session_id(bound.pop("session_id"))
                return _run(self, method, rule, opens, session_id, bound)
            except Exception as error:  # noqa: BLE001 - the one boundary: no tool answers with a raw error
                return _tell(self, method.__name__, session_id, error)

        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # what inspect.signature looks for
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters]
        )
        return call

    return decorate


def _run(
    box: Toolbox, method: Inner, rule: Rule, opens: str, session_id: str, bound: dict[str, object]
) -> Reply:
    if opens == "edit":
        with box.editing(session_id, rule, method.__name__) as session:
            reply = method(box, session, **bound)
    elif opens == "read":
        with box.reading(session_id) as session:
            admit(session, rule, method.__name__)
            reply = method(box, session, **bound)
    else:
        reply = method(box, session_id, **bound)
    note = box.take_note(session_id)
    return {**reply, "session_id": session_id, **({"note": note} if note else {})}


def _bind(
    name: str, signature: inspect.Signature, args: tuple[object, ...], given: Mapping[str, object]
) -> dict[str, object]:
    """Match arguments with parameters; ask about missing, unknown and surplus ones."""
    shape = ", ".join(
        parameter.name if parameter.default is parameter.empty else f"{parameter.name}?"
        for parameter in signature.parameters.values()
    )
    for key in given:
        if key not in signature.parameters:
            near = difflib.get_close_matches(key, signature.parameters, 1, 0.5)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise Unclear(str(key), f"there is no such parameter{meant}", f"parameters {shape}", shape)
    if len(args) > len(signature.parameters):
        raise Unclear(name, "there are too many arguments", f"parameters {shape}", shape)
    bound = signature.bind_partial(
        *args[: len(signature.parameters)], **_unless_positional(signature, args, given)
    )
    for parameter in signature.parameters.values():
        if parameter.name not in bound.arguments and parameter.default is parameter.empty:
            bound.arguments[parameter.name] = None
    return dict(bound.arguments)


def _unless_positional(
    signature: inspect.Signature, args: tuple[object, ...], given: Mapping[str, object]
) -> dict[str, object]:
    taken = list(signature.parameters)[: len(args)]
    twice = [key for key in given if key in taken]
    if twice:
        raise Unclear(twice[0], "it was given twice", "one value", twice[0])
    return dict(given)


def _tell(box: Toolbox, name: str, session_id: str, error: Exception) -> Reply:
    """Turn whatever stopped a tool into a reply."""
    try:
        if isinstance(error, Unclear):
            return {**clarification(name, error), **({"session_id": session_id} if session_id else {})}
        if isinstance(error, Refusal):
            return box.explain(error, session_id)
        if isinstance(error, TreewrightError):
            return {**failure(error, "next_action"), **({"session_id": session_id} if session_id else {})}
    except TreewrightError as second:
        return failure(second, "list_sessions")
    error_id = box._around.new_id()[:8]
    logger.error("deliberation tool %s failed (%s)", name, error_id, exc_info=error)
    return refusal(Refusal("internal_error", error_id=error_id))
