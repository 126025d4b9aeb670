"""A fault found in a file that a person wrote: where it is, which rule it breaks, what is wrong."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["error", "warning"]


class Mark(BaseModel):
    """A span on one line.

    Attributes:
        line: 1 for the first line of the file, front matter included.
        column: 1 for the first character; counted in code points, a byte order mark not counted.
        end_column: one past the last character, at least `column`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: int = Field(ge=1)
    column: int = Field(ge=1)
    end_column: int = Field(ge=1)


class Fault(BaseModel):
    """One broken rule in one file (contract: exploration, 11).

    Attributes:
        path: the file as it was named by whoever asked.
        line: 1-based line.
        column: 1-based column in code points.
        end_column: one past the last character at fault, at least `column`.
        rule: stable rule id such as `E104`; the table is `data/presets/rules.toml`.
        message: one sentence, with the remedy where there is one.
        severity: an error refuses the file, a warning does not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    line: int = Field(ge=1)
    column: int = Field(ge=1)
    end_column: int = Field(ge=1)
    rule: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        """Return the fault as one line: `file:line:col: rule message`."""
        return f"{self.path}:{self.line}:{self.column}: {self.rule} {self.message}"


def fault_at(path: str, mark: Mark, rule: str, message: str) -> Fault:
    """Return a fault at a mark; rule ids that start with W are warnings."""
    return Fault(
        path=path,
        line=mark.line,
        column=mark.column,
        end_column=mark.end_column,
        rule=rule,
        message=message,
        severity="warning" if rule.startswith("W") else "error",
    )


def in_reading_order(faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults sorted as a reader meets them: by file, line, column, then rule."""
    return sorted(faults, key=lambda f: (f.path, f.line, f.column, f.rule, f.message))


def errors_only(faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults that refuse a file."""
    return [fault for fault in faults if fault.severity == "error"]
