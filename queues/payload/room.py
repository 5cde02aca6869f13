"""What shown text weighs in a page as it is sent, and how it is cut to the room that there is."""

from __future__ import annotations

from collections.abc import Sequence

_GROWS = {"&": 4, "<": 3, ">": 3, '"': 5, "'": 5}  # bytes that HTML's escapes add
_MOST = 6  # bytes that a character takes at most


def weight(text: str) -> int:
    """Bytes that `text` takes in a page: UTF-8, with the escapes of HTML. Linear."""
    return len(text.encode("utf-8", errors="replace")) + sum(text.count(char) * more for char, more in _GROWS.items())


def fit(text: str, limit: int) -> str:
    """The longest beginning of `text` that weighs at most `limit`. Takes time in proportion to `limit`."""
    text = text[: max(0, limit)]
    if len(text) <= limit // _MOST or weight(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if weight(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def level(weights: Sequence[int], total: int) -> int:
    """The most that each may weigh so that all together weigh no more than `total`: the light ones stay whole."""
    left = max(0, total)
    for number, one in enumerate(sorted(weights)):
        share = left // (len(weights) - number)
        if one > share:
            return share
        left -= one
    return max(0, total)
