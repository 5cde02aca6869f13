"""The streams of the target queues: where they stood before the first job was sent there, and those that are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from queues.models import Queue, ReplayLine, ReplayQueue
from queues.replay.hands import Hands
from queues.replay.types import Told
from queues.replay.watching.streams import ORIGIN, Stream
from queues.types import QueueRef


def begin(run: Hands, queues: Sequence[QueueRef]) -> None:
    """Note where the streams of these queues stand, unless it was noted before. A query; a call where one is new.

    Commits before it returns. Raises what the backend raises.
    """
    wanted = {queue.slug: queue for queue in queues}
    begun = ReplayQueue.objects.filter(replay=run.replay, queue__slug__in=wanted).exclude(position="")
    new = [wanted[slug] for slug in wanted.keys() - set(begun.values_list("queue__slug", flat=True))]
    if not new:
        return
    keys = dict(Queue.objects.filter(source=run.replay.source_id, slug__in=wanted).values_list("slug", "pk"))
    positions = run.reader.positions(new)
    with run.saving():
        for ref in new:
            at = positions.get(ref)  # none of a key that is no stream: its events are never known
            ReplayQueue.objects.update_or_create(
                replay_id=run.replay.pk,
                queue_id=keys[ref.slug],
                defaults={"position": at.last_id if at else ORIGIN, "added": at.added if at else None},
            )


def join(run: Hands, streams: dict[int, Stream]) -> None:
    """Take in the streams that are not read yet. One query, one more for those of which events were lost."""
    rows = ReplayQueue.objects.filter(replay=run.replay).exclude(position="").exclude(pk__in=list(streams))
    names = ("pk", "queue_id", "queue__source__name", "queue__slug", "position", "added", "lost")
    for pk, queue, source, slug, position, added, lost in rows.values_list(*names):
        ref = QueueRef.from_slug(source, slug)
        blind_ms = _blind_ms(run, slug) if lost else 0
        streams[pk] = Stream(pk, queue, ref, position, added, blind_ms, stored=position)


def _blind_ms(run: Hands, slug: str) -> int:
    """Up to when events of a queue may be missing, by the last line that says so."""
    told: Iterable[dict[str, object]] = ReplayLine.objects.filter(replay=run.replay, kind=Told.BLIND).values_list(
        "facts", flat=True
    )
    found = [facts.get("until_ms") for facts in told if facts.get("queue") == slug]
    return max((ms for ms in found if isinstance(ms, int)), default=0)
