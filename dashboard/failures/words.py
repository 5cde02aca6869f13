"""The words for lives, classes and spans of failures."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from queues.failures.about import Span
from queues.failures.types import Kind, Life, SplitBy

LIFE_WORDS: Mapping[Life, Promise] = {
    Life.OPEN: pgettext_lazy("failures", "open"),
    Life.REGRESSED: pgettext_lazy("failures", "regressed"),
    Life.IGNORED: pgettext_lazy("failures", "ignored"),
    Life.RESOLVED: pgettext_lazy("failures", "resolved"),
}
LIFE_TONES: Mapping[Life, str] = {Life.OPEN: "", Life.REGRESSED: "warn", Life.IGNORED: "", Life.RESOLVED: "good"}
KIND_WORDS: Mapping[Kind, Promise] = {
    Kind.TRANSIENT: pgettext_lazy("failures", "transient"),
    Kind.PERMANENT: pgettext_lazy("failures", "permanent"),
    Kind.UNKNOWN: pgettext_lazy("failures", "unknown"),
}
SPAN_WORDS: Mapping[Span, Promise] = {
    Span.HOUR: _("1 h"),
    Span.THREE: _("3 h"),
    Span.DAY: _("24 h"),
    Span.WEEK: _("7 d"),
    Span.MONTH: _("30 d"),
}
SPLIT_WORDS: Mapping[SplitBy, Promise] = {
    SplitBy.NAME: _("job name"),
    SplitBy.QUEUE: _("queue"),
    SplitBy.MESSAGE: _("exact message"),
}
