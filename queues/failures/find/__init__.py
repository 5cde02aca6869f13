"""Reading the failure index for pages and exports. Nothing here asks a monitored server; all from the database."""

from queues.failures.find.filters import Filters, Sorting, SortKey
from queues.failures.find.groups import (
    Listing,
    any_groups,
    each,
    groups,
    listing,
    names_of,
    newest,
    open_groups,
    queues_of,
)
from queues.failures.find.held import Held
from queues.failures.find.known import Known, known, together
from queues.failures.find.rows import Growth, GrowthWord, Row, Windows

__all__ = [
    "Filters",
    "Growth",
    "GrowthWord",
    "Held",
    "Known",
    "Listing",
    "Row",
    "SortKey",
    "Sorting",
    "Windows",
    "any_groups",
    "each",
    "groups",
    "known",
    "listing",
    "names_of",
    "newest",
    "open_groups",
    "queues_of",
    "together",
]
