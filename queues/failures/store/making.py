"""Signatures that are in the database, and new ones with their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from queues.failures.store import signing
from queues.failures.store.places import Place
from queues.failures.store.rows import parts
from queues.failures.types import VERSION, Found, Signature
from queues.models import FailureGroup, FailureSignature
from queues.types import QueueRef

SLUG = 6  # digits of the digest in the name of a group, more where that is taken
LONGEST = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A signature by what names it; `parent` and `value` where it is the child of one that was split."""

    version: int
    digest: str
    parent: FailureSignature | None = field(default=None, compare=False)
    value: str = field(default="", compare=False)


def existing(source_pk: int, wanted: Iterable[Wanted]) -> dict[Wanted, FailureSignature]:
    """Those that are there."""
    found: dict[Wanted, FailureSignature] = {}
    for part in parts(sorted({each.digest for each in wanted})):
        for row in FailureSignature.objects.filter(source_id=source_pk, digest__in=part):
            found[Wanted(row.version, row.digest)] = row
    return found


def by_message(source_pk: int, place: Place) -> Mapping[str, Sequence[FailureSignature]]:
    """The signatures that were seen in a queue, by their normalised message. One query."""
    rows = FailureSignature.objects.filter(source_id=source_pk, version=VERSION, strands__queue_id=place.pk)
    found: dict[str, list[FailureSignature]] = {}
    for row in rows.distinct():
        found.setdefault(str(row.parts.get("message", "")), []).append(row)
    return found


def message_of(signature: Signature, queue: QueueRef) -> str:
    """The message of a signature as `by_message` has it."""
    return signing.safe(signature.message, signing.MESSAGE, queue)


def make(source_pk: int, place: Place, wanted: Mapping[Wanted, Found]) -> dict[Wanted, FailureSignature]:
    """New signatures, each in a new group."""
    if not wanted:
        return {}
    slugs = free_slugs([each.digest for each in wanted])
    groups, signatures = [], []
    for (each, found), slug in zip(wanted.items(), slugs, strict=True):
        told = signing.parts_of(found.signature, place.ref)
        title = signing.child_title(str(told["title"]), each.parent.split_by if each.parent else "", each.value)
        group = FailureGroup(source_id=source_pk, slug=slug, title=title, first_ms=found.at_ms, last_ms=found.at_ms)
        groups.append(group)
        signatures.append(_signature(source_pk, each, told))
    for group, signature in zip(FailureGroup.objects.bulk_create(groups), signatures, strict=True):
        signature.group = group
    return dict(zip(wanted, FailureSignature.objects.bulk_create(signatures), strict=True))


def _signature(source_pk: int, each: Wanted, told: Mapping[str, object]) -> FailureSignature:
    return FailureSignature(
        source_id=source_pk,
        version=each.version,
        digest=each.digest,
        parts=dict(told),
        parent=each.parent,
        value=each.value,
    )


def free_slugs(digests: Sequence[str]) -> list[str]:
    """Names for new groups, one for each digest: its first six digits, or more where another group has those."""
    taken: set[str] = set()
    for part in parts(sorted({digest[:SLUG] for digest in digests})):
        for slug in FailureGroup.objects.filter(slug__in=part).values_list("slug", flat=True):
            taken.update(FailureGroup.objects.filter(slug__startswith=slug).values_list("slug", flat=True))
    found = []
    for digest in digests:
        slug = next(name for name in _names(digest) if name not in taken)
        taken.add(slug)
        found.append(slug)
    return found


def _names(digest: str) -> Iterable[str]:
    yield from (digest[:length] for length in range(SLUG, LONGEST + 1))
    yield from (f"{digest[:12]}-{number}" for number in range(2, 10**6))  # one digest in many sources
