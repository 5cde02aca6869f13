"""What a query string asks of a list. A value that is none of the allowed ones means the default."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queues.backend import PAGE_SIZE, PAGE_SIZES
from queues.listing import Sorting
from queues.types import Counts, Order, State

FINISHED = "finished"  # completed and failed together, by the time they finished
# What an operator looks for first, when no state was asked for.
FIRST_OPENED = (State.FAILED, State.ACTIVE, State.WAITING, State.PRIORITIZED, State.DELAYED, State.WAITING_CHILDREN)
RUN_NEXT = (State.DELAYED, State.PRIORITIZED)
# How the two ends of a list are called where "newest" and "oldest" would mislead.
ENDS: dict[State | None, tuple[Promise, Promise]] = {
    State.DELAYED: (_("due last"), _("due next")),
    State.PRIORITIZED: (_("runs last"), _("runs next")),
    State.WAITING: (_("added last"), _("runs next")),
}


def _pages(state: State | None, newest_first: bool) -> tuple[str, str]:
    """The words of the buttons to the page before and the page behind."""
    earlier, later = gettext("Older"), gettext("Newer")
    if state in ENDS:
        earlier, later = gettext("Runs sooner"), gettext("Runs later")
    if state is State.DELAYED:
        earlier, later = gettext("Due sooner"), gettext("Due later")
    return (later, earlier) if newest_first else (earlier, later)


class JobsQuery:
    """A list of jobs: which state, which end first, how many, from where, which name."""

    def __init__(self, params: QueryDict) -> None:
        asked = params.get("state", "")
        self.together = asked == FINISHED
        self.state: State | None = State(asked) if asked in set(State) else None
        if self.together:
            self.state = State.COMPLETED
        self._order = params.get("order", "")
        size = params.get("size", "")
        self.size = int(size) if size in {str(allowed) for allowed in PAGE_SIZES} else PAGE_SIZE
        self.cursor = params.get("cursor", "")
        self.name = params.get("name", "").strip()

    def open_on(self, counts: Counts) -> None:
        """Where no state was asked for, take the first that holds jobs."""
        if self.state is None:
            self.state = next((state for state in FIRST_OPENED if counts[state]), State.COMPLETED)

    @property
    def order(self) -> Order:
        """As asked; else what comes next first where jobs queue up to run, and the newest first elsewhere."""
        if self._order in set(Order):
            return Order(self._order)
        return Order.OLDEST if self.state in RUN_NEXT else Order.NEWEST

    @property
    def orders(self) -> Sequence[tuple[Order, Promise]]:
        """Both orders with the word for the end that comes first."""
        newest, oldest = ENDS.get(self.state, (_("newest"), _("oldest")))
        return ((Order.OLDEST, oldest), (Order.NEWEST, newest))[:: 1 if self.state in RUN_NEXT else -1]

    @property
    def back(self) -> str:
        """What the button to the previous page says."""
        return _pages(self.state, self.order is Order.NEWEST)[0]

    @property
    def forth(self) -> str:
        return _pages(self.state, self.order is Order.NEWEST)[1]

    @property
    def states(self) -> Sequence[State]:
        if self.together:
            return (State.COMPLETED, State.FAILED)
        return (self.state,) if self.state else ()

    @property
    def sizes(self) -> Sequence[int]:
        return PAGE_SIZES


class QueuesQuery:
    """The table of queues: which source, which names, sorted how, grouped or not, after which row."""

    def __init__(self, params: QueryDict, sources: Sequence[str]) -> None:
        self.source = params.get("source", "") if params.get("source") in sources else ""
        self.name = params.get("name", "").strip()
        self.sorting = Sorting.parse(params.get("sort", ""))
        self.group = params.get("group") == "prefix"
        self.after = params.get("after", "")

    @property
    def sort(self) -> str:
        return str(self.sorting.key)
