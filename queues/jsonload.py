"""JSON out of a queue, read without ever failing in more ways than one."""

from __future__ import annotations

import json
from typing import NoReturn

MAX_DEPTH = 200  # levels of nesting beyond which JSON is shown as text


class Unreadable(ValueError):
    """The bytes are not JSON that we are willing to read; `too_deep` says whether nesting is the only reason."""

    def __init__(self, *, too_deep: bool = False) -> None:
        super().__init__("nested too deeply" if too_deep else "not JSON")
        self.too_deep = too_deep


def load(raw: bytes) -> object:
    """What the JSON in `raw` says. Raises Unreadable, and nothing else, for anything that is not strict JSON.

    Strict means: UTF-8, no NaN or Infinity, no number beyond a float's range or of more digits than
    Python converts, at most `MAX_DEPTH` levels. Lone surrogates stay in strings: show them by `text`.
    """
    try:
        value: object = _decoder.decode(raw.decode("utf-8"))
    except RecursionError:
        raise Unreadable(too_deep=True) from None
    except ValueError:
        raise Unreadable from None
    # What holds fewer brackets than that is not so deep, which is quicker told than looked for.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise Unreadable(too_deep=True)
    return value


def _deeper_than(value: object, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(digits)
    return value


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_float)
