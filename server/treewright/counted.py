"""Saying how many of something there are, in a sentence for a person: one node, two nodes."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 node`, `2 nodes`, `0 branches`.

    Args:
        count: how many. noun: what one of them is called. plural: what several are called, when that is not `noun` and an s.
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
