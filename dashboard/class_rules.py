"""The form for a rule of classes, and the rules as their page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.failures.words import KIND_WORDS
from dashboard.forms import InkField
from queues import readings
from queues.errors import BadInput
from queues.failures import classes
from queues.failures.classes.built_in import BUILT_IN
from queues.failures.classes.deciding import Decided
from queues.failures.classes.matching import BuiltIn, Own
from queues.failures.classes.own import checked
from queues.failures.classes.rules import own
from queues.failures.types import Kind
from queues.models import ClassRule
from queues.registry import configured
from queues.types import QueueRef

_KINDS = (
    (Kind.TRANSIENT, _("transient: a retry can help")),
    (Kind.PERMANENT, _("permanent: a retry fails the same way")),
    (Kind.UNKNOWN, _("unknown: somebody has to look")),
)
_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class RuleForm(forms.Form):
    """A rule. What is left empty matches anything; a queue is typed by its name, as in the list of queues."""

    bound_field_class = InkField
    thrown = forms.CharField(
        label=_("Name of the error"),
        required=False,
        max_length=200,
        help_text=_("as a whole, like PaymentError; * stands for any text"),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    code = forms.CharField(
        label=_("Code"),
        required=False,
        max_length=100,
        help_text=_("as a whole, like ECONNRESET, 23505 or 5*"),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    message = forms.CharField(
        label=_("Message"),
        required=False,
        max_length=500,
        help_text=_("found anywhere in it; write * for what differs, such as numbers and ids"),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    name = forms.CharField(
        label=_("Job name"),
        required=False,
        max_length=500,
        help_text=_("as a whole; * stands for any text"),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    source = forms.ChoiceField(label=_("Source"), required=False)
    queue = forms.CharField(label=_("Queue"), required=False, max_length=2000, widget=forms.TextInput(attrs=_PLAIN))
    kind = forms.TypedChoiceField(label=_("Then it is"), choices=_KINDS, coerce=Kind, initial=Kind.PERMANENT)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(source.name, source.name) for source in configured()]
        self.fields["source"].choices = [("", _("every source")), *names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        typed, source = found.get("queue", ""), found.get("source", "")
        ref = None
        if typed and not source:
            self.add_error("source", _("A queue belongs to a source: choose that too."))
        elif typed:
            ref = readings.called(source, typed)
            if ref is None:
                self.add_error("queue", _("No queue of this name is known in this source."))
        if not self.errors:
            self._keep(found, ref)
        return found

    def _keep(self, found: dict[str, Any], ref: QueueRef | None) -> None:
        patterns = {part: found.get(part, "") for part in ("code", "message", "name", "source")}
        rule = Own(found["kind"], error_class=found.get("thrown", ""), queue=ref.slug if ref else "", **patterns)
        try:
            found["own"] = checked(rule)
        except BadInput as error:
            self.add_error(None, str(error))

    @property
    def problems(self) -> Sequence[tuple[str, str]]:
        """What is wrong, each with the name of its field, "" for the whole."""
        return [
            (str(self.fields[name].label or "") if name in self.fields else "", str(text))
            for name, texts in self.errors.items()
            for text in texts
        ]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing that a rule looks for: what it is of, and the text."""

    of: str | Promise
    text: str


@dataclass(frozen=True, slots=True)
class OwnLine:
    """A rule of a user with what it decides now."""

    row: ClassRule
    kind: str | Promise
    title: str
    patterns: Sequence[Pattern]
    ref: QueueRef | None
    decided: Decided


@dataclass(frozen=True, slots=True)
class BuiltInLine:
    rule: BuiltIn
    kind: str | Promise
    decided: Decided

    @property
    def looks_for(self) -> Sequence[tuple[str | Promise, str]]:
        told = (
            (_("classes"), self.rule.classes),
            (_("codes"), self.rule.codes),
            (_("in messages"), self.rule.messages),
            (_("whole messages"), self.rule.texts),
            (_("kinds of failures"), self.rule.shapes),
        )
        return [(what, ", ".join(texts)) for what, texts in told if texts]


@dataclass(frozen=True, slots=True)
class Lines:
    own: Sequence[OwnLine]
    built_in: Sequence[BuiltInLine]
    none: Decided  # what no rule decides


def lines() -> Lines:
    """All rules in their order, each with how many groups and failures of 7 days it decides now. Two queries."""
    decided = classes.decided()
    rows = [(row, own(row)) for row in ClassRule.objects.order_by("position", "pk")]
    return Lines(
        [
            OwnLine(
                row, KIND_WORDS[rule.kind], rule.title, _patterns(rule), ref_of(row), decided.get(rule.title, Decided())
            )
            for row, rule in rows
        ],
        [BuiltInLine(rule, KIND_WORDS[rule.kind], decided.get(rule.name, Decided())) for rule in BUILT_IN],
        decided.get("", Decided()),
    )


def _patterns(rule: Own) -> Sequence[Pattern]:
    told = (
        (_("class"), rule.error_class),
        (_("code"), rule.code),
        (_("message"), rule.message),
        (_("job name"), rule.name),
    )
    return [Pattern(of, text) for of, text in told if text]


def ref_of(row: ClassRule) -> QueueRef | None:
    """The queue that a rule is for; None for several."""
    try:
        return QueueRef.from_slug(row.source, row.queue) if row.queue else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Moved:
    """A line of a dry run: a group, how many of its failures, and from which class to which."""

    slug: str
    title: str
    failures: int
    before: str | Promise
    after: str | Promise
    by_hand: str | Promise


@dataclass(frozen=True, slots=True)
class Tried:
    """A dry run for eyes: the first `SHOWN` groups."""

    title: str
    kind: str | Promise
    run: classes.DryRun
    moves: Sequence[Moved]

    @property
    def more(self) -> int:
        return len(self.run.moves) - len(self.moves)


SHOWN = 50


def tried(rule: Own) -> Tried:
    """What keeping a rule would change; nothing is written."""
    run = classes.dry_run(rule)
    moves = [
        Moved(
            move.slug,
            move.title,
            move.failures,
            KIND_WORDS[move.before],
            KIND_WORDS[move.after],
            KIND_WORDS[move.by_hand] if move.by_hand else "",
        )
        for move in run.moves[:SHOWN]
    ]
    return Tried(rule.title, KIND_WORDS[rule.kind], run, moves)
