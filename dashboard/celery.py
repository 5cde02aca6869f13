"""The Celery application: who works on tasks, and what runs by the clock."""

from __future__ import annotations

import os
import warnings
from functools import cached_property
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, setup_logging, worker_ready, worker_shutting_down
from django.conf import settings

from dashboard import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

# What root could lose by a message is lost with pickle only; the image and the documented units run as a user.
warnings.filterwarnings("ignore", message="You're running the worker with superuser")


class _App(Celery):
    @cached_property
    def Worker(self) -> Any:  # noqa: N802
        # Not at the top: the web process has no use for a worker's modules.
        from dashboard.worker import Worker

        return self.subclass_with_self(Worker)


app = _App("mirante", set_as_current=True)
app.conf.update(settings.CELERY)
# Each run expires when the next one is due, so that nothing piles up while no worker is there.
app.conf.beat_schedule = {
    "scan-sources": {"task": "queues.tasks.scan_sources", "schedule": 30.0, "options": {"expires": 30}},
    "read-sources": {"task": "queues.tasks.read_sources", "schedule": 10.0, "options": {"expires": 10}},
    "run-bulks": {"task": "queues.tasks.run_bulks", "schedule": 10.0, "options": {"expires": 10}},
    "run-replays": {"task": "queues.tasks.run_replays", "schedule": 10.0, "options": {"expires": 10}},
    "forget-old-events": {"task": "queues.tasks.forget_old_events", "schedule": 60.0, "options": {"expires": 60}},
    "clear-sessions": {"task": "dashboard.tasks.clear_sessions", "schedule": 86400.0, "options": {"expires": 3600}},
}
app.autodiscover_tasks(["queues", "dashboard"])


@setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """That this is connected makes Celery leave Django's logging alone."""


@celeryd_init.connect
@beat_init.connect
def _refuse_without_servers(**_: Any) -> None:
    broker.require_servers(settings.ENV)


@worker_ready.connect
def _look_at_once(**_: Any) -> None:
    """The clock's first round comes only after a whole interval; who starts Mirante wants to see queues now."""
    from queues import identity

    identity.recognise()
    for name in ("scan-sources", "read-sources", "run-bulks", "run-replays"):
        app.tasks[app.conf.beat_schedule[name]["task"]].apply_async(retry=False)


@worker_shutting_down.connect
def _end_soon(**_: Any) -> None:
    """What runs in slices gives back what it holds now: a worker that ends is none that was lost."""
    from queues.replay.run import running

    running.end_soon()
