"""Writing skill files and slash commands for agents, and telling which are stale."""

from dataclasses import dataclass
from pathlib import Path

from treewright.app.context import Context
from treewright.errors import PresetError
from treewright.presets.loader import list_presets, load_preset_file
from treewright.presets.skills import Skill, preset_skill, topic_skills
from treewright.regular import read_regular
from treewright.store.artifacts import write_artifact
from treewright.store.durable import make_folder, telling


@dataclass(frozen=True, slots=True)
class SkillsWritten:
    """What became of the files.

    Attributes:
        changed: paths that were written, or would have been.
        current: how many were as they should be.
        left_out: presets that have faults, so that no skill can be made of them.
    """

    changed: list[Path]
    current: int
    left_out: list[str]


def skills(context: Context, names: tuple[str, ...] = ()) -> tuple[list[Skill], list[str]]:
    """Return the skills of the presets, shipped and the user's, and of chain, search and deliberation.

    Args:
        context: where the user's presets are.
        names: only these, by preset or topic; empty for all.

    Returns:
        The skills, and the names of presets that were left out because they have faults.

    Raises:
        PresetError: `preset_not_found` for a name that is none; `preset_invalid` when a named preset has faults.
    """
    found: dict[str, Skill] = {}
    faulty = []
    for summary in list_presets(context.configuration().root.folder):
        try:
            found[summary.name] = preset_skill(load_preset_file(Path(summary.path)))
        except PresetError:
            if summary.name in names:
                raise
            faulty.append(summary.name)
    found |= {skill.command: skill for skill in topic_skills()}
    unknown = [name for name in names if name not in found]
    if unknown:
        raise PresetError(
            "preset_not_found", f"There is no preset {unknown[0]!r}.", f"There are: {', '.join(found)}."
        )
    for name, skill in found.items():
        if told := skill.faults():
            raise PresetError("preset_invalid", f"{name}: {told[0]}.", "Shorten them.")
    return [skill for name, skill in found.items() if not names or name in names], faulty


def write_skills(
    context: Context, folder: Path, names: tuple[str, ...] = (), *, check: bool = False
) -> SkillsWritten:
    """Write skills and commands into an agent's folder, such as `.claude`; files that are right are left alone.

    Args:
        context: where the user's presets are.
        folder: gets `skills/` and `commands/`.
        names: only these presets and topics.
        check: write nothing.

    Raises:
        PresetError: see `skills`.
        StoreError: a file cannot be read or written.
    """
    made, left_out = skills(context, names)
    wanted = {folder / path: text for skill in made for path, text in skill.files().items()}
    changed = [path for path, text in wanted.items() if _text(path) != text]
    if not check:
        for path in changed:
            make_folder(path.parent)
            write_artifact(path, wanted[path])
    return SkillsWritten(changed, len(wanted) - len(changed), left_out)


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    with telling(path, "read"):
        return read_regular(path).decode("utf-8", "replace").replace("\r\n", "\n")
