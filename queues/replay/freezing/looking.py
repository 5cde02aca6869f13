"""Looking at each job on the server: whether it is there as it was, what is in its way, and when it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.replay.freezing import counting
from queues.replay.freezing.book import Book
from queues.replay.freezing.causes import tell_causes
from queues.replay.freezing.choosing import FINISHED, choose
from queues.replay.freezing.copying import Copying
from queues.replay.freezing.items import Attempts, Item, by_queue, read, write
from queues.replay.freezing.letters import Letters
from queues.replay.freezing.others import Others
from queues.replay.freezing.seeing import see, target_of
from queues.replay.hands import Hands
from queues.replay.naming import is_exact
from queues.replay.types import Acts
from queues.types import State


@dataclass
class Looking:
    """Looks at a batch of rows a step. What is found is written together with how far it is."""

    run: Hands
    book: Book

    def step(self) -> bool:
        """The next batch; True when there is none. Raises what the backend raises, with nothing of it written."""
        plan = self.run.replay
        items = read(plan.pk, int(plan.cursor or 0))
        if not items:
            return True
        told = Attempts()
        self._look([item for item in items if is_exact(item.job)], told)
        frozen = counting.looked(plan.frozen, told, len(items))
        with self.run.saving(cursor=str(items[-1].pk), frozen=frozen):
            write(items)
        return False

    def _look(self, items: Sequence[Item], told: Attempts) -> None:
        for item in items:
            item.clear()
        finished = [item for item in items if item.state in FINISHED]
        choose(finished, self.run.terms, self.book)
        for queue, part in by_queue(finished).items():
            self._in_place(queue, part, told)
        letters = Letters(self.run, self.book)
        letters.look([item for item in items if item.state not in FINISHED], told)
        tell_causes(items)
        Others(self.run.replay).blame(items, letters.told)
        copies = [item for item in items if item.acts == Acts.COPY.value and not item.out]
        Copying(self.run, self.book).look(copies, letters.copies, told)

    def _in_place(self, queue: int, items: Sequence[Item], told: Attempts) -> None:
        """Failed and completed jobs, by their sets. A call for each."""
        ref = self.book.by_pk(queue).ref
        for state in FINISHED:
            some = [item for item in items if item.state == state]
            looked = self.run.actions.look(ref, [target_of(item) for item in some], state=State(state)) if some else ()
            for item, each in zip(some, looked, strict=True):
                see(item, each)
                if item.acts == Acts.RETRY.value and not item.out:
                    told.add(each.attempts_made, each.attempts_max)
