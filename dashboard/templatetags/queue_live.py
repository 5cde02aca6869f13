"""The live parts of a queue's page and its feed, for its templates: the same functions draw them for pushes."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from dashboard import feed
from dashboard.live import queue_parts

register = template.Library()

register.simple_tag(queue_parts.tab, name="tab_part")
register.simple_tag(queue_parts.verdict, name="verdict_part")
register.simple_tag(queue_parts.paused, name="paused_part")
register.simple_tag(queue_parts.paused_fact, name="paused_fact_part")
register.simple_tag(queue_parts.workers, name="workers_part")
register.simple_tag(queue_parts.nobody, name="nobody_part")
register.simple_tag(queue_parts.oldest, name="oldest_part")
register.simple_tag(queue_parts.rate, name="rate_part")
register.simple_tag(queue_parts.sample, name="sample_part")
register.simple_tag(queue_parts.gap_note, name="gap_part")
register.simple_tag(queue_parts.progress, name="progress_part")
register.simple_tag(queue_parts.outcome, name="outcome_part")
register.simple_tag(feed.entry, name="feed_entry")


@register.filter
def of(found: Mapping[object, object], key: object) -> object:
    """What is known of `key`, None where nothing is."""
    return found.get(key)
