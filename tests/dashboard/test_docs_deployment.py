"""What the page on deployment promises."""

import re
from pathlib import Path

import redis
from django.conf import settings as django_settings
from pytest_django import Settings

from queues import registry
from queues.registry import SourceConfig
from queues.types import JobRef, QueueRef, State
from tests.valkey import Server

TEXT = (Path(django_settings.BASE_DIR) / "docs" / "deployment.md").read_text("utf-8")


def test_the_documented_acl_user_may_read_everything_and_write_nothing(
    valkey_server: Server, valkey: redis.Redis, settings: Settings
) -> None:
    words = re.findall(r"ACL SETUSER (mirante .*)", TEXT)[0].split()
    valkey.execute_command("ACL", "SETUSER", *words)  # type: ignore[no-untyped-call]
    valkey.acl_log_reset()
    valkey.hset("bull:orders:meta", mapping={"opts.maxLenEvents": "10000", "version": "bullmq:6.7.0"})
    valkey.hset("bull:orders:1", mapping={"name": "order", "data": "{}", "opts": "{}", "timestamp": "1"})
    valkey.lpush("bull:orders:wait", "1")
    url = valkey_server.url.replace("redis://", "redis://mirante:password@")
    settings.MIRANTE_SOURCES = (SourceConfig("documented", url),)
    registry.forget()
    try:
        backend = registry.backend("documented")
        queue = QueueRef("documented", b"bull", b"orders")
        assert queue in [found for _, refs in backend.discover() for found in refs]
        assert backend.counts([queue])[queue].by_state[State.WAITING] == 1
        assert backend.health().persistence
        assert not backend.workers().unknown_because
        assert backend.queue(queue).version
        assert [row.ref.id for row in backend.jobs(queue, [State.WAITING]).rows] == [b"1"]
        assert backend.find([queue], b"1")
        job = JobRef(queue, b"1")
        assert backend.job(job).row.ref == job
        assert (backend.body(job, b"data"), backend.logs(job).total) == (b"{}", 0)
        assert valkey.acl_log() == []
        assert "no permissions" in _refusal(redis.Redis.from_url(url))
    finally:
        registry.forget()
        valkey.acl_deluser("mirante")


def _refusal(client: redis.Redis) -> str:
    try:
        client.set("bull:orders:1", "x")
    except redis.ResponseError as error:
        return str(error)
    finally:
        client.close()
    return ""
