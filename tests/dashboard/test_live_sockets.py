"""Sockets of live pages: who may open them, what may be asked, and when they end."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session

from dashboard import consumers
from dashboard.live.refusals import Refusals
from queues.live import FailuresNews
from queues.registry import SourceConfig
from tests.dashboard.people import person, signed_in
from tests.dashboard.sockets import HOST, Socket, overview, source_news, standing, told_when_listening, unnumbered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def two_sources(settings: LazySettings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://none"), SourceConfig("other", "redis://none"))
    settings.ALLOWED_HOSTS = [HOST, "mirante.example.com"]
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}  # an empty one


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rights are checked all the time."""
    monkeypatch.setattr(consumers, "FIRST_MESSAGE_S", 0.2)
    monkeypatch.setattr(consumers, "RIGHTS_S", 0.2)


@sync_to_async
def session_of(role: str | None) -> tuple[User, str]:
    user = person(role)
    return user, signed_in(user).session.session_key or ""


async def opened(role: str | None = "viewer", **options: Any) -> tuple[User, Socket]:
    user, key = await session_of(role)
    socket = Socket(key, **options)
    assert await socket.opened()
    return user, socket


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_every_role_may_watch(role: str) -> None:
    _user, socket = await opened(role)
    await socket.send(overview())
    await told_when_listening(source_news())
    frame = await socket.frame()
    assert (frame["pulse"], frame["rate"]) == ("live", 1.5)
    await socket.gone()


async def test_a_page_of_failures_watches_those_of_several_sources() -> None:
    _user, socket = await opened()
    await socket.send({"watch": {"page": "failures", "sources": ["main", "other"], "read": 1, "after": ""}})
    await told_when_listening(FailuresNews("other", standing(), ("a",), 1, 7))
    assert "pulse" in await socket.frame()
    await socket.gone()


@pytest.mark.parametrize("key", ["", "no-such-session-anywhere", '"\\000\\377"'])
async def test_who_is_not_signed_in_is_told_so(key: str) -> None:
    socket = Socket(key)
    assert await socket.opened()
    assert await socket.close_code() == 4401
    await socket.gone()


async def test_who_has_no_role_is_told_so() -> None:
    _user, socket = await opened(None)
    assert await socket.close_code() == 4403
    await socket.gone()


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", f"http://{HOST}.evil.example", f"https://{HOST}", f"http://{HOST}:81"],
)
async def test_a_page_of_another_origin_opens_nothing(origin: str | None) -> None:
    _user, key = await session_of("admin")
    socket = Socket(key, origin=origin)
    assert not await socket.opened()
    await socket.gone()


async def test_the_headers_of_a_proxy_count_only_when_the_operator_trusts_it(settings: LazySettings) -> None:
    said = {"x_forwarded_host": "mirante.example.com", "x_forwarded_proto": "https"}
    _user, key = await session_of("viewer")

    async def opens() -> bool:
        socket = Socket(key, origin="https://mirante.example.com", **said)
        found = await socket.opened()
        await socket.gone()
        return found

    assert not await opens()
    settings.USE_X_FORWARDED_HOST = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert await opens()


@pytest.mark.parametrize("trusted", ["https://mirante.example.com", "https://*.example.com"])
async def test_a_trusted_origin_opens_a_socket(settings: LazySettings, trusted: str) -> None:
    settings.CSRF_TRUSTED_ORIGINS = [trusted]
    _user, socket = await opened(origin="https://mirante.example.com")
    await socket.gone()


async def test_a_host_that_is_not_ours_opens_nothing() -> None:
    _user, key = await session_of("viewer")
    socket = Socket(key, host="evil.example", origin="http://evil.example")
    assert not await socket.opened()
    await socket.gone()


async def test_below_a_sub_path_it_works_alike() -> None:
    _user, socket = await opened(prefix="/mirante")
    await socket.send(overview())
    await told_when_listening(source_news())
    assert (await socket.frame())["pulse"] == "live"
    await socket.gone()


def watch(page: str, *sources: str, **more: object) -> dict[str, object]:
    return {"watch": {"page": page, "sources": list(sources), **more}}


DEEP = "[" * 100_000
TOPICS = [
    (watch("overview", "nowhere"), 4404),
    (watch("overview", "main\0"), 4404),
    (watch("overview", *map(str, range(17))), 4429),
    (watch("queue", "main", queue="~="), 4404),
    (watch("queue", "main", queue="a b"), 4404),
    (watch("queue", "main", queue="~~~~"), 4404),
    (watch("queue", "main", queue="é"), 4404),
    (watch("queue", "main", queue="x" * 5_000), 4404),
    (watch("job", "main", queue="orders", job="../../etc"), 4404),
    (watch("job", "main", queue="orders", job="\ud800"), 4404),
    (watch("queue", "main"), 4400),
    (watch("queue", "main", "other", queue="orders"), 4400),
    (watch("queue", "main", queue="orders", job="1"), 4400),
    (watch("job", "main", queue="orders"), 4400),
    (watch("queue", "main", queue=["orders"]), 4400),
    (watch("everything", "main"), 4400),
    (watch("overview"), 4400),
    (watch("failures"), 4400),
    (watch("failures", "nowhere"), 4404),
    (watch("overview", "main", read=-1), 4400),
    (watch("overview", "main", read=True), 4400),
    (watch("overview", "main", read=10**400), 4400),
    (watch("overview", "main", after="0-1; DROP"), 4400),
    (watch("overview", "main", user="admin"), 4400),
    ({**watch("overview", "main"), "rows": ["q"] * 2_001}, 4400),
    ({**watch("overview", "main"), "rows": ["q" * 100]}, 4400),
    ({**watch("overview", "main"), "rows": [1]}, 4400),
    ({**watch("replays", "main"), "rows": [f"rp-{number}" for number in range(5)]}, 4400),
    ({"watch": "everything"}, 4400),
    ({"subscribe": "*"}, 4400),
    ({"type": "websocket.disconnect"}, 4400),
    ({"ack": 1}, 4400),
    ({"ack": "1"}, 4400),
    ({"rows": []}, 4400),
    ([], 4400),
    ("{", 4400),
    ("\ud800", 4400),
    (DEEP, 4400),
    ("9" * 5_000, 4400),
    ("x" * 200_000, 4400),
]


# AU-02
@pytest.mark.parametrize(("message", "code"), TOPICS, ids=range(len(TOPICS)))
async def test_what_cannot_be_asked_ends_the_socket_with_its_code(message: object, code: int) -> None:
    _user, socket = await opened()
    await socket.send(message)
    assert await socket.close_code() == code
    await socket.gone()


async def test_bytes_end_the_socket() -> None:
    _user, socket = await opened()
    await socket.send_bytes(b"\x00\xff")
    assert await socket.close_code() == 4400
    await socket.gone()


async def test_a_second_page_on_one_socket_ends_it() -> None:
    _user, socket = await opened()
    await socket.send(overview())
    await socket.send(overview("other"))
    assert await socket.close_code() == 4400
    await socket.gone()


async def test_a_flood_of_messages_ends_the_socket() -> None:
    _user, socket = await opened()
    await socket.send(overview())
    for _time in range(300):
        await socket.send({"rows": []})
    assert await socket.close_code() == 4400
    await socket.gone()


async def test_who_asks_for_nothing_is_sent_away(often: None) -> None:
    _user, socket = await opened()
    assert await socket.close_code() == 4400
    await socket.gone()


def sign_out(user: User) -> None:
    Session.objects.all().delete()


def change_password(user: User) -> None:
    user.set_password("another horse")
    user.save()


def deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def delete(user: User) -> None:
    user.delete()


def lose_role(user: User) -> None:
    user.groups.clear()


# LV-07
@pytest.mark.parametrize(
    ("change", "code"),
    [(sign_out, 4401), (change_password, 4401), (deactivate, 4401), (delete, 4401), (lose_role, 4403)],
)
async def test_a_socket_ends_when_its_right_does(often: None, change: Any, code: int) -> None:
    user, socket = await opened()
    await socket.send(overview())
    await told_when_listening(source_news())
    assert (await socket.frame())["pulse"] == "live"
    await sync_to_async(change)(user)
    assert await socket.close_code() == code
    await socket.gone()


async def test_another_role_of_enough_weight_keeps_the_socket(often: None) -> None:
    user, socket = await opened("operator")
    await socket.send(overview())
    await told_when_listening(source_news())
    await sync_to_async(lambda: user.groups.set([Group.objects.get(name="viewer")]))()
    for _beat in range(3):
        assert (await socket.frame())["pulse"] == "live"
    await socket.gone()


async def test_a_check_writes_nothing_and_keeps_the_session_of_another_key(often: None) -> None:
    """Django's own look deletes a session whose hash does not fit, or gives it a new key that no browser learns."""
    user, key = await session_of("viewer")
    await sync_to_async(change_password)(user)
    socket = Socket(key)
    assert await socket.opened()
    assert await socket.close_code() == 4401
    assert await sync_to_async(Session.objects.filter(pk=key).exists)()
    await socket.gone()


async def test_two_roles_get_the_same_bytes() -> None:
    sockets = [(await opened(role))[1] for role in ("viewer", "admin")]
    for socket in sockets:
        await socket.send(overview())
    await told_when_listening(source_news())
    first, second = [await socket.text() for socket in sockets]
    assert unnumbered(first) == unnumbered(second)
    assert json.loads(first)["pulse"] == "live"
    for socket in sockets:
        await socket.gone()


def test_refusals_are_written_down_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    moments = deque([0.0, 1.0, 59.0, 61.0, 61.0])
    refusals = Refusals(moments.popleft)
    with caplog.at_level("INFO", "mirante.audit"):
        for _time in range(4):
            refusals.record("eve", "10.0.0.1", "not JSON")
        refusals.record("eve", "10.0.0.2", "not JSON")
    assert len(caplog.records) == 3


def test_many_strangers_do_not_fill_the_memory() -> None:
    refusals = Refusals(lambda: 0.0)
    for number in range(5_000):
        refusals.record("eve", str(number), "not JSON")
    assert len(refusals._written) <= 1_000
