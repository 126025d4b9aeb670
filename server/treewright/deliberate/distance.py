"""How far two texts are apart, fast enough for long texts."""

from collections import Counter
from functools import lru_cache


@lru_cache(maxsize=64)
def normalized_distance(first: str, second: str, limit: float = 1.0) -> float:
    """Return the edit distance of two texts divided by the longer length, 0 (equal) to 1.

    Blank space around the texts does not count, nor does how words are spaced. Bit-parallel (Hyyrö's form of
    Myers' algorithm) over whole-text integers, so that 10,000 characters take a fraction of a second.

    Args:
        first: one text.
        second: the other.
        limit: the caller only asks whether the distance is at most this; when a cheap lower bound is
            already above it, the bound is returned instead.
    """
    a, b = " ".join(first.split()), " ".join(second.split())
    if a == b:
        return 0.0
    longest = max(len(a), len(b))
    bound = _lower_bound(a, b) / longest
    if bound > limit:
        return bound
    start = _common_prefix(a, b)
    a, b = a[start:], b[start:]
    end = _common_prefix(a[::-1], b[::-1])
    a, b = a[: len(a) - end], b[: len(b) - end]
    return (_distance(a, b) if a and b else max(len(a), len(b))) / longest


def _lower_bound(a: str, b: str) -> int:
    """Return a distance that the texts have at least, from how often each character occurs."""
    counts_a, counts_b = Counter(a), Counter(b)
    return max(sum((counts_a - counts_b).values()), sum((counts_b - counts_a).values()))


def _common_prefix(a: str, b: str) -> int:
    length = min(len(a), len(b))
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _distance(a: str, b: str) -> int:
    """Count the insertions, deletions and substitutions between two texts that are not empty."""
    where: dict[str, int] = {}
    for position, character in enumerate(a):
        where[character] = where.get(character, 0) | (1 << position)
    mask, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    plus, minus, distance = mask, 0, len(a)
    for character in b:
        match = where.get(character, 0)
        vertical = match | minus
        diagonal = (((match & plus) + plus) ^ plus) | match
        up = (minus | ~(diagonal | plus)) & mask
        down = plus & diagonal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up = ((up << 1) | 1) & mask
        down = (down << 1) & mask
        plus = (down | ~(vertical | up)) & mask
        minus = up & vertical
    return distance
