"""The heads of a list of jobs, which differ by state; the cells stand in `queues/job_row.html`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.queries import JobsQuery
from queues.types import State


@dataclass(frozen=True, slots=True)
class Head:
    label: Promise
    css: str = ""


JOB, NAME, SIZE = Head(_("Job")), Head(_("Name")), Head(_("Data"), "r")
ATTEMPTS, AGE = Head(_("Attempts"), "r"), Head(_("Age"), "r lo")
FINISHED, CREATED = Head(_("Finished"), "r"), Head(_("Created"), "r")
ERROR = Head(_("Error"))
CLASS = Head(_("Class"))

BY_STATE = {
    State.FAILED: (ERROR, CLASS, ATTEMPTS, Head(_("Failed at"), "r"), AGE),
    State.COMPLETED: (ATTEMPTS, FINISHED, Head(_("Took"), "r"), AGE),
    State.ACTIVE: (
        Head(_("Progress")),
        Head(_("Attempt"), "r"),
        Head(_("Started"), "r wide"),
        Head(_("Running for"), "r"),
        Head(_("Worker"), "lo"),
    ),
    State.DELAYED: (Head(_("Why")), ATTEMPTS, Head(_("Runs at"), "r"), Head(_("In"), "r")),
    State.PRIORITIZED: (Head(_("Priority"), "r"), ATTEMPTS, CREATED, Head(_("Age"), "r")),
    State.WAITING: (ATTEMPTS, CREATED, Head(_("Age"), "r")),
    State.WAITING_CHILDREN: (ATTEMPTS, CREATED, Head(_("Age"), "r")),
}


def columns(query: JobsQuery, *, letters: bool = False, classes: bool = True) -> Sequence[Head]:
    """The heads of the list that was asked for; with `letters`, each row says what it tells.

    Without `classes`: of a source whose failures cannot be indexed.
    """
    if letters:
        return (Head(_("Letter")), NAME, ERROR, Head(_("Of job")), CLASS, Head(_("Posted"), "r"), SIZE)
    if query.together:
        return (JOB, NAME, Head(_("State")), ERROR, ATTEMPTS, FINISHED, AGE, SIZE)
    heads = BY_STATE[query.state or State.FAILED]
    return (JOB, NAME, *(head for head in heads if classes or head is not CLASS), SIZE)
