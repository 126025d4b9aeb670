"""A new run that goes on from one node of another."""

import asyncio
import secrets
from pathlib import Path

from treewright.app.runs import RunView
from treewright.errors import RequestError
from treewright.explore.reports.markdown import node_markdown
from treewright.explore.reports.record import node_record
from treewright.store.durable import make_folder, replace_file
from treewright.surfaces.lsp.handlers import growing
from treewright.surfaces.lsp.messages.findings import DeeperRequest
from treewright.surfaces.lsp.messages.runs import GrowingResult, StartRequest
from treewright.surfaces.lsp.session import Session
from treewright.tree.run import RootSpec


async def deeper(session: Session, request: DeeperRequest) -> GrowingResult:
    """Begin a run like the node's, with the node as its seed: accepted, advancing, expanded and not judged again."""
    view = await session.room.views.get(request.run)
    await asyncio.to_thread(view.row, request.node)
    seed, root, preset = await asyncio.to_thread(view.with_view, lambda looked: _seed(looked, request.node))
    path = await asyncio.to_thread(_keep, session, seed)
    shared = request.model_dump(exclude={"run", "node"}, exclude_none=True)
    asked = StartRequest(
        preset=preset,
        root=root.path or root.text,
        base=root.workspace,
        seed_from=str(path),
        focus=root.focus,
        **shared,
    )
    return await growing.start(session, asked)


def _seed(view: RunView, node: str) -> tuple[str, RootSpec, str]:
    started = view.reader.tree.started
    assert started is not None  # a view is only open on a run that was started
    if node == "0":
        raise RequestError(
            "node_is_root", "The root is what the run explores already.", "Choose a node below it."
        )
    record = node_record(view.preset, view.reader, view.reader.tree.nodes[node])
    text = f"# {view.preset.subject_label.capitalize()} to go on from\n\n{node_markdown(record, level=2)}"
    return text, started.root, started.preset_source or started.preset


def _keep(session: Session, text: str) -> Path:
    folder = session.app.context.configuration().root.cache / "seeds"
    make_folder(folder, private=True)
    path = folder / f"{secrets.token_hex(6)}.md"
    replace_file(path, [text.encode("utf-8", "replace")], private=True)
    return path
