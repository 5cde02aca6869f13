"""The index of failures: groups of those with one cause, each failure and letter, and how many there were when.

Groups hold signatures, a signature the strands in which it was seen (one for each queue and job name), a strand its
failures. `queues.failures` alone writes these, but for what people say about a group. Texts are masked and bounded
before they are kept. All `..._ms` are milliseconds since 1970.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.models.sources import Queue, Source


class FailureGroup(models.Model):
    """Failures of one source that have one cause, as far as their signatures or a person can tell."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="failure_groups")
    slug = models.CharField(max_length=20, unique=True, help_text=_("in URLs: the beginning of its first digest"))
    title = models.TextField(help_text=_("what went wrong, in one line"))
    life = models.CharField(max_length=20, default="open", help_text=_("queues.failures.types.Life"))
    life_at = models.DateTimeField(null=True, help_text=_("since when; null: since its first failure"))
    life_by = models.CharField(max_length=150, default="", help_text=_("who said so; empty: Mirante itself"))
    resolved_ms = models.BigIntegerField(null=True, help_text=_("failures after this moment make it regressed"))
    regressed_ms = models.BigIntegerField(null=True, help_text=_("when the first of them failed"))
    ignore_until = models.DateTimeField(null=True)
    ignore_total = models.BigIntegerField(null=True, help_text=_("ignored until `total` reaches this"))
    ignore_rate = models.BigIntegerField(null=True, help_text=_("ignored until so many fail within an hour"))
    kind_set = models.CharField(max_length=20, default="", help_text=_("its class by hand; empty: by the rules"))
    kind_by = models.CharField(max_length=150, default="")
    owner = models.CharField(max_length=150, default="")
    runbook = models.CharField(max_length=2000, default="", help_text=_("an http or https address"))
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    total = models.BigIntegerField(default=0, help_text=_("failures ever counted"))
    merged_into = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="merged")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["source", "life", "-last_ms"], name="group_by_life")]

    def __str__(self) -> str:
        return f"{self.slug}: {self.title[:80]}"


class FailureSignature(models.Model):
    """What tells failures of one cause from others, by one version of the rules that make it.

    `parts` is `queues.failures.types.Signature` as JSON. One that was split by hand (`split_by`) passes what it
    matches on to children, one for each value.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="failure_signatures")
    group = models.ForeignKey(FailureGroup, on_delete=models.CASCADE, related_name="signatures")
    version = models.PositiveIntegerField()
    digest = models.CharField(max_length=40)
    parts = models.JSONField(default=dict)
    split_by = models.CharField(max_length=20, default="", help_text=_("queues.failures.types.SplitBy; empty: whole"))
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="children")
    value = models.TextField(default="", help_text=_("of a child: the job name, queue or message it is for"))
    placed_by = models.CharField(max_length=150, default="", help_text=_("who put it into its group; empty: Mirante"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "version", "digest"], name="signature_once")]

    def __str__(self) -> str:
        return f"{self.digest[:8]} v{self.version}"


class FailureStrand(models.Model):
    """A signature in one queue under one job name: where counts are kept.

    `h1` to `d7` were counted at `Indexing.windows_ms`; what was added since is in them too until the next counting.
    """

    signature = models.ForeignKey(FailureSignature, on_delete=models.CASCADE, related_name="strands")
    group = models.ForeignKey(FailureGroup, on_delete=models.CASCADE, related_name="strands")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="failure_strands")
    name = models.TextField(default="", help_text=_("the job name for eyes; empty: not known"))
    kind = models.CharField(max_length=20, default="unknown", help_text=_("queues.failures.types.Kind by the rules"))
    rule = models.CharField(max_length=100, default="", help_text=_("the rule that decided; empty: none matched"))
    first_ms = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    total = models.BigIntegerField(default=0)
    present = models.BigIntegerField(default=0, help_text=_("failures whose job or letter is still there"))
    h1 = models.BigIntegerField(default=0)
    h3 = models.BigIntegerField(default=0)
    h24 = models.BigIntegerField(default=0)
    d3 = models.BigIntegerField(default=0)
    d7 = models.BigIntegerField(default=0)
    usual = models.FloatField(null=True, help_text=_("mean of this hour on the 7 days before; null: not known yet"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["signature", "queue", "name"], name="strand_once")]
        indexes = [models.Index(fields=["group", "queue"], name="strand_by_group")]

    def __str__(self) -> str:
        return f"{self.signature} in {self.queue}"


class FailureHour(models.Model):
    """How many failures of a strand fell into an hour (ms // 3,600,000); `minutes` for the last two days."""

    strand = models.ForeignKey(FailureStrand, on_delete=models.CASCADE, related_name="hours")
    hour = models.BigIntegerField()
    count = models.BigIntegerField(default=0)
    minutes = models.BinaryField(null=True, help_text=_("60 unsigned 32-bit counts, little-endian; null: forgotten"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["strand", "hour"], name="hour_once")]
        indexes = [models.Index(fields=["hour"], name="failure_hour_by_age")]

    def __str__(self) -> str:
        return f"{self.strand_id}/{self.hour}"


class Failure(models.Model):
    """One final failure of one job. `score_ms` names it exactly (the failed set's score), `at_ms` is fit for windows.

    `in_set`: the job is in the failed set with this score. `present`: that, or a letter tells of it.
    """

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="failures")
    strand = models.ForeignKey(FailureStrand, on_delete=models.CASCADE, related_name="failures")
    job = models.TextField(help_text=_("its id as in URLs"))
    at_ms = models.BigIntegerField()
    score_ms = models.BigIntegerField()
    worker = models.TextField(default="")
    attempts = models.PositiveIntegerField(null=True, help_text=_("made; null: not known"))
    in_set = models.BooleanField(default=False)
    present = models.BooleanField(default=False)
    how = models.CharField(max_length=10, default="set", help_text=_("queues.failures.types.How it was first seen"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "job", "score_ms"], name="failure_once")]
        indexes = [
            models.Index(fields=["strand", "-at_ms"], name="failure_by_strand"),
            models.Index(fields=["queue", "score_ms"], condition=models.Q(in_set=True), name="failure_in_set"),
            models.Index(fields=["at_ms"], condition=models.Q(present=False), name="failure_gone_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.queue_id}/{self.job} at {self.score_ms}"


class Letter(models.Model):
    """A job of a dead-letter queue, and the failure it tells of. `unmapped` names what could not be read from it."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="letters", help_text=_("where it lies"))
    job = models.TextField(help_text=_("its id as in URLs"))
    failure = models.ForeignKey(Failure, on_delete=models.CASCADE, related_name="letters")
    at_ms = models.BigIntegerField(help_text=_("when it was posted: the timestamp of the job"))
    unmapped = models.CharField(max_length=200, default="", help_text=_("parts that were not found, by commas"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "job"], name="letter_once")]

    def __str__(self) -> str:
        return f"{self.queue_id}/{self.job}"


class FailureSample(models.Model):
    """A failure of a signature in full, masked and cut: kept when the job is gone. A few for each signature."""

    signature = models.ForeignKey(FailureSignature, on_delete=models.CASCADE, related_name="samples")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="+")
    job = models.TextField()
    name = models.TextField(default="")
    at_ms = models.BigIntegerField()
    reason = models.TextField(default="")
    stack = models.TextField(default="")
    payload = models.TextField(default="")
    sizes = models.JSONField(default=dict, help_text=_("true sizes in bytes of reason, stack and payload"))

    class Meta:
        indexes = [models.Index(fields=["signature", "-at_ms"], name="sample_by_signature")]

    def __str__(self) -> str:
        return f"sample of {self.signature_id} at {self.at_ms}"


class FailureNote(models.Model):
    """What somebody knows about a group, for the next person."""

    group = models.ForeignKey(FailureGroup, on_delete=models.CASCADE, related_name="notes")
    who = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)
    text = models.TextField()

    def __str__(self) -> str:
        return f"{self.who} at {self.at}"


class ClassRule(models.Model):
    """A rule of a user that says which class failures are of. Lower positions first, then what is built in.

    An empty pattern matches anything; others are compared as `queues.failures.classes` says.
    """

    position = models.IntegerField()
    kind = models.CharField(max_length=20, help_text=_("queues.failures.types.Kind"))
    error_class = models.CharField(max_length=200, default="")
    code = models.CharField(max_length=100, default="")
    message = models.CharField(max_length=500, default="")
    name = models.CharField(max_length=500, default="", help_text=_("of the job"))
    source = models.CharField(max_length=100, default="")
    queue = models.CharField(max_length=2000, default="", help_text=_("its slug"))
    added_by = models.CharField(max_length=150, default="")
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return f"{self.position}: {self.kind}"


class DeadLetterQueue(models.Model):
    """What a person said about a queue of dead letters; those found by name alone have no row."""

    queue = models.OneToOneField(Queue, on_delete=models.CASCADE, related_name="dead_letters")
    is_one = models.BooleanField(help_text=_("true: pinned; false: it is none, whatever its name"))
    origin = models.CharField(max_length=2000, default="", help_text=_("slug of the queue it is for; empty: by name"))
    mapping = models.JSONField(default=dict, help_text=_("queues.failures.letters.Mapping: part -> path in its data"))
    said_by = models.CharField(max_length=150, default="")
    said_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.queue}: {self.is_one}"


class Indexing(models.Model):
    """How the index of a source stands. `epoch` is that of the follower beside it, checked by every writing."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="indexing")
    epoch = models.BigIntegerField(default=0)
    beats = models.BigIntegerField(default=0)
    beat_at = models.DateTimeField(null=True, help_text=_("last sign of life"))
    since_ms = models.BigIntegerField(null=True, help_text=_("when the source was first indexed"))
    windows_ms = models.BigIntegerField(default=0, help_text=_("the whole minute up to which windows are counted"))
    compared_ms = models.BigIntegerField(null=True, help_text=_("when all queues were last compared with the server"))
    behind_ms = models.BigIntegerField(default=0, help_text=_("how old the oldest failure is that is not read yet"))
    commands_per_s = models.FloatField(null=True, help_text=_("what indexing sends to the server, over a minute"))
    why = models.TextField(default="", help_text=_("why it cannot go on, without secrets; empty: it can"))
    version = models.PositiveIntegerField(default=0, help_text=_("of the signatures that all failures have"))
    regrouped = models.BigIntegerField(default=0, help_text=_("of the failures that a new version regroups"))
    regrouping = models.BigIntegerField(default=0, help_text=_("how many there are to regroup; 0: none"))

    def __str__(self) -> str:
        return f"index of {self.source}"


class IndexedQueue(models.Model):
    """How far the failed set or the letters of a queue are read. The scan goes from the newest to the oldest."""

    queue = models.OneToOneField(Queue, on_delete=models.CASCADE, related_name="indexed")
    scanning = models.BooleanField(default=True, help_text=_("the first scan has not come to its end"))
    expected = models.BigIntegerField(null=True, help_text=_("how many there were when it began"))
    scanned = models.BigIntegerField(default=0)
    low = models.TextField(default="", help_text=_("where the scan goes on, downwards; opaque"))
    high = models.TextField(default="", help_text=_("up to where newer failures are read; opaque"))
    letters = models.TextField(default="", help_text=_("the same for letters; opaque"))
    reread = models.BigIntegerField(default=0, help_text=_("letters up to this key are to be read anew; -1: all"))
    since_ms = models.BigIntegerField(null=True, help_text=_("when its scan began"))
    compared_ms = models.BigIntegerField(null=True, help_text=_("when it last equalled the server's set"))
    gaps = models.JSONField(default=list, help_text=_("[from ms, until ms] where failures may be missing; newest 20"))
    error = models.TextField(default="", help_text=_("why it cannot be read, without secrets"))

    REREAD_ALL = -1

    def __str__(self) -> str:
        return f"index of {self.queue}"


class Deploy(models.Model):
    """A version that went live, as somebody told. `source` empty: everywhere."""

    at_ms = models.BigIntegerField()
    version = models.CharField(max_length=200)
    source = models.CharField(max_length=100, default="")
    told_by = models.CharField(max_length=150, default="")

    class Meta:
        indexes = [models.Index(fields=["-at_ms"], name="deploy_by_time")]

    def __str__(self) -> str:
        return f"{self.version} at {self.at_ms}"
