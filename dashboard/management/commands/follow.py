"""`manage.py follow`: reads the event streams of all sources and tells the web processes what happens."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard import broker
from dashboard.live.groups import Publisher
from queues import follow


class Command(BaseCommand):
    help = "Follow the event streams of all sources. Several may run: one works, the others stand by."

    def handle(self, *_args: object, **_options: object) -> None:
        broker.require_servers(settings.ENV)
        stop = threading.Event()

        def end(_number: int, _frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        publisher = Publisher()
        try:
            follow.run(publisher, stop)
        finally:
            publisher.close()
