"""What a query string asks of a list. A value that is none of the allowed ones means the default."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict

from queues.backend import PAGE_SIZES
from queues.listing import Sorting
from queues.types import Order, State

FINISHED = "finished"  # completed and failed together, by the time they finished
DEFAULT_SIZE = 50


class JobsQuery:
    """A list of jobs: which state, which end first, how many, from where, which name."""

    def __init__(self, params: QueryDict) -> None:
        asked = params.get("state", "")
        self.together = asked == FINISHED
        self.state: State | None = State(asked) if asked in set(State) else None
        if self.together:
            self.state = State.COMPLETED
        self.order = Order.OLDEST if params.get("order") == Order.OLDEST else Order.NEWEST
        size = params.get("size", "")
        self.size = int(size) if size in {str(allowed) for allowed in PAGE_SIZES} else DEFAULT_SIZE
        self.cursor = params.get("cursor", "")
        self.name = params.get("name", "").strip()

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
