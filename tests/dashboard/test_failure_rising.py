"""The list of failures says since when its worst group comes as it comes now, and what went live shortly before."""

from __future__ import annotations

import pytest
from django.test import Client

from queues import deploys
from queues.models import FailureGroup
from queues.quantities import now_ms
from queues.registry import SourceConfig
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.hostile import MARKUP
from tests.queues.storing import DAY, HOUR, MINUTE, SHOP, Clock, failed, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(source: SourceConfig) -> Client:
    return as_role("viewer")


def _fail(*, wave: int) -> None:
    """Two an hour for eight days, and a wave that began 40 minutes ago."""
    now = now_ms()
    times = [now - hour * HOUR - minute * MINUTE for hour in range(1, 8 * 24) for minute in (10, 40)]
    times += [now - 40 * MINUTE + number * 40 * MINUTE // wave for number in range(wave)] if wave else []
    index = store(1, Clock(now))
    index.add(SHOP, [failed(number, at) for number, at in enumerate(times)])
    assert store(2, Clock(now)).begin()  # counts all windows


def test_the_worst_group_is_told_with_the_beginning_of_its_wave_and_the_deploy_before(viewer: Client) -> None:
    _fail(wave=80)
    deploys.record("v1", now_ms() - DAY)
    deploys.record(f"v2 {MARKUP}", now_ms() - 46 * MINUTE)
    answer = viewer.get("/failures/")
    text = Page(answer).text
    assert "Error: boom has come in a wave since" in text
    assert "v2 " in text
    assert "v1 went live" not in text
    assert MARKUP not in answer.content.decode()
    assert f"/failures/{FailureGroup.objects.get().slug}/" in answer.content.decode()


def test_a_deploy_of_long_ago_is_not_told_with_it(viewer: Client) -> None:
    _fail(wave=80)
    deploys.record("v1", now_ms() - 3 * HOUR)
    assert "went live at" not in Page(viewer.get("/failures/")).text


def test_what_comes_as_usual_is_no_wave(viewer: Client) -> None:
    _fail(wave=0)
    assert "in a wave" not in Page(viewer.get("/failures/")).text
