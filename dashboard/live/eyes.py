"""Which strips of “Needs eyes” readers have before them, so that each can be told how it differs from the present one.

A strip is a block of links and is never pushed. Beside it stands an empty part whose id names the queues that it
shows; when others need eyes now, that part says so.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from hashlib import sha1

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.live.parts import part

MOST = 24  # strips that are remembered, over all readers: who has an older one still sees its sentences change

_lock = threading.Lock()
_shown: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()  # by scope and digest: keys of queues


def unchanged(scope: str, keys: Collection[str]) -> SafeString:
    """The part beside a strip that shows these queues (keys of `parts.row_key`), on a page with this scope."""
    return part(_id(scope, remember(scope, keys)), "")


def remember(scope: str, keys: Collection[str]) -> str:
    """Keep a strip that somebody sees or may see; gives its digest."""
    shown = frozenset(keys)
    digest = sha1(" ".join(sorted(shown)).encode(), usedforsecurity=False).hexdigest()[:10]
    with _lock:
        _shown[scope, digest] = shown
        _shown.move_to_end((scope, digest))
        while len(_shown) > MOST:
            _shown.popitem(last=False)
    return digest


def changes(scope: str, keys: Collection[str], urgent: Collection[str]) -> Mapping[str, SafeString]:
    """The parts beside all strips that readers may have, now that a strip would show these queues.

    `urgent` are all that need eyes: one that only stands behind graver ones now is not said to be well.
    """
    now = frozenset(keys)
    remember(scope, now)
    with _lock:
        before = [(digest, shown) for (where, digest), shown in _shown.items() if where == scope]
    return {
        _id(scope, digest): part(_id(scope, digest), _text(now - shown, shown - frozenset(urgent)))
        for digest, shown in before
    }


def _id(scope: str, digest: str) -> str:
    return f"eyes-changed{scope}-{digest}"


def _text(came: frozenset[str], left: frozenset[str]) -> str:
    said, new, well = [], len(came), len(left)
    if new:
        said.append(ngettext("%(n)s new", "%(n)s new", new) % {"n": new})
    if well:
        said.append(ngettext("%(n)s no longer does", "%(n)s no longer do", well) % {"n": well})
    return _("What needs eyes has changed: %(how)s.") % {"how": ", ".join(said)} if said else ""
