"""How plans of replays are put into words: the sentences at the top, the chart, states, reasons, the feed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.replays import words
from dashboard.replays.pace_chart import pace_chart
from dashboard.replays.sentence import About, sentences
from queues.models import ReplayLine
from queues.replay.preview import Further, Keys
from queues.replay.terms import Ordering, Originals, Patch, PatchKind, Terms
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
                "Then climb from <b>5 to 20 a second</b>, oldest first, and finish in about <b>3 min</b>. "
                "In all <b>2,095 of 2,118 jobs</b> are sent; 23 are left out. | "
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
                "Each is sent as a new job to <bdi>mails</bdi>. Attempts are counted anew. "
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
        (
            replace(Terms(), patch=Patch(PatchKind.PATHS, 'cpf = "1"')),
            About(9, 9, copies=True, attempts=[Further(3, 9)]),
            (
                "Attempts are counted anew: each gets 3. What was copied is removed when its copy has completed. "
                "Their data are edited first."
            ),
        ),
        (Terms(), About(9, 9, letters=True), "Their letters are removed as soon as they are sent."),
        (replace(Terms(), originals=Originals.KEEP), About(9, 9, letters=True), "Their letters stay where they are."),
        (Terms.suggested(1), About(1, 1), "Send <b>this one job</b> again, at once. | It is retried"),
        (Terms(), About(None, None), "Send <b>25 as a canary</b>"),
        (Terms(), About(139, 139, 24.0), "Then send the rest at <b>5 a second</b>, oldest first"),
        (Terms(), About(400, 400, 60.0), "Then climb from <b>5 to 10 a second</b>, oldest first"),
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


@pytest.mark.parametrize(
    ("kind", "who", "facts", "says"),
    [
        (Told.ARMED, "ana", {"number": 2095}, "ana started the replay of 2,095 jobs."),
        (Told.ARMED, "", {"number": 1}, "The replay of 1 job was started."),
        (Told.REFUSED, "bo", {"reason": "not\u202e today"}, "bo refused the approval. “not"),
        (Told.WENT_ON, "bo", {"rest": True}, "bo let it go on. The rest is sent, whatever came of the canary."),
        (Told.STOPPED, "", {"why": "canary", "failed": 9, "limit": 2}, "Stopped by itself. 9 of the canary failed"),
        (Told.STOPPED, "", {"why": "no-worker", "queue": "pay %s <b>"}, "The queue pay %s <b> has no worker."),
        (Told.HELD, "", {"why": "depth", "backlog": 2000, "limit": 100}, "2,000 jobs wait in the target queue; you"),
        (Told.HELD, "", {"why": "odd"}, "goes on by itself. odd"),
        (Told.PAUSED, "", {"why": "lost"}, "Paused. Its worker was lost"),
        (Told.PACE, "ana", {"pace_from": 5, "pace_to": 20}, "ana set the pace: from 5 to 20 a second."),
        (Told.PACE, "ana", {"pace_from": None, "pace_to": None}, "ana set the pace: as fast as the server takes them."),
        (Told.DOWN, "", {"error": "10.0.0.1:6379 refuses connections."}, "waits for it. 10.0.0.1:6379 refuses"),
        (Told.DONE, "", {"completed": 9, "failed": 1, "other": 2}, "9 completed, 1 failed again, 2 gone or unknown."),
        (Told.BLIND, "", {"number": None}, "Events were lost before they were read"),
    ],
)
def test_the_feed_tells_what_happened_by_whom_and_with_its_figures(
    kind: Told, who: str, facts: dict[str, object], says: str
) -> None:
    said = words.line(ReplayLine(kind=kind, who=who, facts=facts))
    assert says in said
    assert "\u202e" not in said


@pytest.mark.parametrize(
    ("keys", "choice", "says"),
    [
        (Keys(88, 500, 0), Choice.SKIP, "88 customer.<id> values in 500 jobs; all jobs have one."),
        (Keys(1, 1, 0), Choice.SKIP, "1 customer.<id> value in 1 job; all jobs have one."),
        (
            Keys(88, 488, 12),
            Choice.SKIP,
            "88 customer.<id> values in 488 jobs; 12 jobs have nothing there and are left out.",
        ),
        (Keys(1, 9, 1), Choice.SEND, "1 customer.<id> value in 9 jobs; 1 job has nothing there and goes in no order."),
        (
            Keys(31, 48, 2, sampled=True),
            Choice.SKIP,
            "Of a sample of 50 jobs 48 have one there: 31 different. All are counted",
        ),
    ],
)
def test_an_order_by_key_says_how_many_keys_it_found_and_what_has_none(keys: Keys, choice: Choice, says: str) -> None:
    terms = Terms(key="customer.<id>", choices={Conflict.NO_KEY: choice})
    more = sentences(terms, About(500, 500, keys=keys)).more
    assert says.replace("<id>", "&lt;id&gt;") in more.replace("<code>", "").replace("</code>", "")
