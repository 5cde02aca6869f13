"""What went wrong between us and the server, told to a user: which server, what happened, never a secret."""

from __future__ import annotations

import re
import ssl

from django.utils.translation import gettext as _
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterError,
    InvalidResponse,
    MasterDownError,
    MaxConnectionsError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as TookTooLong

from queues.backends.bullmq.replies import Command
from queues.errors import NotPermitted, OutOfMemory, QueueError, ReadOnly, Unreachable, Unsupported, Unsure

# What a script met, as servers and their versions put it.
_IN_SCRIPT = re.compile(r"(?:^|[-: ])(NOPERM|READONLY|OOM|MISCONF|NOREPLICAS) ")
_NO_RIGHT = ("acl failure in script", "can't run this command", "has no permissions")
_CLUSTER = ("MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN", "TRYAGAIN")


def unreachable(error: RedisError | OSError, *, source: str, address: str, connecting: bool) -> Unreachable:
    """An outage as an error: `connecting` tells a server that never answered from one that stopped answering."""
    reason = _reason(error, connecting=connecting)
    return Unreachable(_("%(address)s %(reason)s.") % {"address": address, "reason": reason}, source=source)


def unsure(error: Unreachable) -> Unsure:
    """The same outage where commands that write had been sent already."""
    told = _("%(reason)s It may or may not have been done; to ask for the same again is safe.")
    return Unsure(told % {"reason": error}, source=error.source)


def refused(error: ResponseError, command: Command, *, source: str, address: str) -> QueueError:
    """An error that the server gave in answer to a command."""
    word, code = spelled(command), _code(error)
    if isinstance(error, MasterDownError) or code in ("MASTERDOWN", "BUSY", "LOADING"):
        return unreachable(error, source=source, address=address, connecting=False)
    if isinstance(error, NoPermissionError) or code == "NOPERM":
        return NotPermitted(_("%(address)s does not permit %(command)s to our user.") % _named(address, word))
    if code == "READONLY":
        return ReadOnly(_("%(address)s is a replica: it takes no writes.") % {"address": address})
    if code == "MISCONF":
        return ReadOnly(_("%(address)s takes no writes: it cannot save its data to disk.") % {"address": address})
    if code == "NOREPLICAS":
        return ReadOnly(_("%(address)s takes no writes: too few replicas follow it.") % {"address": address})
    if isinstance(error, OutOfMemoryError) or code == "OOM":
        return OutOfMemory(_("%(address)s is out of memory and refused %(command)s.") % _named(address, word))
    if isinstance(error, MovedError | ClusterError) or code in _CLUSTER:
        return Unsupported(cluster_text(address))
    if "unknown command" in str(error).lower():
        return Unsupported(_("%(address)s does not know %(command)s.") % _named(address, word))
    return Unsupported(_("%(address)s refused %(command)s: %(code)s") % {**_named(address, word), "code": code[:40]})


def _code(error: ResponseError) -> str:
    """The word with which an error begins; also that of a command inside a script, which some servers wrap."""
    said = str(error)
    code = error.status_code or said.partition(" ")[0]
    if any(words in said.lower() for words in _NO_RIGHT):
        return "NOPERM"
    wrapped = _IN_SCRIPT.search(said) if code not in ("NOPERM", "READONLY", "OOM") else None
    return wrapped[1] if wrapped else code


def cluster_text(address: str) -> str:
    return _("%(address)s is part of a Redis Cluster, which cannot be read yet.") % {"address": address}


def spelled(command: Command) -> str:
    """The name of a command for eyes: never its arguments, but the second word where that is part of the name."""
    words = str(command[0]).upper().split()
    if words[0] in ("CLIENT", "CONFIG", "MEMORY", "XINFO") and len(command) > 1:
        words.append(str(command[1]))
    return " ".join(words[:2])


def _named(address: str, command: str) -> dict[str, str]:
    return {"address": address, "command": command}


def _reason(error: RedisError | OSError, *, connecting: bool) -> str:
    if isinstance(error, TookTooLong):
        limit = "1.5" if connecting else "5"
        return _("did not answer within %(limit)s s") % {"limit": limit}
    if isinstance(error, AuthenticationError):
        return _wrong_login(str(error))
    if isinstance(error, InvalidResponse):
        return _("does not speak like Redis")
    if isinstance(error, BusyLoadingError):
        return _("is still loading its data")
    if isinstance(error, MasterDownError):
        return _("is a replica that has lost its master")
    if isinstance(error, MaxConnectionsError) or "No connection available" in str(error):
        return _("is busy: all our connections to it are in use")
    return _of_text(str(error), _cause(error))


def _wrong_login(said: str) -> str:
    lowered = said.lower()
    if "wrongpass" in lowered or "invalid" in lowered:
        return _("refuses our login: wrong password or user")
    if "without any password" in lowered or "no password is set" in lowered:
        return _("refuses our login: it has no password, but one was given")
    return _("asks for a password, and none was given")


def _of_text(said: str, cause: BaseException | None) -> str:
    lowered = said.lower()
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _("shows a TLS certificate that is not trusted: %(why)s") % {"why": cause.verify_message}
    if isinstance(cause, ssl.SSLError):
        return _("does not speak TLS, or not a version of it that we do")
    for part, reason in _reasons().items():
        if part in lowered:
            return reason
    return _("closed the connection")


def _reasons() -> dict[str, str]:
    """By what redis-py, the system or the server writes, in lower case."""
    return {
        "refused": _("refuses connections"),
        "max number of clients": _("has no free connection left (maxclients)"),
        "name or service not known": _("is not a known host name"),
        "nodename nor servname": _("is not a known host name"),
        "no address associated": _("is not a known host name"),
        "temporary failure in name resolution": _("cannot be found: the name service does not answer"),
        "no such file": _("does not exist: no socket of this name"),
        "permission denied": _("may not be opened: permission denied"),
        "no route": _("cannot be reached: no route to it"),
        "network is unreachable": _("cannot be reached: no network"),
        "protected mode": _("is in protected mode and answers only to itself"),
        "db index": _("has no database of this number"),
        "busy": _("is busy with a script that runs too long"),
    }


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or error.__context__
