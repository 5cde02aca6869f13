"""A few failures of each signature in full, masked and cut: the first, and at most one an hour of the newest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from queues import masking
from queues.failures.store import rows, signing
from queues.failures.store.ids import kept
from queues.failures.store.places import Place
from queues.failures.store.posting import Made
from queues.failures.types import Found
from queues.models import Failure, FailureSample, FailureStrand
from queues.payload import plain_text, show
from queues.quantities import HOUR
from queues.types import Body

MOST = 5  # of one signature
REASON, STACK, PAYLOAD = 2_000, 8_000, 8_000  # characters
REMEMBERED = 20_000  # signatures


@dataclass(frozen=True, slots=True)
class Taken:
    """A failure to keep in full. `data` None: it is gone; `size`: its true size where `data` is its beginning."""

    found: Found
    data: bytes | None
    size: int | None = None


class Samples:
    """Those of one source: what there is, remembered until `forget`."""

    def __init__(self) -> None:
        self._times: dict[int, list[int]] = {}  # of the samples of a signature, oldest first
        self._signature: dict[int, int] = {}  # of a strand

    def forget(self) -> None:
        self._times.clear()
        self._signature.clear()

    def wanted(self, new: Mapping[int, Iterable[Found]]) -> list[tuple[bytes, int]]:
        """Which of these new failures, by strand, a sample is wanted of: at most one of each signature."""
        self._learn(new)
        chosen: dict[int, Found] = {}
        for strand, found in new.items():
            signature = self._signature.get(strand)
            if signature is None or signature in chosen:
                continue
            each = max(found, key=lambda each: each.at_ms)
            if self._wants(signature, each.at_ms):
                chosen[signature] = each
        return [(each.job, each.score_ms) for each in chosen.values()]

    def keep(self, place: Place, taken: Sequence[Taken]) -> None:
        """Write samples; of a signature with too many the second oldest go. Those no longer wanted are left out.

        Four queries for all of one queue.
        """
        signatures = self._signatures(place, [each.found for each in taken])
        for known in signatures.values():
            self._times.pop(known, None)  # another may have been kept or moved since
        self._read(set(signatures.values()))
        made = []
        for each in taken:
            signature = signatures.get((kept(each.found.job), each.found.score_ms))
            if signature is not None and self._wants(signature, each.found.at_ms):
                made.append(_sample(signature, place, each.found, _payload(place, each.data, each.size)))
                self._times[signature] = sorted([*self._times[signature], each.found.at_ms])
        FailureSample.objects.bulk_create(made)
        self._push_out({each.signature_id for each in made})

    def of_letters(self, made: Sequence[Made]) -> None:
        """Keep what is wanted of failures that only letters tell of: their payload is in the letter."""
        for _pk, some in groupby(sorted(made, key=lambda each: each.place.pk), key=lambda each: each.place.pk):
            by_strand: dict[int, list[Found]] = {}
            by_key = {}
            for each in some:
                found = each.letter.found
                by_strand.setdefault(each.strand, []).append(found)
                by_key[found.job, found.score_ms] = each
            chosen = [by_key[key] for key in self.wanted(by_strand)]
            if chosen:
                taken = [Taken(each.letter.found, each.letter.payload, each.letter.payload_size) for each in chosen]
                self.keep(chosen[0].place, taken)

    def _push_out(self, signatures: set[int]) -> None:
        """Of those that have too many, the second oldest and the next: the first is kept for good."""
        full = [signature for signature in signatures if len(self._times[signature]) > MOST]
        over: list[int] = []
        rows_ = FailureSample.objects.filter(signature_id__in=full).order_by("signature_id", "at_ms", "pk")
        for signature, some in groupby(rows_.values_list("signature_id", "pk", "at_ms"), key=itemgetter(0)):
            held = list(some)
            many = len(held) - MOST
            over += [pk for _signature, pk, _at in held[1 : 1 + many]]
            self._times[signature] = [at for _signature, _pk, at in (*held[:1], *held[1 + many :])]
        FailureSample.objects.filter(pk__in=over).delete()

    def _wants(self, signature: int, at_ms: int) -> bool:
        times = self._times.get(signature, [])
        if len(times) >= MOST:
            return at_ms >= times[-1] + HOUR
        return all(abs(at_ms - time) >= HOUR for time in times)

    def _learn(self, strands: Iterable[int]) -> None:
        """Read which samples there are of signatures that were not asked about before."""
        if len(self._signature) > REMEMBERED:
            self.forget()
        unknown = [strand for strand in strands if strand not in self._signature]
        for part in rows.parts(unknown):
            found = FailureStrand.objects.filter(pk__in=part).values_list("pk", "signature_id")
            self._signature.update(found)
        self._read({self._signature[strand] for strand in strands if strand in self._signature} - self._times.keys())

    def _read(self, signatures: Iterable[int]) -> None:
        wanted = sorted(signatures)
        self._times.update((signature, []) for signature in wanted)
        for part in rows.parts(wanted):
            found = FailureSample.objects.filter(signature_id__in=part).order_by("at_ms")
            for signature, at in found.values_list("signature_id", "at_ms"):
                self._times[signature].append(at)

    @staticmethod
    def _signatures(place: Place, found: Sequence[Found]) -> Mapping[tuple[str, int], int]:
        """Of those that are known, by job and score."""
        ours = Failure.objects.filter(queue_id=place.pk, job__in={kept(each.job) for each in found})
        told = ours.values_list("job", "score_ms", "strand__signature_id")
        return {(job, score): signature for job, score, signature in told}


def _payload(place: Place, data: bytes | None, size: int | None) -> tuple[str, int | None]:
    """Data laid out and masked, and its true size."""
    if data is None:
        return "", None
    true = max(len(data), size or 0)
    with masking.within(place.ref):
        return show(Body(data, true)).text[:PAYLOAD], true


def _sample(signature: int, place: Place, found: Found, payload: tuple[str, int | None]) -> FailureSample:
    thrown = found.thrown
    reason, stack = (thrown.reason or "").encode(errors="replace"), thrown.stack.encode(errors="replace")
    told = {"reason": thrown.reason_size or len(reason), "stack": len(stack)}
    text, size = payload
    if size is not None:
        told["payload"] = size
    with masking.within(place.ref):
        return FailureSample(
            signature_id=signature,
            queue_id=place.pk,
            job=kept(found.job),
            name=signing.name_of(thrown.name),
            at_ms=found.at_ms,
            reason=_text(reason, told["reason"], REASON),
            stack=_text(stack, len(stack), STACK),
            payload=text,
            sizes=told,
        )


def _text(raw: bytes, size: int, limit: int) -> str:
    return plain_text(Body(raw, size)).value[:limit]
