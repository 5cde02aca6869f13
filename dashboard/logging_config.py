"""What log lines look like, and that no password is in them."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog
from django.utils.log import CallbackFilter

from dashboard.credentials import redact

EventDict = MutableMapping[str, Any]


def config(*, level: str, form: str) -> dict[str, Any]:
    """Django's LOGGING. Lines carry no time: supervisor, journald and container engines stamp what they collect.

    `form` is `text` (one short line an event) or `json` (one object a line, with time).
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _common(form),
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendered(form)],
            },
        },
        "filters": {"news": {"()": CallbackFilter, "callback": _is_news}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            # Django's own handlers would print a second time, and mail tracebacks to people who asked for none.
            "django": {"handlers": [], "level": level.upper(), "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "django.request": {"filters": ["news"], "propagate": True},
            # Who did what is written down whatever else is not.
            "mirante.audit": {"level": "INFO", "propagate": True},
            **{name: {"level": _at_least_warning(level)} for name in _CHATTY},
        },
    }


def configure_structlog(form: str) -> None:
    structlog.configure(
        processors=[*_common(form), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


# A line for every task, connection or access of these says nothing that a page does not say better.
_CHATTY = ("celery", "kombu", "amqp", "daphne", "twisted", "asyncio", "channels_redis", "httpx", "httpcore")


def _is_news(record: logging.LogRecord) -> bool:
    """Open pages ask each five seconds while a server is down: that it is, is logged once, not by each of them."""
    request = getattr(record, "request", None)
    polled = request is not None and "Mirante-Refresh" in getattr(request, "headers", {})
    return not (polled and getattr(record, "status_code", 0) == 503)


def _at_least_warning(level: str) -> str:
    return "DEBUG" if level == "debug" else "ERROR" if level == "error" else "WARNING"


def _common(form: str) -> list[Callable[..., Any]]:
    stamp: list[Callable[..., Any]] = [structlog.processors.TimeStamper(fmt="iso", utc=True)] if form == "json" else []
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        _reason_for_trace,
        *stamp,
        structlog.processors.format_exc_info,
    ]


def _reason_for_trace(_logger: object, _method: str, event: EventDict) -> EventDict:
    """A request that was refused or put off, on purpose, is a line: only a 500 is a fault with a place in the code."""
    status = getattr(event.get("_record"), "status_code", 500)
    if status != 500 and (trace := event.pop("exc_info", None)):
        event["reason"] = " ".join(str(trace[1]).split())
    return event


def _rendered(form: str) -> list[Callable[..., Any]]:
    if form == "json":
        return [_redacted, structlog.processors.JSONRenderer()]
    return [_redacted, _line]


def _redacted(_logger: object, _method: str, event: EventDict) -> EventDict:
    return {key: redact(value if isinstance(value, str) else str(value)) for key, value in event.items()}


def _line(_logger: object, _method: str, event: EventDict) -> str:
    level, name = event.pop("level", "info"), event.pop("logger", "")
    text, trace = event.pop("event", ""), event.pop("exception", "")
    rest = "".join(f" {key}={value}" for key, value in event.items())
    return f"{level} {name}: {text}{rest}" + (f"\n{trace}" if trace else "")
