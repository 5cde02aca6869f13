"""What of a plan's terms is about values that are hidden from whoever writes or reads them."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from dashboard.replays.edit import rules_of as rules_of_both
from queues import masking, paths
from queues.errors import BadInput
from queues.models import Replay
from queues.names import show_controls
from queues.redaction import Rules, is_secret_key
from queues.replay.patching import checked
from queues.replay.steering.acts import origins
from queues.replay.terms import Terms
from queues.types import QueueRef

MOST = 20  # queues that jobs come from whose own rules are asked for


def rules_of(replay: Replay, terms: Terms) -> Rules:
    """The rules of the queue that its jobs are in and of the one that they go to; all, where these may be several."""
    made_from, source = replay.made_from, replay.source.name
    slug = made_from.get("queue", "")
    if not slug or made_from.get("letters"):
        return masking.rules_for(None)
    try:
        own, target = (QueueRef.from_slug(source, each) for each in (slug, terms.target or slug))
    except ValueError:
        return masking.rules_for(None)
    return rules_of_both(own, target)


def wrong(replay: Replay, terms: Terms) -> Mapping[str, str]:
    """What of new terms may only be chosen by who may reveal, by the field of `Terms`; what was so before is let be."""
    before, rules, found = Terms.of(replay.terms), rules_of(replay, terms), {}
    if terms.patch != before.patch and (said := _of_patch(terms, rules)):
        found["patch"] = said
    if terms.key != before.key and (key := _hidden_step(terms.key, rules)):
        said = _("“%(key)s” is hidden here: who may not reveal it cannot keep an order by it.")
        found["key"] = said % {"key": show_controls(key[:60], keep="")}
    if terms.target != before.target and (pattern := _shown_there(replay, terms.target)):
        said = _("What “%(pattern)s” hides would be shown there: who may not reveal it cannot send jobs to that queue.")
        found["target"] = said % {"pattern": pattern}
    return found


def hides_key(replay: Replay, terms: Terms) -> bool:
    """Whether the order is by a value that is not for the eyes of who may not reveal."""
    return bool(_hidden_step(terms.key, rules_of(replay, terms)))


def is_sealed(replay: Replay, terms: Terms) -> bool:
    """Whether the edit itself is not for the eyes of who may not reveal."""
    return bool(_of_patch(terms, rules_of(replay, terms)))


def _of_patch(terms: Terms, rules: Rules) -> str:
    """Why the edit is not for who may not reveal; "" where it is."""
    try:
        if terms.patch is not None:
            checked(terms.patch, rules)
    except BadInput as error:
        return str(error)
    return ""


def _shown_there(replay: Replay, slug: str) -> str:
    """The first pattern that hides something where the jobs are, and not in the queue of this slug; "" for none."""
    if not slug:
        return ""
    found = origins(replay, MOST + 1)
    own = [masking.rules_for(queue) for queue in found] if len(found) <= MOST else [masking.rules_for(None)]
    there = masking.rules_for(QueueRef.from_slug(replay.source.name, slug)).patterns
    return next((pattern for rules in own for pattern in rules.patterns if pattern not in there), "")


def _hidden_step(path: str, rules: Rules) -> str:
    """The first key of a path below which all is hidden; "" where none is, or it is no path."""
    try:
        steps = paths.parse(path)
    except BadInput:
        return ""
    return next((step for step in steps if isinstance(step, str) and is_secret_key(step, rules)), "")
