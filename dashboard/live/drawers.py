"""Which drawer draws what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from django.utils.module_loading import import_string

from dashboard.live.update import Drawer
from queues.live import About, Topic
from queues.names import decode_part
from queues.types import JobRef, QueueRef

# By name: each draws with what pages are made of, which a process that draws nothing need not load.
DRAWERS: Mapping[About, str] = {
    About.OVERVIEW: "dashboard.live.overview.Overview",
    About.QUEUE: "dashboard.live.queue.QueuePage",
    About.JOB: "dashboard.live.job.JobPage",
    About.FAILURES: "dashboard.live.failures.Failures",
    About.REPLAYS: "dashboard.live.replays.Replays",
}


def drawer(topic: Topic) -> Drawer | None:
    """A new drawer for a topic, None where nothing is drawn. ValueError for a topic that names nothing."""
    if topic.about not in DRAWERS:
        return None
    return cast("Callable[[object], Drawer]", import_string(DRAWERS[topic.about]))(subject(topic))


def subject(topic: Topic) -> str | QueueRef | JobRef:
    """The source, queue or job that a topic is about. ValueError where its slugs are not in their canonical form."""
    if not topic.queue:
        return topic.source
    queue = QueueRef.from_slug(topic.source, topic.queue)
    return JobRef(queue, decode_part(topic.job, colon=True)) if topic.job else queue
