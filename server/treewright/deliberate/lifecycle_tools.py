"""The tools that end sessions and decide where their files are (contract: deliberation, 5)."""

from treewright.deliberate.encoding import decode, encode
from treewright.deliberate.guidance import decided_where
from treewright.deliberate.ports import SessionFacts
from treewright.deliberate.reading import read_flag, read_text
from treewright.deliberate.reply import Refusal, Reply, answer
from treewright.deliberate.session import Decision, MoveRecord, Session
from treewright.deliberate.toolbox import Toolbox, tool


class LifecycleTools(Toolbox):
    """finalize, move, keep, clear."""

    @tool()
    def finalize_session(self, session: Session) -> Reply:
        """End a session. A thought still open stays in the document, uncommitted."""
        if session.status == "archived":
            raise Refusal("session_archived")
        again = session.status == "finalized"
        if not again:
            session.status = "finalized"
            session.finalized_at = self._around.clock()
        prompt = answer("human_prompt", path=session.save_path)["message"]
        facts = {
            **self.guided(session),
            "current_path": session.save_path,
            "human_prompt": prompt,
            "available_tools": ["move_session", "keep_here"],
            "uncommitted_thought": session.current_thought_id,
        }
        return answer("finalize_again" if again else "finalize", facts)

    @tool(opens="id")
    def move_session(self, session_id: str, new_path: object, force: object = None) -> Reply:
        """Move the session's file; on any failure the original is untouched."""
        wanted = read_text("new_path", new_path, "/home/me/project/reasoning.json")
        replace = read_flag("force", force)
        with self._around.store.turn(session_id):
            moved = self._around.store.move(session_id, wanted, self._moved, force=replace)
            self.forget(session_id)
            session = self._load(session_id)
            facts = {**self.guided(session), "current_path": moved.path, "warning": moved.warning}
        return answer("move", facts, path=moved.path, warning=f" {moved.warning}" if moved.warning else "")

    def _moved(self, content: bytes, target: str) -> tuple[list[bytes], SessionFacts]:
        """Write a move into a session's document."""
        session = decode(content)
        record = MoveRecord(from_path=session.save_path, to_path=target, timestamp=self._around.clock())
        session.move_history.append(record)
        session.save_path = target
        return encode(session), self.facts(session)

    @tool()
    def keep_here(self, session: Session) -> Reply:
        """Record that the file stays where it is."""
        session.decisions.append(Decision(action="keep_here", timestamp=self._around.clock()))
        facts = {**self.guided(session), "current_path": session.save_path, "decided": decided_where(session)}
        return answer("keep", facts, path=session.save_path)

    @tool(opens="id")
    def clear_session(self, session_id: str, purge: object = None) -> Reply:
        """Archive a session, or delete it for good."""
        if read_flag("purge", purge):
            with self._around.store.turn(session_id), self._around.store.edit(session_id):
                self._around.store.delete(session_id)
                self.forget(session_id)
            return answer("purge_session")
        with self.editing(session_id, "any", "clear_session") as session:
            session.status = "archived"
        return answer("archive_session")
