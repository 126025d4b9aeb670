"""Another process that grows a run slowly: `python slow_run.py WORKSPACE`. Says when the run is indexed, then grows it."""

import asyncio
import sys
import time
from pathlib import Path

from treewright.app.context import Context
from treewright.app.describe import entry_of
from treewright.explore.briefs import Materials
from treewright.explore.engine import Explorer
from treewright.performers.scripted import ScriptedPerformer, SeededRule
from treewright.performers.verify import Verifier
from treewright.presets.framings import all_framings, framing
from treewright.presets.loader import load_preset
from treewright.runner import Runner
from treewright.store.run_folder import RunWriter
from treewright.tree.citation import Citation
from treewright.tree.event import RunStarted
from treewright.tree.run import RootSpec

RUN = "c" * 12
CITATION = Citation(path="a.py", start=1, end=1, quote="x = 1")


def main(workspace: Path) -> None:
    """Grow an audit of made-up findings until it is asked to stop."""
    preset = load_preset("code-audit")
    folder = workspace / ".treewright" / "code-audit" / "2026-01-01__slow"
    folder.mkdir(parents=True)
    (workspace / "a.py").write_text("x = 1\n", encoding="utf-8")
    framings = {each.letter: each for each in all_framings()} | {"X": framing("X")}
    index = Context("cli").index()
    with RunWriter.create(folder, "cli") as writer:
        explorer = Explorer(writer.tree, Materials(preset, framings), writer)
        root = RootSpec(kind="code", path=".", workspace=str(workspace))
        started = RunStarted(
            run=RUN,
            preset=preset.name,
            preset_digest=preset.digest,
            root=root,
            mode=preset.root_schemas[0].mode,
        )
        writer.stage(explorer.begin(started))
        writer.commit()
        entry = entry_of(folder, writer.tree)
        assert entry
        index.put(entry)
        sys.stdout.write(f"{time.time()}\n")
        sys.stdout.flush()
        performer = ScriptedPerformer(
            SeededRule("slow", advance=90, max_depth=9, citation=CITATION), latency_s=0.1
        )
        asyncio.run(Runner(writer, explorer, performer, Verifier(workspace), concurrency=2).run())
        ended = entry_of(folder, writer.tree, "2026-12-31T00:00:00Z")
    assert ended
    index.put(ended)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
