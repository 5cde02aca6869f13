"""The database in tests of the domain: queues as a scan writes them, and what was written."""

from __future__ import annotations

from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queues.models import Queue, Source
from tests.queues.fakes import FakeBackend


def keep(backend: FakeBackend, *, scanned: bool = True) -> Source:
    """Write the queues of a backend into the database, as a scan does that came to its end, or not."""
    source, _ = Source.objects.get_or_create(name=backend.source)
    for queue in backend.queues:
        Queue.objects.get_or_create(source=source, slug=queue.slug, defaults={"seen_at": timezone.now()})
    if scanned:
        source.scan_finished_at = timezone.now()
        source.save()
    return source


def writes(captured: CaptureQueriesContext) -> list[str]:
    """The statements that changed something."""
    statements = (str(query["sql"]) for query in captured.captured_queries)
    return [sql for sql in statements if sql.startswith(("INSERT", "UPDATE", "DELETE"))]
