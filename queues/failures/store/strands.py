"""To which strand a failure belongs: found by its signature, made where there is none yet.

What was found is remembered for the next batch, and read again in each transaction before it is relied on: people
merge, split and reclassify meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from queues.failures.classes import Rules
from queues.failures.splitting import digest_of
from queues.failures.store import kinds, making, signing
from queues.failures.store.making import Wanted
from queues.failures.store.places import Place
from queues.failures.store.rows import parts
from queues.failures.types import Found, How, SplitBy
from queues.models import FailureSignature, FailureStrand

REMEMBERED = 50_000  # strands
NEW = 200  # strands that one transaction may have to make
DEEPEST = 5  # times that one signature was split
OTHERS = "…"  # the job name of the strand for all names beyond the most
MOST_NAMES = 500  # job names of a signature in a queue with strands of their own
Key = tuple[str, str, str]  # digest, job name; the reason where that decides
_SPLIT = -1  # the strand depends on the reason


@dataclass(slots=True)
class _Open:
    """A failure whose strand is looked for, and the signature that was found for it."""

    key: Key
    found: Found
    wanted: Wanted
    signature: FailureSignature | None = None


class Strands:
    """Those of one source. `fresh`: slugs of groups that the running transaction made."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[int, dict[Key, int]] = {}  # by queue
        self._checked: set[int] = set()  # are good within the running transaction
        self._kinds = kinds.Kinds()
        self.fresh: set[str] = set()

    def forget(self) -> None:
        """Nothing that was found holds any more: the transaction came to nothing."""
        self._known.clear()
        self._kinds.forget()
        self.begin()

    def begin(self) -> None:
        """A new transaction."""
        self._checked.clear()
        self.fresh = set()
        if sum(map(len, self._known.values())) > REMEMBERED:
            self._known.clear()

    def doubt(self, strands: set[int]) -> None:
        """Read these again before they are relied on."""
        self._checked -= strands

    def portions(self, place: Place, found: Sequence[Found]) -> list[Sequence[Found]]:
        """The same failures in parts, each with so few that may need a new strand that a transaction stays short."""
        known = self._known.get(place.pk, {})
        made: list[Sequence[Found]] = []
        begin, unknown = 0, set[Key]()
        for at, each in enumerate(found):
            key = _key(known, each)
            if key not in known:
                unknown.add(key)
                if len(unknown) > NEW:
                    made.append(found[begin:at])
                    begin, unknown = at, {key}
        return [*made, found[begin:]]

    def of(self, source_pk: int, place: Place, found: Sequence[Found]) -> list[int]:
        """The keys of the strands of these failures, in order."""
        known = self._known.setdefault(place.pk, {})
        keys = [_key(known, each) for each in found]
        self._check(known, keys)
        while unknown := {key: each for key, each in zip(keys, found, strict=True) if key not in known}:
            self._find(source_pk, place, known, unknown)
            keys = [_key(known, each) for each in found]  # some were found to depend on the reason
        return [known[key] for key in keys]

    def _check(self, known: dict[Key, int], keys: Iterable[Key]) -> None:
        """Forget those that are gone or whose signature was split since they were found."""
        asked = {known[key] for key in keys if key in known} - self._checked
        good: set[int] = set()
        for part in parts(sorted(asked)):
            whole = FailureStrand.objects.filter(pk__in=part, signature__split_by="")
            good.update(whole.values_list("pk", flat=True))
        self._checked |= good
        if bad := asked - good:
            for key in [key for key, strand in known.items() if strand in bad]:
                del known[key]

    def _find(self, source_pk: int, place: Place, known: dict[Key, int], unknown: Mapping[Key, Found]) -> None:
        waiting = [
            _Open(key, each, Wanted(each.signature.version, each.signature.digest)) for key, each in unknown.items()
        ]
        done: list[_Open] = []
        for _depth in range(DEEPEST):
            self._sign(source_pk, place, waiting)
            whole = [each for each in waiting if not _signature(each).split_by]
            done += whole
            waiting = [self._below(known, place, each) for each in waiting if _signature(each).split_by]
            if not waiting:
                break
        for each in waiting:
            each.signature = each.wanted.parent  # split deeper than this, or where there is no room for its parts
        done += waiting
        for each, strand in zip(done, self._strands(place, done), strict=True):
            known[each.key] = strand
            self._checked.add(strand)

    @staticmethod
    def _below(known: dict[Key, int], place: Place, each: _Open) -> _Open:
        """The same failure, looked for among the children of its signature."""
        parent, thrown, key = _signature(each), each.found.thrown, each.key
        value = signing.split_value(parent.split_by, place.ref, thrown.name, thrown.reason)
        if parent.split_by == SplitBy.MESSAGE:
            known[key[0], key[1], ""] = _SPLIT
            key = (key[0], key[1], thrown.reason or " ")
        digest = digest_of(parent.digest, parent.split_by, value)
        return _Open(key, each.found, Wanted(parent.version, digest, parent, value))

    def _sign(self, source_pk: int, place: Place, waiting: Sequence[_Open]) -> None:
        """Find or make the signature of each that waits."""
        there = making.existing(source_pk, [each.wanted for each in waiting])
        of_events = [each for each in waiting if each.wanted not in there and _is_event(each)]
        if of_events:
            by_message = making.by_message(source_pk, place)
            for each in of_events:
                alike = by_message.get(making.message_of(each.found.signature, place.ref), ())
                if len(alike) == 1:
                    there[each.wanted] = alike[0]
        missing = {each.wanted: each.found for each in waiting if each.wanted not in there}
        if missing:
            new = dict(list(missing.items())[: self._kinds.room(place)])
            there.update(self._make(source_pk, place, new))
            self._kinds.made(place, len(new))
            self._together(source_pk, place, [each for each in waiting if each.wanted not in there])
        for each in waiting:
            each.signature = each.signature or there[each.wanted]

    def _make(self, source_pk: int, place: Place, new: Mapping[Wanted, Found]) -> dict[Wanted, FailureSignature]:
        made = making.make(source_pk, place, new)
        self.fresh.update(signature.group.slug for signature in made.values())
        return made

    def _together(self, source_pk: int, place: Place, beyond: Sequence[_Open]) -> None:
        """Give these, for which there is no room, one signature."""
        if not beyond:
            return
        told = kinds.others(place)
        wanted = Wanted(told.version, told.digest)
        for each in beyond:
            each.found = replace(each.found, signature=told)
        there = making.existing(source_pk, [wanted]) or self._make(source_pk, place, {wanted: beyond[0].found})
        for each in beyond:
            each.signature = there[wanted]

    def _strands(self, place: Place, found: Sequence[_Open]) -> list[int]:
        """The strand of each in this queue; made where there is none."""
        names: dict[int, dict[str, int]] = {_signature(each).pk: {} for each in found}
        for part in parts(sorted(names)):
            rows = FailureStrand.objects.filter(queue_id=place.pk, signature_id__in=part)
            for signature, name, pk in rows.values_list("signature_id", "name", "pk"):
                names[signature][name] = pk
        new: dict[tuple[int, str], FailureStrand] = {}
        places = [(_signature(each).pk, self._name(names, new, place, each)) for each in found]
        for made in FailureStrand.objects.bulk_create(new.values()):
            names[made.signature_id][made.name] = made.pk
        return [names[signature][name] for signature, name in places]

    def _name(
        self,
        names: Mapping[int, dict[str, int]],
        new: dict[tuple[int, str], FailureStrand],
        place: Place,
        each: _Open,
    ) -> str:
        """Under which job name a failure is counted; `new` gains the strand where that is not there yet."""
        signature = _signature(each)
        there = names[signature.pk]
        name = signing.name_of(each.found.thrown.name)
        if not name and each.found.how is How.EVENT and len(there) == 1:
            return next(iter(there))
        if name not in there and len(there) >= MOST_NAMES:
            name = OTHERS
        if name not in there:
            there[name] = 0
            new[signature.pk, name] = self._strand(signature, place, name, each.found)
        return name

    def _strand(self, signature: FailureSignature, place: Place, name: str, found: Found) -> FailureStrand:
        slug = place.ref.slug
        verdict = Rules.current().verdict(found.signature, name=name, queue_slug=slug, source=self._source)
        return FailureStrand(
            signature=signature,
            group_id=signature.group_id,
            queue_id=place.pk,
            name=name,
            kind=verdict.kind.value,
            rule=verdict.rule[:100],
            first_ms=found.at_ms,
            last_ms=found.at_ms,
        )


def _key(known: Mapping[Key, int], found: Found) -> Key:
    key = (found.signature.digest, found.thrown.name, "")
    return key if known.get(key) != _SPLIT else (key[0], key[1], found.thrown.reason or " ")


def _is_event(each: _Open) -> bool:
    return each.found.how is How.EVENT and each.wanted.parent is None


def _signature(each: _Open) -> FailureSignature:
    if each.signature is None:
        raise RuntimeError("its signature was not looked for yet")
    return each.signature
