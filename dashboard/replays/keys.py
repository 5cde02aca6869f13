"""The ids of what is live on pages of replays: what a page shows, and by which a drawer knows what to draw.

A page sends them as its rows; the parts of one are called `<key>-<name>`. `rp-<pk>` is the page of a plan, `rl-<pk>`
a plan in the list, `rn-<newest>` what is new since a list was read.
"""

from __future__ import annotations

import re
from collections.abc import Collection

PLACES = ("rail", "top")  # of the navigation
_KEY = re.compile(r"(rp|rl|rn)-([0-9]{1,15})")


def page(pk: int) -> str:
    """The page of a plan."""
    return f"rp-{pk}"


def row(pk: int) -> str:
    """A plan in the list."""
    return f"rl-{pk}"


def since(newest: int) -> str:
    """What a list lacks whose newest plan is this one, or 0 for none."""
    return f"rn-{newest}"


def shown(keys: Collection[str], kind: str) -> frozenset[int]:
    """The numbers of all keys of a kind (`rp`, `rl`, `rn`); others, and what is no key, are let be."""
    found = (_KEY.fullmatch(key) for key in keys)
    return frozenset(int(each[2]) for each in found if each and each[1] == kind)
