"""Template tags and filters of the interface."""

from django import template

register = template.Library()
