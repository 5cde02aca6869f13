"""What was found: sources, queues, the last reading, and what reading costs."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Source(models.Model):
    """A monitored server by its configured name. `down_since` is set while it does not answer.

    A row stays when its source leaves the configuration, and is not shown until it comes back.
    """

    name = models.CharField(max_length=100, unique=True)
    address = models.TextField(default="", help_text=_("the server that all this is about, without secrets"))
    ok_at = models.DateTimeField(null=True, help_text=_("when the regular reading last succeeded"))
    down_since = models.DateTimeField(null=True, help_text=_("the first failure after the last success"))
    tried_at = models.DateTimeField(null=True, help_text=_("the last failure that was written down"))
    error = models.TextField(default="", help_text=_("why it does not answer, without secrets"))
    tries = models.PositiveIntegerField(default=0, help_text=_("failures written down since it went down"))
    scan_requested_at = models.DateTimeField(null=True)
    scan_started_at = models.DateTimeField(null=True, help_text=_("when the running or last scan began"))
    scan_beat_at = models.DateTimeField(null=True, help_text=_("last sign of life of the running scan; null: none"))
    scan_finished_at = models.DateTimeField(null=True, help_text=_("when a scan last came to its end"))
    scan_seconds = models.FloatField(default=0, help_text=_("how long the last scan took, also one that broke off"))
    scan_keys = models.PositiveBigIntegerField(default=0, help_text=_("keys seen by the running or last scan"))
    scan_skipped = models.PositiveIntegerField(default=0, help_text=_("queues whose names are too long to keep"))
    scan_error = models.TextField(default="", help_text=_("why the last scan did not come to its end"))

    def __str__(self) -> str:
        return self.name


class Queue(models.Model):
    """A queue that was found or pinned. `slug` names its exact prefix and name (`QueueRef.slug`)."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="queues")
    slug = models.CharField(max_length=2000)
    pinned = models.BooleanField(default=False)
    found_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True, help_text=_("when its keys were last seen; null: never"))
    gone_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "slug"], name="queue_once_per_source")]

    def __str__(self) -> str:
        return f"{self.source.name}/{self.slug}"


class Snapshot(models.Model):
    """The last reading of all queues of a source, as one text: a row a queue would cost a write each."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="snapshot")
    taken_at = models.DateTimeField(null=True, help_text=_("when the counts were read"))
    counts = models.TextField(default="", help_text=_("JSON as queues.snapshots writes it"))
    health_at = models.DateTimeField(null=True)
    health = models.TextField(default="", help_text=_("JSON as queues.snapshots writes it"))

    def __str__(self) -> str:
        return f"{self.source.name} at {self.taken_at}"


class Cost(models.Model):
    """Commands that all our processes sent to a source, by the ten seconds in which they reported them."""

    source = models.CharField(max_length=100)
    slot = models.BigIntegerField(help_text=_("seconds since 1970, divided by ten"))
    commands = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "slot"], name="cost_once_per_slot")]

    def __str__(self) -> str:
        return f"{self.source}: {self.commands}"
