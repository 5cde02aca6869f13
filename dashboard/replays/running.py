"""The page of a plan that was started: what it does now, or what came of it."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest

from queues.models import Replay


def context(request: HttpRequest, replay: Replay, **given: object) -> Mapping[str, object]:
    """What `replays/running.html` needs for a plan that was started, whether it has ended or not.

    `given` are forms that were sent with mistakes, by name. Some ten queries.
    """
    raise NotImplementedError
