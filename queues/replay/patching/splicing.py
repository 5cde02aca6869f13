"""An edit applied to a document by cutting into its text: nothing else of it is touched."""

from __future__ import annotations

from operator import itemgetter

from django.utils.translation import gettext as _

from queues.payload.scan import Malformed, scan
from queues.replay.patching.document import value_span
from queues.replay.patching.edit import Edit, Unfit
from queues.replay.patching.opened import Done, Opened


def spliced(text: str, edit: Edit) -> str:
    """The edited document, one character a byte. Raises Unfit. Linear in both, without recursion."""
    try:
        done = _done(text, edit)
    except Malformed:
        raise Unfit(_("Its data is no JSON.")) from None
    if isinstance(done, Unfit):
        raise done
    parts: list[str] = []
    at = 0
    for start, stop, put in sorted(done, key=itemgetter(0, 1)):
        parts += (text[at:start], put)
        at = stop
    return "".join((*parts, text[at:]))


def _done(text: str, edit: Edit) -> Done:
    # The document is the one item of a list around it.
    opened = [Opened(text, Edit(inside={"0": edit}, lists=True), 0, is_list=True)]
    skipped = 0  # how many containers are open of which nothing is edited
    for key, value, end, _whole in scan(text, cut=False):
        if value in ("}", "]"):
            start, stop = value_span(text, end, value)
            if not skipped:
                done = opened.pop().closed(start)
                opened[-1].ended(stop, done)
            elif skipped == 1:
                opened[-1].ended(stop)
            skipped -= skipped > 0
        elif skipped:
            skipped += value in ("{", "[")
        else:
            start, stop = value_span(text, end, value)
            about = opened[-1].began(start, key)
            if value not in ("{", "["):
                opened[-1].ended(stop)
            elif about is not None and about.goes_into(value):
                opened.append(Opened(text, about, stop, is_list=value == "["))
            else:
                skipped = 1
    return opened[0].closed(len(text))
