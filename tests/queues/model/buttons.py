"""Every action, pressed by chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from queues.actions import Action
from tests.queues.model import on_jobs, on_queues
from tests.queues.model.operator import Operator

BUTTONS: Mapping[Action, Callable[[Operator, str], None]] = {
    Action.RETRY: on_jobs.retry,
    Action.PROMOTE: on_jobs.promote,
    Action.DELAY: on_jobs.delay,
    Action.PRIORITY: on_jobs.priority,
    Action.EDIT: on_jobs.edit,
    Action.REMOVE: on_jobs.remove,
    Action.REMOVE_CHILDREN: on_jobs.remove_children,
    Action.DUPLICATE: on_jobs.duplicate,
    Action.LOG: on_jobs.log,
    Action.FAIL: on_jobs.fail,
    Action.REQUEUE: on_jobs.requeue,
    Action.RESTORE: on_jobs.restore,
    Action.ADD: on_jobs.add,
    Action.PAUSE: on_queues.pause,
    Action.RESUME: on_queues.resume,
    Action.CONCURRENCY: lambda operator, queue: on_queues.limits(operator, queue, Action.CONCURRENCY),
    Action.RATE_LIMIT: lambda operator, queue: on_queues.limits(operator, queue, Action.RATE_LIMIT),
    Action.RELEASE_LIMIT: lambda operator, queue: on_queues.limits(operator, queue, Action.RELEASE_LIMIT),
    Action.RELEASE_DEDUPLICATION: on_queues.release_deduplication,
    Action.DRAIN: on_queues.drain,
    Action.CLEAN: on_queues.clean,
    Action.OBLITERATE: on_queues.obliterate,
    Action.TRIM_EVENTS: lambda operator, queue: on_queues.limits(operator, queue, Action.TRIM_EVENTS),
}
