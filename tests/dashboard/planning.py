"""Plans of replays as pages show them: made and frozen on a real server, and their form as a browser would send it."""

from __future__ import annotations

from typing import Any

import redis

from queues import discovery
from queues.models import Replay
from queues.quantities import now_ms
from queues.replay import making
from queues.replay.freezing import Freezing
from queues.replay.terms import AfterLoss, Hours, KeyFailed, Ordering, Originals, Patch, PatchKind, Terms
from queues.replay.types import Choice, Phase
from queues.sendings import Conflict
from queues.types import QueueRef, State
from tests.dashboard.pages import Page, Response
from tests.queues.replaying import OLGA, hands
from tests.seed import seed_queue

PAYMENTS = QueueRef("main", b"bull", b"payments")
# Everything otherwise than by default.
FULL = Terms(
    acts_copy=True,
    reset=True,
    originals=Originals.WHEN_DONE,
    order=Ordering.NEWEST,
    key="customer.id",
    key_failed=KeyFailed.GO_ON,
    pace_from=0.5,
    pace_to=2.5,
    double_s=7,
    jitter=0,
    depth_max=9,
    age_max_s=90,
    hours=Hours("157", "22:30", "06:00", "America/Sao_Paulo"),
    canary=3,
    canary_failed=0,
    canary_wait_s=45,
    stop_percent=None,
    stop_paused=False,
    stop_idle=False,
    after_loss=AfterLoss.WAIT,
    without_permanent=True,
    choices={Conflict.TWIN: Choice.SEND},
    patch=Patch(PatchKind.MERGE, '{"tier": 1.0}'),
)


def failed(valkey: redis.Redis, number: int = 30, queue: str = "payments", **more: Any) -> QueueRef:
    """A queue in which so many jobs have failed, in the list of queues."""
    ref = seed_queue(valkey, queue, failed=number, until_ms=now_ms() - 60_000, **more)
    discovery.scan("main")
    return ref


def drafted(ref: QueueRef = PAYMENTS, state: State = State.FAILED, *, terms: Terms | None = None) -> Replay:
    """A draft of all jobs of a state, frozen."""
    plan = making.of_state(OLGA, ref, state)
    return frozen(plan, terms)


def frozen(plan: Replay, terms: Terms | None = None) -> Replay:
    """The same plan, once it is frozen."""
    if terms is not None:
        Replay.objects.filter(pk=plan.pk).update(terms=terms.kept())
    run = hands(plan)
    freezing = Freezing(run)
    while run.replay.phase == Phase.FREEZING:
        freezing.step()
    plan.refresh_from_db()
    return plan


def standing(plan: Replay, phase: Phase, **values: Any) -> Replay:
    """The same plan, in another phase."""
    Replay.objects.filter(pk=plan.pk).update(phase=phase, **values)
    plan.refresh_from_db()
    return plan


def sent_form(answer: Response) -> dict[str, Any]:
    """The fields of a plan's form as a browser would send them untouched."""
    page = Page(answer)
    (form,) = page.all("data-keeps", tag="form")
    fields: dict[str, Any] = {}
    for node in form.children:
        name, kind = node.attrs.get("name", ""), node.attrs.get("type", "")
        if not name or node.tag not in ("input", "textarea", "select") or name == "csrfmiddlewaretoken":
            continue
        if node.tag == "textarea":
            fields[name] = node.text.removeprefix("\n")
        elif kind == "checkbox":
            if "checked" in node.attrs:
                fields.setdefault(name, []).append(node.attrs.get("value", "on"))
        elif kind != "radio" or "checked" in node.attrs:
            fields[name] = node.attrs.get("value", "")
    return fields
