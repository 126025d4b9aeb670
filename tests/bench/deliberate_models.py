"""Deliberations with a real local model, to be read: a critique with each lens, and a whole session with each engine.

    python -m tests.bench.deliberate_models --model local:/path/to/model.gguf --lenses --out FOLDER
    python -m tests.bench.deliberate_models --model local:/path/to/model.gguf --engine serial manual nash necort --out FOLDER

`--lenses` gives the model the same thought eight times, each time with another lens, as the autopilot puts it, and writes each
critique to `lens-NAME.md`. `--engine` lets the autopilot think a session of `--stages` through and writes its transcript to
`session-ENGINE.md`. `--necort` names a checkout of the pinned core; without one the tests' stand-in is used. Files that are there
already are left alone, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from treewright.app.autopilot import ToldContext
from treewright.app.deliberation import DeliberationDesk
from treewright.data import data_path
from treewright.deliberate.critique import form_for
from treewright.deliberate.ports import ModelTask
from treewright.errors import ModelError
from treewright.models.local import LocalProvider, LocalSettings
from treewright.performers.deliberation import ProviderCompleter
from treewright.presets.lenses import Lens, load_lenses

STAND_IN = Path(__file__).resolve().parents[1] / "fixtures" / "necort_stand_in"
QUESTION = "Should a web shop of three developers move its order database from one server to a managed cloud database?"
THOUGHT = (
    "Yes. A managed database is always cheaper, because nobody has to look after a server any more. Our orders grow by a third each "
    "year, so one server will certainly be too small soon. A competitor moved last spring and has had no outage since. The move "
    "takes a weekend: export, import, change one address. Latency does not matter for orders. We should also rewrite the search at "
    "the same time, since it is slow."
)


async def critiques(provider: LocalProvider, out: Path) -> None:
    """Write a critique with each lens that has none yet, as the autopilot gets it, as many at once as the model has slots."""
    completer = ProviderCompleter(lambda _: provider)
    told = tomllib.loads(data_path("deliberate", "autopilot.toml").read_text(encoding="utf-8"))
    prompt: str = told["prompt"]["critique_form"]

    async def one(lens: Lens) -> None:
        path = out / f"lens-{lens.name}.md"
        form = form_for(lens, THOUGHT, QUESTION)
        if path.exists() or form is None:
            return
        asked = prompt.format(directive=lens.guidance, question=QUESTION, text=THOUGHT, asked=form.lines())
        task = ModelTask(f"{lens.name}:critique", "critique", asked.strip(), 0.3, form=form)
        try:
            text = await completer(task, None)
        except ModelError as fault:
            text = f"({fault.code}: {fault.message})"
        path.write_text(f"{text}\n", encoding="utf-8")
        print(path, flush=True)

    await asyncio.gather(*(one(lens) for lens in load_lenses().lenses.values()))
    await provider.close()


def session(
    provider: LocalProvider, engine: str, stages: list[str], necort: str, out: Path
) -> dict[str, Any] | None:
    """Let the autopilot think one session through and write its transcript; return its document, None when it is there already."""
    path = out / f"session-{engine}.md"
    if path.exists():
        return None
    told = {
        "autopilot.enabled": True,
        "autopilot.model": "bench",
        "serial.max_rounds": 1,
        "subagent.engine": "manual" if engine == "serial" else engine,
        "subagent.max_rounds": 1,
        "subagent.endpoint": "" if engine in ("serial", "manual") else "http://127.0.0.1:1/v1",
        "subagent.necort_path": necort,
    }
    context = ToldContext("cli", run=told)
    began = time.monotonic()
    with DeliberationDesk(context, lambda _: provider) as desk:
        tools = desk.tools
        mode = "serial" if engine == "serial" else "subagent"
        session_id = tools.start_session(QUESTION, mode, stages)["session_id"]
        drive = tools.run_stage_autopilot if mode == "serial" else tools.run_subagent_autopilot
        for _ in stages:
            for _ in range(3):
                reply = drive(session_id)
                if reply["ok"]:
                    break
                print(engine, reply.get("code"), reply.get("message"), flush=True)
            tools.advance_stage(session_id)
        ended = tools.finalize_session(session_id)
        text = tools.render_session(session_id)
        document: dict[str, Any] = json.loads(tools.export_session(session_id)["session_json"])
    seconds = time.monotonic() - began
    path.write_text(
        f"{text.get('markdown', text)}\n\n(finalised {ended['ok']}, {seconds:.0f} s)\n", encoding="utf-8"
    )
    print(path, flush=True)
    return document


def main() -> None:
    """Do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--lenses", action="store_true")
    parser.add_argument("--engine", nargs="*", default=[], choices=("serial", "manual", "nash", "necort"))
    parser.add_argument("--stages", nargs="*", default=["Analysis", "Conclusion"])
    parser.add_argument("--necort", default=str(STAND_IN))
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    settings = LocalSettings(
        path=Path(given.model.removeprefix("local:")), context_tokens=4096, slots=4, threads=given.threads
    )
    with tempfile.TemporaryDirectory(prefix="tw-deliberate-") as home:
        os.environ["TREEWRIGHT_HOME"] = home
        if given.lenses:
            asyncio.run(critiques(LocalProvider(settings), given.out))
        for engine in given.engine:
            session(LocalProvider(settings), engine, given.stages, given.necort, given.out)


if __name__ == "__main__":
    main()
