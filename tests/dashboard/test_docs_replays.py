"""What is told of replays in the documentation: figures are those of the code, buttons are those of pages."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from queues.models import ReplayLimits
from queues.quantities import number
from queues.replay.forgetting import DRAFT_DAYS
from queues.replay.making.wishes import MOST_GROUPS
from queues.replay.run import stopping, troubles
from queues.replay.run.ending import LONGEST
from queues.replay.run.tidying import REST
from queues.replay.terms import Terms
from queues.sendings import RECEIPT_DAYS

BASE = Path(settings.BASE_DIR)
PAGE = (BASE / "docs" / "replays.md").read_text("utf-8")
README = (BASE / "README.md").read_text("utf-8").partition("## Bring failed jobs back\n")[2].partition("\n## ")[0]
LIMITS = ReplayLimits()
MINUTE = timedelta(minutes=1)


def _shown() -> Iterator[str]:
    """Everything that pages may say."""
    for place, ending in (("templates", "html"), ("dashboard", "py")):
        for file in (BASE / place).rglob(f"*.{ending}"):
            yield file.read_text("utf-8")


SHOWN = " ".join(" ".join(_shown()).split())


@pytest.mark.parametrize("text", [README, PAGE], ids=["README", "replays"])
def test_every_button_and_column_that_is_named_is_on_a_page(text: str) -> None:
    named = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", text)) - {"Start", "Failed again"}
    known = {label for label in named if label.removesuffix(" of …").removesuffix("…") in SHOWN}
    assert len(named) > 8
    assert named == known


def _figures() -> Iterator[str]:
    yield f"Above {number(LIMITS.typed)} jobs the name"
    yield f"largest set ({number(LIMITS.largest)})"
    yield f"up to {MOST_GROUPS} of one source"
    yield f"no worker for {stopping.IDLE_S:.0f} seconds"
    yield f"more than {Terms().stop_percent} % (or your figure) of the last {stopping.LAST} that ended failed again"
    yield f"from {stopping.ENOUGH} on"
    first, last = (Terms.suggested(jobs).canary for jobs in (21, 10**6))
    paces = f"then {Terms.suggested(21).pace_from:.0f} a second, climbing to {Terms.suggested(21).pace_to:.0f}"
    yield f"Of more than 20 jobs a plan begins with a canary of {first} to {last}, {paces}"


def test_the_page_says_the_figures_that_the_code_has() -> None:
    text = " ".join(PAGE.split())
    assert [said for said in _figures() if said not in text] == []
    assert Terms.suggested(20).canary == 0


@pytest.mark.parametrize(
    ("said", "minutes"),
    [
        ("sent for ten seconds", LIMITS.undo_s / 60),
        ("for a minute, or has not answered", troubles.UNWELL_AFTER / MINUTE),
        ("has not answered for ten.", troubles.AWAY_AFTER / MINUTE),
        ("ten minutes after the plan has ended", REST / MINUTE),
        ("awaited for a day", LONGEST / MINUTE),
        ("expire after **seven days**", RECEIPT_DAYS * 1440),
        ("a week after it was last touched", DRAFT_DAYS * 1440),
    ],
)
def test_times_in_words_are_those_of_the_code(said: str, minutes: float) -> None:
    words = {"ten seconds": 1 / 6, "a minute": 1, "for ten.": 10, "ten minutes": 10, "a day": 1440}
    words |= {"seven days": 10_080, "a week": 10_080}
    [told] = [value for name, value in words.items() if name in said.replace("*", "")]
    assert minutes == told
    assert said in " ".join(PAGE.split())
