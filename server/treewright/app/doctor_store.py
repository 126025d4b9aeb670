"""The doctor's look at settings, folders, disk, and at the runs that are kept."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from treewright.app.checkup import Checkup
from treewright.app.context import Context
from treewright.errors import TreewrightError
from treewright.store.config import WORKSPACE_FILE
from treewright.store.durable import shown
from treewright.store.index import IndexEntry
from treewright.store.journal_reader import JournalReader
from treewright.store.locks import run_holder
from treewright.store.paths import find_workspace, home_folder
from treewright.store.run_folder import JOURNAL
from treewright.tree.run import Status

LEAST_FREE_MIB = 200
"""Below it a run of some size, or an environment of its own, may not fit."""
_LATEST = 30
_LARGEST = 64 << 20
"""Runs, and bytes of a journal, that are read: the doctor answers in seconds however much is kept."""


def configuration(context: Context) -> Iterator[Checkup]:
    """Look at the user's settings."""
    try:
        found = context.configuration()
    except TreewrightError as fault:
        yield Checkup("settings", "missing", fault.message, fault.hint or "Mend the line that is named.")
        return
    file = found.root.config
    if not file.exists():
        yield Checkup("settings", "good", f"as packaged; {shown(file)} does not exist and need not")
        return
    open_to_others = os.name == "posix" and file.stat().st_mode & 0o077
    holds_key = any(each.api_key.get_secret_value() for each in found.settings.providers.values())
    if open_to_others and holds_key:
        told = f"{shown(file)} holds a key and others can read it"
        yield Checkup("settings", "missing", told, f"chmod 600 {shlex.quote(str(file))}")
    else:
        yield Checkup("settings", "good", shown(file))


def project_settings(context: Context) -> Iterator[Checkup]:
    """Look at the settings of the project that we were started in, where it has some."""
    workspace = find_workspace(Path.cwd())
    file = workspace / WORKSPACE_FILE
    if not file.exists():
        return
    try:
        context.configuration(workspace)
    except TreewrightError as fault:
        try:
            context.configuration()
        except TreewrightError:
            return  # the user's own are at fault, which was told
        yield Checkup(
            "project settings", "missing", fault.message, fault.hint or "Mend the line that is named."
        )
    else:
        yield Checkup("project settings", "good", shown(file))


def store(context: Context) -> Iterator[Checkup]:
    """Look at the folder where everything is kept, and at the room there is."""
    try:
        folder = _root(context)
    except TreewrightError as fault:
        yield Checkup("store", "missing", fault.message, fault.hint)
        return
    existing = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as fault:
        told = f"{shown(folder)} cannot be written: {fault.strerror}"
        yield Checkup(
            "store", "missing", told, "Set TREEWRIGHT_HOME to a folder of yours, such as ~/treewright."
        )
        return
    yield Checkup("store", "good", f"{shown(folder)} can be written")
    free = shutil.disk_usage(existing).free >> 20
    if free < LEAST_FREE_MIB:
        told = f"{free} MiB are free where {shown(folder)} is; {LEAST_FREE_MIB} are wanted"
        yield Checkup(
            "disk", "missing", told, "Make room, or set TREEWRIGHT_HOME to a folder on another disk."
        )


def _root(context: Context) -> Path:
    try:
        return context.configuration().root.folder
    except TreewrightError:
        return home_folder(context.environ)  # broken settings say nothing about the folder


def runs(context: Context) -> Iterator[Checkup]:
    """Look at the latest runs: which are damaged, cut off, or written this moment."""
    try:
        content = context.index().read()
    except (TreewrightError, OSError) as fault:
        if not isinstance(fault, TreewrightError) or not fault.code.startswith("config"):
            yield Checkup(
                "runs", "missing", f"the list of runs cannot be read: {fault}", "Look at the file's rights."
            )
        return
    if content.note:
        yield Checkup("runs", "good", content.note)
    latest = sorted(content.entries.values(), key=lambda entry: entry.updated, reverse=True)[:_LATEST]
    looked = [found for entry in latest for found in _run(entry)]
    yield from looked
    if not any(each.state == "missing" for each in looked):
        yield Checkup("runs", "good", f"{len(content.entries)} kept" if content.entries else "none yet")


def _run(entry: IndexEntry) -> Iterator[Checkup]:
    name = f"run {entry.id}"
    if not entry.path.exists():
        yield Checkup(
            name, "optional", f"{shown(entry.path)} is gone", "Put it back, or let it be: it is not listed."
        )
        return
    journal = entry.path / JOURNAL
    if not journal.is_file():
        return
    holder = run_holder(entry.path)
    if holder is not None:
        yield Checkup(
            name, "good", f"is being written by {holder.named()}", f"To end it: treewright stop {entry.id}"
        )
        return
    if damaged := _damage(journal):
        told = f"its journal is damaged at line {', '.join(map(str, damaged[:3]))}; the rest can be read"
        yield Checkup(name, "missing", told, f"treewright recover {entry.id}")
    elif entry.status in (Status.GROWING.value, "running"):
        told = "was cut off; nothing that it had found is lost"
        yield Checkup(name, "optional", told, f"treewright resume {entry.id}")


def _damage(journal: Path) -> list[int]:
    """Return the numbers of a journal's damaged lines; of a very large one nothing is read."""
    try:
        if journal.stat().st_size > _LARGEST:
            return []
        reader = JournalReader(journal)
        for _ in reader.lines():
            pass
    except (TreewrightError, OSError):
        return [0]
    return [each.number for each in reader.damage]
