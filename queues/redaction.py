"""What is secret, by the name of its key or by its shape, and how free text is masked.

Structured documents are masked by `queues.payload`, which asks here about every key. Masking prefers
safety: `tokens_used` is hidden like `token`, and a value whose end is unclear is hidden to the end of
its line. `null`, `true`, `false` and the empty string are shown under a secret key, because they say
only whether there is a secret.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import get_language, ngettext

from queues import cards
from queues.ansi import strip_ansi
from queues.types import Mark, Text

MASK = "••••••••"


@dataclass(frozen=True, slots=True)
class Rules:
    """Patterns for the names of keys.

    `*token*` finds its letters anywhere in the key, whatever separates them (`authToken`, `AUTH_TOKENS`);
    `card` and `card pin` are whole words in that order, singular or plural (`cardNumber`, not `discard`).
    Accents do not matter: `*cartao*` finds `cartão`.
    A pattern is also the rule's name, as pages show it.
    """

    patterns: tuple[str, ...]
    shapes: bool = True  # whether what looks like a secret is hidden too, whatever its key


NOTHING = Rules((), shapes=False)  # hides nothing: for who may see everything and has asked for it
DEFAULT = Rules(
    (
        "*password*",
        "*passwd*",
        "*pwd*",
        "*passphrase*",
        "*passcode*",
        "*secret*",
        "*token*",
        "*authorization*",
        "*cookie*",
        "*credential*",
        "*apikey*",
        "*privatekey*",
        "*accesskey*",
        "*signingkey*",
        "*encryptionkey*",
        "*sessionid*",
        "*bearer*",
        "*jwt*",
        "*creditcard*",
        "*debitcard*",
        "*cardnumber*",
        "*cvv*",
        "card",
        "cvc",
        "pass",
        "auth",
        "pin",
        "otp",
        "senha",
    )
)

_SHAPE_HINTS = frozenset(
    ("bea", "eyj", r"://[^\s@]{0,256}+@", "begin", "card", "pan", "visa", "amex", "-[aup]", "cv[cv]", cards.HINT)
)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


@dataclass(frozen=True, slots=True)
class _Compiled:
    anywhere: re.Pattern[str]
    words: re.Pattern[str]
    hint: re.Pattern[str]  # in lower case: text without it cannot hold a secret


@lru_cache(maxsize=64)
def _compiled(rules: Rules) -> _Compiled:
    never = "(?!)"
    anywhere = [re.escape(p.strip("*").lower()) for p in rules.patterns if p.startswith("*")]
    words = [re.escape(p.lower()) for p in rules.patterns if not p.startswith("*")]
    return _Compiled(
        re.compile("|".join(anywhere) or never),
        re.compile(f"(?<![a-z])({'|'.join(words)})s?(?![a-z])" if words else never),
        re.compile("|".join(sorted({p[:3] for p in anywhere + words} | _SHAPE_HINTS))),
    )


def is_secret_key(key: str, rules: Rules = DEFAULT) -> str | None:
    """The rule (its pattern) that makes the value under `key` a secret, or None. Linear in the key's length."""
    return _cached_rule(key, rules) if len(key) <= 64 else _rule(key, rules)


def folded(text: str) -> str:
    """`text` without accents."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _rule(key: str, rules: Rules) -> str | None:
    words = [word.lower() for word in _WORD.findall(folded(key))]
    compiled = _compiled(rules)
    if found := compiled.anywhere.search("".join(words)):
        return f"*{found[0]}*"
    if found := compiled.words.search(" ".join(words)):
        return found[1]
    return None


_cached_rule = lru_cache(maxsize=8192)(_rule)


def mask_label(length: int, *, at_least: bool = False) -> str:
    """What stands for a hidden value, in the language of the page: `•••••••• 36 characters`."""
    return _label(length, at_least, get_language() or "")


@lru_cache(maxsize=4096)
def _label(length: int, at_least: bool, language: str) -> str:
    if at_least:
        text = ngettext("at least %(count)d character", "at least %(count)d characters", length)
    else:
        text = ngettext("%(count)d character", "%(count)d characters", length)
    return f"{MASK} {text % {'count': length}}"


# --- free text -------------------------------------------------------------------------------------
# Every pattern below is linear: a run is possessive and begins only where no character of its own class stands
# before it, all else is bounded.

MASKED_UP_TO = 512 * 1024  # characters of a text; what is behind them is hidden

_PERCENT = r"%(?:25)*+"  # percent-encoded once or more often
_PAIR = re.compile(
    r"(?<![\w-])--([\w-]++)(?:[ \t]++|\\*+[\"']\s*+,\s*+)"  # --key value, ["--key", "value"]
    r"|(?<![\w.$-])([\w.$-]++(?:\ [\w-]++)?)(?:(>)"  # <key>value
    rf"|[\"'`\])\\]*+(?:{_PERCENT}(?:2[027]|5[CcDd])){{0,4}}+\s*+(=>|:=|[:=]|{_PERCENT}3[AaDd])\s*+)"  # key: value
)
_NAMED = re.compile(  # {"name": "password", "value": ...} and ["Authorization", ...]
    r"(?<![\w-])(?:(?:name|key|header|field|param)\\*+[\"']?\s*+:\s*+\\*+[\"']([\w.-]{1,60}+)\\*+[\"']\s*+,\s*+"
    r"\\*+[\"']?(?:val|values?|content)\\*+[\"']?\s*+:"
    r"|((?i:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token))\\*+[\"']\s*+,)\s*+"
)
_MAY_HOLD = re.compile(
    r"[:=>]|--|%(?:25)*+3|\s-[ap]|eyJ|[\"']\s*+,|(?i:bearer|card|visa|-----begin|cv[cv])|" + cards.HINT
)
_OPENING = re.compile(r"(\\*+)([\"'`])")
_CLOSING = {quote: re.compile(rf"(?<!\\)(\\*+){quote}|\n") for quote in "\"'`"}
_NESTED = re.compile(r"(?<!\\)(\\*+)([\"'`])|[{}\[\]]")
_BARE = re.compile(r"(?:\d{4}[ -]){2,4}\d{1,7}|(?:(?i:bearer|basic|digest|token)[ \t]{1,4})?[^\s\"'`&<>]++")
_LITERAL = re.compile(r"(?:null|true|false|undefined|None|True|False|nil)?[\s,;.&)}\]]*")
_HEADER_END = re.compile(r"[\r\n]|(?<!\\)\\[nr]|(?<!\\)\\*+[\"'](?=[\s,}\])]|$)")
_LINE_END = re.compile(r"[\r\n]")
_SOURCE_FILE = re.compile(r"\.(?:[cm]?[jt]sx?|py|rb|go|java|kt|php|rs|cs|vue|json|exs?|scala|swift)$")
_ERROR_NAME = re.compile(r"(?:[Ee]rror|ERROR|[Ee]xception|[Ww]arning|[Ff]ault)$")
_ENCODED_CHARACTER = re.compile(r"(?:25)*+[2-7][0-9A-Fa-f]")
_ENCODED_OPENING = re.compile(rf"(?:{_PERCENT}20|\+){{0,3}}+{_PERCENT}(2[27])")
_ENCODED_CLOSING = {
    "": re.compile(rf"{_PERCENT}(?:26|0[AaDd])|[\s\"'`<>&]"),
    **{code: re.compile(rf"(?<!5[Cc]){_PERCENT}{code}|[\s\"'`<>&]") for code in ("22", "27")},
}
_ESCAPED_ASCII = re.compile(r"(?<!\\)\\++u00([2-7][0-9a-fA-F])")

_BEARER = re.compile(r"(?i)(?<![a-z])bearer[ \t]{1,4}((?=[\w.~+/=-]{0,64}\d)[\w.~+/=-]{8,}+|[\w.~+/=-]{20,}+)")
_JWT = re.compile(r"(?<![\w-])(eyJ[\w-]{8,}+\.[\w-]{4,}+(?:\.[\w-]*+)?)")
_TAIL_READS = 600  # characters at the end of a cut text
_CUT_TAIL = re.compile(
    r"(?i)(?:://[^\s/?#\"'<>@:]{0,128}:([^\s\"'<>@]{1,256})|bearer[ \t]{1,4}([\w.~+/=-]+)|(?<![\w-])(eyj[\w.-]*)"
    r"|(?<![a-z])(?:card|pan|visa|mastercard|amex)\b[^\d\n]{0,24}(\d[\d -]{0,40})"
    r"|(?<![\w.])([2-6]\d{3}[ +.-]?\d{4}[\d +.-]{0,15}))\Z"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_WEB_USERINFO = re.compile(
    r"(?<=http|ttps)://(?:[^\s/?#\"'<>@:]{0,128}+:([^\s\"'<>/?#@]{1,256}+)|([^\s/?#\"'<>@:]{20,256}+))@"
)
_OTHER_USERINFO = re.compile(r"(?<!http)(?<!ttps)://[^\s\"'<>:@]{0,128}+:([^\s\"'<>]{1,256})@")
_USER_FLAG = re.compile(  # curl -u user:password
    r"(?<![\w-])(?:-[uU]|--(?:proxy-)?user)(\\*+[\"']?[ \t,=]{1,4})?"
    r"(?:\\*+[\"'][^\"':\n]{0,128}+:([^\"'\n]++)|[^\s\"':=/\\]{0,128}+:(?!//)([^\s\"']++))"
)
_TOOL_FLAG = re.compile(  # redis-cli -a password
    r"(?i)(?<![\w-])(?:(?:redis|valkey|keydb)-cli\b[^\n|;]{0,200}?\s-a"
    r"|(?:sshpass|mysql[a-z]{0,10}|mariadb|docker[ ]login)\b[^\n|;]{0,200}?\s-p)"
    r"[ \t]{0,4}[\"']?([^\s\"'-][^\s\"']*+)"
)

Span = tuple[int, int]


def mask_text(text: str, rules: Rules = DEFAULT, *, cut: bool = False) -> tuple[str, int]:
    """`text` with its secrets replaced by dots, and how many were hidden. Linear; never raises.

    Finds `key=value`, `key: value`, `key%3Dvalue`, `--key value`, `-u user:value`, `<key>value<`, quoted keys
    and values also inside JSON strings (`\\"token\\":\\"...\\"`), headers to the end of the line, passwords in
    URLs, bearer tokens, JWTs, private keys, and card numbers (`queues.cards`). Strip ANSI codes first.
    `cut` says that the text was cut at its end, where a secret may lack what gives it away.
    Text without a secret comes back unchanged, and so does all by the rules `NOTHING`; what is behind `MASKED_UP_TO`
    is hidden unseen.
    """
    if not rules.shapes:
        return text, 0
    if len(text) > MASKED_UP_TO:
        shown, hidden = mask_text(text[:MASKED_UP_TO], rules, cut=True)
        return shown + MASK, hidden + 1
    if not _MAY_HOLD.search(text) and "\\u00" not in text:
        return text, 0
    plain = _ESCAPED_ASCII.sub(_unescape, text) if "\\u00" in text else text
    spans = list(_cut_tail(plain)) if cut else []
    if _compiled(rules).hint.search(folded(plain.lower())):
        spans += (*_pairs(plain, rules), *_named(plain, rules), *_shapes(plain))
    if not spans:
        return text, 0
    parts: list[str] = []
    done = 0
    merged = _merged(spans)
    for start, end in merged:
        parts += (plain[done:start], MASK)
        done = end
    parts.append(plain[done:])
    return "".join(parts), len(merged)


def masked(text: Text, rules: Rules = DEFAULT) -> Text:
    """`text` as pages show it: without colour codes and secrets, and marked where it had some. Linear; never raises."""
    value, hidden = mask_text(strip_ansi(text.value), rules, cut=Mark.CUT in text.marks)
    return Text(value, text.size, (*text.marks, Mark.MASKED) if hidden else text.marks)


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _pairs(text: str, rules: Rules) -> Iterator[Span]:
    pos = 0
    while found := _PAIR.search(text, pos):
        pos = found.end()
        if rule := _pair_rule(text, found, rules):
            start, end = _value(text, found, rule)
            pos = max(pos, end)
            if start < end:
                yield start, end


def _pair_rule(text: str, found: re.Match[str], rules: Rules) -> str | None:
    flag, key, tag, separator = found.groups()
    if flag is not None:
        return is_secret_key(flag, rules)
    if tag and text[found.start() - 1 : found.start()] not in ("<", ":"):
        return None
    if _ERROR_NAME.search(key):  # "TokenExpiredError: jwt expired" names no secret
        return None
    if separator == ":" and _SOURCE_FILE.search(key) and text[found.end() : found.end() + 1].isdigit():
        return None  # "at verify (/app/token.js:12:3)"
    rule = is_secret_key(key, rules)
    if rule is None and text[found.start() - 1 : found.start()] == "%":
        return is_secret_key(_ENCODED_CHARACTER.sub("", key, count=1), rules)  # "%7Bpin%3A"
    if rule is None and text[found.start() - 1 : found.start()] == "\\" and key[0] in "nrtbf":
        return is_secret_key(key[1:], rules)  # the letter belongs to an escape such as \n
    return rule


def _named(text: str, rules: Rules) -> Iterator[Span]:
    pos = 0
    while found := _NAMED.search(text, pos):
        pos = found.end()
        if rule := is_secret_key(found[1] or found[2], rules):
            start, end = _value(text, found, rule)
            pos = max(pos, end)
            if start < end:
                yield start, end


def _value(text: str, found: re.Match[str], rule: str) -> Span:
    """Where the value behind a secret key begins and ends; an empty span when there is nothing to hide."""
    start = found.end()
    if found.re is _PAIR and found[3]:
        end = text.find("<", start)
        return start, len(text) if end < 0 else end
    if found.re is _PAIR and (found[4] or "").startswith("%"):
        return _encoded_value(text, start)
    if opening := _OPENING.match(text, start):
        return opening.end(), _string_end(text, opening.end(), opening[2], len(opening[1]))
    if text[start : start + 1] in ("{", "["):
        return start, _nested_end(text, start)
    if "\n" in found[0]:
        return start, start
    if rule in ("*authorization*", "*cookie*"):
        return start, _header_end(text, start)
    bare = _BARE.match(text, start)
    if bare is None or _LITERAL.fullmatch(bare[0]):
        return start, start
    return start, start + len(bare[0].rstrip(",;"))


def _encoded_value(text: str, start: int) -> Span:
    opening = _ENCODED_OPENING.match(text, start)
    start = opening.end() if opening else start
    end = _ENCODED_CLOSING[opening[1] if opening else ""].search(text, start)
    return start, end.start() if end else len(text)


def _header_end(text: str, start: int) -> int:
    pattern = _LINE_END if text[start : start + 6].lower() == "digest" else _HEADER_END
    end = pattern.search(text, start)
    return end.start() if end else len(text)


def _string_end(text: str, start: int, quote: str, depth: int) -> int:
    """The end of a quoted value whose opening quote stands behind `depth` backslashes.

    A quote ends it when the backslashes before it are those of the opening one plus escaped backslashes
    of the content, or fewer: then it is the quote around the whole.
    """
    for closing in _CLOSING[quote].finditer(text, start):
        if closing[1] is None:
            return closing.start()
        run = len(closing[1])
        if run < depth or run % (2 * depth + 2) == depth:
            return closing.end() - 1 - min(run, depth)
    return len(text)


def _nested_end(text: str, start: int) -> int:
    """The end of an object or array as far as its brackets tell; the end of the text when they do not close."""
    level, pos = 0, start
    while found := _NESTED.search(text, pos):
        pos = found.end()
        if found[2]:
            pos = _string_end(text, pos, found[2], len(found[1])) + len(found[1]) + 1
        elif found[0] in "{[":
            level += 1
        else:
            level -= 1
            if level == 0:
                return pos
    return len(text)


def _shapes(text: str) -> Iterator[Span]:
    """Secrets that are known by their looks, whatever the key is called."""
    for pattern in (_BEARER, _JWT):
        for found in pattern.finditer(text):
            yield found.span(1)
    if "@" in text:
        for found in _WEB_USERINFO.finditer(text):
            yield found.span(1 if found[1] else 2)
        for found in _OTHER_USERINFO.finditer(text):
            yield found.span(1)
    yield from cards.spans(text)
    yield from _flags(text)
    yield from _private_keys(text)


def _flags(text: str) -> Iterator[Span]:
    """Passwords behind the short options of command lines."""
    for found in _USER_FLAG.finditer(text):
        if found[1] or text.rfind("curl", max(0, found.start() - 300), found.start()) >= 0:  # -u user:, curl -uuser:
            yield found.span(found.lastindex or 0)
    for found in _TOOL_FLAG.finditer(text):
        yield found.span(1)


def _cut_tail(text: str) -> Iterator[Span]:
    begin = max(0, len(text) - _TAIL_READS)
    if found := _CUT_TAIL.search(text, begin):
        yield found.span(found.lastindex or 0)


def _private_keys(text: str) -> Iterator[Span]:
    pos = 0
    while found := _PRIVATE_KEY.search(text, pos):
        end = text.find("-----END", found.end())
        pos = len(text) if end < 0 else end
        yield found.end(), pos
