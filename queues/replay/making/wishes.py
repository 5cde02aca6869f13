"""The ways to a plan: each writes the plan and its entry in the log of actions in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from django.utils.translation import gettext as _

from queues import readings
from queues.actions import BATCH, Target
from queues.audit.types import Asked
from queues.backend import BODY_CAP, Events
from queues.bulk.freezing import slugs
from queues.bulk.verbs import check_name
from queues.errors import BadInput, LimitExceeded
from queues.failures.letters import is_letters
from queues.failures.occurrences import Where, Which
from queues.models import FailureGroup, FailureStrand, Replay
from queues.outages import watched
from queues.quantities import number
from queues.replay.making import behind
from queues.replay.making.again import failed_again, queues_of
from queues.replay.making.beginning import (
    PLAN,
    Beginning,
    begin,
    ensure_few,
    ensure_possible,
    made_before,
    refusing,
)
from queues.replay.making.meant import count
from queues.replay.making.wish import LETTER_STATES, Wish
from queues.replay.making.words import of_again as of_again_words
from queues.replay.making.words import of_groups as words_of_groups
from queues.replay.making.words import of_queue, title_of, title_of_again
from queues.replay.naming import SEEN, seen_text
from queues.replay.patching import patcher
from queues.replay.terms import Originals, Patch, PatchKind, Terms
from queues.replay.types import From
from queues.types import Counts, JobRef, QueueRef, State

__all__ = ["PLAN", "of_again", "of_edited", "of_group", "of_groups", "of_jobs", "of_letters", "of_state"]

MOST_GROUPS = 20
MOST_QUEUES = 20  # of a group that are asked whether they can be written to; sending asks each again
_FINISHED = (State.FAILED, State.COMPLETED)


def of_jobs(asked: Asked, queue: QueueRef, state: State, targets: Sequence[Target]) -> Replay:
    """A plan of these jobs, at most `actions.BATCH`; letters where the queue is one of dead letters and they wait.

    BadInput for none, or for jobs that cannot be sent again; LimitExceeded, ReadOnly, Unsupported, Unreachable.
    """
    if not targets:
        raise BadInput(_("Choose the jobs that are to be replayed."))
    if len(targets) > BATCH:
        raise LimitExceeded(_("At most %(most)s jobs can be picked one by one.") % {"most": number(BATCH)})
    _ensure_seen(targets)
    kind = From.JOB if len(targets) == 1 else From.SELECTION
    letters = _check(queue, state)
    return _of_queue(asked, queue, Wish(kind, queue.slug, state, letters, targets=tuple(targets)))


def of_group(asked: Asked, group: FailureGroup, which: Which) -> Replay:
    """A plan of the failures of a group that are there now, in the failed set or as letters. The rest as `of_jobs`."""
    return of_groups(asked, [group], which)


def of_groups(asked: Asked, groups: Sequence[FailureGroup], which: Which) -> Replay:
    """The same of several groups of one source, at most 20. BadInput for none, or for groups of several sources."""
    if which.where is Where.GONE:
        raise BadInput(_("What is gone cannot be replayed: nothing is left of it but what the index remembers."))
    _ensure_together(groups)
    source = groups[0].source.name
    lacks = behind.told(source)
    wish, words = Wish.of_groups(groups, which), words_of_groups(groups, which)
    if before := made_before(asked, wish):
        return before
    queues = [QueueRef.from_slug(source, slug) for slug in _queues(wish)]
    with refusing(asked, source=source, queue=None, words=words):
        for queue in queues:
            ensure_possible(queue)
        with watched(source) as reader:
            now_ms = cast(Events, reader).server_ms()
            lacks = lacks or behind.looked(reader, queues, now_ms)
        expected = count(wish, now_ms)
        ensure_few(expected)
    terms = Terms.suggested(expected, letters=which.where is Where.LETTER)
    about = (asked, source, wish, title_of(groups), words, terms, now_ms, expected)
    return begin(Beginning(*about, groups=groups, behind=lacks))


def of_again(asked: Asked, other: Replay) -> Replay:
    """A plan of what failed again in a replay and is in its failed set, or only a letter, still. As `of_jobs`.

    BadInput where nothing failed again, or its ledger was deleted by age.
    """
    source, wish = other.source.name, Wish(From.AGAIN, replay=other.pk)
    if before := made_before(asked, wish):
        return before
    with refusing(asked, source=source, queue=None, words=title_of_again(other)):
        with watched(source) as reader:
            now_ms = cast(Events, reader).server_ms()
        rows = failed_again(other.pk, now_ms)
        for queue in queues_of(source, rows):
            ensure_possible(queue)
        expected = rows.count()
        if not expected:
            raise BadInput(_("Nothing of %(replay)s is known to have failed again.") % {"replay": str(other)})
        ensure_few(expected)
    words, terms = of_again_words(other, expected), Terms.suggested(expected)
    return begin(Beginning(asked, source, wish, title_of_again(other), words, terms, now_ms, expected))


def of_state(asked: Asked, queue: QueueRef, state: State, *, name: str = "") -> Replay:
    """A plan of all failed or completed jobs of a queue, or of those whose name holds something. See `of_jobs`."""
    check_name(name)
    if _check(queue, state):
        return of_letters(asked, queue, name=name)
    return _of_queue(asked, queue, Wish(From.STATE, queue.slug, state, name=name))


def of_letters(asked: Asked, queue: QueueRef, *, name: str = "") -> Replay:
    """A plan of a whole queue of dead letters, or of those whose name holds something. See `of_jobs`."""
    check_name(name)
    if not _holds_letters(queue):
        raise BadInput(_("“%(queue)s” is no queue of dead letters.") % {"queue": queue.label})
    return _of_queue(asked, queue, Wish(From.LETTERS, queue.slug, State.WAITING, letters=True, name=name))


def of_edited(
    asked: Asked, job: JobRef, state: State, target: Target, data: bytes, *, before: bytes | None = None
) -> Replay:
    """A plan of one job with other data. `target` is the job as it was seen. See `of_jobs`.

    The job itself is kept until the copy has completed. `before`, what would have been sent unedited, is kept with the
    plan where pages could show it at all: the server forgets it.
    """
    patch = Patch(PatchKind.WHOLE)
    patcher(patch, data)  # BadInput for what is no JSON
    _ensure_seen([target])
    wish = Wish(From.JOB, job.queue.slug, state, _check(job.queue, state), targets=(target,))
    suggested = Terms.suggested(1, letters=wish.letters)
    terms = replace(suggested, patch=patch, originals=Originals.WHEN_DONE)
    kept = before if before is not None and len(before) <= BODY_CAP else None
    return _of_queue(asked, job.queue, wish, terms=terms, data=data, was=kept)


def _of_queue(
    asked: Asked,
    queue: QueueRef,
    wish: Wish,
    *,
    terms: Terms | None = None,
    data: bytes | None = None,
    was: bytes | None = None,
) -> Replay:
    """What all plans about one queue have in common. One call to the server for its clock, two for its counts."""
    if before := made_before(asked, wish):
        return before
    words = of_queue(wish, queue)
    with refusing(asked, source=queue.source, queue=queue, words=words):
        ensure_possible(queue)
        expected: int | None = len(wish.targets) or None
        with watched(queue.source) as reader:
            now_ms = cast(Events, reader).server_ms()
            if expected is None and not wish.name:
                expected = _waiting(reader.counts([queue])[queue], wish)
        ensure_few(expected)
    made = terms or Terms.suggested(BATCH if expected is None else expected, letters=wish.letters)
    about = (asked, queue.source, wish, queue.label, words, made, now_ms, expected, queue)
    return begin(Beginning(*about, jobs=slugs(queue, wish.targets), data=data, before=was))


def _waiting(counts: Counts, wish: Wish) -> int | None:
    """How many jobs are meant; None where one of their keys cannot be read."""
    found = [counts[state] for state in (LETTER_STATES if wish.letters else (wish.state,))]
    return None if None in found else sum(each or 0 for each in found)


def _check(queue: QueueRef, state: State) -> bool:
    """Whether jobs of this state are letters. BadInput where they can be sent again neither as such nor in place."""
    if state in _FINISHED:
        return False
    if state in LETTER_STATES and _holds_letters(queue):
        return True
    raise BadInput(_("Only failed and completed jobs and dead letters can be replayed."))


def _holds_letters(queue: QueueRef) -> bool:
    return is_letters(queue, readings.names(queue.source))


def _ensure_seen(targets: Sequence[Target]) -> None:
    """What no list of ours says was seen of a job."""
    if any(len(seen_text(target.seen)) > SEEN for target in targets):
        raise BadInput(_("This is no selection of jobs. Open the list again."))


def _ensure_together(groups: Sequence[FailureGroup]) -> None:
    if not groups:
        raise BadInput(_("Choose the groups whose jobs are to be replayed."))
    if len(groups) > MOST_GROUPS:
        raise LimitExceeded(_("At most %(most)s groups can be replayed together.") % {"most": number(MOST_GROUPS)})
    if len({group.source_id for group in groups}) > 1:
        raise BadInput(_("A replay is about one source: choose groups of one."))


def _queues(wish: Wish) -> Sequence[str]:
    """Slugs of the queues that a group's failures are of. One query."""
    found = FailureStrand.objects.filter(pk__in=list(wish.strands)).values_list("queue__slug", flat=True)
    return list(found.distinct().order_by("queue__slug")[:MOST_QUEUES])
