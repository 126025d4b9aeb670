"""The page of the settings: configuration files, the environment, the editor."""

import inspect
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tools.reference.markdown import code, page, table
from tools.reference.words import Words
from treewright.data import data_path
from treewright.store.settings import ProviderSection, Settings, trust_rules

_EXTENSION = Path(__file__).resolve().parents[2] / "extension"
_KEY = re.compile(r'^"?([\w ]+?)"?\s*=')
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
_TRUST = {
    "open": "set it",
    "lower": "only lower it",
    "lower_cap": "only lower it",
    "off": "only switch it off",
    "on": "only switch it on",
    "user": "not set it",
}
_ENVIRONMENT = (
    ("TREEWRIGHT_HOME", "The folder of your configuration and runs. Default: `~/treewright`."),
    (
        "TREEWRIGHT_LOG",
        "What the servers write to stderr: `DEBUG`, `INFO`, `WARNING` (the default), `ERROR`.",
    ),
    ("NO_COLOR", "Set to anything: no colours on the terminal."),
    ("_TREEWRIGHT_COMPLETE", "Set by shell completion, see `treewright completion`."),
    ("the name in `api_key_env`", "The key of that provider."),
)
_HEADS = ("key", "packaged", "meaning", "a project may")
_INTRODUCTION = """\
Settings come in layers, later ones win: what is packaged, your `config.toml` in the Treewright folder (`TREEWRIGHT_HOME`, else
`~/treewright`), the project's `.treewright.toml` in its top folder, the options of a command. A project may be a stranger's, so
its file may not set everything: the last column says what it may do. An unknown key is an error that names the nearest valid
one. `treewright doctor` reads both files and says what is wrong with them.
"""
_PROVIDERS = """\
Each place where a language model is reached is a table of your own `config.toml`, under a name of your choice; a project may
set none of it. [Models](../models.md) has examples.
"""


def settings_page(words: Words) -> str:
    """Return the page."""
    return page(
        "Settings",
        "settings.md",
        words,
        words(_INTRODUCTION),
        f"## {words('Configuration files')}",
        *_sections(words),
        "### [providers.NAME]",
        words(_PROVIDERS),
        _providers(words),
        f"## {words('Environment')}",
        table(
            (words("variable"), words("meaning")),
            [(words(name) if " " in name else code(name), words(text)) for name, text in _ENVIRONMENT],
        ),
        "## Visual Studio Code",
        words("Set in the editor's settings; [Visual Studio Code](../vscode.md) tells more."),
        _editor(words),
    )


def comments() -> dict[str, str]:
    """Return what the packaged defaults say beside each dotted key."""
    found, section = {}, ""
    for line in data_path("config", "defaults.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.partition("]")[0].strip("[")
            if "#" in line:
                found[section] = line.partition("#")[2].strip()
        elif (key := _KEY.match(line)) and "#" in line:
            found[f"{section}.{key.group(1)}"] = line.partition("#")[2].strip()
    return found


def _sections(words: Words) -> list[str]:
    packaged = tomllib.loads(data_path("config", "defaults.toml").read_text(encoding="utf-8"))
    said, rules = comments(), trust_rules()
    parts = []
    for section, field in Settings.model_fields.items():
        if section == "providers":
            continue
        assert isinstance(field.annotation, type)
        rows = [
            (
                code(key),
                words(_value(packaged[section][key])),
                words(said.get(f"{section}.{key}", "")),
                words(_TRUST[rules[f"{section}.{key}"]]),
            )
            for key in field.annotation.model_fields
        ]
        about = (field.annotation.__doc__ or "").strip().splitlines()[0]
        parts += [f"### [{section}]", words(about), table([words(head) for head in _HEADS], rows)]
    return parts


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, float):
        return code(f"{value:.2f}" if value == round(value, 2) else str(value))
    return code(json.dumps(value, ensure_ascii=False))


def _providers(words: Words) -> str:
    about = dict(_ATTRIBUTE.findall(inspect.cleandoc(ProviderSection.__doc__ or "")))
    rows = []
    for key, field in ProviderSection.model_fields.items():
        default = "required" if field.is_required() else _plain(field.get_default(call_default_factory=True))
        rows.append((code(key), words(default), words(about[key])))
    return table((words("key"), words("default"), words("meaning")), rows)


def _plain(value: Any) -> str:
    if value is None:
        return ""
    secret = getattr(value, "get_secret_value", None)
    return _value(secret() if secret else value) if value != {} else ""


def _editor(words: Words) -> str:
    manifest = json.loads((_EXTENSION / "package.json").read_text(encoding="utf-8"))
    told = json.loads((_EXTENSION / "package.nls.json").read_text(encoding="utf-8"))
    rows = []
    for name, entry in manifest["contributes"]["configuration"]["properties"].items():
        about = entry.get("markdownDescription") or entry["description"]
        rows.append(
            (
                code(name),
                code(json.dumps(entry["default"])),
                words(told.get(about.strip("%"), about)),
                entry["scope"],
            )
        )
    return table([words(head) for head in ("setting", "default", "meaning", "scope")], rows)
