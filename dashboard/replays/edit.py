"""One job that is to be edited and sent again: as it is now, what would be sent for it, and sending it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.actions import subject
from dashboard.actions.hiding import Uneditable, editable
from dashboard.actions.subject import JobSubject, QueueSubject
from dashboard.replays.edit_form import EditForm
from dashboard.words import STATE_WORDS
from queues import audit, masking, readings
from queues.actions import Action, NewJob, Stored, Target
from queues.audit.types import Asked
from queues.errors import NotFound, QueueError, ReadOnly
from queues.failed import FailedJob
from queues.failures import letters
from queues.failures.letters.mapping import Mapping, mapping_of
from queues.failures.letters.reading import origin_key
from queues.models import Replay, ReplayJob
from queues.names import encode_part
from queues.operations.guard import ensure_writable
from queues.redaction import Rules
from queues.registry import backend
from queues.replay import making, steering
from queues.replay.copies import Unmapped, copied, told_by
from queues.replay.making.wish import LETTER_STATES, Wish
from queues.replay.terms import Terms
from queues.replay.types import From, Phase
from queues.types import Capability, Job, JobRef, QueueRef, State

FROZEN_WITHIN_S = 2.5  # so long a plan of one job is waited for, which takes its worker a tenth of that
_LOOK_S = 0.05
_ENDED = frozenset({State.FAILED, State.COMPLETED})


@dataclass(frozen=True, slots=True)
class Editing:
    """A job as it is now. `new` is what would be sent unedited; None where `off` says why nothing can be.

    `target` is the queue it would go to. `mend` is a page where what is in the way can be mended: address and words.
    """

    ref: JobRef
    about: JobSubject
    letter: bool = False
    target: QueueSubject | None = None
    new: NewJob | None = None
    off: str = ""
    mend: tuple[str, str] | None = None
    read_only: bool = False

    @property
    def rules(self) -> Rules:
        """What is hidden in the queue it is in, and in the one it goes to."""
        return rules_of(self.ref.queue, self.target.ref if self.target else None)


def rules_of(queue: QueueRef, target: QueueRef | None = None) -> Rules:
    """The rules of two queues together."""
    own = masking.rules_for(queue)
    other = masking.rules_for(target) if target else own
    return own if own == other else Rules(tuple(dict.fromkeys((*own.patterns, *other.patterns))))


def editing(ref: JobRef) -> Editing:
    """The job, read now. NotFound, Unreachable. Some six short calls."""
    found = Editing(ref, subject.of_job(ref, Action.DUPLICATE))
    job, state = found.about.job, found.about.state
    letter = state in LETTER_STATES and letters.is_letters(ref.queue, readings.names(ref.queue.source))
    found = replace(found, letter=letter)
    if job.row.missing:
        return replace(found, off=_("Its data is gone: only its id is left."))
    if state not in _ENDED and not letter:
        return replace(found, off=_wrong_state(state))
    if Capability.REPLAYS not in backend(ref.queue.source).capabilities:
        return replace(found, off=_("Jobs of this source cannot be replayed."))
    try:
        ensure_writable(ref.queue)
    except ReadOnly as error:
        return replace(found, off=str(error), read_only=True)
    found = _to_target(found)
    return found if found.off else _as_copy(found)


def form_of(found: Editing, data: QueryDict | None = None, *, may_drop: bool = False) -> EditForm:
    """The form; bound to `data` where it was sent. `may_drop`: who may reveal hidden values may replace them."""
    return EditForm(
        data,
        initial={"seen": seen_of(found), "from_state": found.about.state},
        raw=found.new.data if found.new else None,
        rules=found.rules,
        may_drop=may_drop,
    )


def seen_of(found: Editing) -> str:
    """This stay of the job, as forms hold it."""
    seen = found.about.job.row.seen
    return encode_part(seen, colon=True) if seen else ""


def made_before(asked: Asked, ref: JobRef) -> Replay | None:
    """The plan that this very form made when it was sent before. One query or two."""
    about = Wish(From.JOB, queue=ref.queue.slug, targets=(Target(ref.id, b""),)).about
    entry = audit.earlier(asked, making.PLAN, about) if asked.key else None
    return Replay.objects.filter(pk=entry.parameters.get("replay", 0)).first() if entry else None


def begun(asked: Asked, found: Editing, seen: bytes, data: bytes) -> tuple[Replay, str]:
    """Plan it and start the plan; why it was not started, where it was not: then a person looks at it.

    QueueError where there is no plan. Waits some seconds at most for its worker.
    """
    state = found.about.state or State.FAILED
    target, before = Target(found.ref.id, seen), found.new.data if found.new else None
    plan = making.of_edited(asked, found.ref, state, target, data, before=before)
    wait(plan)
    if plan.phase == Phase.FREEZING:
        return plan, _("It is planned. Start it once its job has been looked at.")
    if plan.phase != Phase.DRAFT:
        return plan, ""
    try:
        steering.start(asked, plan, Terms.of(plan.terms))
    except QueueError as error:
        return plan, _("It is planned, and was not started. %(why)s") % {"why": error}
    return plan, ""


def wait(plan: Replay) -> None:
    """Until its worker has frozen it, `FROZEN_WITHIN_S` at most."""
    until = time.monotonic() + FROZEN_WITHIN_S
    while plan.phase == Phase.FREEZING and time.monotonic() < until:
        time.sleep(_LOOK_S)
        plan.refresh_from_db()


def _to_target(found: Editing) -> Editing:
    """With the queue that it goes to."""
    target = found.about.queue
    if found.letter:
        ref = _origin(found.ref.queue, found.about.job)
        if ref is None:
            return replace(found, off=_("Nobody said to which queue this letter belongs."), mend=_mend(found.ref.queue))
        try:
            target = subject.of_queue(ref, Action.ADD)
        except NotFound:
            said = _("It belongs to the queue “%(queue)s”, which is not there.") % {"queue": ref.label}
            return replace(found, off=said, mend=_mend(found.ref.queue))
    return replace(found, target=target, off=target.can.why_not(Action.ADD))


def _as_copy(found: Editing) -> Editing:
    """With what would be sent unedited, where it can be edited."""
    body = found.about.job.data
    try:
        if body is not None and body.cut:
            editable(body.raw, found.rules, whole=False)
        new = copied(_row(found), _stored(found.about.job), Terms(), queue=found.ref.queue)
        editable(new.data, found.rules)
    except Unmapped as error:
        return replace(found, off=str(error), mend=_mend(found.ref.queue))
    except Uneditable as error:
        said = _("It cannot be edited here. %(why)s Plan a replay of it instead: there a patch can change it.")
        return replace(found, off=said % {"why": error})
    return replace(found, new=new)


def _row(found: Editing) -> ReplayJob:
    """The row that a plan would have for it, as far as its copy depends on it."""
    own, target = 1, 1 if found.target and found.target.ref == found.ref.queue else 2
    return ReplayJob(queue_id=own, target_id=target, job=found.ref.slug, state=found.about.state or State.FAILED)


def _stored(job: Job) -> Stored:
    """A job as it was read for its page."""
    fields = {b"name": job.row.name.value.encode(errors="replace") if job.row.name else b""}
    fields |= {b"data": job.data.raw} if job.data is not None else {}
    fields |= {b"opts": job.opts.raw} if job.opts is not None else {}
    fields |= {b"priority": b"%d" % job.row.priority} if job.row.priority else {}
    return Stored(fields)


def _origin(queue: QueueRef, job: Job) -> QueueRef | None:
    """The queue that a letter belongs to, among those of the list."""
    raw, size = (job.data.raw, job.data.size) if job.data else (b"", 0)
    refs, mapping = list(readings.names(queue.source)), mapping_of(queue)
    named = ""
    if "queue" in mapping.own or not _is_itself(raw, mapping):
        named = letters.read(FailedJob(b"", None, data=raw, data_size=size), mapping).queue
    at = origin_key(queue, named, {ref: number for number, ref in enumerate(refs)})
    return None if at is None else refs[at]


def _is_itself(data: bytes, mapping: Mapping) -> bool:
    """Whether a letter is the job as it was: what its data say of a queue is not about where it came from."""
    try:
        return told_by(data, mapping).itself
    except Unmapped:
        return False


def _mend(queue: QueueRef) -> tuple[str, str]:
    return reverse("letters-queue", args=[queue.source, queue.slug]), _("How its letters are read")


def _wrong_state(state: State | None) -> str:
    if state is None:
        return _("It is in no list any more.")
    said = _("Failed and completed jobs and dead letters can be edited and replayed. Its state is %(state)s.")
    return said % {"state": STATE_WORDS[state]}
