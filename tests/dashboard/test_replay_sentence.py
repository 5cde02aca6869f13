"""How plans of replays are put into words: the sentences at the top, the chart, states, reasons, the feed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.replays import words
from dashboard.replays.pace_chart import pace_chart
from dashboard.replays.sentence import About, sentences
from queues.models import ReplayLine
from queues.replay.preview import Further
from queues.replay.terms import Ordering, Terms
from queues.replay.types import CHOICES, Choice, Phase, Stop, Told
from queues.sendings import Conflict
from tests.dashboard.planning import FULL
from tests.hostile import MARKUP


def told(terms: Terms, about: About) -> str:
    said = sentences(terms, about)
    return f"{said.main} | {said.more}"


@pytest.mark.parametrize(
    ("terms", "about", "says"),
    [
        (
            Terms(),
            About(2118, 2095, 173.0, attempts=[Further(1, 2000), Further(2, 95)]),
            (
                "Send <b>25 as a canary</b>, wait until they end, and go on only if <b>at most 2</b> fail again. "
                "Then climb from <b>5 to 20 a second</b>, oldest first, and finish in about <b>3 min</b>. | "
                "Each is retried in place, under its own id. The attempts that were made count: each gets 1 to 2 more."
            ),
        ),
        (
            Terms.suggested(7),
            About(7, 7, 1.4, attempts=[Further(3, 7)]),
            (
                "Send <b>7 jobs</b> at <b>5 a second</b>, oldest first, and finish in about <b>1 s</b>. | "
                "Each is retried in place, under its own id. The attempts that were made count: each gets 3 more."
            ),
        ),
        (
            replace(Terms(), canary=0, pace_from=None, pace_to=None, order=Ordering.NEWEST, reset=True),
            About(100, 100, None, copies=True, target="mails"),
            (
                "Send <b>100 jobs</b> <b>as fast as the server takes them</b>, newest first. "
                "Nothing holds it back: workers, and all that they call, get the whole load at once. | "
                "Each is sent as a new job to <bdi>mails</bdi>. The attempts that were made are forgotten. "
                "What was copied is removed as soon as its copy is safely in."
            ),
        ),
        (
            replace(Terms(), canary=5, canary_failed=1),
            About(5, 5, 1.0, copies=None),
            (
                "Send <b>all 5</b> as one canary, and stop if <b>more than 1</b> fail again. | "
                "What is still failed is retried in place; of each letter a new job is sent to where it came from. "
                "The attempts that were made count. What was copied is removed as soon as its copy is safely in."
            ),
        ),
        (Terms.suggested(1), About(1, 1), "Send <b>this one job</b> again, at once. | It is retried"),
        (Terms(), About(None, None), "Send <b>25 as a canary</b>"),
        (Terms(), About(5, 0), "Nothing is left to send"),
        (Terms(), About(0, 0), "Nothing was found"),
        (
            FULL,
            About(40, 40, 4000.0, copies=True, permanent=2),
            (
                "only if <b>none</b> fails again. Then climb from <b>0.5 to 2.5 a second</b>, newest first, and finish "
                "in about <b>1 h 10 min</b>. Only on <b>Mon, Fri, Sun</b> from 22:30 to 06:00 (America/Sao_Paulo)."
            ),
        ),
        (FULL, About(40, 40, 4000.0, copies=True, permanent=2), "same <code>customer.id</code> keep their order"),
        (FULL, About(40, 40, 4000.0, copies=True, permanent=2), "2 permanent ones are left out."),
    ],
)
def test_a_plan_is_said_in_plain_words(terms: Terms, about: About, says: str) -> None:
    assert says in told(terms, about)


def test_a_payload_path_and_a_queue_are_text_in_the_sentence() -> None:
    said = told(replace(Terms(), key=MARKUP, acts_copy=True), About(9, 9, copies=True, target=MARKUP))
    assert "<script" not in said
    assert "<img" not in said


def test_the_chart_steps_up_and_names_the_paces_and_the_end() -> None:
    drawn = pace_chart(Terms(), 2118)
    assert drawn is not None
    assert "20 a second" in drawn
    assert "canary ends" in drawn
    assert (
        'aria-label="25 jobs as a canary and a wait, then 5 jobs a second, from 30 s on 10, from 1 min on 20' in drawn
    )
    assert pace_chart(replace(Terms(), pace_from=None, pace_to=None), 2118) is None
    assert pace_chart(Terms(), 25) is None  # the canary is all


def test_everything_a_plan_can_be_or_tell_has_words() -> None:
    assert all(words.phase(each) and words.mark(each) for each in Phase)
    assert all(words.conflict(each) for each in Conflict)
    for conflict in Conflict:
        for choice in CHOICES.get(conflict, (Choice.SKIP,)):
            assert words.does(conflict, choice) or conflict is Conflict.NONE
    assert [why for why in Stop if not words.stop(why, {})] == [Stop.NONE]
    odd = {"number": "many", "pace": None, "failed": True, "why": MARKUP, "who": "x"}
    for kind in Told:
        for facts in ({}, odd, {"number": 3, "failed": 2, "limit": 1, "ended": 5, "why": "canary"}):
            assert words.line(ReplayLine(kind=kind, who="", facts=facts))
    assert words.line(ReplayLine(kind="of-the-future", facts={})) == "of-the-future"
