"""The names of actions: on a button, as the title of the question, on the button that does it."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.actions.ask import named, say
from queues.actions import Action
from queues.types import JobRef, QueueRef

Words = str | Promise

# On the button that asks: dots where more is to be filled in or lost.
BUTTONS: Mapping[Action, Words] = {
    Action.RETRY: _("Retry…"),
    Action.PROMOTE: _("Promote…"),
    Action.DELAY: _("Change time…"),
    Action.PRIORITY: _("Change priority…"),
    Action.EDIT: _("Edit data…"),
    Action.REMOVE: _("Remove…"),
    Action.REMOVE_CHILDREN: _("Remove unprocessed children…"),
    Action.DUPLICATE: _("Edit and add as a copy…"),
    Action.LOG: _("Add a log line…"),
    Action.FAIL: _("Fail…"),
    Action.REQUEUE: _("Requeue…"),
    Action.ADD: _("Add a job…"),
    Action.PAUSE: _("Pause…"),
    Action.RESUME: _("Resume…"),
    Action.CONCURRENCY: _("Limit concurrency…"),
    Action.RATE_LIMIT: _("Limit rate…"),
    Action.RELEASE_LIMIT: _("Release the rate limit now…"),
    Action.RELEASE_DEDUPLICATION: _("Release a deduplication id…"),
    Action.DRAIN: _("Drain…"),
    Action.CLEAN: _("Clean…"),
    Action.OBLITERATE: _("Obliterate…"),
    Action.TRIM_EVENTS: _("Trim events…"),
}
RUN_AGAIN = _("Run again…")
RELEASE_ITS = _("Release its deduplication id…")
EDIT_REPLAY = _("Edit and replay…")
HELD_IDS = _("Deduplication ids that are held")
DEAD_LETTERS = _("Dead letters")
PROMOTE_ALL = _("Promote all delayed…")
RETRY_ALL = _("Retry all failed…")

# The question about one job.
JOB_TITLES: Mapping[Action, Words] = {
    Action.RETRY: _("Retry job {job} of {queue} on {source}?"),
    Action.PROMOTE: _("Promote job {job} of {queue} on {source}?"),
    Action.DELAY: _("When should job {job} of {queue} on {source} run?"),
    Action.PRIORITY: _("Change the priority of job {job} of {queue} on {source}?"),
    Action.EDIT: _("Edit the data of job {job} of {queue} on {source}"),
    Action.REMOVE: _("Remove job {job} of {queue} on {source}?"),
    Action.REMOVE_CHILDREN: _("Remove the unprocessed children of job {job} of {queue} on {source}?"),
    Action.DUPLICATE: _("Add a copy of job {job} to {queue} on {source}"),
    Action.LOG: _("Add a line to the log of job {job} of {queue} on {source}"),
    Action.FAIL: _("Fail job {job} of {queue} on {source}?"),
    Action.REQUEUE: _("Put job {job} of {queue} on {source} back in line?"),
}
QUEUE_TITLES: Mapping[Action, Words] = {
    Action.ADD: _("Add a job to {queue} on {source}"),
    Action.PAUSE: _("Pause {queue} on {source}?"),
    Action.RESUME: _("Resume {queue} on {source}?"),
    Action.CONCURRENCY: _("Limit how many jobs of {queue} on {source} run at once"),
    Action.RATE_LIMIT: _("Limit how fast jobs of {queue} on {source} start"),
    Action.RELEASE_LIMIT: _("Release the rate limit of {queue} on {source} now?"),
    Action.RELEASE_DEDUPLICATION: _("Release a deduplication id of {queue} on {source}"),
    Action.DRAIN: _("Drain {queue} on {source}?"),
    Action.CLEAN: _("Clean {queue} on {source}"),
    Action.OBLITERATE: _("Obliterate {queue} on {source}?"),
    Action.TRIM_EVENTS: _("Trim the events of {queue} on {source}?"),
}
# On the link to a fresh question, where what was asked about is over. Others do not ask for one stay in one state.
AS_IT_IS_NOW: Mapping[Action, Words] = {
    Action.RETRY: _("Retry it as it is now…"),
    Action.REMOVE: _("Remove it as it is now…"),
}
RUN_AS_IT_IS_NOW = _("Run it again as it is now…")
# On the button that does it.
VERBS: Mapping[Action, Words] = {
    Action.RETRY: _("Retry the job"),
    Action.PROMOTE: _("Promote the job"),
    Action.DELAY: _("Change the time"),
    Action.PRIORITY: _("Change the priority"),
    Action.EDIT: _("Save the data"),
    Action.REMOVE: _("Remove the job"),
    Action.REMOVE_CHILDREN: _("Remove the children"),
    Action.DUPLICATE: _("Add the copy"),
    Action.LOG: _("Add the line"),
    Action.FAIL: _("Fail the job"),
    Action.REQUEUE: _("Put it back in line"),
    Action.ADD: _("Add the job"),
    Action.PAUSE: _("Pause the queue"),
    Action.RESUME: _("Resume the queue"),
    Action.CONCURRENCY: _("Set the limit"),
    Action.RATE_LIMIT: _("Set the limit"),
    Action.RELEASE_LIMIT: _("Release it"),
    Action.RELEASE_DEDUPLICATION: _("Release the id"),
    Action.DRAIN: _("Drain the queue"),
    Action.CLEAN: _("Remove them"),
    Action.OBLITERATE: _("Obliterate the queue"),
    Action.TRIM_EVENTS: _("Trim the events"),
}
DANGEROUS = frozenset(
    {
        *(Action.REMOVE, Action.REMOVE_CHILDREN, Action.FAIL),
        *(Action.DRAIN, Action.CLEAN, Action.OBLITERATE, Action.TRIM_EVENTS),
    }
)
TYPED = frozenset({Action.DRAIN, Action.OBLITERATE})  # ask for the queue's name


def job_title(action: Action, job: JobRef) -> str:
    """The question about one job, its names set apart."""
    queue = job.queue
    parts = {"job": named(job.label), "queue": named(queue.label), "source": named(queue.source)}
    return say(str(JOB_TITLES[action]), **parts)


def queue_title(action: Action, queue: QueueRef) -> str:
    """The question about a queue, its names set apart."""
    return say(str(QUEUE_TITLES[action]), queue=named(queue.label), source=named(queue.source))
