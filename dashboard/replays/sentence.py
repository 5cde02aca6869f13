"""A plan as plain sentences, by its terms: what stands at the top of its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from dashboard.actions.ask import named, say
from dashboard.replays import order_keys, words
from dashboard.replays.terms_form import DAYS
from queues.quantities import UNKNOWN, duration, number
from queues.replay.pacing import curve
from queues.replay.preview import Further, Keys, Preview
from queues.replay.terms import Ordering, Originals, PatchKind, Terms

ORDER_WORDS: Mapping[Ordering, Promise] = {
    Ordering.ORIGINAL: _("oldest first"),
    Ordering.FAILURE: _("in the order in which they failed"),
    Ordering.NEWEST: _("newest first"),
    Ordering.SAT: _("as they sat in the server"),
}
ORIGINAL_WORDS: Mapping[Originals, Promise] = {
    Originals.WHEN_SENT: _("What was copied is removed as soon as its copy is safely in."),
    Originals.WHEN_DONE: _("What was copied is removed when its copy has completed."),
    Originals.KEEP: _("What was copied stays where it is."),
}


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a plan besides its terms. `found`, `to_send` None: it is not known yet.

    `copies`: new jobs are sent for all of them (True), for none (False), or for those that are letters (None).
    `target` is the label of the queue that copies go to; "" = each to where it came from.
    """

    found: int | None
    to_send: int | None
    duration_s: float | None = None
    copies: bool | None = False
    target: str = ""
    attempts: Sequence[Further] = ()
    permanent: int = 0
    letters: bool = False  # some have a letter beside them
    keys: Keys | None = None  # None: not known, or not to be told
    by: str = ""  # who planned it, and so wrote the data of an edited job


@dataclass(frozen=True, slots=True)
class Sentences:
    """`main` is how it goes on, `more` what is done to each job; both may be more than one sentence."""

    main: SafeString
    more: SafeString


def sentences(terms: Terms, about: About) -> Sentences:
    """A plan in words. Names out of queues and payload paths are made harmless."""
    if about.found == 0:
        text = gettext("Nothing was found: no such job was there when the set was frozen.")
        return Sentences(_plain(text), _plain(""))
    if about.to_send == 0:
        text = gettext("Nothing is left to send: all are left out, for the reasons below.")
        return Sentences(_plain(text), _plain(""))
    return Sentences(_joined(_main(terms, about)), _joined(_more(terms, about)))


def copies_by(jobs: int, new: int) -> bool | None:
    """`About.copies` of so many jobs, of which so many are sent as new ones."""
    if not new:
        return False
    return True if new >= jobs else None


def originals_words(terms: Terms) -> Promise:
    """What becomes of what was copied. The original of an edited job stays at least until that has completed."""
    kept = Originals.WHEN_DONE if terms.patch and terms.originals is Originals.WHEN_SENT else terms.originals
    return ORIGINAL_WORDS[kept]


def attempts_of(seen: Preview, terms: Terms) -> Sequence[Further]:
    """How many attempts the jobs of a plan get by its terms."""
    return seen.reset if terms.reset else seen.kept


def _joined(parts: Iterator[SafeString]) -> SafeString:
    return format_html_join(" ", "{}", ((part,) for part in parts))


def _plain(text: str) -> SafeString:
    return format_html("{}", text)


def _bold(text: str) -> SafeString:
    return format_html("<b>{}</b>", text)


def about_time(seconds: float) -> str:
    """A length of time that is only estimated: 40 s, 3 min, 2 h 05 min."""
    if seconds < 60:
        return duration(max(1, round(seconds)) * 1000, whole=True)
    step = 60 if seconds < 3_600 else 300
    return duration(-(-seconds // step) * step * 1000, whole=True)


def figure(pace: float) -> str:
    """A pace without decimals that nobody needs."""
    return number(round(pace, 2))


def _main(terms: Terms, about: About) -> Iterator[SafeString]:
    many = about.to_send
    if terms.canary and (many is None or many > terms.canary):
        yield _canary(terms)
        yield _rest(terms, about)
    elif terms.canary and many is not None and many > 1:
        text = gettext("Send {all} as one canary, and stop if {limit} fail again.")
        limit = gettext("more than %(n)s") % {"n": number(terms.canary_failed)}
        yield say(text, all=_bold(_all(many)), limit=_bold(limit))
    elif many == 1:
        yield say(gettext("Send {job} again, at once."), job=_bold(gettext("this one job")))
    else:
        yield _all_alike(terms, about)
    if about.found is not None and many is not None and many < about.found:
        yield _left_out(terms, about.found, many)
    if terms.pace_to is None and many != 1:
        yield _plain(gettext("Nothing holds it back: workers, and all that they call, get the whole load at once."))
    if terms.hours:
        days = ", ".join(str(word) for day, word in DAYS if day in terms.hours.days)
        text = gettext("Only on {days} from {begin} to {until} ({zone}).")
        told = {"begin": terms.hours.begin, "until": terms.hours.until, "zone": terms.hours.zone}
        yield say(text, days=_bold(days), **told)


def _left_out(terms: Terms, found: int, many: int) -> SafeString:
    """How many are not sent, so that the numbers of a page add up; with a canary also how many are."""
    rest = found - many
    if terms.canary:
        text = ngettext("In all {some} are sent; {n} is left out.", "In all {some} are sent; {n} are left out.", rest)
        return say(text, some=_bold(_of(many, found)), n=number(rest))
    return say(
        ngettext("{n} of {all} is left out.", "{n} of {all} are left out.", rest), n=number(rest), all=_jobs(found)
    )


def _of(many: int, found: int) -> str:
    return gettext("%(n)s of %(of)s") % {"n": number(many), "of": _jobs(found)}


def _all(many: int) -> str:
    return gettext("all %(n)s") % {"n": number(many)}


def _canary(terms: Terms) -> SafeString:
    many, limit = terms.canary, terms.canary_failed
    first = gettext("%(n)s as a canary") % {"n": number(many)}
    if many == 1:
        text = gettext("Send {canary}, wait until it ends, and go on only if it does {limit}.")
        limit_words = gettext("not fail again") if not limit else gettext("end, whatever comes of it")
    elif not limit:
        text, limit_words = (
            gettext("Send {canary}, wait until they end, and go on only if {limit} fails again."),
            gettext("none"),
        )
    else:
        text, limit_words = (
            gettext("Send {canary}, wait until they end, and go on only if {limit} fail again."),
            gettext("at most %(n)s") % {"n": number(limit)},
        )
    return say(text, canary=_bold(first), limit=_bold(limit_words))


def _rest(terms: Terms, about: About) -> SafeString:
    """How the others follow the canary."""
    if terms.pace_to is None:
        text = gettext("Then send the rest {pace}, {order}.")
    elif _climbs(terms, about):
        text = gettext("Then climb from {pace}, {order}{time}.")
    else:
        text = gettext("Then send the rest at {pace}, {order}{time}.")
    return _paced(text, terms, about)


def _all_alike(terms: Terms, about: About) -> SafeString:
    if terms.pace_to is None:
        text = gettext("Send {jobs} {pace}, {order}.")
    elif _climbs(terms, about):
        text = gettext("Send {jobs}, climbing from {pace}, {order}{time}.")
    else:
        text = gettext("Send {jobs} at {pace}, {order}{time}.")
    return _paced(text, terms, about)


def _paced(text: str, terms: Terms, about: About) -> SafeString:
    time = ""
    if about.duration_s is not None:
        time = say(gettext(", and finish in about {time}"), time=_bold(about_time(about.duration_s)))
    many = about.to_send
    jobs = gettext("all that are found") if many is None else _jobs(many)
    told = {"jobs": _bold(jobs), "pace": _bold(_pace(terms, about)), "order": ORDER_WORDS[terms.order]}
    return say(text, time=time, **told)


def _jobs(many: int) -> str:
    return ngettext("%(n)s job", "%(n)s jobs", many) % {"n": number(many)}


def _climbs(terms: Terms, about: About) -> bool:
    top = _top(terms, about)
    return terms.pace_from is not None and top is not None and terms.pace_from < top


def _top(terms: Terms, about: About) -> float | None:
    """The pace that it comes to: a few jobs are sent before it has doubled."""
    if terms.pace_to is None or about.to_send is None:
        return terms.pace_to
    points = curve(terms, max(1, about.to_send - terms.canary))
    return points[-1][1] if points else terms.pace_to


def _pace(terms: Terms, about: About) -> str:
    top = _top(terms, about)
    if _climbs(terms, about) and terms.pace_from is not None and top is not None:
        return gettext("%(from)s to %(to)s a second") % {"from": figure(terms.pace_from), "to": figure(top)}
    return words.pace(top)


def _more(terms: Terms, about: About) -> Iterator[SafeString]:
    yield _how(terms, about)
    if attempts := _attempts(terms, about):
        yield attempts
    if about.copies is not False:
        yield _plain(str(originals_words(terms)))
    elif about.letters:
        stay = terms.originals is Originals.KEEP
        yield _plain(
            gettext("Their letters stay where they are.")
            if stay
            else gettext("Their letters are removed as soon as they are sent.")
        )
    if terms.patch:
        whole = terms.patch.kind is PatchKind.WHOLE
        if whole:
            yield say(gettext("Its data are as {who} wrote them."), who=named(about.by or UNKNOWN))
        else:
            yield _plain(gettext("Their data are edited first."))
    if terms.key:
        text = gettext("Jobs with the same {key} keep their order, and never run at once.")
        yield say(text, key=format_html("<code>{}</code>", terms.key[:200]))
        if about.keys:
            yield order_keys.words(about.keys, terms)
    if terms.without_permanent and about.permanent:
        text = ngettext("%(n)s permanent one is left out.", "%(n)s permanent ones are left out.", about.permanent)
        yield _plain(text % {"n": number(about.permanent)})


def _how(terms: Terms, about: About) -> SafeString:
    one = about.to_send == 1
    if about.copies is False:
        alone = gettext("It is retried in place, under its own id.")
        return _plain(alone if one else gettext("Each is retried in place, under its own id."))
    where = say(gettext("to {queue}"), queue=named(about.target)) if about.target else gettext("to where it came from")
    if about.copies:
        text = gettext("It is sent as a new job {where}.") if one else gettext("Each is sent as a new job {where}.")
    else:
        text = gettext("What is still failed is retried in place; of each letter a new job is sent {where}.")
    return say(text, where=where)


def _attempts(terms: Terms, about: About) -> SafeString | None:
    """How many attempts each gets, said before. A new job has made none, whatever is chosen."""
    given = [each.attempts for each in about.attempts]
    if about.copies:
        lead = gettext("Attempts are counted anew")
    elif terms.reset:
        lead = gettext("The attempts that were made are forgotten")
    else:
        lead = gettext("The attempts that were made count")
    if not given:
        return say("{lead}.", lead=lead)
    least, most = min(given), max(given)
    if least == most:
        more = gettext("it gets %(n)s more") if about.to_send == 1 else gettext("each gets %(n)s more")
        anew = gettext("it gets %(n)s") if about.to_send == 1 else gettext("each gets %(n)s")
        many = (anew if about.copies else more) % {"n": number(most)}
    elif about.copies:
        many = gettext("each gets %(least)s to %(most)s") % {"least": number(least), "most": number(most)}
    else:
        many = gettext("each gets %(least)s to %(most)s more") % {"least": number(least), "most": number(most)}
    return say("{lead}: {many}.", lead=lead, many=many)
