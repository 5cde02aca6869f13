"""JSON in messages: issues of schemas (Zod, AJV, Pydantic ...) by field and code, answers by what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

DEEPEST = 4
MOST_ISSUES = 12
BLOBS = 4  # that are looked at in one message

_DECODER = json.JSONDecoder()
_BLOB = re.compile(r"[\[{]\s{0,20}[\[{\"}\]]")
_CUT = re.compile(
    r'"(?P<key>code|path|keyword|instancePath|message)"\s{0,5}:\s{0,5}'
    r'(?:"(?P<text>[^"\\\n]{1,200})"|\[(?P<list>[^\[\]{}]{0,200})\])'
)
_ITEM = re.compile(r'"([^"\\]{1,80})"|(\d{1,9})')
_PYDANTIC = re.compile(r"\d{1,4} validation errors? for ([\w\[\], ]{1,80})")
_PYDANTIC_TYPE = re.compile(r"\[type=([a-z_]{2,40})")
_CODES = ("code", "errorCode", "error_code", "type", "errno", "status", "statusCode", "status_code", "Code")
_MESSAGES = (
    "message", "msg", "error", "errors", "error_description", "errorMessage", "error_message", "detail", "details",
    "reason", "description", "title", "Message", "cause", "fault", "response", "data",
)  # fmt: skip


class Said(NamedTuple):
    """What a document says: a code, a message, the name of an error; each "" where it does not."""

    code: str = ""
    message: str = ""
    name: str = ""
    issues: bool = False


def whole(reason: str) -> Said | None:
    """What a reason says that is JSON (or issues of Pydantic) and nothing else; None for others."""
    if reason[:1] in "[{" and (reason[-1:] in "]}" or len(reason) > 1000):
        data = _parsed(reason)
        if data is None:
            return _cut(reason)
        return said(data) if isinstance(data, (dict, list)) else None
    if "validation error" in reason[:40] and (found := _PYDANTIC.match(reason)):
        return _pydantic(found[1], reason[found.end() :])
    return None


def without_blobs(text: str) -> tuple[str, str, list[tuple[str, str]]]:
    """A text with what its JSON says instead of the JSON, a code found in there, and what was replaced by what."""
    replaced: list[tuple[str, str]] = []
    code, done = "", 0
    parts: list[str] = []
    for _ in range(BLOBS):
        found = _BLOB.search(text, done)
        if found is None:
            break
        end, told = _blob(text, found.start())
        if end:
            code = code or told.code
            shown = told.message or told.code or "‹data›"
            replaced.append((text[found.start() : end], shown))
            parts += (text[done : found.start()], shown)
            done = end
        else:
            parts.append(text[done : found.start() + 1])
            done = found.start() + 1
    return "".join((*parts, text[done:])) if done else text, code, replaced


def said(data: object, depth: int = 0) -> Said:
    """What a document says. Looks a few levels deep."""
    if isinstance(data, list):
        if issues := sorted({shown for item in data[:200] if (shown := _issue(item))}):
            codes = {shown.partition(" ")[0] for shown in issues}
            return Said(codes.pop() if len(codes) == 1 else "", "; ".join(issues[:MOST_ISSUES]), issues=True)
        return said(data[0], depth + 1) if data and depth < DEEPEST else Said()
    if isinstance(data, dict):
        return _dictionary(data, depth)
    return Said(message=data) if isinstance(data, str) else Said()


def _dictionary(data: dict[Any, Any], depth: int) -> Said:
    code = next((str(data[key])[:60] for key in _CODES if _is_code(data.get(key))), "")
    name = data.get("name")
    found = Said()
    for key in _MESSAGES:
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            found = Said(message=value)
        elif isinstance(value, (dict, list)) and depth < DEEPEST:
            found = said(value, depth + 1)
        if found.message:
            break
    shown = found.message or ("" if code else _keys(data))
    return Said(_better(code, found.code), shown if depth == 0 else found.message, _text(name), found.issues)


def _keys(data: dict[Any, Any]) -> str:
    return f"{{{', '.join(sorted(str(key)[:40] for key in list(data)[:8]))}}}"


def _better(outer: str, inner: str) -> str:
    """A name says more than a number."""
    return inner if inner and (not outer or (outer.isdigit() and not inner.isdigit())) else outer


def _is_code(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return 0 < value < 100_000
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_./-]{2,60}", value) is not None and value != "error"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _issue(item: object) -> str:
    """`code at path` of an issue of a schema; "" for what is none."""
    if not isinstance(item, dict):
        return ""
    if isinstance(item.get("property"), str) and isinstance(item.get("constraints"), dict):
        return f"{', '.join(sorted(map(str, item['constraints'])))[:100]} at {item['property'][:100]}"
    code = item.get("code") or item.get("keyword") or item.get("type")
    path = item.get("path", item.get("instancePath", item.get("dataPath", item.get("loc", item.get("field")))))
    if not isinstance(code, str) or path is None:
        return ""
    params = item.get("params")
    missing = params.get("missingProperty") if isinstance(params, dict) else None
    where = _path(path, [missing] if isinstance(missing, str) else [])
    return f"{code[:60]} at {where}" if where else code[:60]


def _path(path: object, more: list[str]) -> str:
    if isinstance(path, str):
        parts: list[object] = [part for part in re.split(r"[./\[\]]", path) if part]
    else:
        parts = list(path[:20]) if isinstance(path, list) else []
    shown = ""
    for part in (*parts, *more):
        index = isinstance(part, int) or str(part).isdigit()
        shown += "[]" if index else f".{str(part)[:60]}" if shown else str(part)[:60]
    return shown[:200]


def _parsed(text: str) -> object | None:
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def _blob(text: str, start: int) -> tuple[int, Said]:
    """Where the JSON at `start` ends and what it says; 0 where there is none. What is cut ends with the text."""
    try:
        data, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return (
            (len(text), told)
            if text[start + 1 :].lstrip()[:1] in '"{' and (told := _cut(text[start:]))
            else (0, Said())
        )
    return end, said(data) if isinstance(data, (dict, list)) else Said()


def _cut(text: str) -> Said | None:
    """What the beginning of a document says that does not end, or is not quite JSON."""
    codes: dict[str, None] = {}
    message, last = "", ""
    for found in _CUT.finditer(text[:4096]):
        key, value = found["key"], found["text"]
        if key in ("code", "keyword"):
            last = value or ""
        elif key == "message":
            message = message or value or ""
        if key in ("path", "instancePath"):
            codes[f"{last} at {_path(list(_items(found['list'])) if found['list'] else value, [])}"] = None
    if codes:
        return Said("", "; ".join(sorted(codes)[:MOST_ISSUES]), issues=True)
    return Said(last, message) if message else None


def _items(text: str) -> Iterator[str]:
    for found in _ITEM.finditer(text):
        yield found[1] or found[2]


def _pydantic(model: str, rest: str) -> Said:
    issues, field = set(), ""
    for line in rest.split("\n")[:200]:
        if line and not line[0].isspace():
            field = line
        elif found := _PYDANTIC_TYPE.search(line[:400]):
            issues.add(f"{found[1]} at {_path(field, [])}")
    return Said("", f"validation errors for {model}: {'; '.join(sorted(issues)[:MOST_ISSUES])}", issues=True)
