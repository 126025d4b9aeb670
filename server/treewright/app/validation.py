"""Validating files: those named, or everything shipped and the user's own."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from treewright.app.context import Context
from treewright.presets.fault import Fault, errors_only
from treewright.presets.validator import default_paths, validate_paths


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What validation found.

    Attributes:
        faults: in reading order.
        errors: how many of them refuse a file; the rest are warnings.
        checked: how many files were taken for what: `preset`, `profile`, `lens`, `framing`, `page`.
    """

    faults: list[Fault]
    errors: int
    checked: Counter[str]


def validate(context: Context, paths: list[Path]) -> ValidationReport:
    """Check files and folders; without any, the shipped ones and the user's."""
    checked = Counter[str]()
    faults = validate_paths(paths or default_paths(context.configuration().root.folder), checked)
    return ValidationReport(faults, len(errors_only(faults)), checked)
