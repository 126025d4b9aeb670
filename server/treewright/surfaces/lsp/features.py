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
    "treewright/children": "tree:children",
    "treewright/node": "tree:node",
    "treewright/map": "tree:map_rows",
    "treewright/compare": "tree:compare",
    "treewright/presets": "catalogue:presets",
    "treewright/models": "catalogue:models",
    "treewright/report": "reports:report",
    "treewright/document": "reports:document",
}
"""Own method to `module:function` in `handlers`; the function's `request` annotation is its model."""

COMMANDS: dict[str, str] = {}
"""`workspace/executeCommand` commands to `module:function` in `handlers`."""
