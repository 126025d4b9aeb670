"""Proven edits."""

from collections.abc import Callable
from typing import Any


class Mender:
    """Proves edits."""

    def __init__(self, facts: Any, texts: Any, libraries: Any, judge: Callable[[Any], Any]) -> None:
        pass

    def mend_all(self, findings: list[Any]) -> None:
        """Give findings their edits."""
