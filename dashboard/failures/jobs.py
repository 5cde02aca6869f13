"""What a query string or a form says of the failures of a group: which of them, and from where on."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

from dashboard.failures.query import moment_ms, typed
from queues.failures.occurrences import Where, Which

TEXT = 500  # characters of a name or worker
LONGEST = 2_000  # of a queue's slug

WHERE_WORDS: dict[str, Promise] = {
    "": pgettext_lazy("failures", "all"),
    Where.SET: pgettext_lazy("failures", "in the failed set"),
    Where.LETTER: pgettext_lazy("failures", "only a letter"),
    Where.GONE: pgettext_lazy("failures", "gone"),
}


def which(params: QueryDict) -> Which:
    """The failures that are meant. BadInput for a moment that is none; another odd value means all."""
    where = params.get("present", "")
    return Which(
        since_ms=moment_ms(params.get("since", "")),
        until_ms=moment_ms(params.get("before", "")),
        queue=_text(params, "queue", LONGEST) or "",
        name=_text(params, "of", TEXT) if "of" in params else _text(params, "name", TEXT) or None,
        worker=_text(params, "worker", TEXT),
        where=Where(where) if where in set(Where) else None,
    )


def fields(chosen: Which) -> Sequence[tuple[str, str]]:
    """The same as fields of a form. A list of jobs has a field `name` of its own: here it is `of`."""
    told = {
        "since": chosen.since_ms,
        "before": chosen.until_ms,
        "queue": chosen.queue or None,
        "of": chosen.name,
        "worker": chosen.worker,
    }
    return [(name, str(value)) for name, value in told.items() if value is not None]


class JobsOfGroupQuery:
    """A page of the failures of a group."""

    def __init__(self, params: QueryDict) -> None:
        self.which = which(params)
        self.older, self.newer = params.get("older", ""), params.get("newer", "")
        self._params = params

    @property
    def present(self) -> str:
        return str(self.which.where or "")

    @property
    def places(self) -> Sequence[tuple[str, Promise]]:
        return list(WHERE_WORDS.items())

    @property
    def fields(self) -> Sequence[tuple[str, str]]:
        return fields(self.which)

    @property
    def filtered(self) -> bool:
        return self.which != Which()

    @property
    def query_string(self) -> str:
        """What is filtered by, for the exports."""
        kept = {name: value for name, value in self._params.items() if name not in ("older", "newer", "done")}
        return f"?{urlencode(kept)}" if kept else ""

    @property
    def as_parameters(self) -> dict[str, str]:
        """What is filtered by, for the log."""
        told = dict(fields(self.which))
        return told | ({"present": self.present} if self.present else {})


def _text(params: QueryDict, name: str, most: int) -> str | None:
    """A filter, None where it is not asked for."""
    return typed(params, name, most) if name in params else None
