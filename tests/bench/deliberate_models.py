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
import os
import tempfile
import time
import tomllib
from pathlib import Path

from treewright.app.autopilot import ToldContext
from treewright.app.context import Context
from treewright.app.deliberation import DeliberationDesk
from treewright.data import data_path
from treewright.models.local import LocalProvider, LocalSettings
from treewright.models.provider import Message, Request
from treewright.presets.lenses import load_lenses

STAND_IN = Path(__file__).resolve().parents[1] / "fixtures" / "necort_stand_in"
QUESTION = "Should a web shop of three developers move its order database from one server to a managed cloud database?"
THOUGHT = (
    "Yes. A managed database is always cheaper, because nobody has to look after a server any more. Our orders grow by a third each "
    "year, so one server will certainly be too small soon. A competitor moved last spring and has had no outage since. The move "
    "takes a weekend: export, import, change one address. Latency does not matter for orders. We should also rewrite the search at "
    "the same time, since it is slow."
)
CRITIQUE_TOKENS = 260


async def critiques(provider: LocalProvider, out: Path) -> None:
    """Write a critique with each lens that has none yet, as many at once as the model has slots."""
    limit = asyncio.Semaphore(provider.info.concurrency)
    told = tomllib.loads(data_path("deliberate", "autopilot.toml").read_text(encoding="utf-8"))
    prompt: str = told["prompt"]["critique"]

    async def one(name: str, directive: str) -> None:
        path = out / f"lens-{name}.md"
        if path.exists():
            return
        asked = prompt.format(directive=directive.strip(), question=QUESTION, stage="Analysis", text=THOUGHT)
        async with limit:
            request = Request(
                messages=(Message.of("user", asked.strip()),),
                max_tokens=CRITIQUE_TOKENS,
                temperature=0.3,
                seed=1,
            )
            done = await provider.complete(request)
        path.write_text(
            f"{done.text}\n\n({done.outcome.value}, {done.usage.completion_tokens} tokens)\n",
            encoding="utf-8",
        )
        print(path, flush=True)

    await asyncio.gather(*(one(name, lens.directive) for name, lens in load_lenses().lenses.items()))
    await provider.close()


def session(provider: LocalProvider, engine: str, stages: list[str], necort: str, out: Path) -> None:
    """Let the autopilot think one session through and write its transcript."""
    path = out / f"session-{engine}.md"
    if path.exists():
        return
    told = {
        "autopilot.enabled": True,
        "autopilot.model": "bench",
        "serial.max_rounds": 1,
        "subagent.engine": "manual" if engine == "serial" else engine,
        "subagent.max_rounds": 1,
        "subagent.endpoint": "" if engine in ("serial", "manual") else "http://127.0.0.1:1/v1",
        "subagent.necort_path": necort,
    }
    context = ToldContext(**vars_of(Context("cli")), run=told)
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
    seconds = time.monotonic() - began
    path.write_text(
        f"{text.get('markdown', text)}\n\n(finalised {ended['ok']}, {seconds:.0f} s)\n", encoding="utf-8"
    )
    print(path, flush=True)


def vars_of(context: Context) -> dict[str, object]:
    """The fields of a context."""
    return {name: getattr(context, name) for name in context.__dataclass_fields__}


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
