"""A question as it is put to a person before an action, and sentences in which names cannot do harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.actions.forms.base import ActionForm
from dashboard.words import cut

NAME = 120  # characters of a name within a sentence


def named(label: str) -> SafeString:
    """A name out of a queue within a sentence: set apart, so that its direction moves nothing around it."""
    return format_html("<bdi>{}</bdi>", cut(label, NAME))


def say(sentence: str, **parts: object) -> SafeString:
    """A translated sentence with its parts put where {their} names stand, all made harmless."""
    return format_html(sentence, **parts)


@dataclass(frozen=True, slots=True)
class Ask:
    """What `templates/actions/ask.html` shows: as a page, or as its part `ask` in the dialog.

    `act` is where the form goes, `back` where somebody goes who does not want it. `hidden` are further fields of the
    form as name and value. With `error` nothing was done, and why. Where `off` says why it cannot be done there is no
    button. `form` None: nothing to send. `says` is what must be known, in one or two sentences; `more` and `more_facts`
    are folded below it.
    """

    title: str
    verb: str
    act: str
    back: str
    form: ActionForm | None
    facts: Sequence[tuple[str, object]] = ()
    says: Sequence[str] = ()
    more: Sequence[str] = ()
    more_facts: Sequence[tuple[str, object]] = ()
    warnings: Sequence[str] = ()
    items: Sequence[object] = ()  # a list under the sentences: job ids, children
    danger: bool = False
    hidden: Sequence[tuple[str, str]] = ()
    error: str = ""
    off: str = ""
    links: Sequence[tuple[str, str]] = ()  # other pages that help: address and words
    instead: tuple[str, str] | None = None  # the question that has to be answered first: address and words
