"""Codes in messages, taken before numbers vanish: errno, HTTP, SQLSTATE, those of libraries and of servers."""

from __future__ import annotations

import re
from itertools import islice

_ERRNO = (
    "EACCES EADDRINUSE EADDRNOTAVAIL EAGAIN EAI_AGAIN EAI_FAIL EAI_NODATA EAI_NONAME EALREADY EBADF EBUSY ECANCELED "
    "ECONNABORTED ECONNREFUSED ECONNRESET EDESTADDRREQ EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EINTR EINVAL "
    "EIO EISCONN EISDIR ELOOP EMFILE EMSGSIZE ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA "
    "ENODEV ENOENT ENOEXEC ENOLCK ENOMEM ENOPROTOOPT ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTFOUND ENOTIMP "
    "ENOTSOCK ENOTSUP ENXIO EPERM EPIPE EPROTO EPROTONOSUPPORT ERANGE EREFUSED EROFS ESERVFAIL ESHUTDOWN ESPIPE "
    "ESRCH ESTALE ETIME ETIMEDOUT ETIMEOUT ETXTBSY EXDEV EAUTH EENVELOPE EMESSAGE ESOCKET EDNS ESTREAM ETLS "
    "EOAUTH2 ECONNECTION EREQUEST ELOGIN EINVALIDSTATE E11000 E11001 EBADCSRFTOKEN EUSAGE ECONNCLOSED "
    "CERT_HAS_EXPIRED CERT_NOT_YET_VALID DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN "
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY PROTOCOL_CONNECTION_LOST "
    "DEADLINE_EXCEEDED RESOURCE_EXHAUSTED FAILED_PRECONDITION INVALID_ARGUMENT PERMISSION_DENIED NOT_FOUND "
    "UNAVAILABLE UNAUTHENTICATED ALREADY_EXISTS UNIMPLEMENTED"
)
_REDIS_WORDS = (
    "READONLY MOVED ASK OOM LOADING CLUSTERDOWN NOSCRIPT WRONGTYPE BUSY BUSYGROUP BUSYKEY NOAUTH WRONGPASS NOPERM "
    "MASTERDOWN TRYAGAIN EXECABORT MISCONF CROSSSLOT NOREPLICAS UNKILLABLE NOGROUP NOPROTO UNBLOCKED IOERR"
)
REDIS = frozenset(_REDIS_WORDS.split())
_AWS_WORDS = (
    "AccessDenied AuthFailure BucketAlreadyExists EntityTooLarge ExpiredToken InternalError InvalidAccessKeyId "
    "InvalidClientTokenId InvalidObjectState InvalidRange InvalidToken MalformedXML NoSuchBucket NoSuchKey "
    "NoSuchUpload NotFound OptInRequired PermanentRedirect PreconditionFailed QueueDoesNotExist "
    "RequestLimitExceeded RequestTimeout RequestTimeTooSkewed ServiceUnavailable SignatureDoesNotMatch SlowDown "
    "Throttling TooManyRequests MessageRejected UnrecognizedClient ValidationError_"
)
AWS = frozenset(_AWS_WORDS.split())
_PHRASES = (
    "Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed|Not Acceptable|Request Timeout"
    "|Conflict|Gone|Length Required|Precondition Failed|Payload Too Large|Content Too Large|Request Entity Too Large"
    "|URI Too Long|Unsupported Media Type|Expectation Failed|I'm a Teapot|Misdirected Request|Unprocessable"
    "|Locked|Failed Dependency|Too Early|Upgrade Required|Precondition Required|Too Many Requests"
    "|Request Header Fields|Unavailable For Legal|Internal Server Error|Not Implemented|Bad Gateway"
    "|Service (?:Temporarily )?Unavailable|Gateway Time-?out|HTTP Version|Insufficient Storage|Loop Detected"
    "|Network Authentication"
)
_UPPER = re.compile(r"[A-Z][A-Z0-9_]{2}|[A-Z]\d{3}|\[Errno ")
_NAMED = re.compile(
    r"(?<![\w.@/$])(?:(" + "|".join(sorted(_ERRNO.split(), key=len, reverse=True)) + r")(?![\w$])"
    r"|((?:UND_ERR|ERR|ER|HPE|SQLITE|ORA|LIMIT|FST|SSL|TLS)_[A-Z0-9_]{2,60})(?!\w)"
    r"|(P[1-6]\d{3}|ORA-\d{5}|AADSTS\d{4,7}|TS\d{4,5}|E\d{3,5})(?![\w-])"
    r"|SQLSTATE\W{0,3}([0-9A-Z]{5})(?!\w)|Errno (-?\d{1,5})\])"
)
_LEADING = re.compile(r"[\[(]?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:[\])]|:|$| - )")
_BRACKETED = re.compile(r"[\[(]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|(?:auth|messaging|storage|firestore)/[a-z-]{3,60})[\])]")
_STATUS = re.compile(
    r"(?<![\w.,/-])[1-5]\d\d(?![\w%]|[.,:]\d"
    r"| (?:rows|items|results|records|bytes|ms|seconds|times|documents))"
)
_SAID = re.compile(  # what stands before a status, in lower case
    r"(?:\bstatus(?:[ _-]?code)?(?: of)?\W{1,3}|\bhttp(?:[/ ]\d(?:\.\d)?)?(?: error| status| code| response)*\W{1,2})$"
)
_LIKELY = re.compile(
    r"(?:\b(?:response|error|server|upstream|gateway|api)(?: code| status)?:? \(?|\bresponse: "
    r"|with (?:a |an )?(?:status )?|\b(?:responded|replied|returned|failed|answered|got|received|rejected)"
    r"(?: a| an)?(?: status)? |\b(?:get|post|put|patch|delete|head) .{1,40}[ (:]{1,2})$"
)
_STATUSES = frozenset(map(str, (*range(400, 430), 431, 451, 499, *range(500, 512), *range(520, 531))))
_LOOK_BACK = 48
_PHRASED = re.compile(r"([1-5]\d\d)(?:\W{1,3}(?:" + _PHRASES + r")|(?= *[{<\[]))")
_SMTP = re.compile(r"([245]\d\d)[ -](?:#?[245]\.\d{1,3}\.\d{1,3}\b|(?=[<-]))")
_FIRST = re.compile(r"([45]\d\d)(?::| -|$|(?= [A-Z]))")
_SPELT = re.compile(
    r"(?i:(?:\b(?:error|err|sql|result|reason|response|decline|fault)[ _-]?code|\bcode|\berrno|\berrcode)\b)"
    r"[\"']?(?:(?i: is)? ?[:=#]|(?<=[eE]rror.code)) ?[\"'#(]?"
    r"([A-Z]{1,6}-?\d{2,6}|-?\d{1,5}(?:\.\d{1,3})?|[A-Z][A-Z0-9_]{2,60}|[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,6}"
    r"|[A-Z][A-Za-z]{4,60}|\d\d[0-9A-Z]{3})(?![\w-])"
)
_EXIT = re.compile(
    r"(?i:exit(?:ed)?(?: with)?(?: status)?(?: code)?|code)[: ]{1,2}(\d{1,3})\b(?:.{0,20}?\b(SIG[A-Z]{3,6}))?"
)
_SIGNAL = re.compile(r"\b(SIG(?:KILL|TERM|ABRT|SEGV|INT|BUS|ILL|HUP|PIPE))\b")
_STRIPE = re.compile(
    r"\b(card_declined|insufficient_funds|expired_card|incorrect_cvc|processing_error|resource_missing|rate_limit"
    r"|authentication_required|idempotency_key_in_use|lock_timeout|balance_insufficient|parameter_missing"
    r"|parameter_invalid_\w{3,20}|invalid_request_error|api_error|charge_already_\w{3,20}|amount_too_\w{3,5}"
    r"|payment_intent_[a-z_]{3,40}|token_already_used|account_invalid|email_invalid|invalid_grant|invalid_client"
    r"|insufficient_quota|rate_limit_exceeded|context_length_exceeded|invalid_api_key|model_not_found)\b"
)
_CODE = re.compile(r"\n\s{0,12}(?:code|Code): ?['\"]?([A-Za-z0-9_./-]{2,60})['\"]?,?(?=\n| |$)")
_STATUS_PROPERTY = re.compile(r"\n\s{0,12}(?:status|statusCode|errno): ?['\"]?(-?\d{2,5})['\"]?,?(?=\n| |$)")


def code_in(message: str) -> str:
    """The code that a message names; "" without one. The most telling first: a name before a number."""
    if _UPPER.search(message):
        first = message.split(" ", 1)[0].rstrip(":")
        if first in REDIS:
            return first
        if named := _NAMED.search(message):
            return next(group for group in named.groups() if group)
        if leading := _LEADING.match(message):
            return leading[1]
    return _status(message) or _spelt(message)


def _status(message: str) -> str:
    """The status of HTTP or SMTP: a number that the words around it make one."""
    for found in islice(_STATUS.finditer(message), 4):
        start = found.start()
        if (start == 0 and _FIRST.match(message)) or _SMTP.match(message, start) or _PHRASED.match(message, start):
            return found[0]
        before = message[max(0, start - _LOOK_BACK) : start].lower()
        if _SAID.search(before) or (found[0] in _STATUSES and _is_likely(before, message[found.end() :])):
            return found[0]
    return ""


def _is_likely(before: str, after: str) -> bool:
    """Whether words beside a number that is a status of HTTP say that it is meant as one."""
    if before.endswith(("(", "[")):
        return after.startswith((")", "]"))
    return (not after and before.endswith(": ")) or _LIKELY.search(before) is not None


def _spelt(message: str) -> str:
    if "xit" in message and (found := _EXIT.search(message)):
        return found[2] or f"exit {found[1]}"
    if "SIG" in message and (found := _SIGNAL.search(message)):
        return found[1]
    if ("ode" in message or "rrno" in message) and (found := _SPELT.search(message)):
        return found[1]
    if "_" in message and (found := _STRIPE.search(message)):
        return found[1]
    if ("(" in message or "[" in message) and (found := _BRACKETED.search(message)):
        return found[1]
    return ""


def code_of_class(error_class: str) -> str:
    """Where the name of an error is its code, as with AWS and Redis; "" otherwise."""
    if error_class in AWS or (error_class.endswith("Exception") and error_class != "Exception"):
        return error_class
    return ""


def code_in_properties(text: str) -> str:
    """The code among the properties that Node prints behind a stack."""
    found = _CODE.search(text) or _STATUS_PROPERTY.search(text)
    return found[1] if found else ""
