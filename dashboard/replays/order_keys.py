"""What an order by key finds in the jobs of a plan: as it was read of all, else of some that are read now."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from dashboard.actions.ask import say
from dashboard.replays import hidden
from dashboard.replays.edit_samples import stored_of
from queues import paths
from queues.errors import QueueError
from queues.models import Replay
from queues.quantities import number
from queues.replay.copies import Unmapped, copied
from queues.replay.freezing import key_of
from queues.replay.patching import Unfit, patcher
from queues.replay.preview import Keys, Preview, keys_of, some
from queues.replay.terms import Terms
from queues.replay.types import Choice, Phase
from queues.sendings import Conflict

SAMPLE = 50  # jobs whose data are read for a path that was typed
BYTES = 1024 * 1024  # of those of one queue


def found(replay: Replay, terms: Terms, *, reveals: bool) -> Keys | None:
    """What stands at the path in the jobs of a plan: a few queries and a short call for each queue where it was not
    read of all. None where nobody knows, and for what is hidden from who does not reveal. No `QueueError`.
    """
    if not terms.key or (not reveals and hidden.hides_key(replay, terms)):
        return None
    told = keys_of(replay.frozen, terms)
    return told if told or replay.phase != Phase.DRAFT else _sampled(replay, terms)


def _sampled(replay: Replay, terms: Terms) -> Keys | None:
    try:
        steps = paths.parse(terms.key)
        sights = some(replay, terms, SAMPLE)
        stored = stored_of(sights, BYTES)
        data = bytes(replay.data) if replay.data else None
        change = patcher(terms.patch, data) if terms.patch else None
    except QueueError:
        return None
    keys: list[int | None] = []
    for sight in sights:
        if sight.job in stored:
            try:
                keys.append(key_of(copied(sight.row, stored[sight.job], terms, change).data, steps))
            except (QueueError, Unfit, Unmapped):
                continue  # it is not sent by these terms
    there = [key for key in keys if key is not None]
    return Keys(len(set(there)), len(there), len(keys) - len(there), sampled=True) if keys else None


def words(keys: Keys, terms: Terms) -> SafeString:
    """The same as a sentence or two."""
    key = format_html("<code>{}</code>", terms.key[:200])
    told = {"values": number(keys.values), "jobs": number(keys.jobs), "key": key}
    if keys.sampled:
        many = keys.jobs + keys.without
        text = ngettext(
            "Of a sample of {many} job {jobs} has one there: {values} different. All are counted once it is saved.",
            "Of a sample of {many} jobs {jobs} have one there: {values} different. All are counted once it is saved.",
            many,
        )
        return say(text, many=number(many), **told)
    text = ngettext("{values} {key} value in {jobs} jobs", "{values} {key} values in {jobs} jobs", keys.values)
    if keys.jobs == 1:
        text = gettext("{values} {key} value in {jobs} job")
    rest = _without(keys, terms)
    return say(gettext("{counted}; {rest}."), counted=say(text, **told), rest=rest)


def overtaken(seen: Preview, terms: Terms) -> SafeString | str:
    """That the order holds for what is sent alone: "" where no earlier job of a value is left out."""
    if seen.overtaken == 0:
        return ""
    key = format_html("<code>{}</code>", terms.key[:200])
    if seen.overtaken is None:
        text = gettext("Where an earlier job of a {key} value is left out, its later jobs are sent all the same.")
        return say(text, key=key)
    text = ngettext(
        "Of {n} {key} value an earlier job is left out; its later jobs are sent all the same.",
        "Of {n} {key} values an earlier job is left out; their later jobs are sent all the same.",
        seen.overtaken,
    )
    return say(text, n=number(seen.overtaken), key=key)


def _without(keys: Keys, terms: Terms) -> str:
    many = {"n": number(keys.without)}
    if not keys.without:
        return gettext("all jobs have one")
    if terms.choice(Conflict.NO_KEY) is Choice.SEND:
        text = ngettext(
            "%(n)s job has nothing there and goes in no order",
            "%(n)s jobs have nothing there and go in no order",
            keys.without,
        )
    else:
        text = ngettext(
            "%(n)s job has nothing there and is left out",
            "%(n)s jobs have nothing there and are left out",
            keys.without,
        )
    return text % many
