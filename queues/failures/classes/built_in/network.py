"""Networks: timeouts, connections, names, certificates."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from queues.failures.classes.matching import BuiltIn
from queues.failures.types import Kind

RULES: Sequence[BuiltIn] = (
    BuiltIn(
        "certificate",
        Kind.PERMANENT,
        _("the other side’s certificate is not trusted, or the two do not speak the same protocol"),
        _("A retry fails the same way until the certificate or the address is put right."),
        codes=(
            *("cert_*", "depth_zero_self_signed_cert", "self_signed_cert_in_chain", "unable_to_*", "eproto"),
            *("err_ssl_*",),
            *("err_tls_cert_altname_invalid", "hostname_mismatch", "err_tls_*", "err_osslevp_*", "err_ossl_*"),
            *("err_cert_*",),
        ),
        messages=(
            *("self signed certificate", "self-signed certificate", "certificate has expired", "certificate is not"),
            *("unable to verify the first certificate", "unable to get local issuer certificate", "err_cert_"),
            *("hostname/ip does not match", "wrong version number", "ssl routines", "certificate verify failed"),
            *("unsupported protocol", "tls alert"),
        ),
    ),
    BuiltIn(
        "name lookup",
        # ENOTFOUND too: a name that was right until now is not found while the resolver, the zone or the service
        # behind it is away, and that is by far the commoner case in a queue that used to work.
        Kind.TRANSIENT,
        _("the name of a host could not be resolved"),
        _("A retry can help once the name resolves again. One that never existed has to be corrected first."),
        codes=(
            *("eai_*", "enotfound", "eservfail", "erefused", "etimeout", "enodata", "econnnotfound"),
            *("err_name_not_resolved", "sequelizehostnotfounderror", "edns"),
        ),
        messages=("getaddrinfo", "eai_again", "enotfound", "name or service not known", "err_name_not_resolved", "dns"),
    ),
    BuiltIn(
        "timeout",
        Kind.TRANSIENT,
        _("no answer came in time"),
        _("A retry can help once the other side answers in time again. It may have done its work all the same."),
        codes=(
            *("etimedout", "esockettimedout", "econnaborted", "und_err_connect_timeout", "und_err_headers_timeout"),
            *("und_err_body_timeout", "err_timed_out", "err_socket_connection_timeout", "timeout"),
            *("err_http_request_timeout", "err_script_execution_timeout", "abort_err", "err_canceled"),
            *("und_err_aborted",),
            *("ecanceled",),
        ),
        classes=(
            *("*timeouterror", "*timeoutexception", "*timeout", "*timedout*", "aborterror", "cancelederror"),
            *("*deadline*",),
            *("requestaborted*",),
        ),
        messages=(
            *("timed out", "time out", "timedout", "timeout of", "timeout exceeded", "timeout after"),
            *("request timeout",),
            *("connect timeout", "connection timeout", "read timeout", "socket timeout", "navigation timeout"),
            *("etimedout",),
            *("headers timeout", "body timeout", "operation was aborted", "aborted a request", "request aborted"),
            *("time limit", "exceeded the timeout", "timeout while", "timeout waiting"),
            *("timeout:", "hit timeout", "timeout error"),
            *("did not respond in", "did not respond within", "no response within", "no response from"),
            *("took too long",),
            *("did not answer", "not responding", "response timeout", "timeout expired", "within the timeout"),
            *("ms timeout",),
            *("did not finish in", "did not complete within", "did not complete in", "exceeded deadline"),
            *("job timeout", "greeting never received", "job exceeded"),
        ),
    ),
    BuiltIn(
        "connection",
        Kind.TRANSIENT,
        _("a connection was refused, reset, or broke off"),
        _("A retry can help once the other side takes connections again."),
        codes=(
            *("econn*", "epipe", "ehostunreach", "enetunreach", "ehostdown", "enetdown", "enotconn", "eaddrnotavail"),
            *("und_err_*", "err_stream_premature_close", "err_http2_*", "err_socket_closed*", "err_network*"),
            *("err_connection_*", "err_internet_disconnected", "err_empty_response", "hpe_*", "err_proxy_*"),
            *("enetreset",),
            *("esocket", "econnection", "eproxy", "err_ipc_channel_closed", "err_stream_destroyed", "err_socket_*"),
            *("err_address_unreachable", "err_tunnel_connection_failed", "err_quic_*", "err_stream_write_after_end"),
        ),
        classes=(
            *("connectionerror", "connectionrefused*", "connectionreset*", "networkerror", "socketerror"),
            *("*connectionclosed*", "*connectionlost*", "*connectexception"),
        ),
        messages=(
            *("socket hang up", "econnreset", "econnrefused", "epipe", "ehostunreach", "enetunreach", "fetch failed"),
            *("failed to fetch", "network error", "network request failed", "network socket disconnected"),
            *("connection reset", "connection refused", "connection closed", "connection aborted"),
            *("connection was closed",),
            *("connection ended", "connection failed", "connection error", "connection dropped", "connection broken"),
            *("connection is not open", "connection unexpectedly", "connection not established", "not connected"),
            *("connection interrupted", "connection has been", "premature close", "other side closed", "broken pipe"),
            *("socket closed", "socket is closed", "socket ended", "socket disconnected", "unexpectedly closed"),
            *("closed unexpectedly", "disconnected", "could not connect", "unable to connect", "failed to connect"),
            *("cannot connect", "can't connect", "connect econn", "unreachable", "no route to host"),
            *("network is down",),
            *("target closed", "session closed", "browser has disconnected", "page crashed", "err_connection_"),
            *("browser closed", "browser has been closed", "net::err_internet", "net::err_network", "net::err_empty"),
            *("websocket was closed", "stream closed", "stream was destroyed", "stream ended", "goaway", "hang up"),
            *("write after end", "unexpected eof", "unexpected end of file", "server disconnected", "peer closed"),
            *("terminated unexpectedly", "lost connection", "dropped the connection", "has been destroyed"),
        ),
        texts=("terminated", "aborted"),
    ),
    BuiltIn(
        "out of resources",
        Kind.TRANSIENT,
        _("the machine had no room left: files, disk, processes or buffers"),
        _("A retry can help once there is room again on the machine."),
        codes=(
            *("emfile", "enfile", "ebusy", "eagain", "enospc", "enobufs", "edquot", "etxtbsy", "eio", "eaddrinuse"),
            *("53100", "53000", "1021", "sqlite_full", "sqlite_ioerr*", "er_disk_full", "eintr", "estale"),
            *("elocked",),
        ),
        messages=(
            *("too many open files", "no space left", "disk full", "disk is full"),
            *("resource temporarily unavailable",),
            *("disk quota exceeded", "resource busy", "could not extend file", "database or disk is full"),
        ),
    ),
)
