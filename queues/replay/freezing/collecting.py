"""Which jobs are meant: written down page by page before anything else, so that nothing later is meant too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F, Q

from queues.actions import BATCH, Target
from queues.failures.store.ids import linked
from queues.models import Letter, Replay
from queues.replay.freezing import again
from queues.replay.freezing.book import Book
from queues.replay.freezing.items import New, insert
from queues.replay.freezing.steps import Step
from queues.replay.hands import Hands
from queues.replay.making import ensure_few
from queues.replay.making.meant import meant
from queues.replay.making.wish import LETTER_STATES, Wish
from queues.replay.naming import is_exact, job_text, seen_text
from queues.replay.types import Acts, From
from queues.sendings import Conflict
from queues.types import State

TOO_LONG = "Its id is too long to be kept: retry this job from its own page."

Page = tuple[Sequence[New], str | None]  # rows, and where the next page begins; None at the end


@dataclass
class Collecting:
    """Pages through what is meant, one page a step, never more than one in memory."""

    run: Hands
    book: Book
    _wish: Wish = field(init=False)

    def __post_init__(self) -> None:
        self._wish = Wish.of(self.run.replay.made_from)

    def step(self) -> None:
        """Write the next page down, together with where the one behind it begins. LimitExceeded beyond the limits."""
        plan = self.run.replay
        new, cursor = self._page(plan.cursor)
        ensure_few(plan.total + len(new))
        following = {"cursor": cursor} if cursor is not None else {"step": Step.LOOKING.value, "cursor": ""}
        with self.run.saving(**following):
            made = insert(plan.pk, new)  # a list that moved while it was read shows some jobs twice
            Replay.objects.filter(pk=plan.pk).update(total=F("total") + made)
        plan.total += made

    def _page(self, cursor: str) -> Page:
        pages: Mapping[From, Callable[[str], Page]] = {
            From.GROUP: self._of_group,
            From.STATE: self._of_state,
            From.LETTERS: self._of_letters,
            From.AGAIN: self._of_again,
        }
        return pages.get(self._wish.kind, self._of_picked)(cursor)

    def _of_picked(self, _cursor: str) -> Page:
        wish = self._wish
        return self._new(wish.targets, wish.state, letters=wish.letters), None

    def _of_state(self, cursor: str) -> Page:
        return self._members(self._wish.state, cursor, letters=False)

    def _of_letters(self, cursor: str) -> Page:
        """The cursor says in which of the states where letters lie the walk is, and where in that."""
        at, inner = json.loads(cursor) if cursor else (0, "")
        new, following = self._members(LETTER_STATES[at], inner, letters=True)
        if following is not None:
            return new, json.dumps([at, following])
        return new, json.dumps([at + 1, ""]) if at + 1 < len(LETTER_STATES) else None

    def _members(self, state: State, cursor: str, *, letters: bool) -> Page:
        wish, plan = self._wish, self.run.replay
        page = self.run.actions.members(
            self.book.called(wish.queue).ref,
            state,
            cursor=cursor,
            until_ms=plan.frozen_ms or 0,
            name=wish.name,
            most=BATCH,
        )
        return self._new(page.targets, state, letters=letters), page.cursor

    def _new(self, targets: Sequence[Target], state: State, *, letters: bool) -> Sequence[New]:
        queue = self.book.called(self._wish.queue).pk
        acts = Acts.RETRY if state is State.FAILED else Acts.COPY
        new = []
        for target in targets:
            job = job_text(target.id)
            to = None if letters else queue
            row = New(queue, job, seen_text(target.seen), state.value, acts.value, to)
            new.append(_told(row))
        return new

    def _of_group(self, cursor: str) -> Page:
        """By strands, each by the time of its failures, oldest first: “strand-at-key” of the last one."""
        plan, wish = self.run.replay, self._wish
        at = tuple(map(int, cursor.split("-"))) if cursor else (0, 0, 0)
        for strand in sorted(wish.strands):
            if strand < at[0]:
                continue
            found = meant(wish, plan.frozen_ms or 0, [strand])
            if strand == at[0]:
                found = found.filter(Q(at_ms__gt=at[1]) | Q(at_ms=at[1], pk__gt=at[2]), at_ms__gte=at[1])
            values = ("at_ms", "pk", "queue_id", "job", "score_ms", "in_set")
            rows = list(found.order_by("at_ms", "pk").values_list(*values)[:BATCH])
            if rows:
                letters = _letters([pk for _at, pk, *_rest in rows])
                new = [row for each in rows if (row := _failed(each, letters))]
                return new, f"{strand}-{rows[-1][0]}-{rows[-1][1]}"
        return (), None

    def _of_again(self, cursor: str) -> Page:
        """By the keys of the rows of the other plan."""
        found = again.page(self._wish.replay, self.run.replay.frozen_ms or 0, int(cursor or 0))
        if found.last is None:
            return (), None
        letters = _letters([known.pk for known in found.known.values()])
        return [_told(row) for row in again.rows(self.run, self.book, found, letters)], str(found.last)


def _failed(row: tuple[int, int, int, str, int, bool], letters: Mapping[int, tuple[int, str]]) -> New | None:
    """The row for a failure: the failed job with a letter beside it, or the letter; None where neither is there."""
    _at, pk, queue, job, score_ms, in_set = row
    letter_queue, letter = letters.get(pk, (None, ""))
    if in_set:
        return _told(New(queue, job, str(score_ms), State.FAILED.value, Acts.RETRY.value, queue, letter_queue, letter))
    if letter_queue is None:
        return None
    # Which stay of the letter it is, is told by looking: the index keeps its time bounded.
    return _told(New(letter_queue, letter, "", State.WAITING.value, Acts.COPY.value, None))


def _letters(failures: Sequence[int]) -> Mapping[int, tuple[int, str]]:
    """One letter of each of these failures that has any, the first that came. One query."""
    rows = Letter.objects.filter(failure__in=list(failures)).order_by("-pk")
    found = rows.values_list("failure_id", "queue_id", "job")
    return {failure: (queue, job) for failure, queue, job in found if linked(job)}


def _told(row: New) -> New:
    """The same; one that nobody could name is left out, and says so."""
    if not is_exact(row.job):
        row.conflict, row.note = Conflict.REFUSED.value, TOO_LONG
    return row
