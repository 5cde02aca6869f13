"""The rights in words, in groups, as the page of one's own account shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.access import RIGHTS, Right, Role

# What later versions bring stands in the table of rights already, and on no page.
LATER = frozenset(
    {
        *(Right.RUN_SCHEDULE, Right.SCHEDULES, Right.ALERTS_ACKNOWLEDGE),
        *(Right.ALERT_RULES, Right.CHANNELS),
    }
)

GROUPS: Sequence[tuple[Promise, Sequence[tuple[Right, Promise]]]] = (
    (
        _("Jobs"),
        (
            (Right.RETRY, _("retry failed and completed jobs")),
            (Right.PROMOTE, _("run delayed jobs now")),
            (Right.DELAY, _("change when delayed jobs run")),
            (Right.PRIORITY, _("change the priority of jobs")),
            (Right.EDIT, _("edit the data of jobs")),
            (Right.DUPLICATE, _("add copies of jobs, edited or not")),
            (Right.ADD, _("add jobs")),
            (Right.LOG, _("add log lines")),
            (Right.REMOVE, _("remove jobs")),
            (Right.REMOVE_CHILDREN, _("remove children that have not run")),
            (Right.RESTORE, _("restore removed jobs as new ones")),
            (Right.FAIL, _("fail active jobs that no worker holds")),
            (Right.REQUEUE, _("put active jobs that no worker holds back in line")),
            (Right.RELEASE_DEDUPLICATION, _("release a deduplication id")),
            (Right.STOP_BULK, _("stop an action that runs in the background")),
        ),
    ),
    (
        _("Queues"),
        (
            (Right.PAUSE, _("pause queues")),
            (Right.RESUME, _("resume queues")),
            (Right.PIN, _("pin queues to the list")),
            (Right.SCAN, _("have a source scanned for queues")),
            (Right.CONCURRENCY, _("limit how many jobs of a queue run at once")),
            (Right.RATE_LIMIT, _("limit how many jobs of a queue start in a time")),
            (Right.RELEASE_LIMIT, _("release a rate limit that holds workers back")),
            (Right.DRAIN, _("drain queues")),
            (Right.CLEAN, _("clean queues of old jobs")),
            (Right.TRIM_EVENTS, _("trim the events of queues")),
            (Right.OBLITERATE, _("obliterate queues")),
        ),
    ),
    (
        _("Failures"),
        (
            (Right.FAILURES, _("resolve, ignore, merge, split and annotate groups of failures, tell of deploys")),
            (Right.CLASSES, _("keep rules for the classes of failures, and set the class of a group by hand")),
            (Right.MAPPINGS, _("say which queues hold dead letters, and how these are read")),
        ),
    ),
    (
        _("Replays"),
        (
            (Right.REPLAY, _("plan, start, pause and cancel replays, and approve those of others")),
            (Right.SETTINGS, _("set the limits of replays: largest set, highest pace, approval")),
        ),
    ),
    (
        _("Secrets"),
        (
            (Right.REVEAL, _("see hidden values and download exact bytes, with an audit entry")),
            (Right.MASKING, _("choose which values are hidden")),
        ),
    ),
    (
        _("Mirante"),
        (
            (Right.AUDIT, _("read the audit log")),
            (Right.EXPORT_AUDIT, _("export the audit log")),
            (Right.USERS, _("manage users and their roles")),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Rights of one kind, each with its words, that a role has or that another role would have."""

    title: Promise
    rights: Sequence[tuple[Right, Promise]]


def held(role: Role) -> Sequence[Group]:
    """What a role may."""
    return _groups(lambda needed: needed.rank <= role.rank)


def missing(role: Role) -> Sequence[tuple[Role, Sequence[Group]]]:
    """What it may not, by the lowest role that may."""
    found = [(other, _groups(other.__eq__)) for other in Role if other.rank > role.rank]
    return [(other, groups) for other, groups in found if groups]


def _groups(wanted: Callable[[Role], bool]) -> Sequence[Group]:
    made = [Group(title, [each for each in rights if wanted(RIGHTS[each[0]])]) for title, rights in GROUPS]
    return [group for group in made if group.rights]
