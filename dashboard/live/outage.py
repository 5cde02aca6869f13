"""An outage in the log: a line when it begins and one when it is over, however often is tried meanwhile."""

from __future__ import annotations

import logging


class Outage:
    """Says once that something fails, and once that it works again."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        self._logger, self._what = logger, what
        self._failing = False

    def failed(self, error: BaseException) -> None:
        if not self._failing:
            self._failing = True
            self._logger.warning("%s failed: %s", self._what, str(error) or type(error).__name__)

    def over(self) -> None:
        if self._failing:
            self._failing = False
            self._logger.warning("%s works again", self._what)
