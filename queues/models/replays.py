"""Replays: plans, their sets as ledgers, and what happened to them. `queues.replay` alone writes these.

All `..._ms` are milliseconds since 1970: of jobs by the monitored server's or the worker's clock, else by ours.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.models.failures import FailureGroup
from queues.models.operating import AuditEntry
from queues.models.sources import Queue, Source


class Replay(models.Model):
    """A plan and how far it is. People call it R-<pk>.

    `holder`, `epoch` and `beats` are the lease of the worker that tends it (`queues.lease`). Counts are kept up in the
    transactions that change rows.
    """

    token = models.CharField(max_length=32, unique=True, help_text=_("names it on servers; random hex"))
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="replays")
    title = models.CharField(max_length=200, help_text=_("what it is about: a queue's label, or a group's title"))
    made_from = models.JSONField(default=dict, help_text=_("queues.replay.types.From as `kind`, and its details"))
    words = models.TextField(default="", help_text=_("the same as a sentence"))
    group = models.ForeignKey(FailureGroup, on_delete=models.SET_NULL, null=True, related_name="replays")
    groups = models.ManyToManyField(
        FailureGroup, related_name="plans", help_text=_("all that it was made from; `group` is the only one")
    )
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField(auto_now_add=True)
    started_by = models.CharField(max_length=150, default="")
    approved_by = models.CharField(max_length=150, default="")
    terms = models.JSONField(default=dict, help_text=_("queues.replay.terms.Terms"))
    data = models.BinaryField(null=True, help_text=_("of a plan of one edited job: its new data, exact"))
    before = models.BinaryField(
        null=True, help_text=_("beside `data`: what would have been sent unedited; kept and deleted with it")
    )
    entry = models.OneToOneField(
        AuditEntry, on_delete=models.SET_NULL, null=True, related_name="replay", help_text=_("of its start")
    )
    phase = models.CharField(max_length=20, default="freezing", help_text=_("queues.replay.types.Phase"))
    step = models.CharField(max_length=20, default="", help_text=_("of freezing, ordering, taking back, tidying up"))
    cursor = models.TextField(default="", help_text=_("where the step goes on"))
    why = models.CharField(max_length=20, default="", help_text=_("queues.replay.types.Stop: why it stopped"))
    holding = models.CharField(max_length=20, default="", help_text=_("the same: why it holds for now"))
    note = models.TextField(default="", help_text=_("the error that belongs to it, without secrets"))
    facts = models.JSONField(default=dict, help_text=_("what the runner keeps between slices"))
    frozen_ms = models.BigIntegerField(null=True, help_text=_("nothing that failed later is part of it"))
    frozen = models.JSONField(default=dict, help_text=_("what freezing counted: queues.replay.freezing.counting"))
    looked_at = models.DateTimeField(null=True, help_text=_("when its jobs were last looked at on the server"))
    later = models.BigIntegerField(null=True, help_text=_("failures that came after it was frozen, as last counted"))
    starts_at = models.DateTimeField(null=True, help_text=_("until then the start can be taken back"))
    started_at = models.DateTimeField(null=True, help_text=_("when the first job was about to be sent"))
    rest_at = models.DateTimeField(null=True, help_text=_("when the canary was passed and the climb began"))
    sent_at = models.DateTimeField(null=True, help_text=_("when all was sent"))
    ended_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(auto_now=True, help_text=_("for pages: anything of it was written"))
    total = models.BigIntegerField(default=0, help_text=_("jobs of the set"))
    to_send = models.BigIntegerField(default=0, help_text=_("ready or held by now"))
    left_out = models.BigIntegerField(default=0)
    permanent = models.BigIntegerField(default=0, help_text=_("of the set: of the permanent class"))
    sent = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0)
    back = models.BigIntegerField(default=0)
    completed = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0, help_text=_("for good, again"))
    other = models.BigIntegerField(default=0, help_text=_("sent and gone, or what became of it is unknown"))
    retrying = models.BigIntegerField(default=0, help_text=_("sent; an attempt failed; as last seen"))
    running = models.BigIntegerField(default=0, help_text=_("sent and active, as last seen"))
    holder = models.CharField(max_length=100, default="", help_text=_("the worker at work; empty: none just now"))
    epoch = models.BigIntegerField(default=0, help_text=_("grows with each holder; checked by every writing"))
    beats = models.BigIntegerField(default=0)
    beat_at = models.DateTimeField(null=True)
    down_since = models.DateTimeField(null=True, help_text=_("since when it waits for a source that is away"))
    tries = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["phase"], name="replay_by_phase"),
            models.Index(fields=["source", "-id"], name="replay_by_source"),
        ]

    def __str__(self) -> str:
        return f"R-{self.pk}"


class ReplayJob(models.Model):
    """One job of a plan: what it is, where it stands, what became of it.

    `queue`, `job` and `seen` name what is acted on: a failed or completed job, or a letter. `letter` beside them is a
    letter that tells of the same failure and is removed with it.
    """

    # Both begin indexes below.
    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="jobs", db_index=False)
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="+", db_index=False)
    job = models.TextField(help_text=_("its id as in URLs"))
    seen = models.CharField(max_length=50, default="", help_text=_("queues.actions.Target.seen, as in URLs"))
    state = models.CharField(max_length=20, default="failed", help_text=_("where it was: failed, completed, waiting"))
    acts = models.CharField(max_length=10, default="retry", help_text=_("queues.replay.types.Acts"))
    target = models.ForeignKey(Queue, on_delete=models.CASCADE, null=True, related_name="+", help_text=_("null: none"))
    letter_queue = models.ForeignKey(Queue, on_delete=models.CASCADE, null=True, related_name="+")
    letter = models.TextField(default="", help_text=_("empty: none"))
    same = models.BigIntegerField(
        null=True, help_text=_("of a letter: a digest of the queue and job that it tells of; null: it does not tell")
    )
    name = models.CharField(max_length=200, default="", help_text=_("for eyes"))
    created_ms = models.BigIntegerField(null=True)
    failed_ms = models.BigIntegerField(null=True, help_text=_("null: it has not failed, or when is not known"))
    group = models.ForeignKey(
        FailureGroup, on_delete=models.SET_NULL, null=True, related_name="+", help_text=_("of the failure it is about")
    )
    permanent = models.BooleanField(default=False)
    conflict = models.CharField(max_length=20, default="", help_text=_("queues.sendings.Conflict"))
    note = models.TextField(default="", help_text=_("what belongs to it: a job's slug, a plan, a reason; for eyes"))
    place = models.CharField(max_length=10, default="ready", help_text=_("queues.replay.types.Place"))
    rank = models.BigIntegerField(default=0, help_text=_("jobs are sent by rank, then key"))
    key = models.BigIntegerField(null=True, help_text=_("a digest of what stands at the path of the order; null: none"))
    after = models.BigIntegerField(null=True, help_text=_("key of the row of the same plan whose end it waits for"))
    canary = models.BooleanField(default=False)
    made = models.TextField(default="", help_text=_("id of the new job as in URLs; empty: its own"))
    sent_ms = models.BigIntegerField(null=True, help_text=_("the server's clock"))
    was = models.BinaryField(null=True, help_text=_("fields that a retry took from it, to take it back with"))
    fate = models.CharField(max_length=10, default="", help_text=_("queues.sendings.Fate"))
    tries = models.PositiveIntegerField(default=0, help_text=_("attempts seen to fail since it was sent"))
    ended_ms = models.BigIntegerField(null=True, help_text=_("null: it has not ended as far as is known"))
    again = models.ForeignKey(
        FailureGroup, on_delete=models.SET_NULL, null=True, related_name="+", help_text=_("of the failure again")
    )
    original = models.CharField(
        max_length=10, default="", help_text=_("of a copy: removed or kept; empty: still there")
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replay", "queue", "job", "seen"], name="replay_job_once")]
        indexes = [
            models.Index(fields=["replay", "id"], name="replay_job_in_turn"),
            models.Index(fields=["same"], condition=models.Q(same__isnull=False), name="replay_job_same"),
            models.Index(fields=["replay", "place", "rank", "id"], name="replay_job_next"),
            models.Index(
                fields=["replay", "key", "rank", "id"], condition=models.Q(key__isnull=False), name="replay_job_by_key"
            ),
            models.Index(fields=["replay", "after"], condition=models.Q(after__isnull=False), name="replay_job_after"),
            models.Index(fields=["queue", "job"], name="replay_job_by_job"),
            models.Index(
                fields=["replay", "fate", "ended_ms"], condition=models.Q(place="sent"), name="replay_job_fate"
            ),
            models.Index(
                fields=["replay", "sent_ms", "id"],
                condition=models.Q(place="sent", ended_ms__isnull=True),
                name="replay_job_under_way",
            ),
            models.Index(fields=["replay", "place"], condition=models.Q(canary=True), name="replay_job_canary"),
            models.Index(
                fields=["target", "made"], condition=models.Q(place="sent") & ~models.Q(made=""), name="replay_job_made"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.replay_id}: {self.queue_id}/{self.job}"


class ReplayQueue(models.Model):
    """A queue that jobs of a plan go to: how far its events are read for them, and what was last seen of it."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="targets")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="+")
    position = models.CharField(max_length=50, default="", help_text=_("id of the last event that was read"))
    added = models.BigIntegerField(null=True, help_text=_("entries that the stream had got by then; null: not told"))
    lost = models.BigIntegerField(default=0, help_text=_("events that were trimmed before they were read"))
    backlog = models.BigIntegerField(null=True)
    oldest_ms = models.BigIntegerField(null=True, help_text=_("since when its oldest waiting job has been due"))
    paused = models.BooleanField(default=False)
    workers = models.IntegerField(null=True, help_text=_("null: not known"))
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replay", "queue"], name="replay_queue_once")]

    def __str__(self) -> str:
        return f"{self.replay_id}: {self.queue_id}"


class ReplayLine(models.Model):
    """A line of a plan's feed: what happened to it."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=20, help_text=_("queues.replay.types.Told"))
    who = models.CharField(max_length=150, default="")
    facts = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.replay_id}: {self.kind}"


class ReplaySpan(models.Model):
    """Five seconds of a plan, for its chart: how many were sent, completed and failed again in them."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="spans")
    span = models.BigIntegerField(help_text=_("ms // 5,000"))
    sent = models.PositiveIntegerField(default=0)
    completed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replay", "span"], name="replay_span_once")]

    def __str__(self) -> str:
        return f"{self.replay_id}: {self.span}"


class ReplayLimits(models.Model):
    """What admins allow; one row at most, of key 1. Null means no limit."""

    largest = models.PositiveBigIntegerField(null=True, default=1_000_000, help_text=_("jobs of one plan"))
    fastest = models.FloatField(null=True, help_text=_("jobs a second; null: also as fast as the server takes them"))
    approval = models.PositiveBigIntegerField(null=True, help_text=_("a plan of more jobs needs a second person"))
    undo_s = models.PositiveIntegerField(default=10, help_text=_("between the start and the first job"))
    typed = models.PositiveBigIntegerField(default=1_000, help_text=_("above this, the queue's name has to be typed"))
    changed_by = models.CharField(max_length=150, default="")
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return "limits of replays"
