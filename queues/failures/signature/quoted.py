"""Values in quotes, and which of them stay because they name a part of a program and not somebody's value."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[@A-Za-z_$][\w$.@/-]*+(?:(?:\[[\w*]{0,20}\]|\(\)|\?|\*)[\w$.]*+)*+$")
_BEFORE_WORDS = (
    "column columns constraint index relation table field fields property properties attribute attributes type "
    "types schema enum key keys function method module package command argument arguments arg args parameter "
    "parameters param params option options reading setting path model collection database operator operation "
    "identifier keyword import export variable variables class header query mutation trigger sequence role "
    "extension view element tag directive interface scope permission feature plugin service queue topic stream "
    "event processor handler template locale encoding validator rule kind var env environment config "
    "configuration namespace algorithm calling invoking missing near statement label procedure alias named"
)
_BEFORE = frozenset(_BEFORE_WORDS.split())  # words before a name
_UNSURE_WORDS = "in of unknown received expected expecting invalid state status action unexpected job step"
_UNSURE = frozenset(_UNSURE_WORDS.split())  # words before a name or a value
_BETWEEN = frozenset(("name", "names", "called", "named", "type", "on", "for", "is", "at"))
_SAID = frozenset(("value", "values", "user", "sender", "entry", "account", "customer", "input"))
_AFTER = re.compile(
    r"(?: +is (?:required|not allowed|not defined|missing|not a (?!valid)|deprecated|read-only|immutable|not recognized"
    r"|not supported|not exported|not iterable)| +(?:must (?:be|have|contain|match|only|not)|length must"
    r"|should (?:be|have|match|NOT|not)|cannot be|can't be|object\b|of relation|fails? |failed custom"
    r"|contains? (?:an? |un|in|dup|more)|does not match|field|property|column|argument|parameter|attribute|exceeds"
    r"|needs|missing)|\)? of (?:undefined|null))"
)
_LISTED = re.compile(r"[\s,.|&/(\[]*(?:(?:and|or|to|from)[ (\[]*)?$")
_TYPE_WORDS = (
    "string number boolean bool object undefined null array function symbol bigint int integer float double "
    "decimal str dict list tuple set NoneType bytes date Date uuid ObjectId ObjectID email url uri Buffer utf8 "
    "utf-8 ascii json JSON text varchar timestamp timestamptz jsonb nan NaN true false None True False enum any "
    "never unknown void Map Set Promise Uint8Array ArrayBuffer datetime regex maxmemory"
)
_TYPES = frozenset(_TYPE_WORDS.split())
_WORD = re.compile(r"[A-Za-z]+")
_INDEX = re.compile(r"\[\d++\]|(?<=\.)\d++(?=\.|$)")
_ID_LIKE = re.compile(r"\d{3}|[0-9a-f]{8}|@.*\.|\d[A-Za-z]+\d")
_CAMEL = re.compile(r"[_(.]|[a-z][A-Z]")
_LOOK_BACK = 32


@lru_cache(maxsize=1024)
def name_of(content: str) -> str:
    """What is in quotes as a name, without array indexes; "" where it cannot be one."""
    if not content or len(content) > 120 or _NAME.match(content) is None:
        return ""
    plain = _INDEX.sub("[]", content)
    return "" if _ID_LIKE.search(plain) else plain


def names_something(text: str, start: int, end: int, content: str, *, follows: bool) -> bool:
    """Whether the quoted `content` at `start:end` names a part of a program, by the words around it.

    `follows`: it stands in a list behind one that did.
    """
    words = _WORD.findall(text[max(0, start - _LOOK_BACK) : start].lower())[-2:]
    last = words[-1] if words else ""
    if last in _SAID:
        return False
    if follows or content in _TYPES or last in _BEFORE or _AFTER.match(text, end) is not None:
        return True
    technical = _CAMEL.search(content) is not None
    if last in _UNSURE or text[start] == "`":
        return technical
    return last in _BETWEEN and len(words) == 2 and words[0] in _BEFORE


def listed(gap: str) -> bool:
    """Whether what stands between two things in quotes joins them to a list."""
    return _LISTED.match(gap) is not None
