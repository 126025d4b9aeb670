"""Resources: the runs, each run's figures, its nodes and its report, to be read and followed."""

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp.types as types

from treewright.errors import RequestError
from treewright.surfaces.mcp.office import Office

if TYPE_CHECKING:
    from treewright.surfaces.mcp.confinement import Confinement

RUNS = "treewright://runs"
RUN = "treewright://run/"
TEMPLATES = (
    (
        "treewright://run/{run}",
        "Run",
        "A run's figures: status, verdicts, conditions, spend.",
        "application/json",
    ),
    (
        "treewright://run/{run}/node/{node}",
        "Node",
        "A node in full, its citations with what checking them showed.",
        "text/markdown",
    ),
    ("treewright://run/{run}/report", "Report", "A run's report as it stands.", "text/markdown"),
)
LISTED_MOST = 100


@dataclass(frozen=True, slots=True)
class Address:
    """What a resource's address names.

    Attributes:
        run: the run's id; empty for the list of runs.
        part: `run`, `node`, `report` or `runs`.
        node: the node's id, for `node`.
    """

    run: str
    part: str
    node: str = ""


def read_address(uri: str) -> Address | None:
    """Return what an address names; None when it is none of ours."""
    if uri.rstrip("/") == RUNS:
        return Address("", "runs")
    if not uri.startswith(RUN):
        return None
    parts = uri.removeprefix(RUN).rstrip("/").split("/")
    match parts:
        case [run] if run:
            return Address(run, "run")
        case [run, "report"] if run:
            return Address(run, "report")
        case [run, "node", node] if run and node:
            return Address(run, "node", node)
    return None


async def list_resources(office: Office, confinement: "Confinement") -> list[types.Resource]:
    """Return the list of runs, and the latest runs."""
    found = [
        types.Resource(
            uri=RUNS,
            name="runs",
            title="Runs",
            description="Every run, the latest first.",
            mime_type="application/json",
        )
    ]
    for entry in (await _entries(office, confinement))[:LISTED_MOST]:
        title = f"{entry.preset or entry.kind}: {entry.title}"[:120]
        found.append(
            types.Resource(
                uri=f"{RUN}{entry.id}",
                name=entry.id,
                title=title,
                description=entry.status,
                mime_type="application/json",
            )
        )
    return found


def list_templates() -> list[types.ResourceTemplate]:
    """Return the shapes of the addresses."""
    return [
        types.ResourceTemplate(
            uri_template=uri, name=title.lower(), title=title, description=about, mime_type=kind
        )
        for uri, title, about, kind in TEMPLATES
    ]


async def _entries(office: Office, confinement: "Confinement") -> list[Any]:
    app = await office.app()
    entries = await asyncio.to_thread(app.runs)
    return [e for e in entries if e.kind == "exploration" and confinement.holds(e.path)]


async def read_resource(office: Office, confinement: "Confinement", uri: str) -> types.ReadResourceResult:
    """Return what stands at an address.

    Raises:
        TreewrightError: there is nothing, or it may not be looked at.
    """
    address = read_address(uri)
    if address is None:
        raise RequestError(
            "resource_unknown", f"{uri!r} is no address of ours.", f"{RUNS} lists what there is."
        )
    if address.part == "runs":
        entries = await _entries(office, confinement)
        rows = [entry.model_dump(mode="json") for entry in entries]
        return _contents(uri, "application/json", json.dumps(rows, ensure_ascii=False, indent=1))
    view = await office.view(address.run)
    if not confinement.holds(view.folder):
        raise RequestError("outside_roots", "The run belongs to a folder that this server may not look at.")
    if address.part == "run":
        found = await asyncio.to_thread(view.with_view, lambda each: each.summary())
        return _contents(
            uri, "application/json", json.dumps(found, ensure_ascii=False, indent=1, default=str)
        )
    if address.part == "report":
        return _contents(
            uri, "text/markdown", await asyncio.to_thread(view.with_view, lambda each: each.report())
        )
    text = await asyncio.to_thread(view.with_view, lambda each: each.node_markdown(address.node))
    return _contents(uri, "text/markdown", text)


def _contents(uri: str, kind: str, text: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])
