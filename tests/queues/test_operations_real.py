"""Operations against a real server: two operators at once, a forbidden user, and what all that costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from queues import audit, operations, outages, readonly, registry
from queues.actions import Outcome, Target
from queues.audit import Actor, Asked, Status
from queues.errors import ReadOnly, Unreachable
from queues.models import AuditEntry, Source
from queues.registry import SourceConfig
from queues.types import QueueRef, State
from tests.node import Node
from tests.valkey import Server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.node]

SHOP = QueueRef("main", b"bull", b"shop")

FAIL = """
const q = queue(args.major, "shop");
const w = worker(args.major, "shop", async () => { throw new Error("no"); });
await q.addBulk(Array.from({ length: args.count }, (_, n) => ({ name: "mail", data: { n } })));
await until(async () => (await q.getFailedCount()) === args.count);
await w.close();
return (await q.getFailed()).map((job) => job.id);
"""
FINISH = """
const q = queue(args.major, "shop");
const done = [];
const w = worker(args.major, "shop", async (job) => { done.push(job.data.n); });
await until(async () => (await q.getCompletedCount()) === args.count);
return done.sort((a, b) => a - b);
"""


@pytest.fixture(autouse=True)
def watched(server: Server, settings: Settings) -> Iterator[None]:
    settings.MIRANTE_SOURCES = (server.config(),)
    registry.forget()
    readonly.forget()
    yield
    registry.forget()
    readonly.forget()
    outages.forget("main")


def failed(node: Node, server: Server, major: int, count: int) -> list[bytes]:
    """The ids of so many jobs that have failed."""
    found = node.run(FAIL, url=server.url, major=major, count=count)
    assert isinstance(found, list)
    return [str(one).encode() for one in found]


def retry(name: str, ids: list[bytes], key: str = "") -> AuditEntry:
    asked = Asked(Actor(name, "operator"), key)
    return operations.retry(asked, SHOP, [Target(one) for one in ids], state=State.FAILED, reset=False)


@pytest.mark.parametrize("major", [5, 6])
def test_two_operators_and_five_presses_retry_each_job_once(major: int, node: Node, server: Server) -> None:
    ids = failed(node, server, major, 20)
    start = threading.Barrier(6)
    entries: list[AuditEntry] = []

    def press(name: str, key: str) -> None:
        try:
            start.wait(30)
            entries.append(retry(name, ids, key))
        finally:
            connection.close()

    people = [("anna", "form-1")] * 3 + [("bert", "form-2")] * 2 + [("cora", "")]
    threads = [threading.Thread(target=press, args=each) for each in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 6
    kept = list(AuditEntry.objects.all())
    assert {entry.who for entry in kept} == {"anna", "bert", "cora"}
    assert len(kept) == 3
    assert {entry.status for entry in kept} == {Status.DONE}
    outcomes = [audit.counts(entry) for entry in kept]
    assert sum(counts.get(Outcome.DONE, 0) for counts in outcomes) == 20
    assert sum(counts.get(Outcome.ALREADY, 0) for counts in outcomes) == 40
    assert node.run(FINISH, url=server.url, major=major, count=20) == list(range(20))


def test_who_comes_later_is_told_by_whom_it_was_done(node: Node, server: Server) -> None:
    ids = failed(node, server, 6, 1)
    retry("anna", ids)
    assert audit.in_words(retry("bert", ids)).startswith(f"Job {ids[0].decode()} is already waiting (by anna at ")


def test_a_user_without_the_right_to_write_makes_the_queue_read_only(
    node: Node, server: Server, settings: Settings
) -> None:
    ids = failed(node, server, 6, 1)
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "&*", "+@all", "-@write", "-@scripting")
        try:
            url = f"redis://reader:pw@127.0.0.1:{server.port}/0"
            settings.MIRANTE_SOURCES = (SourceConfig("main", url),)
            registry.forget()
            with pytest.raises(ReadOnly) as caught:
                retry("anna", ids)
            assert client.zcard("bull:shop:failed") == 1
        finally:
            client.execute_command("ACL", "DELUSER", "reader")
    assert str(caught.value) == AuditEntry.objects.get().note != ""
    assert str(caught.value).startswith("Nothing can be changed here: ")
    assert "pw" not in AuditEntry.objects.get().note.split()


def test_what_actions_send_is_counted(node: Node, server: Server) -> None:
    ids = failed(node, server, 6, 2)
    retry("anna", ids)
    sent = {type(made).__name__: made.commands_sent for name, made in registry.made() if name == "main"}
    assert sent["BullMQActions"] > 0


def test_a_dead_server_fails_the_action_and_is_noted(settings: Settings) -> None:
    settings.MIRANTE_SOURCES = (SourceConfig("main", "redis://127.0.0.1:1/0"),)
    registry.forget()
    with pytest.raises(Unreachable) as caught:
        retry("anna", [b"1"])
    assert caught.value.since == Source.objects.get(name="main").down_since is not None
    assert AuditEntry.objects.get().status == Status.FAILED
