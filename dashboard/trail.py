"""The log of actions as its pages and exports show it: what a query string asks for, and a line for each entry."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from dashboard import export
from dashboard.words import cut
from queues import audit
from queues.actions import Action, Outcome
from queues.audit import Status
from queues.errors import BadInput
from queues.models import AuditEntry, Replay
from queues.names import show_controls
from queues.quantities import duration, instant
from queues.types import QueueRef

MOST_EXPORTED = 100_000  # entries of one file

ACTION_WORDS: Mapping[str, Promise] = {
    Action.RETRY: _("Retry"),
    Action.PROMOTE: _("Promote"),
    Action.DELAY: _("Change time"),
    Action.PRIORITY: _("Change priority"),
    Action.EDIT: _("Edit data"),
    Action.REMOVE: _("Remove"),
    Action.REMOVE_CHILDREN: _("Remove children"),
    Action.DUPLICATE: _("Add a copy"),
    Action.LOG: _("Add a log line"),
    Action.FAIL: _("Fail orphans"),
    Action.REQUEUE: _("Requeue orphans"),
    Action.RESTORE: _("Restore"),
    Action.ADD: _("Add a job"),
    Action.PAUSE: _("Pause"),
    Action.RESUME: _("Resume"),
    Action.CONCURRENCY: _("Set concurrency"),
    Action.RATE_LIMIT: _("Set rate limit"),
    Action.RELEASE_LIMIT: _("Release rate limit"),
    Action.RELEASE_DEDUPLICATION: _("Release deduplication"),
    Action.DRAIN: _("Drain"),
    Action.CLEAN: _("Clean"),
    Action.OBLITERATE: _("Obliterate"),
    Action.TRIM_EVENTS: _("Trim events"),
    # What is done to no queue, and what is only seen.
    "stop": _("Stop"),
    "reveal": _("Show hidden values"),
    "download": _("Download exact bytes"),
    "pin": _("Pin"),
    "unpin": _("Unpin"),
    "scan": _("Scan for queues"),
    "try": _("Try a source again"),
    "export-audit": _("Export the audit log"),
    "sign-in": _("Sign in"),
    "sign-out": _("Sign out"),
    "password": _("Change one’s password"),
    "user-add": _("Add a user"),
    "user-role": _("Change a user’s role"),
    "user-deactivate": _("Deactivate a user"),
    "user-activate": _("Activate a user"),
    "user-reset": _("Reset a user’s password"),
    "dead-letters": _("Say how dead letters are read"),
    "masking-add": _("Hide more values"),
    "masking-delete": _("Hide values no longer"),
    "export-failures": _("Export failures"),
    "failure-resolve": _("Resolve a group of failures"),
    "failure-reopen": _("Reopen a group of failures"),
    "failure-ignore": _("Ignore a group of failures"),
    "failure-owner": _("Set the owner of failures"),
    "failure-runbook": _("Set the runbook of failures"),
    "failure-note": _("Add a note to failures"),
    "failure-note-delete": _("Delete a note to failures"),
    "failure-merge": _("Merge groups of failures"),
    "failure-split": _("Split a group of failures"),
    "deploy-add": _("Add a deploy"),
    "class-rule-add": _("Add a rule for classes"),
    "class-rule-move": _("Move a rule for classes"),
    "class-rule-delete": _("Delete a rule for classes"),
    "class-rule-try": _("Try a rule for classes"),
    "class-rules-reclassify": _("Decide all classes anew"),
    "failure-class": _("Set the class of a group"),
    "plan-replay": _("Plan a replay"),
    "replay": _("Replay"),
    "replay-approve": _("Approve a replay"),
    "replay-refuse": _("Refuse a replay"),
    "replay-take-back": _("Take back the start of a replay"),
    "replay-pause": _("Pause a replay"),
    "replay-go-on": _("Let a replay go on"),
    "replay-change": _("Change the plan of a replay"),
    "replay-pace": _("Change the pace of a replay"),
    "replay-cancel": _("Cancel a replay"),
    "replay-discard": _("Discard a plan of a replay"),
    "replay-limits": _("Set the limits of replays"),
    "export-replay": _("Export the ledger of a replay"),
}

# What an action was given, by the names of its parameters. One that ends in `_ms` is a moment or a length of time.
PARAMETER_WORDS: Mapping[str, Promise] = {
    "state": _("State"),
    "reset": _("Attempts forgotten"),
    "children": _("Children too"),
    "twins": _("Also where another job holds the deduplication id"),
    "priority": _("Priority"),
    "run_at_ms": _("To run at"),
    "delayed": _("Delayed jobs too"),
    "clock": _("Age counted since"),
    "older_ms": _("Older than"),
    "force": _("Active jobs too"),
    "most": _("At most"),
    "duration_ms": _("In"),
    "keep": _("Events to keep"),
    "format": _("Format"),
    "error_class": _("Name of the error"),
    "error_code": _("Code of the error"),
    "message": _("Message"),
    "job_name": _("Job name"),
    "class": _("Class"),
    "group": _("Group"),
    "pace_from": _("Pace from, jobs a second"),
    "pace_to": _("Pace to, jobs a second"),
    "double_s": _("Doubling every, seconds"),
    "canary": _("Canary, jobs"),
    "key_path": _("In order within"),
    "edit": _("Data edited by"),
    "without_permanent": _("Permanent ones left out"),
    "jobs": _("Jobs"),
    "take_back": _("Jobs taken back that no worker had begun"),
    "largest": _("Largest set, jobs"),
    "fastest": _("Highest pace, jobs a second"),
    "approval": _("Approval above, jobs"),
    "undo_s": _("Time to take a start back, seconds"),
    "typed": _("Name to type above, jobs"),
}
APART = ("made", "replay")  # shown as links
EDIT_WORDS: Mapping[str, Promise] = {
    "merge": _("a merge patch"),
    "paths": _("setting paths"),
    "whole": _("hand, as a whole"),
}
MOMENTS = ("run_at_ms", "before_ms", "until_ms")

# A word, the glyph, and the colour of it.
STATUS_WORDS: Mapping[str, tuple[Promise, str, str]] = {
    Status.STARTED: (pgettext_lazy("audit", "begun, no end known"), "warn", "warn"),
    Status.RUNNING: (pgettext_lazy("audit", "running"), "active", "active"),
    Status.DONE: (pgettext_lazy("audit", "done"), "completed", "completed"),
    Status.REFUSED: (pgettext_lazy("audit", "refused"), "gone", "paused"),
    Status.FAILED: (pgettext_lazy("audit", "failed"), "failed", "failed"),
    Status.STOPPED: (pgettext_lazy("audit", "stopped"), "paused", "paused"),
    Status.UNSURE: (pgettext_lazy("audit", "not sure"), "warn", "warn"),
}

# A word, and the colour of its bar.
OUTCOME_WORDS: Mapping[Outcome, tuple[Promise, str]] = {
    Outcome.DONE: (_("done"), "completed"),
    Outcome.ALREADY: (_("was so already"), "waiting"),
    Outcome.GONE: (_("gone before"), "paused"),
    Outcome.WRONG_STATE: (_("in another state by then"), "delayed"),
    Outcome.LOCKED: (_("held by a worker"), "active"),
    Outcome.SCHEDULED: (_("next run of a schedule, left alone"), "prioritized"),
    Outcome.CHILDREN: (_("waits for children"), "waiting-children"),
    Outcome.CHANGED: (_("changed by somebody else meanwhile"), "warn"),
    Outcome.UNSUPPORTED: (_("not possible here"), "warn"),
}


def action_word(action: str) -> str:
    """An action for eyes; one that has no word of its own as it is written."""
    word = ACTION_WORDS.get(action)
    return str(word) if word else action.replace("-", " ").capitalize()


class AuditQuery:
    """Which entries, and from where on. A status or action that is none means all; a bad moment is BadInput."""

    def __init__(self, params: QueryDict, sources: Sequence[str]) -> None:
        # PostgreSQL takes no NUL in a text, not even to look for it.
        self.who = params.get("who", "").replace("\x00", "\ufffd").strip()[:150]
        self.action = params.get("action", "").replace("\x00", "\ufffd")[:50]
        self.status = params.get("status", "") if params.get("status") in set(Status) else ""
        self.source = params.get("source", "") if params.get("source") in sources else ""
        self.queue = params.get("queue", "").strip()[:2000]
        self.replay = _replay(params.get("replay", ""))
        self.since, self.until = params.get("since", ""), params.get("until", "")
        self.older, self.newer = params.get("older", ""), params.get("newer", "")
        self.filters = audit.Filters(
            who=self.who,
            action=self.action,
            source=self.source,
            queue=slug_of(self.queue),
            status=self.status,
            since=_moment(self.since),
            until=_moment(self.until),
            replay=self.replay,
        )

    @property
    def filtered(self) -> bool:
        return self.filters != audit.Filters()

    @property
    def replay_name(self) -> str:
        return "" if self.replay is None else f"R-{self.replay}"

    @property
    def said(self) -> Sequence[tuple[str, str]]:
        """The filters that are set, for eyes: what each is of, and its value."""
        status = str(STATUS_WORDS[Status(self.status)][0]) if self.status else ""
        told = (
            (gettext("Who"), self.who),
            (gettext("Action"), action_word(self.action) if self.action else ""),
            (gettext("Status"), status),
            (gettext("Source"), self.source),
            (gettext("Queue"), self.queue),
            (gettext("Replay"), self.replay_name),
            (gettext("From, UTC"), self.since),
            (gettext("Until, UTC"), self.until),
        )
        return [(name, show_controls(cut(value, 60), keep="")) for name, value in told if value]

    @property
    def as_parameters(self) -> dict[str, object]:
        """The filters that are set, for the log."""
        named = ("who", "action", "status", "source", "queue", "replay", "since", "until")
        return {name: getattr(self, name) for name in named if getattr(self, name)}

    @property
    def actions(self) -> Sequence[tuple[str, str]]:
        """What can be filtered by: all that has a word, and whatever else was asked for."""
        known = [str(action) for action in ACTION_WORDS]
        if self.action and self.action not in known:
            known.append(self.action)
        return [(action, action_word(action)) for action in known]

    @property
    def statuses(self) -> Sequence[tuple[str, str]]:
        return [(status, str(words[0])) for status, words in STATUS_WORDS.items()]


def slug_of(typed: str) -> str:
    """A queue's slug from what somebody typed: the slug itself, or the name of a queue with BullMQ's own prefix."""
    if not typed:
        return ""
    try:
        return QueueRef.from_slug("", typed).slug
    except ValueError:
        return QueueRef("", b"bull", typed.encode("utf-8", errors="surrogatepass")).slug


def _replay(typed: str) -> int | None:
    """The key of a plan, as people call it (R-12) or without that; None for what is no such name."""
    found = re.fullmatch(r"\s*(?:[Rr]-)?([0-9]{1,18})\s*", typed, re.ASCII)
    return int(found[1]) if found else None


def _moment(typed: str) -> datetime | None:
    """What `datetime-local` sends, taken as UTC."""
    if not typed:
        return None
    try:
        found = datetime.fromisoformat(typed)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter: a zone leads out of the years that there are
        raise BadInput(gettext("A moment is written like 2026-11-30T14:02; it is taken as UTC.")) from None


@dataclass(frozen=True, slots=True)
class Line:
    """An entry in the table."""

    entry: AuditEntry

    @property
    def action(self) -> str:
        return action_word(self.entry.action)

    @property
    def words(self) -> str:
        return audit.in_words(self.entry)

    @property
    def status(self) -> tuple[Promise | str, str, str]:
        return STATUS_WORDS.get(self.entry.status, (self.entry.status, "unknown", "unknown"))

    @property
    def ref(self) -> QueueRef | None:
        """The queue it was about, where it was about one."""
        try:
            return QueueRef.from_slug(self.entry.source, self.entry.queue) if self.entry.queue else None
        except ValueError:
            return None

    @property
    def replay(self) -> int | None:
        """The key of the replay that it is about; None where it is about none. It may be gone: see `replays_of`."""
        told = self.entry.parameters.get("replay")
        return told if isinstance(told, int) else None

    @property
    def parameters(self) -> Sequence[tuple[str, object]]:
        """What was asked for, named for eyes; the job that was made of it, and its replay, are shown apart."""
        given = self.entry.parameters.items()
        return [(_named(name), _valued(name, value)) for name, value in given if name not in APART]


def replays_of(lines: Sequence[Line]) -> Collection[int]:
    """The keys of those replays that the entries are about and that are kept still. A query where there are any."""
    keys = {line.replay for line in lines if line.replay is not None}
    return set(Replay.objects.filter(pk__in=keys).values_list("pk", flat=True)) if keys else set()


def _named(name: str) -> str:
    word = PARAMETER_WORDS.get(name)
    return str(word) if word else show_controls(cut(name, 80), keep="")


def _valued(name: str, value: object) -> object:
    """A value for eyes: milliseconds as the moment or the time that they are."""
    if name == "edit" and value in EDIT_WORDS:
        return str(EDIT_WORDS[str(value)])
    if value is True:
        return gettext("yes")
    if not isinstance(value, int) or isinstance(value, bool) or not name.endswith("_ms"):
        return value
    if name not in MOMENTS:
        return duration(value)
    at = instant(value)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else value


@dataclass(frozen=True, slots=True)
class Part:
    """How many jobs came to one outcome: a bar beside its words. `of` is all of them."""

    outcome: Outcome
    number: int
    of: int

    @property
    def word(self) -> str:
        return str(OUTCOME_WORDS[self.outcome][0])

    @property
    def css(self) -> str:
        return OUTCOME_WORDS[self.outcome][1]


def parts(entry: AuditEntry) -> Sequence[Part]:
    """The outcomes of an entry, those with none left out; none at all where one came to all, as its words say that."""
    counted = audit.counts(entry)
    of = max(sum(counted.values()), entry.asked or 0)
    if of in counted.values() or entry.action == "replay":  # the page of the replay tells what came of its jobs
        return []
    return [Part(outcome, number, of) for outcome, number in counted.items()]


COLUMNS = (
    "id", "at", "who", "role", "address", "action", "source", "queue", "jobs", "asked", "selection", "parameters",
    "reason", "status", "outcomes", "note", "ended_at", "duration_ms", "words",
)  # fmt: skip


def _record(entry: AuditEntry) -> dict[str, object]:
    """An entry as exports tell it. `jobs` are slugs, as in URLs."""
    made = {name: getattr(entry, name, None) for name in COLUMNS}
    made |= {name: value.isoformat() for name, value in made.items() if isinstance(value, datetime)}
    return made | {"words": audit.in_words(entry)}


def as_json_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """One JSON object a line; where it was cut, a last one says so."""
    records = (_record(entry) | {"exceptions": entry.exceptions} for entry in entries)
    return export.as_json_lines(records, MOST_EXPORTED, _cut_note)


def as_csv(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """One row an entry below a head; no cell can run as a formula. Where it was cut, a last row says so."""
    return export.as_csv(COLUMNS, map(_record, entries), MOST_EXPORTED, _cut_note)


def broken_note() -> str:
    """The last row of a file whose other entries could not be read."""
    return gettext("Cut here: the other entries could not be read. Export them again.")


def _cut_note() -> str:
    return gettext("Cut here: a file holds the newest %(most)d entries. Narrow the filter for older ones.") % {
        "most": MOST_EXPORTED
    }
