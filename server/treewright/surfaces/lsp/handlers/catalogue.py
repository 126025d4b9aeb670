"""What can be chosen, checked and made: presets, models; and what an issue report needs."""

import asyncio
import platform
import re
import sys
from pathlib import Path

from treewright import __version__
from treewright.app.model_list import answering_models, listed_models
from treewright.errors import RequestError
from treewright.presets.fault import Fault
from treewright.presets.loader import find_preset
from treewright.presets.source import read_source
from treewright.surfaces.lsp.messages.catalogue import (
    AboutRequest,
    AboutResult,
    FaultRow,
    KeysRequest,
    KeysResult,
    ModelRow,
    ModelsRequest,
    ModelsResult,
    PresetRow,
    PresetsRequest,
    PresetsResult,
    PresetTextRequest,
    PresetTextResult,
    ValidateRequest,
    ValidateResult,
)
from treewright.surfaces.lsp.places import as_path
from treewright.surfaces.lsp.session import Session
from treewright.surfaces.lsp.uris import to_uri


async def presets(session: Session, request: PresetsRequest) -> PresetsResult:
    """List the shipped presets and the user's."""
    del request  # it says nothing
    found = await asyncio.to_thread(session.app.presets)
    return PresetsResult(
        presets=[
            PresetRow(name=p.name, description=p.description, source=p.source, path=p.path, faults=p.faults)
            for p in found
        ]
    )


async def preset_text(session: Session, request: PresetTextRequest) -> PresetTextResult:
    """Return the text of a new preset, made from one that is there."""
    root = await asyncio.to_thread(lambda: session.app.context.configuration().root)
    source = await asyncio.to_thread(find_preset, request.like, root.folder)
    text = await asyncio.to_thread(read_source, source, "preset")
    named = re.sub(r"\A(---\s*\n(?:.*\n)*?name:[ \t]*)\S+", rf"\g<1>{request.name}", text, count=1)
    return PresetTextResult(text=named, folder=str(root.presets))


async def models(session: Session, request: ModelsRequest) -> ModelsResult:
    """List models that can be named; the usual local ports are asked only on the user's wish."""
    found, default = await asyncio.to_thread(listed_models, session.app.context)
    if request.discover:
        found += await answering_models()
    rows = [ModelRow(name=e.name, kind=e.kind, detail=e.detail, ready=e.ready) for e in found]
    return ModelsResult(models=rows, default=session.settings.model or default)


async def keys(session: Session, request: KeysRequest) -> KeysResult:
    """Take keys; an empty one is forgotten."""
    session.keys.update(request.keys)
    for name in [name for name, key in session.keys.items() if not key]:
        del session.keys[name]
    return KeysResult(known=len(session.keys))


async def validate(session: Session, request: ValidateRequest) -> ValidateResult:
    """Check a file or folder."""
    path = as_path(request.target)
    if path is None:
        raise RequestError("not_a_file", "Nothing was named.", "Name a file or a folder.")
    report = await asyncio.to_thread(session.app.validate, [path.absolute()])
    return ValidateResult(faults=[_fault_row(fault) for fault in report.faults])


def _fault_row(fault: Fault) -> FaultRow:
    return FaultRow(
        uri=to_uri(Path(fault.path)),
        path=fault.path,
        line=fault.line,
        column=fault.column,
        end_column=fault.end_column,
        rule=fault.rule,
        message=fault.message,
        severity=fault.severity,
    )


async def about(session: Session, request: AboutRequest) -> AboutResult:
    """Return what an issue report needs."""
    del request  # it says nothing
    root = await asyncio.to_thread(lambda: session.app.context.configuration().root.folder)
    return AboutResult(
        version=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        platform=platform.platform(),
        root=str(root),
        trusted=session.settings.trusted,
        diagnostics="pull" if session.pull else "push",
        position_encoding=session.documents.units,
        runs_driven=session.room.jobs.count,
    )
