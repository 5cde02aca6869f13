"""That values of a form cannot be used, and which."""

from __future__ import annotations

from collections.abc import Mapping

from queues.errors import BadInput


class BadFields(BadInput):
    """`fields` says what is wrong, a sentence by the name of each field; the text is all of them."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(" ".join(dict.fromkeys(fields.values())))
        self.fields = fields
