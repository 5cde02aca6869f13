"""The question before an action, put together: form, title, consequences, and why it cannot be done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.actions import job_effects, off, queue_effects
from dashboard.actions.ask import Ask, named, say
from dashboard.actions.forms import (
    ActionForm,
    AddForm,
    CleanForm,
    ConcurrencyForm,
    DataForm,
    DelayForm,
    DrainForm,
    FailForm,
    LogForm,
    ObliterateForm,
    PriorityForm,
    RateLimitForm,
    ReleaseDeduplicationForm,
    RemoveForm,
    RetryForm,
    TrimEventsForm,
)
from dashboard.actions.forms.data import stamp
from dashboard.actions.preview import Preview
from dashboard.actions.subject import JobSubject, QueueSubject
from dashboard.actions.wording import AS_IT_IS_NOW, DANGEROUS, RUN_AS_IT_IS_NOW, TYPED, VERBS, job_title, queue_title
from queues import masking
from queues.actions import Action
from queues.names import encode_part
from queues.quantities import DAY, HOUR, MINUTE, SECOND, number
from queues.types import JobRef, QueueRef, State

FORMS: dict[Action, type[ActionForm]] = {
    Action.RETRY: RetryForm,
    Action.DELAY: DelayForm,
    Action.PRIORITY: PriorityForm,
    Action.REMOVE: RemoveForm,
    Action.FAIL: FailForm,
    Action.LOG: LogForm,
    Action.ADD: AddForm,
    Action.CONCURRENCY: ConcurrencyForm,
    Action.RATE_LIMIT: RateLimitForm,
    Action.RELEASE_DEDUPLICATION: ReleaseDeduplicationForm,
    Action.DRAIN: DrainForm,
    Action.CLEAN: CleanForm,
    Action.OBLITERATE: ObliterateForm,
    Action.TRIM_EVENTS: TrimEventsForm,
}


def form_of(action: Action) -> type[ActionForm]:
    """The form of an action; most of those that ask for nothing but a reason have none of their own."""
    return FORMS.get(action, ActionForm)


def job_form(
    action: Action, ref: JobRef, about: JobSubject | None, data: QueryDict | None = None, *, may_drop: bool = False
) -> ActionForm:
    """The form about a job; bound to `data` where it was sent. `about` None: the job could not be read."""
    more: dict[str, Any] = {}
    if action in (Action.EDIT, Action.DUPLICATE):
        body = about.job.data if about else None
        more = {"raw": b"" if about and body is None else body and body.raw, "whole": not (body and body.cut)}
        more |= {"rules": masking.rules_for(ref.queue), "may_drop": may_drop}
        return DataForm(data, initial=_seen(about), **more)
    if action is Action.RETRY:
        more["twin"] = bool(about and about.twin) if data is None else "twins" in data or bool(about and about.twin)
    if action is Action.REMOVE and about is not None:
        more["below"] = bool(about.family.count) or _waits_for_children(about)
    return form_of(action)(data, initial=_seen(about) | _now(action, about), **more)


def _seen(about: JobSubject | None) -> dict[str, Any]:
    if about is None:
        return {}
    seen = about.job.row.seen
    return {"seen": encode_part(seen, colon=True) if seen else "", "from_state": about.state}


def _now(action: Action, about: JobSubject | None) -> dict[str, Any]:
    """What a form begins with, so that a person sees what is to be changed."""
    if about is None or action is not Action.PRIORITY:
        return {"children": True} if action is Action.REMOVE and _waits_for_children(about) else {}
    return {"priority": about.job.row.priority or 0}


def _waits_for_children(about: JobSubject | None) -> bool:
    return bool(about and about.state is State.WAITING_CHILDREN)


def job_ask(action: Action, ref: JobRef, about: JobSubject | None, form: ActionForm, *, error: str = "") -> Ask:
    """The question about a job."""
    where = [ref.queue.source, ref.queue.slug]
    uneditable = getattr(form, "uneditable", "")
    says = list(job_effects.says(action, about)) if about else []
    if uneditable and action is Action.DUPLICATE:
        says.append(say(_("Its data goes along as it is. {why}"), why=uneditable))
    again = action is Action.RETRY and about is not None and about.state is State.COMPLETED
    return Ask(
        title=_again_title(ref) if again else job_title(action, ref),
        verb=_("Run it again") if again else str(VERBS[action]),
        act=reverse("act-job", args=[*where, ref.id, action.value]),
        back=reverse("job", args=[*where, ref.id]),
        form=form,
        facts=job_effects.facts(action, about) if about else (),
        says=says,
        warnings=job_effects.warnings(action, about) if about else (),
        items=job_effects.items(action, about) if about else (),
        links=job_effects.links(action, about) if about else (),
        danger=action in DANGEROUS,
        error=error,
        off=(off.of_job(action, about) if about else "") or (uneditable if action is Action.EDIT else ""),
    )


def anew(action: Action, ref: JobRef, asked: Ask) -> Ask:
    """In place of a form that cannot be sent again, as what it saw of the job is over: the way to a fresh question."""
    if asked.off or asked.form is None or action not in AS_IT_IS_NOW:
        return asked
    ran = action is Action.RETRY and asked.form.seen_state is State.COMPLETED
    words = RUN_AS_IT_IS_NOW if ran else AS_IT_IS_NOW[action]
    address = reverse("ask-job", args=[ref.queue.source, ref.queue.slug, ref.id, action.value])
    return replace(asked, form=None, says=(), facts=(), items=(), warnings=(), instead=(address, str(words)))


def _again_title(ref: JobRef) -> str:
    said = _("Run job {job} of {queue} on {source} again?")
    return say(said, job=named(ref.label), queue=named(ref.queue.label), source=named(ref.queue.source))


def queue_form(
    action: Action, ref: QueueRef, about: QueueSubject | None, data: QueryDict | None = None, **initial: Any
) -> ActionForm:
    """The form about a queue; bound to `data` where it was sent."""
    kind = form_of(action)
    return kind(data, name=ref.label if action in TYPED else "", initial=_current(action, about) | initial)


def _current(action: Action, about: QueueSubject | None) -> dict[str, Any]:
    if about is None:
        return {}
    counts = about.info.counts
    if action is Action.CONCURRENCY:
        return {"most": counts.concurrency}
    if action is Action.RATE_LIMIT and counts.rate_max:
        return {"most": counts.rate_max, **_span(counts.rate_duration_ms or 1000)}
    return {}


def _span(ms: int) -> dict[str, Any]:
    for unit, length in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if ms % length == 0:
            return {"span": ms // length, "unit": unit}
    return {"span": max(1, ms // SECOND), "unit": "s"}


def queue_ask(
    action: Action,
    ref: QueueRef,
    about: QueueSubject | None,
    form: ActionForm,
    *,
    error: str = "",
    shown: Preview | None = None,
    back: str = "",
) -> Ask:
    """The question about a queue; `shown` is what cleaning would remove, once that was asked for.

    `back` is the page from which it was asked where that is not the queue's; it leads there again.
    """
    where = [ref.source, ref.slug]
    ready = shown is not None and not shown.empty
    why, wait = (about.can.why_not(action), queue_effects.off(action, about)) if about else ("", "")
    says = [shown.sentence, shown.kept_sentence] if shown else queue_effects.says(action, about) if about else []
    return Ask(
        title=queue_title(action, ref),
        verb=_verb(action, shown),
        act=reverse("act-queue", args=[*where, action.value]),
        back=back or reverse("queue", args=where),
        form=form,
        facts=queue_effects.facts(action, about) if about else (),
        says=[said for said in says if said],
        warnings=queue_effects.warnings(action, about) if about and (ready or action is not Action.CLEAN) else (),
        items=shown.lines if shown else (),
        links=queue_effects.links(action, ref),
        danger=action in DANGEROUS and (action is not Action.CLEAN or ready),
        hidden=[("previewed", previewed(form))] if ready else [("next", back)] if back else (),
        error=error,
        off=why or wait,
        instead=(reverse("ask-queue", args=[*where, Action.PAUSE.value]), _("Pause it…")) if wait and not why else None,
    )


def _verb(action: Action, shown: Preview | None) -> str:
    if action is not Action.CLEAN:
        return str(VERBS[action])
    if shown is None or shown.empty:
        return _("Show what would go")
    if shown.count is None and shown.looked < shown.total:
        return _("Remove all that are older")
    count = shown.found if shown.count is None else shown.count
    return ngettext("Remove %(n)s job", "Remove %(n)s jobs", count) % {"n": number(count)}


def previewed(form: ActionForm) -> str:
    """Stands for what cleaning is about, so that nothing else is removed than what was shown. Only of a valid form."""
    told = form.arguments()
    return stamp(f"{told['state']}/{told['clock']}/{told['older_ms']}".encode())
