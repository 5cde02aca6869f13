"""What buttons that make plans of replays need."""

from __future__ import annotations

from django import template

from dashboard.replays.forms import fresh_key
from queues.registry import backend
from queues.types import Capability

register = template.Library()
register.simple_tag(fresh_key)


@register.filter
def replays(source: str) -> bool:
    """Whether jobs of a source can be sent again."""
    return Capability.REPLAYS in backend(source).capabilities
