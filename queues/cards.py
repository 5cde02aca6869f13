"""Numbers of payment cards, known by their looks: what an issuer gives out, with a right check digit.

A plain number of thirteen to nineteen digits is one only by the first digits and the length of a known issuer and by
the checksum: times in milliseconds and microseconds never are (they begin with 1), and of ids made of sixteen random
digits about one in forty is. Such an id is hidden too; the exact bytes and the job's address still tell it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

RULE = "card number"  # as pages name it
HINT = r"[2-6]\d{3}(?:[ +.-]|%20)?\d{4}"  # text without it holds no card number

_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|3(?:0[0-59]|[689]\d)\d{11}"  # Diners Club
    r"|3(?:52[89]|5[3-8]\d)\d{12,15}"  # JCB
    r"|(?:6011|64[4-9]\d|65\d{2})\d{12,15}"  # Discover
    r"|62\d{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{9,15}"  # Maestro
    r"|(?:(?:5041|506[67]|5090|6277|636[23])\d{2}|606282|3841\d{2})\d{10}"  # Elo, Hipercard
)
# Alone, or in groups that one sign separates; neither in a longer word or number nor in a fraction.
_NUMBER = re.compile(
    r"(?:(?<![0-9A-Za-z])|(?<=\\[nrt]))(?<!\d[.,])"
    r"(?:[2-6]\d{12,18}+"
    r"|[2-6]\d{3}([ +.-]|%20)\d{4}\1\d{4}\1\d{2,4}(\1\d{3})?"
    r"|3\d{3}([ +.-]|%20)\d{6}\3\d{4,5})"
    r"(?![0-9A-Za-z])(?![.,]\d)"
)
_BEHIND = re.compile(  # the month, the year and the code that stand behind a number
    r"[\s,;|/:]{1,3}(?:(?:0?[1-9]|1[0-2])[ /|-]{1,3}\d{2,4}[\s,;|/:]{1,3})?\d{3,4}(?!\w)"
)
_CODE = re.compile(r"(?i)(?<![a-z])(?:cvv2?|cvc2?|card security code)[^\w\n]{1,8}(\d{3,4})(?!\d)")
_NAMED = re.compile(r"(?i)(?<![a-z])(?:card|pan|visa|mastercard|amex)\b[^\d\n]{0,24}((?:\d[ -]?){12,18}\d)(?!\d)")


def is_card(digits: str) -> bool:
    """Whether a run of digits can be a card's number."""
    return _ISSUED.fullmatch(digits) is not None and luhn(digits)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where card numbers, and the codes beside them, stand in a text. Linear."""
    for found in _NAMED.finditer(text):  # behind a word such as card any issuer will do
        if luhn(found[1]):
            yield found.span(1)
    for found in _NUMBER.finditer(text):
        end = _end(found)
        if end:
            yield found.start(), end
            if code := _BEHIND.match(text, end):
                yield code.span()
    for found in _CODE.finditer(text):
        yield found.span(1)


def _end(found: re.Match[str]) -> int:
    """Where the number ends; 0 where it is none. The last group may be a card's code."""
    if is_card(_digits(found[0])):
        return found.end()
    if found[2] and is_card(_digits(found.string[found.start() : found.start(2)])):
        return found.start(2)
    return 0


def _digits(number: str) -> str:
    return "".join(char for char in number.replace("%20", "") if char.isdigit())


def luhn(number: str) -> bool:
    """Whether the last digit is the right check digit; what is no digit is skipped."""
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
