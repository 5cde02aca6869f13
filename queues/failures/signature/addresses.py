"""Hosts stay, addresses and the names of single machines go."""

from __future__ import annotations

import re

ADDRESS = "‹address›"
HEX = frozenset("0123456789abcdef")

_N = "‹n›"
_IPV6 = re.compile(r"\[?(?=[0-9a-fA-F.]*:)[0-9a-fA-F:.]{3,45}(?:%\w{1,20})?\]?(?::(\d{1,5}))?$")
_NAMED_PORT = re.compile(r"((?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}):(\d{2,5})$")
_DOTTED = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.)+([A-Za-z]{2,24})$")
_TLD_WORDS = (
    "com net org io dev app ai co br uk de fr es pt us eu internal local localhost svc cluster example test invalid "
    "cloud lan intra corp edu gov info biz me tech"
)
_TLD = frozenset(_TLD_WORDS.split())
_BEFORE = re.compile(r"(?:ENOTFOUND|EAI_AGAIN|ENODATA|ESERVFAIL|[Hh]ost(?:name)?|[Ss]erver)[ :=]{1,3}$")
_WITH_PORT = re.compile(r"\bE[A-Z]{4,13} $")  # Node says address and port behind what went wrong
_MACHINE = re.compile(
    r"-[a-f0-9]{6,10}-[a-z0-9]{5}(?![a-z0-9])"  # a pod of Kubernetes
    r"|(?<![a-z0-9])\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?!\d)"  # ip-10-0-0-1
    r"|(?<![A-Za-z0-9])(?=[a-f]*\d)[0-9a-f]{6,63}(?![A-Za-z0-9])"
    r"|\d{5,63}"
)
_OF_MANY = re.compile(  # db-1.internal, cache02
    r"(?!(?:s3|ec2|oauth2|ipv[46]|web3|p2p|b2b|b2c|k8s|h2|d3|r2)(?:$|\.))([A-Za-z][A-Za-z_-]{0,40}?)-?\d{1,3}(?=$|\.)"
)
_DIGITS = re.compile(r"[\d.]+$")
_KEPT_PORT = 32_768  # the system gives higher ones anew for each connection
_HIGHEST = 65_535


def port(digits: str | None) -> str:
    """A port as it is shown, with its colon; one that differs each time as a mark."""
    return "" if not digits else f":{digits}" if int(digits) < _KEPT_PORT else f":{_N}"


def address(word: str, before: str = "") -> str:
    """A host or an address with its port; "" where `word` is none."""
    if word.count(":") >= 2:
        found = _IPV6.match(word)
        if found is None or ("::" not in word and word.count(":") < 6):
            return ""
        told = found[1] or word.rpartition(":")[2]
        outside = "]" in word or len(told) > 4 or word.startswith(("::1:", "::ffff:")) or _WITH_PORT.search(before)
        return ADDRESS + (port(told) if told.isdigit() and (found[1] or outside) and len(told) >= 2 else "")
    found = _NAMED_PORT.match(word)
    if found is None or found[1].isdigit():
        return ""
    if _DIGITS.match(found[1]):
        return ADDRESS + port(found[2]) if found[1].count(".") == 3 else ""
    if int(found[2]) > _HIGHEST or ("." not in found[1] and int(found[2]) < 80):
        return ""
    return plain(found[1]) + port(found[2])


def host(word: str, before: str) -> str:
    """A host without a port, by its last part or the word before it; "" where `word` is none."""
    found = _DOTTED.match(word)
    if found is None:
        return ""
    return plain(word) if found[1].lower() in _TLD or _BEFORE.search(before) else ""


def plain(name: str) -> str:
    """A host as it is called, without what names one machine of many."""
    name = _MACHINE.sub(lambda found: f"-{_N}" if found[0][0] == "-" else _N, name)
    found = _OF_MANY.match(name)
    return f"{found[1]}-{_N}{name[found.end() :]}" if found else name


def url(whole: str) -> str:
    """Scheme, host and port of a URL."""
    scheme, _, rest = whole.partition("://")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    name = rest[:end].rpartition("@")[2]
    if name.startswith("["):
        name, _, digits = name[1:].partition("]")
        return f"{scheme.lower()}://{ADDRESS}{port(digits[1:6]) if digits[1:6].isdigit() else ''}"
    name, _, digits = name.partition(":")
    shown = ADDRESS if _DIGITS.match(name) else plain(name)
    return f"{scheme.lower()}://{shown}{port(digits) if digits.isdigit() and len(digits) <= 5 else ''}"
