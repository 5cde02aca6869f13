"""What a backend cannot do is left out of its pages, or said where somebody asked for it."""

from __future__ import annotations

import pytest
import redis

from queues import discovery
from queues.backends.bullmq.reader import BullMQ
from queues.registry import SourceConfig
from queues.types import Capability
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_queue

pytestmark = pytest.mark.django_db

PARTS = [
    (Capability.WORKERS, "/", "Workers"),
    (Capability.WORKERS, "/queues/main/mail/", "Workers"),
    (Capability.LOGS, "/queues/main/mail/jobs/1/", "Logs"),
    (Capability.FLOWS, "/queues/main/mail/jobs/1/", "Family"),
]


@pytest.mark.parametrize("part", PARTS)
def test_a_page_leaves_out_what_the_backend_cannot_tell(
    source: SourceConfig, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch, part: tuple[Capability, str, str]
) -> None:
    capability, path, heading = part
    seed_queue(valkey, "mail", failed=1)
    discovery.scan("main")
    assert heading in _headings(path)
    monkeypatch.setattr(BullMQ, "capabilities", frozenset(Capability) - {capability})
    assert heading not in _headings(path)


def test_a_source_that_cannot_be_searched_by_id_is_not_said_to_lack_the_job(
    source: SourceConfig, valkey: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_queue(valkey, "mail", failed=1)
    discovery.scan("main")
    monkeypatch.setattr(BullMQ, "capabilities", frozenset(Capability) - {Capability.FIND_BY_ID})
    text = Page(as_role("viewer").get("/find/?q=1")).text
    assert "main could not be asked. Its kind of queues cannot be searched by a job’s id." in text
    assert "No queue holds a job" not in text


def _headings(path: str) -> set[str]:
    return {node.text.strip() for node in Page(as_role("viewer").get(path)).nodes if node.tag in ("h2", "th")}
