"""What the web needs done in the background."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command


@shared_task(ignore_result=True)
def clear_sessions() -> None:
    """Delete sessions that have ended, which nobody else does. One query."""
    call_command("clearsessions")
