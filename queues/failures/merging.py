"""What belongs together by people's word: groups merged into one, signatures taken out again or split in parts.

Nothing is copied: signatures, strands and samples are moved, failures hang on their strands. All of it is done within
one short transaction for which the index waits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from django.db.models import Max, Min, Sum
from django.utils.translation import gettext as _

from queues import audit
from queues.audit.types import Asked
from queues.errors import BadInput, NotFound, WrongState
from queues.failures.locking import beside_the_index
from queues.failures.splitting import digest_of, value_of
from queues.failures.store.making import free_slugs
from queues.failures.store.signing import child_title
from queues.failures.types import Life, SplitBy
from queues.models import AuditEntry, FailureGroup, FailureNote, FailureSample, FailureSignature, FailureStrand

MOST = 20  # groups that are merged at once
PARTS = 200  # into which a signature is split at once

MERGE, SPLIT = "failure-merge", "failure-split"
_SLUG = re.compile(r"[0-9a-z-]{1,20}")


def current(slug: str) -> FailureGroup:
    """The group of this slug, or the one it was merged into. NotFound where there is none."""
    named = _SLUG.fullmatch(slug)  # PostgreSQL takes no NUL, not even to look for it
    found = FailureGroup.objects.select_related("source").filter(slug=slug).first() if named else None
    for _step in range(MOST):
        if found is None:
            break
        if found.merged_into_id is None:
            return found
        found = FailureGroup.objects.select_related("source").filter(pk=found.merged_into_id).first()
    raise NotFound(_("There is no such group of failures; it may have been deleted with its history."))


def print_of(group: FailureGroup) -> str:
    """What a group is made of, in a few letters: others once it was merged or split. One query."""
    keys = ",".join(map(str, group.signatures.order_by("pk").values_list("pk", flat=True)))
    return hashlib.sha256(f"{group.pk}:{keys}".encode()).hexdigest()[:16]


def merge(asked: Asked, into: FailureGroup, others: Sequence[FailureGroup]) -> AuditEntry:
    """Move all that others hold into one. Their addresses lead there from now on, their notes go along.

    The one that stays keeps its life, class, owner and runbook; what it has not it takes from the others. BadInput
    for groups of several sources, WrongState where one was merged meanwhile.
    """
    wanted = {group.pk for group in others} - {into.pk}
    if not wanted or len(wanted) >= MOST:
        raise BadInput(_("Choose two groups or more, at most %(most)s.") % {"most": MOST})
    with beside_the_index(into.source_id):
        kept, *gone = _locked(into.pk, wanted)
        if any(group.source_id != kept.source_id for group in gone):
            raise BadInput(_("Only groups of one source can be merged."))
        FailureSignature.objects.filter(group__in=gone).update(placed_by=asked.by.name[:150])
        absorb(kept, gone)
        told = {"into": kept.slug, "groups": [group.slug for group in gone]}
        note = "; ".join(group.title[:100] for group in gone)[:1_000]
        return audit.record(
            *(asked.by, MERGE), source=kept.source.name, parameters=told, reason=asked.reason, note=note, group=kept
        )


def absorb(kept: FailureGroup, gone: Sequence[FailureGroup]) -> None:
    """Move all that groups hold into `kept`; their addresses lead there from now on. Within a transaction of the index,
    or one that the index waits for.
    """
    keys = [group.pk for group in gone]
    FailureSignature.objects.filter(group__in=keys).update(group=kept)
    FailureStrand.objects.filter(group__in=keys).update(group=kept)
    FailureNote.objects.filter(group__in=keys).update(group=kept)
    FailureGroup.objects.filter(merged_into__in=keys).update(merged_into=kept)
    FailureGroup.objects.filter(pk__in=keys).update(merged_into=kept, total=0)
    _take_over(kept, gone)
    recount(kept)


def take_out(asked: Asked, group: FailureGroup, signature: int) -> FailureGroup:
    """Give a signature of a group one of its own again: that which it had where it was merged, else a new one.

    WrongState where it is the last one. One transaction.
    """
    with beside_the_index(group.source_id):
        (kept,) = _locked(group.pk, ())
        taken = _signature(kept, signature)
        if not kept.signatures.exclude(pk=taken.pk).exists():
            raise WrongState(_("It is the only signature of this group: there is nothing to take it out of."))
        made = _former(kept, taken) or _new(kept, taken)
        _move(taken, made, asked.by.name)
        recount(kept)
        recount(made)
        told = {"signature": taken.digest[:12], "into": made.slug}
        audit.record(*(asked.by, SPLIT), source=kept.source.name, parameters=told, reason=asked.reason, group=kept)
    return made


def split(asked: Asked, group: FailureGroup, signature: int, by: SplitBy) -> Sequence[FailureGroup]:
    """Tell failures of a signature apart by job name, queue or exact message from now on; gives the groups made.

    What is there is moved by name and by queue, the part that failed most stays in this group. By message only what
    comes later can be told apart: what a failure said is not kept for each. WrongState where it was split before.
    """
    with beside_the_index(group.source_id):
        (kept,) = _locked(group.pk, ())
        parent = _signature(kept, signature)
        if parent.split_by or parent.parent_id:
            raise WrongState(_("This signature was split before."))
        FailureSignature.objects.filter(pk=parent.pk).update(split_by=by.value, placed_by=asked.by.name[:150])
        made = [] if by is SplitBy.MESSAGE else _parts(kept, parent, by, asked.by.name)
        for each in (kept, *made):
            recount(each)
        told = {"signature": parent.digest[:12], "by": by.value, "groups": [each.slug for each in made]}
        audit.record(*(asked.by, SPLIT), source=kept.source.name, parameters=told, reason=asked.reason, group=kept)
    return made


def recount(group: FailureGroup) -> None:
    """Make the sums of a group those of its strands. Within the transaction of what moved them."""
    found = group.strands.aggregate(total=Sum("total"), first=Min("first_ms"), last=Max("last_ms"))
    values = {"total": found["total"] or 0}
    if found["first"] is not None:
        values |= {"first_ms": found["first"], "last_ms": found["last"]}
    FailureGroup.objects.filter(pk=group.pk).update(**values)


def _locked(first: int, others: Sequence[int] | set[int]) -> list[FailureGroup]:
    """Groups locked in the order of their keys, and given with `first` in front."""
    wanted = {first, *others}
    # `of`: the source is read along and must not be locked, the index writes beside it.
    rows = FailureGroup.objects.select_for_update(of=("self",)).select_related("source").filter(pk__in=wanted)
    found = {group.pk: group for group in rows.order_by("pk")}
    if found.keys() != wanted or any(group.merged_into_id for group in found.values()):
        raise WrongState(_("One of these groups was merged meanwhile. Open the list again."))
    return [found[first], *(group for pk, group in found.items() if pk != first)]


def _signature(group: FailureGroup, pk: int) -> FailureSignature:
    found = FailureSignature.objects.select_for_update(of=("self",)).filter(group=group, pk=pk).first()
    if found is None:
        raise WrongState(_("This signature is in another group by now. Open the group again."))
    return found


def _take_over(kept: FailureGroup, gone: Sequence[FailureGroup]) -> None:
    """What the one that stays has not, from the others; what was open among them is open still."""
    values = {
        name: value
        for name in ("owner", "runbook", "kind_set")
        if not getattr(kept, name)
        and (value := next((getattr(each, name) for each in gone if getattr(each, name)), ""))
    }
    if kept.life == Life.RESOLVED and any(each.life in (Life.OPEN, Life.REGRESSED) for each in gone):
        values |= {"life": Life.OPEN.value}
    if values:
        FailureGroup.objects.filter(pk=kept.pk).update(**values)


def _former(kept: FailureGroup, taken: FailureSignature) -> FailureGroup | None:
    """The group that was merged and had this signature first: its address is its own again."""
    for each in FailureGroup.objects.filter(merged_into=kept).order_by("pk"):
        if taken.digest.startswith(each.slug.partition("-")[0]):
            FailureGroup.objects.filter(pk=each.pk).update(merged_into=None)
            each.merged_into = None
            return each
    return None


def _new(kept: FailureGroup, taken: FailureSignature, title: str = "") -> FailureGroup:
    told = title or str(taken.parts.get("title") or "") or kept.title
    return FailureGroup.objects.create(
        source=kept.source,
        slug=free_slugs([taken.digest])[0],
        title=told[:200],
        life=kept.life,
        life_at=kept.life_at,
        life_by=kept.life_by,
        resolved_ms=kept.resolved_ms,
        first_ms=kept.first_ms,
        last_ms=kept.last_ms,
    )


def _move(taken: FailureSignature, to: FailureGroup, who: str) -> None:
    FailureSignature.objects.filter(pk=taken.pk).update(group=to, placed_by=who[:150])
    FailureStrand.objects.filter(signature=taken).update(group=to)


def _parts(kept: FailureGroup, parent: FailureSignature, by: SplitBy, who: str) -> list[FailureGroup]:
    """A child for each value that its strands have, the largest in the group itself, each other in one of its own."""
    strands = list(parent.strands.select_for_update(of=("self",)).select_related("queue").order_by("pk"))
    values: dict[str, list[FailureStrand]] = {}
    for strand in strands:
        values.setdefault(_value(strand, by), []).append(strand)
    if len(values) > PARTS:
        raise BadInput(_("It would be split into %(number)s parts; at most %(most)s at once.") % _many(len(values)))
    made: list[FailureGroup] = []
    ranked = sorted(values, key=lambda value: (-sum(strand.total for strand in values[value]), value))
    for number, value in enumerate(ranked):
        child = _child(kept, parent, by, value, who)
        if number:
            made.append(group := _new(kept, child, child_title(str(parent.parts.get("title") or ""), by, value)))
            _move(child, group, who)
        _hang(child, values[value])
    return made


def _many(number: int) -> dict[str, int]:
    return {"number": number, "most": PARTS}


def _value(strand: FailureStrand, by: SplitBy) -> str:
    """What tells failures of this strand from the others: the same as the index finds for what comes later."""
    return value_of(by, name=strand.name, queue_slug=strand.queue.slug)


def _child(kept: FailureGroup, parent: FailureSignature, by: SplitBy, value: str, who: str) -> FailureSignature:
    digest = digest_of(parent.digest, by, value)
    found, _made = FailureSignature.objects.get_or_create(
        source_id=parent.source_id,
        version=parent.version,
        digest=digest,
        defaults={"group": kept, "parts": parent.parts, "parent": parent, "value": value, "placed_by": who[:150]},
    )
    return found


def _hang(child: FailureSignature, strands: Sequence[FailureStrand]) -> None:
    """Strands, and the samples that are of them, become those of a part."""
    FailureStrand.objects.filter(pk__in=[strand.pk for strand in strands]).update(
        signature=child, group_id=FailureSignature.objects.values_list("group", flat=True).get(pk=child.pk)
    )
    for strand in strands:
        FailureSample.objects.filter(
            signature_id=strand.signature_id, queue_id=strand.queue_id, name=strand.name
        ).update(signature=child)
