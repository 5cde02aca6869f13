"""What buttons that make plans of replays need."""

from __future__ import annotations

from django import template

from dashboard.replays.forms import fresh_key

register = template.Library()
register.simple_tag(fresh_key)
