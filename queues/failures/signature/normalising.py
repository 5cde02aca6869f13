"""What varies between failures of one cause, taken out of a message. Each rule leaves a short mark: ‹n›, ‹text› ...

One pass over the words that hold a digit, a slash or the like, and over what is in quotes; then what stands beside
marks (units, lists, repeated parts). Linear: no pattern can go back over what it took.

Numbers and ids get the same mark: an id in hexadecimal is all digits now and then.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from queues.failures.signature import addresses, quoted
from queues.failures.signature.codes import code_in
from queues.failures.signature.frames import file_of

N, TEXT, EMAIL, DATE, TIME, SIZE = (f"‹{word}›" for word in ("n", "text", "email", "date", "duration", "size"))
Trace = Callable[[str, str, str], None]  # rule, before, after

_S = r"\s\"'`<>(){}\[\],;=|“”‘’«»"  # what parts words
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_QUOTE = (
    r"\"(?<![\w\\].)(?:[^\"\\\n]|\\.)*+\"(?!\w)|`(?<![\w\\].)[^`\n]*+`(?!\w)"
    r"|'(?<![\w\\].)(?:[^'\n]|(?<=\w)'(?=\w))*+'(?!\w)"
)
_TYPOGRAPHIC = r"|“[^”\n]*+”|‘[^’\n]*+’|«[^»\n]*+»|„[^“”\n]*+[“”]"
_PAIR = r"=\((?<=\)=\()[^()\n]*+\)|is \((?<=value is \()[^()\n]*+\)"  # (email)=(a@b.c)
_DATED = (
    r"(?=[\dMTWFSJAOND])(?<![\w.])"
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
    rf"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{{0,6}},? )?(?:{_MONTH}[a-z]{{0,6}} (?:\d{{4}}|\d{{1,2}}(?:,? \d{{4}})?)"
    rf"|\d{{1,2}} {_MONTH}[a-z]{{0,6}},? \d{{4}})"
    r"(?:,? \d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?)?(?: (?:GMT|UTC)(?:[+-]\d{4})?)?(?: \([A-Z][\w +-]{0,40}\))?)(?!\w)"
)
_URL = r"|(?P<url>(?<!\w)[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s\"'`<>]*+)"
_WORD = rf"(?<![^{_S}])[A-Za-z_$.:#~+*-]*+[\d/\\@%][^{_S}?]*+(?:\?[^\s\"'`<>(){{}}\[\],;|]*+)?"


def _scanner(*, typographic: bool, urls: bool) -> re.Pattern[str]:
    quote = _QUOTE + (_TYPOGRAPHIC if typographic else "")
    return re.compile(
        f"(?P<quote>{quote})|(?P<pair>{_PAIR})|(?P<date>{_DATED}){_URL if urls else ''}|(?P<word>{_WORD})"
    )


_SCANNERS = {  # what a text cannot hold is not looked for at each of its characters
    (typographic, urls): _scanner(typographic=typographic, urls=urls)
    for typographic in (False, True)
    for urls in (False, True)
}
_MAY_VARY = re.compile(r"[\d/\\@\"'`%]|=\(|is \(")
_CODED = re.compile(r"[A-Za-z]*\d\w*")
_ENHANCED = re.compile(r"#?[245]\.\d{1,3}\.\d{1,3}$")
_EMAIL = re.compile(r"[^@/\s:]{1,64}+@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,24}$")
_PATH = re.compile(r"(?:/|\.{1,2}[/\\]|~[/\\]|[A-Za-z]:[/\\]|\\\\)")
_SCRATCH = re.compile(r"(?:^|[/\\])(?:te?mp|[Uu]ploads?|Temp|tmpfs|cache)[/\\]|/var/folders/")
_DATA_FILE = re.compile(
    r"(?i:\.(?:pdf|[ct]sv|xlsx?|docx?|png|jpe?g|gif|webp|heic|tiff?|bmp|mp[34]|mov|avi|mkv|webm|wav|zip|t?gz|xml|txt|log|eml"
    r"|bin|dat|parquet|zpl|ps)$)"
)
_SHIPPED = re.compile(r"(?:^|[/\\])(?:assets|static|public|templates|fonts|resources|config|src|dist|build|views)[/\\]")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_CODE_FILE = re.compile(r"\.(?:[cm]?[jt]sx?|py|ya?ml|env|hbs|ejs|html?|pug|sql|wasm|node|prisma|proto|toml)$")
_INNER = re.compile(
    r"(?P<uuid>(?<![0-9a-fA-F])[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9a-fA-F]))"
    r"|(?P<date>(?<!\d)\d{4}-\d\d-\d\d(?:T\d\d:?\d\d(?::?\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
    r"|(?<!\d)\d{1,2}/\d{1,2}/\d{4}(?!\d)|(?<![\d:])\d{1,2}:\d\d:\d\d(?:\.\d{1,9})?Z?(?![\d:]))"
    r"|(?P<ip>(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.]*\.\d))(?::(?P<port>\d{1,5}))?"
    r"|(?P<chunk>(?<![A-Za-z0-9])(?:[A-Za-z]*+\d[A-Za-z0-9]*+))"
)
_UNIT = re.compile(r"[+-]?\d++(?:[.,]\d++)*+(?:(ns|us|µs|ms|s|secs?|m|mins?|h|hrs?|d)|(?:[kKmMgGtT]i?[bB]|B|bytes?))$")
_LENGTH = re.compile(r"(?:\d{1,9}[dhms]){2,9}$")
_PLAIN_WORDS = (
    "utf8 utf16 utf32 latin1 iso8859 sha1 sha256 sha384 sha512 md5 base64 base32 base58 http1 http2 http3 h2 h264 "
    "h265 hevc1 ipv4 ipv6 ip4 ip6 s3 ec2 k8s i18n l10n oauth2 oauth1 x509 x86 x64 arm64 amd64 win32 int2 int4 "
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float4 float8 float32 float64 mp3 mp4 m4a 7z bz2 gzip2 es5 "
    "es6 es2015 es2020 p12 pkcs1 pkcs7 pkcs8 pkcs12 rs256 rs384 rs512 hs256 hs384 hs512 es256 es384 ps256 ed25519 "
    "tls1 tlsv1 sslv3 tls12 tls13 aes128 aes256 neo4j log4j sqlite3 psycopg2 boto3 urllib3 python3 web3 d3 r2 b2 "
    "fp16 bcrypt2 argon2 gpt4 gpt3 uint8array float32array int32array b64 l2 e2e mysql2 4xx 5xx 2xx 3xx 3d 2fa 2d "
    "b2b b2c p2p"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
_VERSION = re.compile(r"[vV]\d{1,3}$")
_LETTERED = re.compile(r"([A-Za-z]{2,})\d++$")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")  # what has none is no word
_MARKS = re.compile(
    r"‹n›(?:(?:[-_.:/+]|[-.](?:rc|alpha|beta|next|canary|pre)\.?)?‹n›|-[A-Z]{1,4}(?![A-Za-z]))++|(?<![\w›])-(?=‹n›)"
)
_AROUND = re.compile(
    r"‹n›(?:(?P<list>(?:[., ]‹n›)++)"
    r"|(?P<time> ?(?:milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?)(?!\w))"
    r"|(?P<size> ?(?:[kKmMgGtT]i?[bB]|bytes?)(?!\w)))"
)
_SAME = re.compile(r"(‹\w{1,8}›)(?:(?:, ?(?:and |or )?| and | or | ?\| ?|/)\1)+")


def normalise(text: str, code: str = "", trace: Trace | None = None) -> str:
    """`text` with what varies replaced by marks; numbers that are the `code` stay. Linear."""
    plain = text.isascii()
    if plain and not _MAY_VARY.search(text):
        return text
    made = _SCANNERS[not plain, "://" in text].sub(_Pass(text, code, trace).found, text)
    return _beside(made, trace) if "‹" in made else made


class _Pass:
    """One pass over a text. Remembers where the last kept name in quotes ended, for lists of them."""

    __slots__ = ("code", "digits", "kept", "text", "trace")

    def __init__(self, text: str, code: str, trace: Trace | None) -> None:
        self.text, self.code, self.trace = text, code, trace
        self.digits = _CODED.findall(code) if code else ()  # the parts of the code that hold digits
        self.kept = -1

    def found(self, found: re.Match[str]) -> str:
        before, kind = found[0], found.lastgroup
        if kind == "word":
            return self._word(before, found.start())
        if kind == "quote":
            return self._quoted(before, found.start(), found.end())
        if kind == "pair":
            return self._made("quoted", before, before[: before.index("(")] + f"({TEXT})")
        return self._made("date", before, DATE) if kind == "date" else self._url(before)

    def _made(self, rule: str, before: str, after: str) -> str:
        if self.trace is not None and before != after:
            self.trace(rule, before, after)
        return after

    def _url(self, whole: str) -> str:
        core = whole.rstrip(".,;:!?)]}…")
        tail = whole[len(core) :]
        if core[:5].lower() == "file:":
            return self._made("path", core, path_of(core[7:])) + tail
        return self._made("url", core, addresses.url(core)) + tail

    def _quoted(self, before: str, start: int, end: int) -> str:
        content = before[1:-1]
        if name := quoted.name_of(content):
            gap = self.text[self.kept : start] if self.kept >= 0 and start - self.kept <= 8 else None
            follows = gap is not None and quoted.listed(gap)
            if quoted.names_something(self.text, start, end, content, follows=follows):
                self.kept = end
                return self._made("quoted-name", before, f"{before[0]}{name}{before[-1]}")
        if "://" in content and " " not in content:
            return self._made("url", before, f"{before[0]}{self._url(content)}{before[-1]}")
        if content and _PATH.match(content) and (" " not in content or "/" in content[1:] or "\\" in content):
            return self._made("path", before, f"{before[0]}{path_of(content)}{before[-1]}")
        address = addresses.address(content) or addresses.host(content, "") if " " not in content else ""
        if address:
            return self._made("address" if "‹" in address else "host", before, f"{before[0]}{address}{before[-1]}")
        if " " in content and len(content) > 12 and ("://" in content or code_in(content)):  # an error within an error
            inner = normalise(content, self.code, self.trace)
            return f"{before[0]}{inner}{before[-1]}"
        return self._made("quoted", before, TEXT)

    def _word(self, word: str, start: int) -> str:
        core = word.rstrip(".:,!?…")
        if not core or core == self.code or (self.digits and self._enhanced(core, start)):
            return word
        return self._core(core, start) + word[len(core) :]

    def _enhanced(self, core: str, start: int) -> bool:
        """Whether this is the second, finer status of SMTP behind the first: `550 5.1.1`."""
        return _ENHANCED.match(core) is not None and self.text[start - 4 : start - 1] in self.digits

    def _core(self, core: str, start: int) -> str:
        if core.isalnum():
            return self._chunk(core)
        if "0" <= core[0] <= "9" and (unit := _UNIT.match(core)):
            return self._made("duration" if unit[1] else "size", core, TIME if unit[1] else SIZE)
        if "@" in core and _EMAIL.match(core):
            return self._made("email", core, EMAIL)
        if ("/" in core or "\\" in core) and len(core) > 1 and _PATH.match(core):
            return self._made("path", core, path_of(core))
        if ":" in core and (address := addresses.address(core, self.text[max(0, start - 16) : start])):
            return self._made("address" if "‹" in address else "host", core, address)
        if "." in core and (host := addresses.host(core, self.text[max(0, start - 16) : start])):
            return self._made("host", core, host)
        made = _INNER.sub(self._inner, core)
        return _MARKS.sub(_collapsed, made) if made[0] == "-" or made.count("‹") > 1 or "›-" in made else made

    def _inner(self, found: re.Match[str]) -> str:
        before, kind = found[0], found.lastgroup
        if kind == "chunk":
            start = found.start()
            return self._chunk(before, alone=not start or found.string[start - 1] not in "-_")
        if kind in ("ip", "port"):
            return self._made("address", before, addresses.ADDRESS + addresses.port(found["port"]))
        return self._made("date", before, DATE) if kind == "date" else self._made("id", before, N)

    def _chunk(self, word: str, *, alone: bool = True) -> str:
        if word in self.digits:
            return word
        after = chunk(word, alone=alone)
        if self.trace is not None:
            rule = "duration" if after == TIME else "size" if after == SIZE else "number" if word.isdigit() else "id"
            return self._made(rule, word, after)
        return after


def chunk(word: str, *, alone: bool = True) -> str:
    """Letters and digits as a mark; names such as `utf8` and `v2` stay. Not `alone`: a part of a longer id."""
    if word.isdigit():
        return N
    if len(word) < 16:
        if word.lower() in _PLAIN or _VERSION.match(word):
            return word
        if alone and (unit := _UNIT.match(word)):
            return TIME if unit[1] else SIZE
        if alone and _LENGTH.match(word):
            return TIME
    lettered = _LETTERED.match(word)
    if lettered and _is_word(lettered[1]) and not (len(word) >= 6 and set(word) <= addresses.HEX):
        return lettered[1] + N
    return N


def _is_word(letters: str) -> bool:
    return (letters.islower() or letters.isupper() or letters.istitle()) and _VOWEL.search(letters) is not None


def _collapsed(found: re.Match[str]) -> str:
    return "" if found[0] == "-" else N


def path_of(path: str) -> str:
    """A path as `…/` and its last part; of files of users and of the moment the kind alone."""
    clean = path.rstrip("/\\").replace("\\", "/") or "/"
    name = clean.rpartition("/")[2].partition("?")[0]
    scratch = _SCRATCH.search(path) is not None or (_DATA_FILE.search(name) and not _SHIPPED.search(path))
    if _CODE_FILE.search(name) and not scratch:
        return f"…/{file_of(clean).rpartition('/')[2]}"
    found = _EXTENSION.search(name)
    kind = found[0] if found else ""
    return f"…/‹file›{kind.lower()}" if scratch else f"…/{words_of(name.removesuffix(kind))}{kind}"


def words_of(text: str) -> str:
    """A name with its numbers and ids as marks: of a file or a job."""
    if text.isascii() and text.isalpha():
        return text
    made = _INNER.sub(lambda found: chunk(found[0]) if found.lastgroup == "chunk" else N, text)
    return _MARKS.sub(_collapsed, made) if "‹" in made else made


def _beside(text: str, trace: Trace | None) -> str:
    """Units behind numbers, lists of marks."""
    made = _AROUND.sub(_around, text) if N in text else text
    if made.count("‹") > 1:
        made = _SAME.sub(r"\1", made)
    if trace is not None and made != text:
        trace("list", text, made)
    return made


def _around(found: re.Match[str]) -> str:
    kind = found.lastgroup
    return N if kind == "list" else TIME if kind == "time" else SIZE
