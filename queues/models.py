"""What the database remembers about sources and queues: what was found, when, and the last reading."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Source(models.Model):
    """A monitored server by its configured name. `down_since` is set while it does not answer."""

    name = models.CharField(max_length=100, unique=True)
    ok_at = models.DateTimeField(null=True, help_text=_("when it last answered"))
    down_since = models.DateTimeField(null=True)
    error = models.TextField(default="", help_text=_("why it does not answer, without secrets"))
    tries = models.PositiveIntegerField(default=0, help_text=_("failed tries since it went down"))
    health = models.JSONField(default=dict, help_text=_("the last health that could be read"))
    scan_requested_at = models.DateTimeField(null=True)
    scan_started_at = models.DateTimeField(null=True)
    scan_finished_at = models.DateTimeField(null=True)
    scan_keys = models.PositiveBigIntegerField(default=0, help_text=_("keys seen by the running or last scan"))
    scan_error = models.TextField(default="")

    def __str__(self) -> str:
        return self.name


class Queue(models.Model):
    """A queue that was found or pinned. `slug` names its exact prefix and name (`QueueRef.slug`)."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="queues")
    slug = models.CharField(max_length=2000)
    pinned = models.BooleanField(default=False)
    found_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(help_text=_("when its keys were last seen"))
    gone_since = models.DateTimeField(null=True)
    reading = models.JSONField(default=dict, help_text=_("the last counts that could be read"))
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "slug"], name="queue_once_per_source")]

    def __str__(self) -> str:
        return f"{self.source.name}/{self.slug}"
