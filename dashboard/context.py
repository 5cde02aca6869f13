"""What the shell around every page needs: the sources, the reader's role, where we are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject, cached_property

from dashboard.access import Role, role_of
from dashboard.live.pulse import worst
from dashboard.replays.counts import Counts, counts
from queues import cost, followed, readings
from queues.failures.find import open_groups
from queues.live import Standing
from queues.quantities import now_ms
from queues.readings import SourceStatus

# Which entry of the navigation a URL belongs to, where its own name is none.
BELONGS = {
    "queue": "overview",
    "job": "overview",
    "logs": "overview",
    **dict.fromkeys(("ask-queue", "act-queue", "ask-job", "act-job", "ask-bulk", "act-bulk"), "overview"),
    "reveal": "overview",
    "masking-add": "masking",
    "user": "users",
    "audit-entry": "audit",
    "removed": "audit",
    **dict.fromkeys(
        ("replay", "replay-jobs", "replay-limits", "replay-limits-change", "edit-replay", "edit-replay-send"), "replays"
    ),
    **dict.fromkeys(("failure-group", "failure-jobs", "failures-merge", "class-rules", "letters"), "failures"),
}


@dataclass(frozen=True)
class Shell:
    sources: Sequence[SourceStatus]
    source: str  # the source that the page is about, "" when it is about all
    role: Role | None

    @property
    def down(self) -> int:
        return sum(1 for source in self.sources if source.down_since)

    @property
    def unknown(self) -> bool:
        """Whether what the page is about cannot be read."""
        return self.down_since is not None

    @property
    def about(self) -> Sequence[SourceStatus]:
        """The sources of which the page shows something."""
        return [source for source in self.sources if self.source in ("", source.name)]

    @property
    def watched(self) -> Sequence[str]:
        """Their names, for the socket."""
        return [source.name for source in self.about]

    @property
    def down_since(self) -> datetime | None:
        times = [source.down_since for source in self.about if source.down_since]
        return min(times) if times and len(times) == len(self.about) else None

    @property
    def down_because(self) -> str:
        """Why it cannot be read: what the first of its sources said."""
        return next((source.error for source in self.about if source.down_since and source.error), "")

    @property
    def standing(self) -> Standing | None:
        """How the events of what the page is about are followed, by the worst of its sources. One query."""
        found = list(followed.standings(self.watched).values())
        return worst(found) if found else None

    @cached_property
    def open_groups(self) -> int | None:
        """Groups of failures that wait for somebody; None where the index cannot tell. One query."""
        return open_groups([source.name for source in self.sources])

    @cached_property
    def replays(self) -> Counts:
        """Replays that run, and that wait for somebody. One query."""
        return counts([source.name for source in self.sources])

    @property
    def commands_per_second(self) -> float | None:
        """What reading costs all sources together; None as soon as one of them is not known."""
        rates = cost.commands_per_second([source.name for source in self.sources])
        known = [rate for rate in rates.values() if rate is not None]
        return sum(known) if known and len(known) == len(rates) else None


def shell(request: HttpRequest) -> dict[str, object]:
    """The shell of a signed-in reader with a role, nothing for others; and what our clock says, for scripts."""
    match = request.resolver_match
    name = match.url_name or "" if match else ""
    here = BELONGS.get(name, name)
    return {"shell": SimpleLazyObject(lambda: _shell(request)), "here": here, "now_ms": str(now_ms())}


def _shell(request: HttpRequest) -> Shell:
    match = request.resolver_match
    source = match.kwargs.get("source", "") if match else ""
    role = role_of(request.user)
    sources = readings.status() if role else ()
    names = {status.name for status in sources}
    asked = source or request.GET.get("source", "")
    return Shell(sources, asked if asked in names else "", role)
