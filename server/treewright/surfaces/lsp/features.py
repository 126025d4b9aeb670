"""What is offered: standard methods, own methods and commands, each with the function that answers it."""

from typing import Any

from lsprotocol import types

_FILES = types.FileOperationRegistrationOptions(
    filters=[types.FileOperationFilter(pattern=types.FileOperationPattern(glob="**/*"), scheme="file")]
)

STANDARD: dict[str, tuple[str, Any]] = {
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: ("settings:changed", None),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: ("files:watched", None),
    types.WORKSPACE_DID_RENAME_FILES: ("files:renamed", _FILES),
    types.WORKSPACE_DID_DELETE_FILES: ("files:deleted", _FILES),
    types.TEXT_DOCUMENT_HOVER: ("reading:hover", None),
    types.TEXT_DOCUMENT_CODE_LENS: ("reading:code_lens", types.CodeLensOptions(resolve_provider=False)),
    types.TEXT_DOCUMENT_DOCUMENT_LINK: ("reading:document_link", None),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (
        "reading:document_symbol",
        types.DocumentSymbolOptions(label="Treewright"),
    ),
    types.TEXT_DOCUMENT_COMPLETION: (
        "writing:completion",
        types.CompletionOptions(trigger_characters=[":", "-", "#"]),
    ),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        "actions:code_action",
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    ),
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: ("reports:content", None),
    types.TEXT_DOCUMENT_DID_SAVE: ("files:saved", None),
}
"""Method to `module:function` in `handlers`, and the options to offer it with."""

PULL_FEATURES: dict[str, tuple[str, Any]] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: (
        "files:diagnostic",
        types.DiagnosticOptions(
            identifier="treewright", inter_file_dependencies=False, workspace_diagnostics=True
        ),
    ),
    types.WORKSPACE_DIAGNOSTIC: ("files:workspace_diagnostic", None),
}
"""The same, offered only to a client that asks for diagnostics."""

OWN_METHODS: dict[str, str] = {
    "treewright/runs": "runs:runs",
    "treewright/run": "runs:run",
    "treewright/start": "growing:start",
    "treewright/resume": "growing:resume",
    "treewright/stop": "growing:stop",
    "treewright/deeper": "deeper:deeper",
    "treewright/children": "tree:children",
    "treewright/node": "tree:node",
    "treewright/map": "tree:map_rows",
    "treewright/compare": "tree:compare",
    "treewright/findings": "findings:findings",
    "treewright/fix": "findings:fix",
    "treewright/searchFix": "searching:search_fix",
    "treewright/issue": "findings:issue",
    "treewright/decide": "findings:decide",
    "treewright/decisions": "findings:decisions",
    "treewright/presets": "catalogue:presets",
    "treewright/presetText": "catalogue:preset_text",
    "treewright/models": "catalogue:models",
    "treewright/keys": "catalogue:keys",
    "treewright/validate": "catalogue:validate",
    "treewright/about": "catalogue:about",
    "treewright/report": "reports:report",
    "treewright/document": "reports:document",
}
"""Own method to `module:function` in `handlers`; the function's `request` annotation is its model."""

COMMANDS = tuple(
    f"treewright.lsp.{name}"
    for name in (
        "audit",
        "resume",
        "stop",
        "report",
        "open",
        "issue",
        "deeper",
        "accept",
        "dismiss",
        "search",
    )
)
"""What `workspace/executeCommand` takes; all are answered by `commands:execute`."""
