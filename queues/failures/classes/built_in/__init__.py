"""The rules that are built in, in their order. What is special comes first, what is general last.

They see what went wrong, never job names or queues: those are for rules of users. Texts are in small letters; a code
counts as a whole, a message anywhere, `*` stands for any text.
"""

from __future__ import annotations

from collections.abc import Sequence

from queues.failures.classes.built_in import code, databases, general, http, network, said, services
from queues.failures.classes.matching import BuiltIn

BUILT_IN: Sequence[BuiltIn] = (
    *said.RULES,
    *databases.RULES,
    *services.RULES,
    *network.RULES,
    *http.RULES,
    *code.RULES,
    *general.RULES,
)
