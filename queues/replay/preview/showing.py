"""Putting a preview together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils import timezone

from queues.models import Replay, ReplayJob
from queues.replay.freezing import counting
from queues.replay.freezing.counting import Frozen, Sum
from queues.replay.freezing.ranking import could_be, is_sent, rank, sendable
from queues.replay.making import later
from queues.replay.naming import is_exact, job_id
from queues.replay.pacing import duration_s
from queues.replay.preview.groups import shares
from queues.replay.preview.overtaking import overtaken
from queues.replay.preview.targets import targets
from queues.replay.preview.types import Class, Found, Further, Keys, Preview, Sight
from queues.replay.terms import Ordering, Terms
from queues.replay.types import CHOICES, Choice
from queues.sendings import Conflict
from queues.types import JobRef, QueueRef

SAMPLE = 5
VARIED = 10
LINES = 10


def preview(replay: Replay, terms: Terms) -> Preview:
    """What this draft would do by these terms. Some ten bounded queries, no server; under 1 s at 1,000,000 jobs.

    What freezing counted is taken from there; a plan that is being frozen shows what it was before, or nothing yet.
    """
    sums = counting.sums(replay.frozen)
    sent = [each for each in sums if is_sent(each.conflict, each.permanent, terms)]
    number, to_send = sum(each.jobs for each in sums), sum(each.jobs for each in sent)
    shown, more_targets = targets(replay, sent, terms)
    sample = _sample(replay, terms) if to_send else ()
    groups, more_groups = shares(replay.frozen)
    looked, keys = replay.looked_at, keys_of(replay.frozen, terms)
    return Preview(
        number=number,
        to_send=to_send,
        left_out=number - to_send,
        oldest_ms=min((each.created_from for each in sent if each.created_from is not None), default=None),
        newest_ms=max((each.created_to for each in sent if each.created_to is not None), default=None),
        first_failed_ms=min((each.failed_from for each in sent if each.failed_from is not None), default=None),
        last_failed_ms=max((each.failed_to for each in sent if each.failed_to is not None), default=None),
        sample=sample,
        varied=_varied(replay, terms, sample) if terms.patch else (),
        keys=keys,
        overtaken=overtaken(replay, terms) if keys and to_send < number else 0,
        targets=shown,
        more_targets=more_targets,
        conflicts=_conflicts(replay, sums, terms),
        permanent=_permanent(sums, terms),
        groups=groups,
        more_groups=more_groups,
        kept=_further(replay.frozen, counting.KEPT),
        reset=_further(replay.frozen, counting.RESET),
        duration_s=duration_s(terms, to_send),
        later=later(replay),
        looked_at=looked,
        looked_ago_s=max(0.0, (timezone.now() - looked).total_seconds()) if looked else None,
        letters=sum(each.letters for each in sent),
        copies=sum(each.copies for each in sent),
    )


def _sample(replay: Replay, terms: Terms) -> Sequence[Sight]:
    """The first to go: out of those that freezing kept, where these are enough, else by a walk over all rows."""
    rows = ReplayJob.objects.filter(sendable(terms), replay=replay)
    # As they sat is by their keys alone, for which there is an index.
    rows = rows.order_by("pk") if terms.order is Ordering.SAT else rows.order_by(rank(terms.order), "pk")
    kept = replay.frozen.get(counting.FIRST, {}).get(terms.order, ())
    keys = list(rows.filter(pk__in=kept).values_list("pk", flat=True)[:SAMPLE]) if kept else []
    if len(keys) < SAMPLE:
        keys = list(rows.values_list("pk", flat=True)[:SAMPLE])
    seen = _sights(replay, keys)
    return [seen[key] for key in keys if key in seen]


def _varied(replay: Replay, terms: Terms, sample: Sequence[Sight]) -> Sequence[Sight]:
    """The first of each kind, then the last of each, then those that are the first to go. Two queries."""
    kinds = replay.frozen.get(counting.KINDS, ())
    wanted = list(dict.fromkeys([first for first, _last in kinds] + [last for _first, last in kinds]))
    sent = ReplayJob.objects.filter(sendable(terms), replay=replay, pk__in=wanted).values_list("pk", flat=True)
    seen = _sights(replay, list(sent))
    found = {key: seen[key] for key in wanted if key in seen} | {sight.row.pk: sight for sight in sample}
    return list(found.values())[:VARIED]


def some(replay: Replay, terms: Terms, most: int) -> Sequence[Sight]:
    """Some jobs that are sent by these terms, the first and the last that were written down. Three queries."""
    rows = ReplayJob.objects.filter(sendable(terms), replay=replay)
    half = max(1, most // 2)
    ends = [rows.order_by("pk"), rows.order_by("-pk")]
    keys = dict.fromkeys(key for end in ends for key in end.values_list("pk", flat=True)[:half])
    return list(_sights(replay, list(keys)).values())


def keys_of(frozen: Frozen, terms: Terms) -> Keys | None:
    """What was read of the keys of a plan; None where that was for another path, or not at all."""
    path, *counts = frozen.get(counting.KEYS, ("",))
    return Keys(*counts) if terms.key and path == terms.key else None


def _conflicts(replay: Replay, sums: Sequence[Sum], terms: Terms) -> Sequence[Found]:
    """Each that was found, those with most jobs first, with its examples. One query."""
    number: dict[Conflict, int] = {}
    for each in sums:
        if each.conflict is not Conflict.NONE and (each.conflict is not Conflict.NO_KEY or terms.key):
            number[each.conflict] = number.get(each.conflict, 0) + each.jobs
    keys: Mapping[str, Sequence[int]] = replay.frozen.get(counting.EXAMPLES, {})
    seen = _sights(replay, [key for conflict in number for key in keys.get(conflict, ())])
    return [
        Found(
            conflict,
            jobs,
            terms.choice(conflict),
            CHOICES.get(conflict, (Choice.SKIP,)),
            [seen[key] for key in keys.get(conflict, ()) if key in seen],
        )
        for conflict, jobs in sorted(number.items(), key=lambda pair: -pair[1])
    ]


def _permanent(sums: Sequence[Sum], terms: Terms) -> Class:
    could = [each for each in sums if could_be(each.conflict, terms)]
    return Class(sum(each.jobs for each in could if each.permanent), sum(each.jobs for each in could))


def _further(frozen: Frozen, name: str) -> Sequence[Further]:
    """The lines with most jobs, by the attempts."""
    found = [Further(int(attempts), jobs) for attempts, jobs in frozen.get(name, {}).items()]
    most = sorted(found, key=lambda each: -each.jobs)[:LINES]
    return sorted(most, key=lambda each: each.attempts)


def _sights(replay: Replay, keys: Sequence[int]) -> Mapping[int, Sight]:
    rows = ReplayJob.objects.filter(pk__in=list(keys)).select_related("queue", "target", "letter_queue")
    return {row.pk: _sight(replay, row) for row in rows}


def _sight(replay: Replay, row: ReplayJob) -> Sight:
    """The job by which pages link to it."""
    queue = QueueRef.from_slug(replay.source.name, row.queue.slug)
    return Sight(row, JobRef(queue, job_id(row.job)) if is_exact(row.job) else None, row.note)
