"""Who watches what: web processes say it every few seconds, the follower asks once a second.

It lives in our own Redis (`MIRANTE_APP_REDIS`), on its clock, and runs out by itself when nobody renews it.
Without such a server, as in tests, it is a dictionary of this process.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

import redis
from django.conf import settings
from django.utils.translation import gettext as _

from queues.errors import Unreachable
from queues.live import About, Topic

EXPIRY_S = 15.0
MOST = 10_000  # topics of a source that the follower is told of
TIMEOUT_S = 2.0

# KEYS: a sorted set of topics, with the millisecond in which each runs out. The server's clock alone counts.
_TELL = """
local time = redis.call('TIME')
local until_ms = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], until_ms, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], math.max(ARGV[1], redis.call('PTTL', KEYS[1])))
return 1
"""
_WATCHED = """
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGE', KEYS[1], 0, ARGV[1])
"""


class Store(Protocol):
    """Where interest is kept."""

    def tell(self, topics: Collection[Topic], expiry_s: float) -> None: ...

    def watched(self, source: str) -> Collection[Topic]: ...


def tell(topics: Collection[Topic], *, expiry_s: float = EXPIRY_S) -> None:
    """These topics are watched from now on for `expiry_s`. One round trip; raises Unreachable."""
    store().tell(topics, expiry_s)


def watched(source: str) -> Collection[Topic]:
    """What somebody watches of a source now, at most 10,000. One round trip; raises Unreachable."""
    return store().watched(source)


def store() -> Store:
    """Where this process keeps interest, as configured."""
    server = settings.MIRANTE_APP_REDIS
    return _server(server.url, server.ca_file) if server else LOCAL


class InProcess:
    """Interest of this process alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[Topic, float] = {}

    def tell(self, topics: Collection[Topic], expiry_s: float) -> None:
        with self._lock:
            self._until.update(dict.fromkeys(topics, time.monotonic() + expiry_s))

    def watched(self, source: str) -> Collection[Topic]:
        now = time.monotonic()
        with self._lock:
            self._until = {topic: until for topic, until in self._until.items() if until > now}
            return {topic for topic in self._until if topic.source == source}

    def clear(self) -> None:
        """Nobody watches anything."""
        with self._lock:
            self._until.clear()


LOCAL = InProcess()


class InRedis:
    """Interest of all processes, in our own Redis: a sorted set for each source."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def tell(self, topics: Collection[Topic], expiry_s: float) -> None:
        by_source: defaultdict[str, list[str]] = defaultdict(list)
        for topic in topics:
            by_source[topic.source].append(json.dumps([topic.about.value, topic.queue, topic.job]))
        try:
            with self._client.pipeline(transaction=False) as pipe:
                for source, members in by_source.items():
                    pipe.eval(_TELL, 1, _key(source), int(expiry_s * 1000), *members)
                pipe.execute()
        except redis.RedisError as error:
            raise _unreachable() from error

    def watched(self, source: str) -> Collection[Topic]:
        try:
            members = cast("Sequence[bytes]", self._client.eval(_WATCHED, 1, _key(source), MOST - 1))
        except redis.RedisError as error:
            raise _unreachable() from error
        return set(_topics(source, members))


@lru_cache(maxsize=4)
def _server(url: str, ca_file: str) -> InRedis:
    options: dict[str, Any] = {"ssl_ca_certs": ca_file} if ca_file else {}
    client = redis.Redis.from_url(
        url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, protocol=2, **options
    )
    return InRedis(client)


def _key(source: str) -> str:
    return f"mirante:watched:{source}"


def _topics(source: str, members: Sequence[bytes]) -> Iterable[Topic]:
    for member in members:
        try:
            about, queue, job = json.loads(member)
            yield Topic(About(about), source, str(queue), str(job))
        except (TypeError, ValueError):
            continue  # of another release


def _unreachable() -> Unreachable:
    # The text of the driver may quote our URL; which server it is stands in the configuration.
    return Unreachable(_("Mirante’s own Redis (APP_REDIS_URL) does not answer."), source="")
