"""The tools that show, shorten, hand out and take in sessions (contract: deliberation, 4 and 7)."""

from treewright.deliberate import digest
from treewright.deliberate.encoding import encode
from treewright.deliberate.imports import read_document
from treewright.deliberate.reading import read_choice, read_whole
from treewright.deliberate.reply import Reply, answer
from treewright.deliberate.session import Session
from treewright.deliberate.session_tools import SessionTools
from treewright.deliberate.toolbox import tool
from treewright.deliberate.transcript import transcript


class DigestTools(SessionTools):
    """summarize, compress, render, export, import."""

    @tool(opens="read")
    def summarize_session(self, session: Session, scope: object = None) -> Reply:
        """Summarise committed thoughts in their own sentences."""
        chosen = read_choice("scope", scope, ("stage", "all"), default="stage")
        text, count = digest.summary(session, chosen)
        facts = {**self.guided(session), "scope": chosen, "summary": text, "thoughts": count}
        return answer(
            "summarize", facts, scope="all stages" if chosen == "all" else session.current_stage, count=count
        )

    @tool(opens="read")
    def compress_history(self, session: Session, target_tokens: object = None) -> Reply:
        """Digest earlier stages within a budget of tokens."""
        asked = read_whole("target_tokens", target_tokens, digest.DEFAULT_TOKENS, "300")
        budget = min(asked, digest.MOST_TOKENS)
        text, count = digest.compress(session, budget)
        tokens = digest.estimate_tokens(text)
        facts = {
            **self.guided(session),
            "digest": text,
            "tokens": tokens,
            "budget": budget,
            "thoughts": count,
        }
        return answer("compress", facts, count=count, tokens=tokens, budget=budget)

    @tool(opens="read")
    def render_session(self, session: Session) -> Reply:
        """Return the session as a Markdown transcript."""
        return answer("render", {**self.guided(session), "markdown": transcript(session)})

    @tool(opens="read")
    def export_session(self, session: Session) -> Reply:
        """Return the session as JSON."""
        text = b"".join(encode(session)).decode("utf-8")
        return answer("export", {**self.guided(session), "session_json": text})

    @tool(opens="nothing")
    def import_session(self, session_json: object) -> Reply:
        """Take in a session; under a new id when its own is taken."""
        session, dropped = read_document(session_json)
        taken = {entry.session_id for entry in self._around.store.entries()}
        old_id = session.id
        clash = not session.id or session.id in taken
        if clash:
            session.id = self._around.new_id()
        self.add_session(session)
        facts = {
            **self.guided(session),
            "save_path": session.save_path,
            "new_id": session.id if clash else None,
            "original_id": old_id,
            "dropped": dropped,
        }
        note = " under a new id, since its own is taken" if clash else ""
        return answer("import", facts, clash=note, line=self.line(session))
