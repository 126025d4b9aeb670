"""The editor's settings: initialization options first, then each change of configuration."""

from typing import Any, Literal

from pydantic import Field, ValidationError

from treewright.surfaces.lsp.messages.message import Message


class EditorSettings(Message):
    """Settings of a client; every key is optional.

    Attributes:
        trusted: the workspace may configure Treewright and have code executed; false unless the editor says so.
        diagnostics: `push`, `pull`, or `auto` to go by what the client offers.
        max_findings_per_file: at most so many findings of a file are shown, the rest is counted.
        show_marginal: also show findings that were kept but not confirmed.
        audit_on_save: audit a file when it is saved.
        confirm_fixes: ask before a fix that changes more than one file, where the client can.
        client_commands: the client has the commands `treewright.finding.*` itself; actions name these.
        virtual_documents: serve `treewright:` documents where the client takes them from a server.
        editor_model: the client answers `treewright/model/complete`.
        model: used when a request names none.
        locale: language of messages to people: `en` or `zh-cn`.
    """

    trusted: bool = False
    diagnostics: Literal["auto", "push", "pull"] = "auto"
    max_findings_per_file: int = Field(default=100, ge=1, le=10_000)
    show_marginal: bool = False
    audit_on_save: bool = False
    confirm_fixes: bool = True
    client_commands: bool = False
    virtual_documents: bool = True
    editor_model: bool = False
    model: str = Field(default="", max_length=4096)
    locale: str = Field(default="en", max_length=35)


def read_settings(given: Any, before: EditorSettings) -> tuple[EditorSettings, list[str]]:
    """Return settings with what was given put over what was before, and what is wrong with it.

    Args:
        given: an object, perhaps with the settings under `treewright`; a key that does not fit is left out.
        before: what holds where nothing valid is given.
    """
    if isinstance(given, dict) and set(given) == {"treewright"}:
        given = given["treewright"]
    if not isinstance(given, dict):
        return before, [] if given is None else ["the settings are no object"]
    names = {field.alias: name for name, field in EditorSettings.model_fields.items() if field.alias}
    merged = before.model_dump()
    faults = []
    for key, value in given.items():
        name = names.get(key, key)
        if name not in merged:
            faults.append(f"{key} is no setting")
            continue
        try:
            merged = EditorSettings.model_validate({**merged, name: value}).model_dump()
        except ValidationError as error:
            faults.append(f"{key}: {error.errors()[0]['msg']}")
    return EditorSettings.model_validate(merged), faults
