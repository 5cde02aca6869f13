"""Every URL of the product. The noun in the path is the noun of the view module and the template folder."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path, register_converter

from dashboard import converters
from dashboard.views import (
    account,
    actions,
    audit,
    bulk,
    class_rules,
    deduplication,
    deploys,
    failure_group,
    failure_jobs,
    failures,
    find,
    health,
    jobs,
    live,
    masking,
    me,
    overview,
    queues,
    removed,
    system,
    users,
)

register_converter(converters.SourceConverter, "source")
register_converter(converters.QueueConverter, "queue")
register_converter(converters.JobConverter, "job")
register_converter(converters.GroupConverter, "group")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", overview.overview, name="overview"),
    path("find/", find.find, name="find"),
    path("queues/<source:source>/<queue:queue>/", queues.queue, name="queue"),
    path("queues/<source:source>/<queue:queue>/pin/", queues.pin, name="pin"),
    path("queues/<source:source>/<queue:queue>/unpin/", queues.unpin, name="unpin"),
    path("queues/<source:source>/<queue:queue>/deduplication/", deduplication.deduplication, name="deduplication"),
    path("queues/<source:source>/<queue:queue>/jobs/<job:job>/", jobs.job, name="job"),
    path("queues/<source:source>/<queue:queue>/jobs/<job:job>/logs/", jobs.logs, name="logs"),
    path("queues/<source:source>/<queue:queue>/jobs/<job:job>/fields/<job:field>/", jobs.field, name="field"),
    path("queues/<source:source>/<queue:queue>/ask/<str:action>/", actions.ask_queue, name="ask-queue"),
    path("queues/<source:source>/<queue:queue>/act/<str:action>/", actions.act_queue, name="act-queue"),
    path("queues/<source:source>/<queue:queue>/jobs/<job:job>/ask/<str:action>/", actions.ask_job, name="ask-job"),
    path("queues/<source:source>/<queue:queue>/jobs/<job:job>/act/<str:action>/", actions.act_job, name="act-job"),
    path("queues/<source:source>/<queue:queue>/bulk/ask/<str:action>/", bulk.ask, name="ask-bulk"),
    path("queues/<source:source>/<queue:queue>/bulk/act/<str:action>/", bulk.act, name="act-bulk"),
    path("audit/", audit.log, name="audit"),
    path("audit/export.csv", audit.export_csv, name="audit-csv"),
    path("audit/export.jsonl", audit.export_jsonl, name="audit-jsonl"),
    path("audit/<int:pk>/", audit.entry, name="audit-entry"),
    path("audit/<int:pk>/progress/", audit.progress, name="audit-progress"),
    path("audit/<int:pk>/stop/", audit.stop, name="audit-stop"),
    path("removed/", removed.removed, name="removed"),
    path("removed/restore/", removed.restore_some, name="restore-some"),
    path("removed/<int:pk>/restore/", removed.restore, name="restore"),
    path("queues/<source:source>/<queue:queue>/jobs/<job:job>/reveal/", jobs.reveal, name="reveal"),
    path("failures/", failures.failures, name="failures"),
    path("failures/export.csv", failures.export_csv, name="failures-csv"),
    path("failures/export.jsonl", failures.export_jsonl, name="failures-jsonl"),
    path("deploys/add/", deploys.add, name="deploy-add"),
    path("failures/rules/", class_rules.rules, name="class-rules"),
    path("failures/rules/add/", class_rules.add, name="class-rule-add"),
    path("failures/rules/try/", class_rules.try_rule, name="class-rule-try"),
    path("failures/rules/reclassify/", class_rules.reclassify, name="class-rules-reclassify"),
    path("failures/rules/<int:pk>/move/", class_rules.move, name="class-rule-move"),
    path("failures/rules/<int:pk>/delete/", class_rules.delete, name="class-rule-delete"),
    path("failures/merge/", failure_group.merge, name="failures-merge"),
    path("failures/<group:slug>/", failure_group.group, name="failure-group"),
    path("failures/<group:slug>/jobs/", failure_jobs.jobs, name="failure-jobs"),
    path("failures/<group:slug>/jobs.csv", failure_jobs.export_csv, name="failure-jobs-csv"),
    path("failures/<group:slug>/jobs.jsonl", failure_jobs.export_jsonl, name="failure-jobs-jsonl"),
    path("failures/<group:slug>/resolve/", failure_group.resolve, name="failure-resolve"),
    path("failures/<group:slug>/reopen/", failure_group.reopen, name="failure-reopen"),
    path("failures/<group:slug>/ignore/", failure_group.ignore, name="failure-ignore"),
    path("failures/<group:slug>/class/", failure_group.set_class, name="failure-class"),
    path("failures/<group:slug>/owner/", failure_group.owner, name="failure-owner"),
    path("failures/<group:slug>/runbook/", failure_group.runbook, name="failure-runbook"),
    path("failures/<group:slug>/note/", failure_group.note, name="failure-note"),
    path("failures/<group:slug>/note/<int:pk>/delete/", failure_group.note_delete, name="failure-note-delete"),
    path("failures/<group:slug>/merge/", failure_group.merge, name="failure-merge"),
    path("failures/<group:slug>/split/", failure_group.split, name="failure-split"),
    path("masking/", masking.masking, name="masking"),
    path("masking/add/", masking.add, name="masking-add"),
    path("masking/<int:pk>/delete/", masking.delete, name="masking-delete"),
    path("system/", system.system, name="system"),
    path("system/<source:source>/scan/", system.scan, name="scan"),
    path("system/<source:source>/pin/", system.pin, name="pin-by-name"),
    path("system/<source:source>/try/", system.try_now, name="try"),
    path("users/", users.users, name="users"),
    path("users/me/", me.me, name="me"),
    path("users/add/", users.add, name="user-add"),
    path("users/<int:pk>/", users.user, name="user"),
    path("users/<int:pk>/role/", users.role, name="user-role"),
    path("users/<int:pk>/deactivate/", users.deactivate, name="user-deactivate"),
    path("users/<int:pk>/activate/", users.activate, name="user-activate"),
    path("users/<int:pk>/reset/", users.reset, name="user-reset"),
    path("password/", account.password, name="password"),
    path("login/", account.sign_in, name="login"),
    path("logout/", account.sign_out, name="logout"),
    path("live/", live.live, name="live"),
    path("healthz", health.healthz, name="healthz"),
]

handler400 = "dashboard.views.errors.bad_request"
handler403 = "dashboard.views.errors.permission_denied"
handler404 = "dashboard.views.errors.page_not_found"
handler500 = "dashboard.views.errors.server_error"
