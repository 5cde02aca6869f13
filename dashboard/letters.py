"""The form for what a queue of dead letters is and how its letters are read, and a look at some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.db.models import Count, Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.forms import InkField
from dashboard.words import shown
from queues import masking, outages, readings
from queues.backend import Backend, Failures
from queues.errors import BadInput, QueueError, Unsupported
from queues.failures import letters
from queues.failures.letters.book import all_said
from queues.failures.letters.mapping import COMMON, made
from queues.models import Letter
from queues.names import show_controls
from queues.registry import configured
from queues.types import Capability, JobRef, Order, QueueRef, State

LOOKED = 20  # letters that the page of a queue reads
PART_WORDS: Mapping[str, Promise] = {
    "payload": _("Payload"),
    "error": _("Message of the error"),
    "class": _("Name of the error"),
    "code": _("Code of the error"),
    "stack": _("Stack"),
    "failed_at": _("When it failed"),
    "queue": _("Queue it came from"),
    "job": _("Id of the job"),
    "name": _("Name of the job"),
    "attempts": _("Attempts made"),
    "opts": _("Options of the job"),
    "data": _("Its data is no object"),
}
_WHOLE = _(" A dot alone: each letter is the job itself, moved over as it was.")
_KINDS = (("", _("Judge by its name")), ("yes", _("It holds dead letters")), ("no", _("It holds none")))


class LettersForm(forms.Form):
    """What one queue is. Paths stay empty where the common shapes are enough."""

    bound_field_class = InkField
    is_one = forms.ChoiceField(label=_("What this queue is"), choices=_KINDS, required=False)
    origin = forms.CharField(
        label=_("Queue whose letters it holds"),
        required=False,
        max_length=2000,
        help_text=_("Empty: as its name or its letters say."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, queue: QueueRef, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.queue = queue
        for part, paths in COMMON.items():
            self.fields[f"path-{part}"] = forms.CharField(
                label=str(PART_WORDS[part]),
                required=False,
                max_length=200,
                help_text=", ".join(paths[:3]) + " …" + (str(_WHOLE) if part == "payload" else ""),
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": paths[0]}),
            )

    @classmethod
    def about(cls, queue: QueueRef) -> LettersForm:
        """With what was said of a queue so far."""
        told = letters.said(queue)
        initial: dict[str, str] = {}
        if told:
            initial = {f"path-{part}": path for part, path in told.mapping.items()}
            initial |= {"is_one": "yes" if told.is_one else "no", "origin": told.origin.label if told.origin else ""}
        return cls(queue=queue, initial=initial)

    @property
    def paths(self) -> Sequence[Any]:
        """The fields for paths, as the template draws them."""
        return [self[f"path-{part}"] for part in COMMON]

    @property
    def set_paths(self) -> int:
        """How many paths there are."""
        return sum(bool(field.value()) for field in self.paths)

    @property
    def opened(self) -> bool:
        """Whether the fields for paths are to be seen at once: some path is set, or wrong."""
        return bool(self.set_paths or any(field.errors for field in self.paths))

    def clean_origin(self) -> QueueRef | None:
        typed = self.cleaned_data["origin"].strip()
        if not typed:
            return None
        found = readings.called(self.queue.source, typed)
        if found is None:
            raise forms.ValidationError(_("No queue of this name is known in this source."))
        if found == self.queue:
            raise forms.ValidationError(_("A queue cannot hold its own dead letters."))
        return found

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        mapping: dict[str, str] = {}
        for part in COMMON:
            try:
                mapping |= letters.checked({part: found.get(f"path-{part}", "")})
            except BadInput as error:
                self.add_error(f"path-{part}", str(error))
        found["mapping"] = mapping
        kind = found.get("is_one")
        if kind != "yes" and (mapping or found.get("origin")):
            self.add_error(
                "is_one", _("An origin and paths can be kept for a queue that is said to hold dead letters.")
            )
        return found


@dataclass(frozen=True, slots=True)
class Line:
    """A queue of dead letters, or one that was said to be none. `unmapped` of `known` letters lack some part."""

    queue: QueueRef
    is_one: bool
    origin: QueueRef | None
    pinned: bool
    known: int
    unmapped: int


def lines() -> Sequence[Line]:
    """All queues that hold letters or are said not to, by name. Three queries a source, and one for the letters."""
    counted = _counted()
    found = []
    for source in configured():
        among = readings.names(source.name)
        said = [ref for ref in all_said() if ref.source == source.name]
        for ref in sorted({*said, *(ref for ref in among if letters.is_letters(ref, among))}, key=lambda ref: ref.slug):
            known, unmapped = counted.get((ref.source, ref.slug), (0, 0))
            told = letters.said(ref)
            is_one = letters.is_letters(ref, among)
            found.append(Line(ref, is_one, letters.origin_of(ref, among), told is not None, known, unmapped))
    return found


def _counted() -> Mapping[tuple[str, str], tuple[int, int]]:
    rows = Letter.objects.values_list("queue__source__name", "queue__slug").annotate(
        known=Count("pk"), lacking=Count("pk", filter=~Q(unmapped=""))
    )
    return {(source, slug): (known, lacking) for source, slug, known, lacking in rows}


@dataclass(frozen=True, slots=True)
class Read:
    """One letter as it is read: each part with what was found of it, masked and cut; "" where nothing was."""

    job: JobRef
    parts: Mapping[str, str]
    failed_ms: int | None
    unmapped: Sequence[Promise]


@dataclass(frozen=True, slots=True)
class Look:
    """The newest letters of a queue, at most 20, or why they cannot be read."""

    letters: Sequence[Read] = ()
    error: str = ""


def look(queue: QueueRef, own: Mapping[str, str]) -> Look:
    """Read some letters by these paths, whatever is kept. A few short calls."""
    mapping = made(tuple(sorted(own.items())))
    try:
        with outages.watched(queue.source) as reader:
            if Capability.FAILURES not in reader.capabilities:
                raise Unsupported(_("Letters of this source cannot be read."))
            failures = cast(Failures, reader)
            found = failures.letters(queue, _newest(reader, failures, queue))
    except QueueError as error:
        return Look(error=str(error))
    with masking.within(queue):
        return Look([_read(JobRef(queue, job), letters.read(letter, mapping)) for job, letter in found.items()])


def _newest(reader: Backend, failures: Failures, queue: QueueRef) -> Sequence[bytes]:
    """Those that wait, the newest first; where they are few, what else lies there."""
    rows = reader.jobs(queue, [State.WAITING], size=LOOKED, order=Order.NEWEST).rows
    ids = dict.fromkeys(row.ref.id for row in rows)
    if len(ids) < LOOKED:
        ids |= dict.fromkeys(failures.letter_ids(queue, most=LOOKED).ids)
    return list(ids)[:LOOKED]


def _read(job: JobRef, mapped: letters.Mapped) -> Read:
    found = {
        "error": mapped.thrown.reason,
        "name": mapped.thrown.name,
        "queue": mapped.queue,
        "job": mapped.job.decode("utf-8", errors="replace") if mapped.job else "",
        "stack": mapped.thrown.stack.partition("\n")[0],
        "attempts": str(mapped.attempts),
    }
    parts = {part: "" if part in mapped.unmapped else _legible(value) for part, value in found.items()}
    return Read(job, parts, mapped.failed_ms, [PART_WORDS[part] for part in mapped.unmapped])


def _legible(value: str | None) -> str:
    """A text out of JSON, which may hold what no page can be sent with."""
    return shown(show_controls((value or "")[:1_000]), 160)
