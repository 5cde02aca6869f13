"""The rules that are built in, in their order. What is special comes first, what is general last."""

from __future__ import annotations

from collections.abc import Sequence

from queues.failures.classes.matching import BuiltIn

BUILT_IN: Sequence[BuiltIn] = ()
