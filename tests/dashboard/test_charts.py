"""Sparklines: what is unknown is hatched, what failed is seen, and the text alternative is text."""

from __future__ import annotations

import re

from dashboard.charts import spark

HOUR = [0] * 60


def path(drawn: str, css: str) -> str:
    """The path of the line or the marks; "" when there is none."""
    found = re.search(rf'<path class="ln {css}" d="([^"]*)"', drawn)
    return found[1] if found else ""


def hatched(drawn: str) -> list[tuple[float, float]]:
    """From where to where it is hatched, in per cent."""
    found = re.findall(r'<rect x="([\d.]+)%" y="3" width="([\d.]+)%" [^>]*fill="url\(#p-unknown\)"', drawn)
    return [(float(x), float(x) + float(width)) for x, width in found]


def test_an_hour_of_nothing_is_a_flat_line_on_the_ground() -> None:
    drawn = spark(HOUR, HOUR, "quiet")
    assert path(drawn, "k-ink2") == "M0 34h.5h59.5"
    assert path(drawn, "thin k-failed") == ""
    assert hatched(drawn) == []


def test_unknown_minutes_are_hatched_and_the_line_is_broken_there() -> None:
    finished = [None] * 15 + [4] * 15 + [None] * 15 + [8] * 15
    drawn = spark(finished, finished, "")
    assert hatched(drawn) == [(0, 25), (50, 75)]
    assert path(drawn, "k-ink2") == "M15 20h.5h14.5M45 6h.5h14.5"


def test_an_hour_of_which_nothing_is_known_has_no_line_at_all() -> None:
    nothing = [None] * 60
    drawn = spark(nothing, nothing, "unknown")
    assert hatched(drawn) == [(0, 100)]
    assert "<path" not in drawn
    assert "<circle" not in drawn


def test_a_single_known_minute_is_still_drawn() -> None:
    drawn = spark([None, 3, None], [None, 0, None], "")
    assert path(drawn, "k-ink2") == "M1 6h.5h0.5"


def test_failures_share_the_scale_and_one_among_thousands_is_seen() -> None:
    finished, failed = [1000] * 60, [*HOUR[:-2], 1, 2000]
    drawn = spark(finished, failed, "")
    assert path(drawn, "thin k-failed") == "M58.5 34v-4m1+4v-28"
    assert path(drawn, "k-ink2") == "M0 20h.5h59.5"


def test_the_line_goes_through_every_change() -> None:
    drawn = spark([0, 0, 7, 0, 0, 0], [0] * 6, "")
    assert path(drawn, "k-ink2") == "M0 34h.5h1l1-28l1+28h2.5"


def test_a_label_is_text_whatever_it_holds() -> None:
    drawn = spark(HOUR, HOUR, "<script>{}</script>")
    assert "<title>&lt;script&gt;{}&lt;/script&gt;</title>" in drawn


def test_nothing_to_draw_is_drawn_without_an_error() -> None:
    assert "<title>none</title>" in spark([], [], "none")
