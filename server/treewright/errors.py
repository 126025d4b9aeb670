"""Every error that Treewright raises on purpose.

    TreewrightError
    ├── RequestError     what was asked cannot be understood or is not allowed
    ├── PresetError      a preset, profile, lens or framing file is at fault
    ├── RunError         a run is not in the state the request needs
    ├── StoreError       reading or writing the store failed
    ├── WorkspaceError   the user's files cannot be read as asked
    ├── ModelError       a language model did not give what was asked of it
    ├── KernelError      a kernel cannot be had or died
    └── CapError         a spend cap or another limit refused

Callers decide by `code`, never by the text. What a code means to each surface (exit class of the command
line, JSON-RPC code, documentation anchor) is data: see `treewright.data.codes`.
"""

from collections.abc import Mapping
from typing import Any


class TreewrightError(Exception):
    """An anticipated failure, told to whoever can act on it.

    Args:
        code: stable snake_case (or E0xx/W0xx) identifier, listed in `data/errors/*.toml`.
        message: one sentence that says what went wrong, without secrets or the user's home folder.
        hint: one sentence that says what to do about it; may be empty.
        details: JSON-serialisable facts for programs.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = dict(details or {})

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep every field when the error crosses a process boundary."""
        return (type(self), (self.code, self.message, self.hint, self.details))


class RequestError(TreewrightError):
    """What was asked cannot be understood or is not allowed."""


class PresetError(TreewrightError):
    """A preset, profile, lens or framing file is at fault."""


class RunError(TreewrightError):
    """A run is not in the state that the request needs."""


class StoreError(TreewrightError):
    """Reading or writing the store failed."""


class WorkspaceError(TreewrightError):
    """The user's files cannot be read as asked."""


class ModelError(TreewrightError):
    """A language model did not give what was asked of it."""


class KernelError(TreewrightError):
    """A kernel cannot be had, or died."""


class CapError(TreewrightError):
    """A spend cap or another limit refused."""
