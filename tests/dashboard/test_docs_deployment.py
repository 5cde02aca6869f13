"""What the page on deployment promises."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.urls import reverse
from pytest_django import Settings
from redis.exceptions import ResponseError

from queues import registry, tasks
from queues.actions import NewJob, Outcome, Target
from queues.models import Source
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.dashboard.pages import Page
from tests.dashboard.people import as_role
from tests.seed import seed_queue
from tests.valkey import Server

TEXT = (Path(django_settings.BASE_DIR) / "docs" / "deployment.md").read_text("utf-8")
WRITE = "return redis.call('SET', 'x', 'y')"
DENIED = "has no permissions|can't run this command"


@pytest.fixture
def reader(server: Server, settings: Settings) -> Iterator[str]:
    """The address of the only source, `main`, for the user that the page tells one to make."""
    words = re.findall(r"ACL SETUSER (mirante .*)", TEXT)[0].split()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", *words)
        url = server.url.replace("redis://", "redis://mirante:password@")
        settings.MIRANTE_SOURCES = (SourceConfig("main", url),)
        registry.forget()
        yield url
        registry.forget()
        client.acl_deluser("mirante")


@pytest.fixture
def queue(store: redis.Redis) -> QueueRef:
    """One with jobs in every state, and with all that is beside jobs."""
    ref = seed_queue(store, "shop", waiting=30, prioritized=3, active=3, delayed=3, completed=3, failed=9)
    store.rpush("bull:shop:45:logs", "line")
    store.xadd("bull:shop:events", {"event": "failed", "jobId": "45"})
    store.zadd("bull:shop:repeat", {"nightly": 1})
    store.zadd("bull:shop:waiting-children", {"45": 1})
    store.sadd("bull:shop:45:dependencies", "bull:shop:1")
    store.set("bull:shop:de:one", "1")
    return ref


def _pages(queue: QueueRef) -> Iterator[str]:
    at = [queue.source, queue.slug]
    yield from (reverse("overview"), reverse("system"), reverse("find") + "?id=45")
    yield reverse("deduplication", args=at)
    for state in State:
        yield reverse("queue", args=at) + f"?state={state.value}"
        yield reverse("queue", args=at) + f"?state={state.value}&name=charge"
    for job in (b"1", b"45"):
        yield from (reverse("job", args=[*at, job]), reverse("logs", args=[*at, job]))
    yield reverse("field", args=[*at, b"45", b"data"])


@pytest.mark.django_db
def test_the_documented_acl_user_sees_every_page_and_serves_every_task(
    reader: str, queue: QueueRef, store: redis.Redis
) -> None:
    store.acl_log_reset()
    tasks.scan_source("main")
    tasks.read_source("main")
    assert Source.objects.get(name="main").down_since is None
    admin = as_role("admin")
    for page in _pages(queue):
        answer = admin.get(page)
        assert answer.status_code == 200, page
        if not answer.has_header("Content-Disposition"):
            assert "not permitted" not in Page(answer).text, page
    assert Page(admin.get(reverse("overview"))).rows("data-queue") == ["main/shop"]
    # What the server denied stands here also where nobody noticed.
    # Whether it may write is asked by a script that it may not finish, and that the page says so.
    # The other is sent in case it is permitted.
    denied = {(entry["context"], entry["object"]) for entry in store.acl_log()}
    assert denied <= {("lua", "del"), ("toplevel", "client|no-touch")}


@pytest.mark.parametrize(
    "command",
    [
        ("SET", "x", "y"),
        ("DEL", "bull:shop:45"),
        ("EVAL", WRITE, "0"),
        ("KEYS", "*"),
        ("CLIENT", "PAUSE", "1"),
        ("CLIENT", "KILL", "TYPE", "normal"),
        ("CLIENT", "NO-EVICT", "on"),
        ("CLIENT", "UNBLOCK", "1"),
        ("CONFIG", "SET", "maxmemory", "1"),
        ("SCRIPT", "FLUSH"),
        ("PUBLISH", "x", "y"),
        ("SUBSCRIBE", "x"),
        ("MONITOR",),
        ("ACL", "LIST"),
        ("FLUSHALL",),
        ("SHUTDOWN", "NOSAVE"),
    ],
    ids=" ".join,
)
def test_the_documented_acl_user_can_neither_write_nor_hold_up_the_server(
    reader: str, command: tuple[str, ...]
) -> None:
    with redis.Redis.from_url(reader) as client, pytest.raises(ResponseError, match=DENIED):
        client.execute_command(*command)


def test_the_documented_acl_user_is_read_only_and_with_writes_may_act(
    reader: str, queue: QueueRef, server: Server
) -> None:
    actions = registry.actions("main")
    assert actions.read_only(queue).startswith("Nothing can be changed here: ")
    assert "put `+@write` behind `+@read`" in TEXT
    words = re.findall(r"ACL SETUSER mirante (.*)", TEXT)[0].replace("+@read", "+@read +@write")
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "mirante", "reset", *words.split())
        failed = Target(client.zrange("bull:shop:failed", 0, 0)[0])
    registry.forget()
    actions = registry.actions("main")
    assert actions.read_only(queue) == ""
    assert actions.retry(queue, [failed], state=State.FAILED, reset=False)[0].outcome is Outcome.DONE
    assert actions.add(queue, NewJob(b"mail", b"{}", b"{}"), token="t").outcome is Outcome.DONE
    assert actions.pause(queue).cursor is None
    assert actions.resume(queue).cursor is None
    assert actions.trim_events(queue, keep=1).cursor is None
    assert actions.remove(queue, [failed], state=None, children=True)[0].outcome is Outcome.DONE
