"""JSON that a person typed as part of an edit."""

from __future__ import annotations

from django.utils.translation import gettext as _

from queues.backend import BODY_CAP
from queues.errors import BadInput
from queues.payload.parsing import fault
from queues.quantities import size


def ensure_small(text: str) -> None:
    """BadInput for what is larger than a form takes."""
    if len(text.encode("utf-8", errors="surrogatepass")) > BODY_CAP:
        raise BadInput(_("At most %(size)s.") % {"size": size(BODY_CAP)})


def ensure_json(text: str) -> None:
    """BadInput for what is no JSON, with the place, or is too large."""
    ensure_small(text)
    found = fault(text)
    if found is None:
        return
    if found.constant:
        raise BadInput(_("NaN and Infinity are no JSON: workers could not read it."))
    place = {"line": found.line, "column": found.column}
    raise BadInput(_("This is no JSON, from line %(line)d, column %(column)d on.") % place)
