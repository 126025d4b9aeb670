"""Skill files and slash commands for agents, made from presets and from what the other engines are for.

A skill is a folder with a `SKILL.md`: front matter with a name and a description that an agent matches requests against,
then instructions (the Agent Skills format). A command is a Markdown file whose body is a prompt with `$ARGUMENTS`.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from string import Template
from typing import Any, NamedTuple

from treewright.data import data_path
from treewright.presets.schema import Preset

NAME_MOST, DESCRIPTION_MOST, COMPATIBILITY_MOST = 64, 1024, 500
"""Characters that the Agent Skills format allows."""
_SHIPPED_VERBS = {"brainstorm": "brainstorm", "attack": "attack", "design": "design", "code-audit": "audit"}


class Skill(NamedTuple):
    """One skill.

    Attributes:
        name: of its folder and in its front matter.
        command: the slash command's name below `treewright`.
        description: what agents match requests against.
        skill: text of `SKILL.md`.
        prompt: text of the command's file.
    """

    name: str
    command: str
    description: str
    skill: str
    prompt: str

    def files(self) -> dict[str, str]:
        """Return each file's text by its path below an agent's folder."""
        return {
            f"skills/{self.name}/SKILL.md": self.skill,
            f"commands/treewright/{self.command}.md": self.prompt,
        }

    def faults(self) -> list[str]:
        """Return what the format does not allow."""
        found = []
        if len(self.name) > NAME_MOST:
            found.append(f"the name {self.name} is longer than {NAME_MOST} characters")
        if len(self.description) > DESCRIPTION_MOST:
            found.append(
                f"description, use-when and not-when come to {len(self.description)} characters; agents take {DESCRIPTION_MOST}"
            )
        return found


class _Material(NamedTuple):
    """What a skill and its command are written from; the names are those of `data/skills/topics.toml`."""

    title: str
    description: str
    use_when: str
    not_when: str
    asks: Sequence[str]
    argument: str
    hint: str
    tools: Sequence[str]
    typed: Sequence[str]
    rules: Sequence[str]


def preset_skill(preset: Preset) -> Skill:
    """Return the skill of a preset."""
    said, kind = _texts(), _kinds()[preset.root_kind]
    labels = {role.value: label for role, label in preset.verdict_enum.items()}
    words = {
        "name": preset.name,
        "argument": kind["argument"],
        "labels": Template(said["labels"]).substitute(labels),
    }
    audits = preset.name == "code-audit"
    verb = _SHIPPED_VERBS.get(preset.name) or f"tree --preset {preset.name}"
    material = _Material(
        title=Template(said["audit_title" if audits else "title"]).substitute(words),
        description=preset.description,
        use_when=preset.use_when or Template(said["no_use_when"]).substitute(words),
        not_when=preset.not_when or said["no_not_when"],
        asks=kind["asks"],
        argument=kind["argument"],
        hint=kind["hint"],
        tools=[Template(step).substitute(words) for step in said["audit_tools" if audits else "tools"]],
        typed=[Template(kind["typed"]).safe_substitute(verb=verb)],
        rules=said["rules"],
    )
    return _skill(preset.name, {"preset": preset.name, "digest": preset.digest[:16]}, material)


def topic_skills() -> list[Skill]:
    """Return the skills of what is no preset: chain, search, deliberation."""
    found = []
    for name, entry in tomllib.loads(data_path("skills", "topics.toml").read_text(encoding="utf-8")).items():
        digest = hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:16]
        found.append(_skill(name, {"topic": name, "digest": digest}, _Material(**entry)))
    return found


def _skill(command: str, made_from: Mapping[str, str], given: _Material) -> Skill:
    name, typed = f"treewright-{command}", Template("\n".join(given.typed))
    words = {
        "title": given.title,
        "description": _sentence(given.description),
        "use_when": _sentence(given.use_when),
        "not_when": _sentence(given.not_when),
        "asks": ", ".join(f'"{each}"' for each in given.asks),
        "tools": "\n".join(f"{number}. {step}" for number, step in enumerate(given.tools, 1)),
        "rules": "\n".join(f"- {rule}" for rule in given.rules),
    }
    matched = Template(_texts()["description"]).substitute(words)
    front = {
        "name": name,
        "description": matched,
        "license": "MIT",
        "compatibility": _texts()["compatibility"],
        "metadata": dict(made_from),
    }
    described = {"description": f"{given.title}. {words['use_when']}", "argument-hint": given.hint}
    shown, filled = typed.substitute(ARGUMENT=given.argument.upper()), typed.substitute(ARGUMENT="$ARGUMENTS")
    skill = _front(front) + _filled("skill.md", {**words, "shell": shown})
    prompt = _front(described) + _filled("command.md", {**words, "shell": filled})
    return Skill(name, command, matched, skill, prompt)


def _front(values: Mapping[str, Any]) -> str:
    """Return front matter; JSON's strings are strings of YAML too, whatever they hold."""
    lines = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += [f"{key}:", *(f"  {inner}: {_quoted(text)}" for inner, text in value.items())]
        else:
            lines.append(f"{key}: {value if key in ('name', 'license') else _quoted(value)}")
    return "\n".join(["---", *lines, "---", "", ""])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _filled(template: str, words: Mapping[str, str]) -> str:
    return Template(data_path("skills", template).read_text(encoding="utf-8")).substitute(words)


def _sentence(text: str) -> str:
    """Return text as whole sentences on one line."""
    plain = " ".join(text.split())
    return plain if plain.endswith((".", "!", "?", "。")) else f"{plain}."


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(data_path("skills", "texts.toml").read_text(encoding="utf-8"))


@cache
def _kinds() -> dict[str, Any]:
    return tomllib.loads(data_path("skills", "kinds.toml").read_text(encoding="utf-8"))
