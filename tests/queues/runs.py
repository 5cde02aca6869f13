"""What tests of running replays share: failed jobs written straight into a server, a worker of a few lines, slices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast
from unittest import mock

import redis

from queues import registry
from queues.lease import FREE_AFTER_S
from queues.models import Replay, ReplayLine
from queues.replay.run import running
from queues.replay.run.run import Run
from queues.replay.run.running import Later
from queues.replay.terms import Terms
from queues.replay.types import Phase
from queues.types import QueueRef, State
from tests.queues.replaying import QUIET, SHOP, a_plan

# Jobs with the ids ARGV[4..], added one a millisecond since ARGV[1], which a worker has failed all at once. They are of
# ARGV[2] keys in turn, from the ARGV[3]th on.
_FAILED = """
local base, at = KEYS[1], tonumber(ARGV[1])
for i = 4, #ARGV do
  local when = string.format("%.0f", at + i)
  local data = cjson.encode({ key = "k" .. (ARGV[3] + i - 4) % ARGV[2] })
  redis.call("HSET", base .. ARGV[i], "name", "mail", "data", data, "opts", '{"attempts":1}', "timestamp", when,
    "delay", "0", "priority", "0", "atm", "1", "ats", "1", "processedOn", 1000, "finishedOn", 1000,
    "failedReason", "no", "stacktrace", "[]")
  redis.call("ZADD", base .. "failed", 1000, ARGV[i])
end
redis.call("HSET", base .. "meta", "version", "bullmq:6.7.0")
"""
# A worker that takes at most ARGV[1] jobs, each at once done; those with the ids ARGV[3..] fail again. Of those that
# complete nothing is left where ARGV[2] is "1".
_WORK = """
local base, bad, done = KEYS[1], {}, 0
for i = 3, #ARGV do bad[ARGV[i]] = true end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
while done < tonumber(ARGV[1]) do
  local id = redis.call("RPOP", base .. "wait")
  if not id then break end
  done = done + 1
  redis.call("RPUSH", "ran", id)
  local to = bad[id] and "failed" or "completed"
  if to == "completed" and ARGV[2] == "1" then
    redis.call("DEL", base .. id)
  else
    redis.call("HINCRBY", base .. id, "atm", 1)
    redis.call("HSET", base .. id, "finishedOn", now, "processedOn", now)
    redis.call("ZADD", base .. to, now, id)
  end
  redis.call("XADD", base .. "events", "MAXLEN", "~", 10000, "*", "event", "active", "jobId", id, "prev", "waiting")
  redis.call("XADD", base .. "events", "*", "event", to, "jobId", id, "prev", "active", "failedReason", "no")
end
return done
"""


def fail(client: redis.Redis, ids: Sequence[str], queue: str = "shop", *, at_ms: int = 500, keys: int = 1) -> None:
    """Failed jobs with these ids, the first one the oldest; `key` in their data is one of so many in turn."""
    for first in range(0, len(ids), 1_000):
        client.eval(_FAILED, 1, f"bull:{queue}:", at_ms + first, keys, first, *ids[first : first + 1_000])


def work(
    client: redis.Redis, queue: str = "shop", *, most: int = 100_000, bad: Collection[str] = (), keep: bool = True
) -> int:
    """Have at most so many waiting jobs done; gives their number. Without `keep` those that complete are gone."""
    return cast(int, client.eval(_WORK, 1, f"bull:{queue}:", most, "" if keep else "1", *bad))


def ran(client: redis.Redis) -> list[str]:
    """The jobs that workers have run, in their order."""
    return [job.decode() for job in cast("list[bytes]", client.lrange("ran", 0, -1))]


def a_plan_of(
    client: redis.Redis,
    ids: Sequence[str],
    *,
    phase: Phase = Phase.ARMED,
    terms: Terms = QUIET,
    ref: QueueRef = SHOP,
    state: State = State.FAILED,
    keys: int = 1,
    **values: Any,
) -> Replay:
    """A plan that was started, of failed jobs with these ids, which are made; they are of so many keys in turn."""
    fail(client, ids, ref.name.decode(), keys=keys)
    plan = a_plan(phase, [job.encode() for job in ids], ref=ref, terms=terms, state=state, seen=b"1000", **values)
    rows = list(plan.jobs.order_by("pk").values_list("pk", flat=True)) if terms.key else []
    for key in range(keys):
        plan.jobs.filter(pk__in=rows[key::keys]).update(key=key)
    return plan


def a_slice(plan: Replay, seconds: float = 60.0) -> Later | None:
    """One slice, of any length."""
    plan.refresh_from_db()
    return running.run(plan.pk, plan.epoch, slice_s=seconds)


def started(plan: Replay) -> None:
    """As short slices as there are until it may send; it has sent nothing then, or a batch."""
    until(plan, Phase.CANARY, Phase.RUNNING, seconds=0.0)


def until(
    plan: Replay,
    *phases: Phase,
    between: Callable[[], object] = lambda: None,
    seconds: float = 0.5,
    most: int = 400,
) -> Replay:
    """Slice after slice until the plan is in one of these phases."""
    for _slice in range(most):
        plan.refresh_from_db()
        if plan.phase in phases:
            return plan
        a_slice(plan, seconds)
        between()
    raise AssertionError(f"{plan} is {plan.phase} ({plan.why}) after {most} slices: {told(plan)}")


def told(plan: Replay) -> list[str]:
    """The kinds of lines of its feed."""
    return list(ReplayLine.objects.filter(replay=plan).order_by("pk").values_list("kind", flat=True))


def line(plan: Replay, kind: str) -> dict[str, Any]:
    """The facts of the last line of a kind."""
    return cast("dict[str, Any]", ReplayLine.objects.filter(replay=plan, kind=kind).order_by("-pk")[0].facts)


class Killed(BaseException):
    """The process died here."""


class Fuse:
    """Kills whoever reaches a point, once so many points were passed; counts them where it is not set."""

    def __init__(self) -> None:
        self.passed = 0
        self.left: int | None = None

    def point(self) -> None:
        self.passed += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed


class Deadly:
    """A backend in front of which and behind whose calls one may die."""

    def __init__(self, made: object, fuse: Fuse) -> None:
        self._made, self._fuse = made, fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._made, name)
        if not callable(found):
            return found

        def called(*args: Any, **kwargs: Any) -> Any:
            self._fuse.point()
            answer = found(*args, **kwargs)
            self._fuse.point()
            return answer

        return called


@contextmanager
def deadly(fuse: Fuse) -> Iterator[None]:
    """Every call to the server and every transaction of a run can be the last one."""
    saving = Run.saving

    @contextmanager
    def saved(self: Run, **values: Any) -> Iterator[None]:
        fuse.point()
        with saving(self, **values):
            yield
            fuse.point()  # not committed yet
        fuse.point()

    with (
        mock.patch.object(Run, "saving", saved),
        mock.patch("queues.operations.sending.actions", lambda name: Deadly(registry.actions(name), fuse)),
        mock.patch.object(running, "backend", lambda name: Deadly(registry.backend(name), fuse)),
    ):
        yield


def free(plan: Replay) -> None:
    """What a look after the plans finds, when the beats of a holder have not grown for long."""
    now = [0.0]
    watch = running.watch(lambda: now[0])
    watch.resting()
    now[0] += FREE_AFTER_S
    watch.resting()
    plan.refresh_from_db()


def killed_until(
    plan: Replay,
    phases: Collection[Phase],
    fuse: Fuse,
    points: Iterator[int],
    between: Callable[[], object] = lambda: None,
) -> int:
    """Slice after slice, each killed at the next of some points, until the plan is in a phase; gives the kills."""
    kills = 0
    fuse.left = next(points, None)
    for _slice in range(3_000):
        plan.refresh_from_db()
        if plan.phase in phases:
            fuse.left = None
            return kills
        if plan.holder:  # killed right after the end of a phase in which somebody looks after it
            free(plan)
        try:
            a_slice(plan, 0.05)
        except Killed:
            kills += 1
            fuse.left = next(points, None)
            free(plan)
        between()
    raise AssertionError(f"{plan} is {plan.phase} ({plan.why}): {told(plan)}")
