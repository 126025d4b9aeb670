"""The other half of `deliberation.py --beside`: the same mutations of a deep-think-mcp session, in its own Python.

    python tests/bench/beside_deep_think.py THOUGHTS ROOT

Started by that script, with the checkout's `src` on PYTHONPATH. It makes a session of that many committed thoughts with its
own models and store, says its path, and for each line on standard input performs the six mutations of one thought by calling
the functions behind its tools, and answers with one JSON object: milliseconds by tool. Nothing of Treewright is imported.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

TEXT = "A cache with a short lifetime answers nine of ten reads and is never more than a minute old. "


def grown(root: Path, size: int, scores: dict[str, float]) -> tuple[str, Path]:
    """Return the id and file of a session with that many committed thoughts, written by its own store."""
    models: Any = importlib.import_module("deep_think_mcp.session")
    store: Any = importlib.import_module("deep_think_mcp.store")
    index: Any = importlib.import_module("deep_think_mcp.index")
    text = (TEXT * 7)[:600]
    rounds = [
        {
            "round_index": at,
            "lens": "weak_evidence",
            "critique_text": text,
            "refined_content": text,
            "delta_score": 0.1,
        }
        for at in range(2)
    ]
    session = models.Session(
        question="Should reads be cached?",
        mode="serial",
        expected_stages=["Research", "Conclusion"],
        current_stage="Research",
        save_path="",
    )
    path = Path(store.session_path(root, session.id))
    session.save_path = str(path)
    session.thoughts = [
        models.Thought.model_validate(
            {
                "stage": "Research",
                "position": number + 1,
                "content": text,
                "critique_rounds": rounds,
                "final_utility_scores": scores,
                "committed": True,
            }
        )
        for number in range(size)
    ]
    store.save(session, path)
    index.upsert(root, session)
    return session.id, path


def main() -> None:
    """Prepare, then answer each line."""
    size, root = int(sys.argv[1]), Path(sys.argv[2])
    names = ["correctness", "evidence", "novelty", "clarity", "bias_resistance", "actionability", "coverage"]
    scores = dict.fromkeys(names, 0.7)
    server: Any = importlib.import_module("deep_think_mcp.server")
    tools = server.create_server(root)._tool_manager._tools
    session_id, path = grown(root, size, scores)
    print(json.dumps({"path": str(path)}), flush=True)
    for number, _ in enumerate(sys.stdin):
        calls = {
            "begin_thought": {"content": TEXT * 6},
            "critique_current_thought": {},
            "submit_critique": {"text": TEXT * 6},
            "refine_current_thought": {"new_content": f"{number} {TEXT[: 300 + number]}"},
            "score_current_thought": {"scores": scores},
            "commit_thought": {},
        }
        times = {}
        for name, given in calls.items():
            began = time.perf_counter()
            reply = tools[name].fn(session_id=session_id, **given)
            times[name] = (time.perf_counter() - began) * 1000
            if reply.get("error"):
                raise SystemExit(f"{name} was refused: {reply}")
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
