"""Grows explorations with the model performer over a scripted provider, through the app as a surface does."""

import asyncio
from pathlib import Path
from typing import Any

from treewright.app.explorations import Growing, Outcome
from treewright.app.request import ExplorationRequest, ResumeRequest
from treewright.app.treewright import Treewright
from treewright.store.run_folder import RunReader
from treewright.tree.event import AnyEvent

PAPER = """# A cache for builds

The cache makes every build faster.

## Method

We hash the inputs of a step and store its outputs below the hash.
A step whose hash is known is skipped and its outputs are copied.

## Results

On our project a build took ten minutes before and two minutes after.
The figure was measured once, on the laptop of the first author.

## Limits

Steps that read the clock are not cached.
Assumptions: inputs are declared, the disk is fast, and steps are deterministic.
"""

CODE = '''"""A store of notes."""

import os
import subprocess


def save(name, text):
    path = os.path.join("notes", name)
    with open(path, "w") as stream:
        stream.write(text)


def publish(name):
    subprocess.run("cp notes/" + name + " /srv/www", shell=True)
'''


def project(folder: Path) -> Path:
    """Return a small project with a paper, code and a README."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "README.md").write_text(
        "# Notes\n\nA program that keeps notes and publishes them.\n", encoding="utf-8"
    )
    (folder / "paper.md").write_text(PAPER, encoding="utf-8")
    (folder / "notes.py").write_text(CODE, encoding="utf-8")
    return folder


ROOTS = {
    "brainstorm": "How can builds become faster on old laptops?",
    "attack": "paper.md",
    "design": "A cache for build steps that several laptops share",
    "code-audit": "notes.py",
}


def request(preset: str, folder: Path, model: str, **given: Any) -> ExplorationRequest:
    """Return a request for a preset on the project's own root."""
    options: dict[str, Any] = {"rounds": 1, "out": str(folder / "out" / preset), **given}
    return ExplorationRequest(
        preset=preset, root=options.pop("root", ROOTS[preset]), base=str(folder), model=model, **options
    )


def grow(app: Treewright, wanted: ExplorationRequest | ResumeRequest) -> Outcome:
    """Start or resume a run and drive it."""
    growing: Growing = app.start(wanted) if isinstance(wanted, ExplorationRequest) else app.resume(wanted)
    return asyncio.run(growing.drive())


def events(folder: Path) -> list[AnyEvent]:
    """Return every event of a run."""
    reader = RunReader(folder)
    return [reader.read(at) for at in range(1, reader.last + 1)]


def configure(home: Path, url: str, *, context_tokens: int = 32_000, **more: object) -> str:
    """Write the user's configuration with one provider, and return the provider's name."""
    folder = home / "treewright"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["[providers.loop]", 'kind = "openai"', f'endpoint = "{url}"', 'model = "loopback"']
    lines += [f"context_tokens = {context_tokens}", *(f"{key} = {value}" for key, value in more.items())]
    (folder / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "loop"
