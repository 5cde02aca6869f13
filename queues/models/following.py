"""How far the event streams are read, and the events that are kept."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.models.sources import Queue, Source


class Following(models.Model):
    """Who follows the event streams of a source, and how that stands. `epoch` and `beats` are the lease."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="following")
    holder = models.CharField(max_length=100, default="", help_text=_("the follower that holds the lease; empty: none"))
    epoch = models.BigIntegerField(default=0, help_text=_("grows with each holder; checked by every writing"))
    beats = models.BigIntegerField(default=0, help_text=_("grows while the holder lives"))
    pulse = models.CharField(max_length=20, default="", help_text=_("queues.live.Pulse; empty: never followed"))
    since = models.DateTimeField(null=True, help_text=_("since when it is not live"))
    why = models.TextField(default="", help_text=_("why it is not live, without secrets"))
    beat_at = models.DateTimeField(null=True, help_text=_("last sign of life of the holder"))
    covered_ms = models.BigIntegerField(default=0, help_text=_("the server's clock up to which all streams were read"))
    events_per_s = models.FloatField(null=True)
    behind_ms = models.BigIntegerField(default=0)
    streams = models.PositiveIntegerField(default=0, help_text=_("how many streams are followed"))
    strange = models.PositiveBigIntegerField(default=0, help_text=_("entries that made no sense and were skipped"))

    def __str__(self) -> str:
        return f"{self.source.name}: epoch {self.epoch}"


class Stream(models.Model):
    """How far the event stream of a queue was read, and what was counted from it: always written together."""

    queue = models.OneToOneField(Queue, on_delete=models.CASCADE, related_name="stream")
    last_id = models.CharField(max_length=50, help_text=_("the last entry that is counted"))
    added = models.BigIntegerField(
        null=True, help_text=_("how many entries had ever been added with that one; null: the server does not tell")
    )
    read = models.BigIntegerField(default=0, help_text=_("entries that we read"))
    lost = models.BigIntegerField(default=0, help_text=_("entries that were gone before we could read them"))
    history = models.TextField(default="", help_text=_("JSON as queues.history writes it"))

    def __str__(self) -> str:
        return f"{self.queue} up to {self.last_id}"


class Notable(models.Model):
    """An event that is kept: at most 10,000 a queue, for seven days. Without a queue it is about the source."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="notable")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, null=True, related_name="notable")
    event_id = models.CharField(max_length=50, help_text=_("the id of the entry: server's clock and sequence"))
    at_ms = models.BigIntegerField(help_text=_("when it happened, by the server's clock"))
    kind = models.CharField(max_length=20, help_text=_("queues.events.EventKind"))
    job = models.TextField(default="", help_text=_("the job's id as in URLs"))
    text = models.TextField(default="", help_text=_("the reason, cut"))
    size = models.BigIntegerField(default=0, help_text=_("the true size of the reason in bytes"))
    count = models.BigIntegerField(null=True)
    until_ms = models.BigIntegerField(null=True, help_text=_("the end of a gap"))

    class Meta:
        indexes = [
            models.Index(fields=["queue", "-id"], name="notable_by_queue"),
            models.Index(fields=["source", "-id"], name="notable_by_source"),
            models.Index(fields=["at_ms"], name="notable_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.event_id}"
