"""Prompts: one for each preset, which starts an exploration, and one for each critique lens."""

import asyncio
from typing import Any

import mcp.types as types

from treewright.surfaces.mcp.office import Office

LENS = "lens_"
_ROOTS = {
    "topic": ("topic", "what to think about"),
    "artifact": ("file", "path of the file to attack"),
    "code": ("path", "file or folder to audit"),
    "design-prompt": ("prompt", "what to design"),
}


async def list_prompts(office: Office) -> list[types.Prompt]:
    """Return every prompt."""
    presets, lenses = await _known(office)
    found = []
    for name, preset in presets.items():
        argument, about = _ROOTS[preset.root_kind]
        asked = types.PromptArgument(name=argument, description=about, required=preset.root_kind != "code")
        found.append(
            types.Prompt(
                name=name, title=f"Treewright: {name}", description=preset.description, arguments=[asked]
            )
        )
    for name in lenses.names():
        lens = lenses.get(name)
        asked = types.PromptArgument(name="text", description="the text to be attacked", required=True)
        found.append(
            types.Prompt(name=f"{LENS}{name}", title=lens.title, description=lens.attacks, arguments=[asked])
        )
    return found


async def get_prompt(office: Office, name: str, arguments: dict[str, str]) -> types.GetPromptResult | None:
    """Return a prompt filled in; None when there is none of that name."""
    presets, lenses = await _known(office)
    if name in presets:
        text = _exploration(name, presets[name], arguments)
        return _result(presets[name].description, text)
    lens_name = name.removeprefix(LENS)
    if name.startswith(LENS) and lens_name in lenses.names():
        lens = lenses.get(lens_name)
        given = arguments.get("text", "").strip()
        return _result(lens.attacks, f"{lens.directive}\n\nThe text:\n\n{given}" if given else lens.directive)
    return None


def _exploration(name: str, preset: Any, arguments: dict[str, str]) -> str:
    argument, _ = _ROOTS[preset.root_kind]
    root = next((value.strip() for value in arguments.values() if value.strip()), "")
    named = f" and root={root!r}" if root else ""
    tool = "audit_code" if preset.root_kind == "code" else "tree_start"
    if tool == "audit_code":
        return (
            f"Audit this code with Treewright: call audit_code{f' with path={root!r}' if root else ''}. "
            "Then read each finding with tree_node and explain the most severe ones to me, with file and line."
        )
    return (
        f"Grow a Treewright tree with the preset {name} ({preset.description}): call tree_start with preset={name!r}{named}"
        f"{'' if root else f' (ask me for the {argument} first)'}. Then, until it says that the run has ended: call tree_next, follow "
        "the card to the letter, quote only what you have read, and send the JSON with tree_submit. When a fault is named, mend exactly "
        "that. At the end read tree_report and tell me the best nodes with their evidence."
    )


def _result(description: str, text: str) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=description, messages=[message])


async def _known(office: Office) -> tuple[dict[str, Any], Any]:
    app = await office.app()

    def load() -> tuple[dict[str, Any], Any]:
        from treewright.presets.lenses import load_lenses
        from treewright.presets.loader import load_preset

        root = app.context.configuration().root.folder
        presets = {each.name: load_preset(each.name, root) for each in app.presets() if not each.faults}
        return presets, load_lenses(root)

    return await asyncio.to_thread(load)
