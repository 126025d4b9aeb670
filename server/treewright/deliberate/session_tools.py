"""The tools that start, find and take up sessions, and walk their stages (contract: deliberation, 1 and 4)."""

from typing import Any

from treewright.deliberate.digest import compress
from treewright.deliberate.encoding import encode
from treewright.deliberate.reading import Unclear, read_choice, read_list, read_mapping, read_text
from treewright.deliberate.reply import Refusal, Reply, answer
from treewright.deliberate.serial_tools import refuse_second_thought
from treewright.deliberate.session import Session, Thought
from treewright.deliberate.settings import checked_overrides
from treewright.deliberate.specialists import brief_for, role_due
from treewright.deliberate.toolbox import Toolbox, mode_lines, tool

LONGEST_STAGE = 100
MOST_STAGES = 50
MODES = ("serial", "subagent")


class SessionTools(Toolbox):
    """start, mode, list, resume, stages, next action."""

    @tool(opens="nothing")
    def start_session(
        self, question: object, mode: object = None, stages: object = None, overrides: object = None
    ) -> Reply:
        """Create and save a session."""
        asked = read_text("question", question, "Should this service cache its reads?")
        chosen = read_choice("mode", mode, MODES, default="unset") if mode is not None else "unset"
        named = _read_stages(stages) or list(self._around.settings.stages.default)
        changed = checked_overrides(read_mapping("overrides", overrides, "serial.max_rounds=2"))
        if not _read_stages(stages) and "default" in changed.get("stages", {}):
            named = list(changed["stages"]["default"])
        if chosen == "unset":
            chosen = self._default_mode()
        session = Session(
            id=self._around.new_id(),
            question=asked,
            created_at=self._around.clock(),
            mode=chosen or None,
            expected_stages=named,
            current_stage=named[0],
            overrides=changed,
        )
        self.add_session(session)
        if session.mode is None:
            refused = self.explain(
                Refusal("mode_required", facts={"session_id": session.id, "modes": mode_lines()}), ""
            )
            return {**refused, "ok": True, "save_path": session.save_path}
        facts = {
            "save_path": session.save_path,
            "stages": named,
            "mode": session.mode,
            **self.guided(session),
        }
        return answer("start_session", facts, mode=session.mode, stage=session.current_stage)

    def add_session(self, session: Session) -> None:
        """Save a new session durably and index it."""
        session.save_path = self._around.store.place(session.id)
        version = self._around.store.create(session.id, encode(session), self.facts(session))
        self.remember(session, version)

    def _default_mode(self) -> str:
        modes = self._around.settings.modes
        return "" if modes.default_prompt_user else modes.default

    @tool()
    def set_session_mode(self, session: Session, mode: object) -> Reply:
        """Set the mode, once."""
        chosen = read_choice("mode", mode, MODES)
        if session.mode is not None and session.mode != chosen:
            raise Refusal("mode_fixed", mode=session.mode)
        session.mode = "serial" if chosen == "serial" else "subagent"
        return answer(
            "set_session_mode",
            {"mode": chosen, **self.guided(session)},
            mode=chosen,
            stage=session.current_stage,
        )

    @tool(opens="nothing")
    def list_modes(self) -> Reply:
        """List the modes."""
        return answer("list_modes", {"modes": mode_lines()})

    @tool(opens="nothing")
    def list_sessions(self) -> Reply:
        """List every session of the index, newest first."""
        entries = sorted(self._around.store.entries(), key=lambda entry: entry.facts.updated_at, reverse=True)
        sessions = [
            {
                "session_id": entry.session_id,
                "question": entry.facts.question,
                "mode": entry.facts.mode,
                "status": entry.facts.status,
                "path": entry.path,
                "created_at": entry.facts.created_at.isoformat(),
                "updated_at": entry.facts.updated_at.isoformat(),
            }
            for entry in entries
        ]
        return answer(
            "list_sessions" if sessions else "no_sessions", {"sessions": sessions}, count=len(sessions)
        )

    @tool(opens="id")
    def resume_session(self, session_id: str) -> Reply:
        """Take up a session; an archived one becomes what it was before. Nothing else is written."""
        with self.reading(session_id) as session:
            if session.status != "archived":
                return self._where_it_stands(session)
        with self.editing(session_id, "any", "resume_session") as session:
            if session.status == "archived":
                session.status = "active" if session.finalized_at is None else "finalized"
            return self._where_it_stands(session)

    def _where_it_stands(self, session: Session) -> Reply:
        thought = session.current_thought
        facts: dict[str, Any] = {
            "question": session.question,
            "mode": session.mode,
            "status": session.status,
            "stage": session.current_stage,
            "stages": list(session.expected_stages),
            "save_path": session.save_path,
            "current_thought": None if thought is None else thought_facts(thought),
            **self._next(session),
        }
        committed = sum(one.committed for one in session.thoughts)
        return answer(
            "resume_session",
            facts,
            status=session.status,
            mode=session.mode or "no",
            stage=session.current_stage,
            committed=committed,
            line=self.line(session),
        )

    @tool("thinking")
    def advance_stage(self, session: Session) -> Reply:
        """Go to the next stage."""
        refuse_second_thought(session)
        if session.at_last_stage:
            raise Refusal("last_stage", stage=session.current_stage)
        session.current_stage = session.expected_stages[session.stage_index + 1]
        return answer(
            "advance_stage",
            self.guided(session),
            stage=session.current_stage,
            number=session.stage_index + 1,
            total=len(session.expected_stages),
            line=self.line(session),
        )

    @tool(opens="read")
    def next_action(self, session: Session) -> Reply:
        """Say which tool to call next."""
        return answer("next_action", self._next(session), line=self.line(session))

    def _next(self, session: Session) -> dict[str, Any]:
        """Return the next step with all that the caller needs to take it."""
        settings = self.settings_of(session)
        step = self.step(session)
        facts: dict[str, Any] = {
            "next_tool": step.tool,
            "situation": step.situation,
            "arguments": list(step.arguments),
            "done": step.situation == "finished",
        }
        thought = session.current_thought
        if step.situation == "awaiting_mode":
            facts["modes"] = mode_lines()
        elif step.situation == "finalized":
            facts["available_tools"] = ["keep_here", "move_session"]
        elif step.situation == "serial_submit" and thought is not None:
            lens = thought.critique_rounds[-1].lens
            known = self._around.lenses.get(lens)
            facts.update(lens=lens, directive=known.directive if known else "", text=thought.latest_text)
        elif step.situation == "subagent_candidate" and thought is not None:
            role = role_due(thought, settings)
            brief = brief_for(session, thought, settings, self._around.lenses, compress(session)[0])
            facts.update(role=role, prompt=brief.candidate_prompt(role))
        return facts


def thought_facts(thought: Thought) -> dict[str, Any]:
    """Return a thought with its rounds, as plain JSON values."""
    return thought.model_dump(mode="json", exclude={"draft"} if thought.draft is None else set())


def _read_stages(stages: object) -> list[str]:
    """Read stage names; two of the same name are asked about."""
    example = "Problem Definition, Analysis, Conclusion"
    if isinstance(stages, list | tuple):
        names = [str(name).strip().casefold() for name in stages]
    elif isinstance(stages, str):
        names = [piece.strip().casefold() for piece in stages.replace("\n", ",").split(",") if piece.strip()]
    else:
        names = []
    found = read_list("stages", stages, example)
    if len(set(names)) != len(names) or len({name.casefold() for name in found}) != len(found):
        raise Unclear("stages", "two stages have the same name", "different names, in order", example)
    if any(len(name) > LONGEST_STAGE for name in found) or len(found) > MOST_STAGES:
        shape = f"at most {MOST_STAGES} names of at most {LONGEST_STAGE} characters"
        raise Unclear("stages", "that is more than names of stages", shape, example)
    return found
