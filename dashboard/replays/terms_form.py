"""The form of a plan's terms: what it shows of `Terms`, and the `Terms` that were typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time
from typing import TYPE_CHECKING, Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from dashboard.replays import words
from dashboard.replays.forms import FASTEST, LONGEST_S, ActForm
from queues import readings
from queues.replay.originals import when
from queues.replay.terms import AfterLoss, Hours, KeyFailed, Ordering, Originals, Patch, PatchKind, Terms
from queues.replay.types import CHOICES
from queues.sendings import Conflict

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Words

PLACE, ORIGIN, OTHER = "place", "origin", "other"
LIMITED, FREE = "limited", "free"
KEPT, RESET = "kept", "reset"
NONE = "none"
FROM, TO = 5.0, 20.0  # jobs a second, where a plan was unthrottled before
MOST = 10_000_000  # jobs of a canary or a backlog
PATCH_MOST = 256 * 1024  # characters
DAYS: Sequence[tuple[str, Words]] = (
    ("1", _("Mon")), ("2", _("Tue")), ("3", _("Wed")), ("4", _("Thu")),
    ("5", _("Fri")), ("6", _("Sat")), ("7", _("Sun")),
)  # fmt: skip
# Where a mistake in a field of `Terms` is shown, if not at the field of the same name.
AT: Mapping[str, str] = {
    "acts_copy": "how",
    "key": "key_path",
    "age_max_s": "age_max",
    "canary_wait_s": "canary_wait",
    "hours": "hours_on",
    "patch": "patch_text",
    "typed": "sure",
}
_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What of the form fits a plan."""

    source: str
    conflicts: Sequence[Conflict] = ()  # of which something can be chosen
    whole: bool = False  # it is of one job, whose data was edited
    sealed: bool = False  # its edit is about what is hidden from who looks at it

    @property
    def fixed(self) -> bool:
        """Whether its edit stays what it is."""
        return self.whole or self.sealed


def _radio(label: Words, choices: Sequence[tuple[str, Words]]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, widget=forms.RadioSelect)


def _whole(label: Words, *, least: int = 0, most: int = MOST) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=least, max_value=most)


def _figure(label: Words, *, least: float = 0.01, most: float = FASTEST) -> forms.FloatField:
    field = forms.FloatField(label=label, required=False, min_value=least, max_value=most)
    field.widget.attrs["step"] = "any"
    return field


def _tick(label: Words) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)


def _clock(label: Words) -> forms.TimeField:
    widget = forms.TimeInput(format="%H:%M", attrs={"type": "time"})
    return forms.TimeField(label=label, required=False, widget=widget)


class TermsForm(ActForm):
    """Everything a person decides about a plan. All that is wrong stands at its field; `terms` is what was typed."""

    was = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    how = _radio(_("How they are sent"), ((PLACE, _("place")), (ORIGIN, _("origin")), (OTHER, _("other"))))
    target = forms.CharField(
        label=_("Queue to send to"),
        required=False,
        max_length=2_000,
        widget=forms.TextInput(attrs=_PLAIN | {"list": "queues"}),
    )
    reset = _radio(_("Attempts"), ((KEPT, _("kept")), (RESET, _("reset"))))
    originals = _radio(
        _("Originals of what was copied"),
        (
            (Originals.WHEN_SENT, _("Removed as soon as the copy is safely in")),
            (Originals.WHEN_DONE, _("Removed when the copy has completed")),
            (Originals.KEEP, _("Kept")),
        ),
    )
    canary = _whole(_("Send first"))
    canary_failed = _whole(_("Failures allowed"))
    canary_wait = _figure(_("Minutes to wait for them"), least=0.1, most=10_080)
    pace = _radio(_("Pace"), ((LIMITED, _("limited")), (FREE, _("free"))))
    pace_from = _figure(_("From"))
    pace_to = _figure(_("to"))
    double_s = _whole(_("Seconds until it doubles"), least=1, most=LONGEST_S)
    jitter = _whole(_("Jitter in percent"), most=100)
    order = _radio(_("Order"), tuple((each.value, _("order")) for each in Ordering))
    key_path = forms.CharField(
        label=_("Keep the order within"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs=_PLAIN | {"placeholder": " "}),
    )
    key_failed = _radio(
        _("When one of a key fails again"),
        (
            (KeyFailed.HOLD, _("the later ones of that key are not sent")),
            (KeyFailed.GO_ON, _("they are sent all the same")),
        ),
    )
    edit = _radio(_("Edit"), ((NONE, _("as they are")), (PatchKind.MERGE, _("merge")), (PatchKind.PATHS, _("paths"))))
    patch_text = forms.CharField(
        label=_("What is changed"),
        required=False,
        strip=False,
        max_length=PATCH_MOST,
        widget=forms.Textarea(attrs=_PLAIN | {"rows": 5}),
    )
    stop_failing = _tick(_("more than"))
    stop_percent = _whole(_("Percent that may fail again"), most=100)
    stop_paused = _tick(_("the target queue is paused"))
    stop_idle = _tick(_("the target queue has no worker"))
    hold_depth = _tick(_("more than"))
    depth_max = _whole(_("Jobs that may wait"))
    hold_age = _tick(_("the oldest waiting job is older than"))
    age_max = _figure(_("Minutes that the oldest may have waited"), most=100_000)
    after_loss = _radio(
        _("If its worker is lost"),
        ((AfterLoss.GO_ON, _("it goes on by itself")), (AfterLoss.WAIT, _("it waits for a person"))),
    )
    hours_on = _tick(_("Send only in these hours"))
    days = forms.MultipleChoiceField(label=_("Days"), required=False, choices=DAYS, widget=forms.CheckboxSelectMultiple)
    begin = _clock(_("from"))
    until = _clock(_("until"))
    zone = forms.CharField(
        label=_("Time zone"),
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs=_PLAIN | {"placeholder": "America/Sao_Paulo"}),
    )
    without_permanent = _tick(_("Leave them out"))
    sure = forms.CharField(
        label=_("Name"), required=False, max_length=2_000, strip=False, widget=forms.TextInput(attrs=_PLAIN)
    )

    def __init__(self, *args: Any, terms: Terms, shape: Shape, **kwargs: Any) -> None:
        super().__init__(*args, initial=initial(terms, shape.source), **kwargs)
        self.before, self.shape = terms, shape
        if shape.fixed:
            del self.fields["edit"], self.fields["patch_text"]
        for conflict in shape.conflicts:
            self.fields[_named(conflict)] = _choice(conflict)

    @property
    def choices(self) -> Mapping[Conflict, BoundField]:
        """What can be done about the conflicts that were found."""
        return {conflict: self[_named(conflict)] for conflict in self.shape.conflicts}

    @property
    def wrong_fields(self) -> Sequence[BoundField]:
        """The fields in which something is wrong."""
        return [self[name] for name in self.errors if name in self.fields]

    @property
    def hours_wrong(self) -> bool:
        """Whether something is wrong in the hours."""
        return self.is_bound and not self.errors.keys().isdisjoint({"hours_on", "days", "begin", "until", "zone"})

    @property
    def folded_wrong(self) -> bool:
        """Whether something is wrong in what a short form folds."""
        return bool(self.is_bound and self.errors.keys() - {"how", "target", "reset", "originals", "sure", "reason"})

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.shape.sealed and "edit" in self.data:
            # The page showed another edit, or none.
            self.add_error(None, _("Somebody has changed the plan meanwhile: look at it again."))
        for tick, field in (("stop_failing", "stop_percent"), ("hold_depth", "depth_max"), ("hold_age", "age_max")):
            if given.get(tick):
                self._needs(field, _("Say how many."))
        for field in ("canary", "canary_failed", "canary_wait", "double_s", "jitter"):
            self._needs(field, _("Say how many."))
        if given.get("pace") == LIMITED:
            self._needs("pace_from", _("Say how many a second."))
            self._needs("pace_to", _("Say how many a second."))
        if given.get("how") == OTHER:
            self._find_target(given)
        if given.get("edit", NONE) != NONE:
            self._needs("patch_text", _("Say what is changed."))
        if given.get("hours_on"):
            self._check_hours(given)
        return given

    def _needs(self, field: str, say: Words) -> None:
        if field not in self.errors and self.cleaned_data.get(field) in (None, ""):
            self.add_error(field, say)

    def _find_target(self, given: dict[str, Any]) -> None:
        typed = str(given.get("target") or "").strip()
        found = readings.called(self.shape.source, typed) if typed else None
        if found:
            given["target_slug"] = found.slug
        elif "target" not in self.errors:
            self.add_error("target", _("No queue of this name is known in this source.") if typed else _("Say which."))

    def _check_hours(self, given: dict[str, Any]) -> None:
        for field in ("begin", "until"):
            self._needs(field, _("Say when."))
        if not given.get("days") and "days" not in self.errors:
            self.add_error("days", _("Choose a day or more."))

    def take(self, wrong: Mapping[str, str]) -> None:
        """Show what is wrong with the terms, by the fields of `Terms`, each at its own field."""
        for name, sentence in wrong.items():
            at = AT.get(name, name)
            self.add_error(at if at in self.fields else None, sentence)

    @property
    def terms(self) -> Terms:
        """What was typed. Only of a valid form."""
        given = self.cleaned_data
        free = given["pace"] == FREE
        typed = replace(
            self.before,
            acts_copy=given["how"] != PLACE,
            target=given.get("target_slug", "") if given["how"] == OTHER else "",
            reset=given["reset"] == RESET,
            originals=Originals(given["originals"]),
            order=Ordering(given["order"]),
            key=given["key_path"].strip(),
            key_failed=KeyFailed(given["key_failed"]),
            pace_from=None if free else given["pace_from"],
            pace_to=None if free else given["pace_to"],
            double_s=given["double_s"],
            jitter=given["jitter"],
            depth_max=given["depth_max"] if given["hold_depth"] else None,
            age_max_s=round(given["age_max"] * 60) if given["hold_age"] else None,
            hours=_hours(given),
            canary=given["canary"],
            canary_failed=given["canary_failed"],
            canary_wait_s=round(given["canary_wait"] * 60),
            stop_percent=given["stop_percent"] if given["stop_failing"] else None,
            stop_paused=given["stop_paused"],
            stop_idle=given["stop_idle"],
            after_loss=AfterLoss(given["after_loss"]),
            without_permanent=given["without_permanent"],
            choices=self._chosen(given),
            patch=self.before.patch if self.shape.fixed else _patch(given),
        )
        return as_sent(typed)

    def _chosen(self, given: Mapping[str, Any]) -> Mapping[Conflict, Any]:
        """What was chosen about conflicts; about those that the form does not show, what was so before.

        What is done unless somebody chooses is no choice: who only starts a plan has not changed it.
        """
        chosen = dict(self.before.choices)
        for conflict in self.shape.conflicts:
            choice = next(each for each in CHOICES[conflict] if each.value == given[_named(conflict)])
            if choice is not self.before.choice(conflict):
                chosen[conflict] = choice
        return chosen


def as_sent(terms: Terms) -> Terms:
    """Terms whose choices are what holds: an edit of all jobs sends copies, and their originals await these."""
    if terms.patch is None or terms.patch.kind is PatchKind.WHOLE:
        return terms
    return replace(terms, acts_copy=True, originals=when(terms))


def initial(terms: Terms, source: str) -> dict[str, Any]:
    """What the form begins with."""
    was, terms = terms.stamp, as_sent(terms)
    hours = terms.hours or Hours("12345", "09:00", "17:00", "UTC")
    told: dict[str, Any] = {
        "was": was,
        "how": OTHER if terms.target else ORIGIN if terms.acts_copy else PLACE,
        "target": queue_label(source, terms.target),
        "reset": RESET if terms.reset else KEPT,
        "originals": terms.originals.value,
        "order": terms.order.value,
        "key_path": terms.key,
        "key_failed": terms.key_failed.value,
        "pace": FREE if terms.pace_to is None else LIMITED,
        "pace_from": _short(terms.pace_from if terms.pace_from is not None else FROM),
        "pace_to": _short(terms.pace_to if terms.pace_to is not None else TO),
        "canary_wait": _short(terms.canary_wait_s / 60),
        "stop_failing": terms.stop_percent is not None,
        "stop_percent": 10 if terms.stop_percent is None else terms.stop_percent,
        "hold_depth": terms.depth_max is not None,
        "depth_max": 1_000 if terms.depth_max is None else terms.depth_max,
        "hold_age": terms.age_max_s is not None,
        "age_max": _short((300 if terms.age_max_s is None else terms.age_max_s) / 60),
        "after_loss": terms.after_loss.value,
        "hours_on": terms.hours is not None,
        "days": list(hours.days),
        "begin": hours.begin,
        "until": hours.until,
        "zone": hours.zone,
        "edit": terms.patch.kind.value if terms.patch else NONE,
        "patch_text": terms.patch.text if terms.patch else "",
    }
    same = ("double_s", "jitter", "canary", "canary_failed", "stop_paused", "stop_idle", "without_permanent")
    told |= {name: getattr(terms, name) for name in same}
    return told | {_named(conflict): terms.choice(conflict).value for conflict in CHOICES}


def _named(conflict: Conflict) -> str:
    return f"choice-{conflict.value}"


def _choice(conflict: Conflict) -> forms.ChoiceField:
    choices = [(choice.value, words.does(conflict, choice)) for choice in CHOICES[conflict]]
    return forms.ChoiceField(label=words.conflict(conflict), choices=choices, widget=forms.RadioSelect)


def queue_label(source: str, slug: str) -> str:
    """The queue that copies go to, as one types it; "" for none."""
    if not slug:
        return ""
    found = readings.called(source, slug)
    return found.label if found else slug


def _short(value: float | None) -> float | int | None:
    """5 and not 5.0."""
    return int(value) if value is not None and value == int(value) else value


def _patch(given: Mapping[str, Any]) -> Patch | None:
    return Patch(PatchKind(given["edit"]), given["patch_text"]) if given["edit"] != NONE else None


def _hours(given: Mapping[str, Any]) -> Hours | None:
    if not given["hours_on"]:
        return None
    begin, until = (f"{at:%H:%M}" for at in _times(given))
    return Hours("".join(sorted(given["days"])), begin, until, given["zone"].strip() or "UTC")


def _times(given: Mapping[str, Any]) -> tuple[time, time]:
    return given["begin"], given["until"]
