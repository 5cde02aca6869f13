"""What was done: the log of actions, those over many jobs, copies of what was removed, and what is masked."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.models.failures import FailureGroup


class AuditEntry(models.Model):
    """An action that somebody took or was refused: written before it begins, completed when it has ended.

    Nothing here is secret: parameters are masked before they are kept. `key` is that of the form it came from, so
    that a form sent twice acts once. See `queues.audit`.
    """

    at = models.DateTimeField(auto_now_add=True)
    who = models.CharField(max_length=150, default="", help_text=_("the user's name; empty: nobody signed in"))
    role = models.CharField(max_length=20, default="")
    address = models.CharField(max_length=100, default="", help_text=_("from where, as far as the proxy tells"))
    action = models.CharField(max_length=50, help_text=_("queues.actions.Action, or another verb of the product"))
    source = models.CharField(max_length=100, default="")
    queue = models.CharField(max_length=2000, default="", help_text=_("its slug"))
    jobs = models.JSONField(default=list, help_text=_("the slugs of the jobs, the first 1,000"))
    asked = models.PositiveBigIntegerField(null=True, help_text=_("how many jobs it is about"))
    selection = models.TextField(default="", help_text=_("the filter in words, where it is about all that match"))
    parameters = models.JSONField(default=dict, help_text=_("what was asked for, masked"))
    reason = models.TextField(default="", help_text=_("what the user gave as a reason"))
    group = models.ForeignKey(
        FailureGroup, on_delete=models.SET_NULL, null=True, related_name="entries", help_text=_("which it is about")
    )
    key = models.CharField(max_length=64, null=True, unique=True, help_text=_("of the form; null: none"))  # noqa: DJ001
    status = models.CharField(max_length=20, default="started", help_text=_("queues.audit.Status"))
    outcomes = models.JSONField(default=dict, help_text=_("how many jobs came to which queues.actions.Outcome"))
    exceptions = models.JSONField(default=list, help_text=_("jobs that came to something else, the first 1,000"))
    note = models.TextField(default="", help_text=_("why it was refused or failed, without secrets"))
    ended_at = models.DateTimeField(null=True)
    duration_ms = models.PositiveBigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["-at", "-id"], name="audit_by_time"),
            models.Index(fields=["who", "-id"], name="audit_by_user"),
            models.Index(fields=["action", "-id"], name="audit_by_action"),
            models.Index(fields=["source", "queue", "-id"], name="audit_by_queue"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.who} at {self.at}"


class Bulk(models.Model):
    """An action that runs in the background, step by step; its audit entry tells the rest. See `queues.bulk`.

    Either over jobs that were collected first (`BulkBatch`), or, with `sweep`, over a state or a whole queue.
    `holder`, `epoch` and `beats` are the lease of the worker that runs it. `name` and `parameters` are exact, and
    emptied when it has ended.
    """

    entry = models.OneToOneField(AuditEntry, on_delete=models.CASCADE, related_name="bulk")
    sweep = models.BooleanField(default=False)
    state = models.CharField(max_length=20, default="", help_text=_("of the jobs; empty: the whole queue"))
    name = models.TextField(default="", help_text=_("part of the jobs' name; empty: any"))
    failures = models.JSONField(default=dict, help_text=_("queues.bulk.indexed.Which; empty: as the server lists jobs"))
    until_ms = models.BigIntegerField(help_text=_("the server's clock when it was confirmed: nothing later is meant"))
    parameters = models.JSONField(default=dict, help_text=_("what the backend is given; the entry's are for eyes"))
    phase = models.CharField(max_length=20, default="collecting", help_text=_("queues.bulk.Phase"))
    expected = models.PositiveBigIntegerField(null=True, help_text=_("how many jobs there were when it was confirmed"))
    collected = models.PositiveBigIntegerField(default=0)
    handled = models.PositiveBigIntegerField(default=0, help_text=_("jobs that have an outcome"))
    cursor = models.TextField(default="", help_text=_("where the next step begins; of batches, the next one's number"))
    facts = models.JSONField(default=dict, help_text=_("what its end has to say besides outcomes: queues.bulk.facts"))
    rated_at = models.DateTimeField(null=True, help_text=_("since when its pace is measured"))
    rated_handled = models.PositiveBigIntegerField(default=0, help_text=_("how many jobs were handled then"))
    down_since = models.DateTimeField(null=True, help_text=_("since when it waits for a source that is away"))
    tries = models.PositiveIntegerField(default=0, help_text=_("how often it has tried since"))
    stop_asked_by = models.CharField(max_length=150, default="", help_text=_("who asked it to stop; empty: nobody"))
    holder = models.CharField(max_length=100, default="", help_text=_("the worker at work; empty: none just now"))
    epoch = models.BigIntegerField(default=0, help_text=_("grows with each holder; checked by every writing"))
    beats = models.BigIntegerField(default=0, help_text=_("grows with each sign of life of the holder"))
    beat_at = models.DateTimeField(null=True, help_text=_("when the last one was, by the holder's clock: for eyes"))

    def __str__(self) -> str:
        return f"{self.entry}: {self.phase}"


class BulkBatch(models.Model):
    """At most 1,000 of the jobs that a bulk action was frozen on, and what came of them."""

    bulk = models.ForeignKey(Bulk, on_delete=models.CASCADE, related_name="batches")
    number = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    begun = models.BooleanField(default=False, help_text=_("something may have been done to its jobs"))
    ended = models.BooleanField(default=False)
    targets = models.BinaryField(help_text=_("ids and what was seen of them, as queues.bulk packs them"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["bulk", "number"], name="batch_once_per_bulk")]

    def __str__(self) -> str:
        return f"{self.bulk}, batch {self.number}"


class RemovedJob(models.Model):
    """A copy of a job that was removed, kept for a while so that it can be restored as a new one."""

    source = models.CharField(max_length=100)
    queue = models.CharField(max_length=2000, help_text=_("its slug"))
    job = models.TextField(help_text=_("its id as in URLs"))
    name = models.TextField(default="", help_text=_("for eyes"))
    state = models.CharField(max_length=20, default="")
    entry = models.ForeignKey(AuditEntry, on_delete=models.SET_NULL, null=True, related_name="removed")
    copied_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, help_text=_("null: copied, but its removal is not confirmed"))
    expires_at = models.DateTimeField()
    stored = models.BinaryField(help_text=_("its fields and log, as queues.undo packs them"))
    size = models.PositiveBigIntegerField(help_text=_("bytes as stored here"))
    restored_at = models.DateTimeField(null=True)
    restored_as = models.TextField(default="", help_text=_("the id of the new job as in URLs"))

    class Meta:
        indexes = [
            models.Index(fields=["source", "queue", "-id"], name="removed_by_queue"),
            models.Index(fields=["expires_at"], name="removed_by_age"),
            # Asked at each batch of a removal: which copies of it are unconfirmed, and how large all are.
            models.Index(fields=["entry", "removed_at", "size"], name="removed_by_entry"),
        ]

    def __str__(self) -> str:
        return f"{self.source}/{self.queue} {self.job}"


class Masking(models.Model):
    """A pattern of keys whose values are masked besides those of `queues.redaction.DEFAULT`."""

    source = models.CharField(max_length=100, default="", help_text=_("empty: every source"))
    queue = models.CharField(max_length=2000, default="", help_text=_("its slug; empty: every queue"))
    pattern = models.CharField(max_length=100, help_text=_("as queues.redaction.Rules reads it"))
    added_by = models.CharField(max_length=150, default="")
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "queue", "pattern"], name="masking_once")]

    def __str__(self) -> str:
        return f"{self.pattern} in {self.source or '*'}/{self.queue or '*'}"
