"""Writing what people and programs read of a run: `tree.json`, reports, pictures. Always whole, never half.

An artifact can be made again from the journal, so a crash may cost its latest state but never leaves a broken file.
"""

from collections.abc import Iterable
from pathlib import Path

from treewright.store.durable import make_folder, replacing


def write_artifact(path: Path, content: str | bytes | Iterable[str | bytes], *, private: bool = False) -> int:
    """Write a file by atomic replace, piece by piece.

    Args:
        path: the file; its folder is made when missing.
        content: text (written as UTF-8, line ends as given) or bytes, whole or in pieces that are made as they go.
        private: readable by this user only (mode 0600).

    Returns:
        Its size in bytes.

    Raises:
        StoreError: the disk refused; the file is what it was before and nothing half-written is left.
    """
    make_folder(path.parent, private=private)
    pieces = [content] if isinstance(content, str | bytes) else content
    size = 0
    with replacing(path, private=private) as handle:
        for piece in pieces:
            # A model's text may hold an unpaired surrogate; a report with one odd mark is better than none.
            data = piece.encode("utf-8", "replace") if isinstance(piece, str) else piece
            size += handle.write(data)
    return size


class WritePacer:
    """Decides when a growing run's artifacts may be written again: their cost stays a twentieth of the time.

    Contract: design, "The store".
    """

    def __init__(self, share: float = 0.05, least_s: float = 0.5) -> None:
        """Begin with a first write due at once.

        Args:
            share: the part of the time that writing may take, 0 to 1.
            least_s: shortest time between two writes, in seconds.
        """
        self._share = share
        self._least = least_s
        self._next = float("-inf")

    def due(self, now: float) -> bool:
        """Tell whether it is time.

        Args:
            now: a monotonic time in seconds.
        """
        return now >= self._next

    def wrote(self, began: float, ended: float) -> None:
        """Note a finished write.

        Args:
            began: its start, in monotonic seconds.
            ended: its end.
        """
        self._next = ended + max((ended - began) * (1 / self._share - 1), self._least)
