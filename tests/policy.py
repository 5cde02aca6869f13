"""What the suite does where a part of the machine is missing, and how much of a long run it takes."""

import os
from typing import NoReturn

import pytest

CI = os.environ.get("CI") == "true"
SOAK = os.environ.get("SOAK") == "1"


def unavailable(what: str) -> NoReturn:
    """Skip this test and say what is missing; on CI, where everything must be there, fail instead."""
    if CI:
        pytest.fail(f"{what} (a skip elsewhere, a failure on CI)", pytrace=False)
    pytest.skip(what)


def rounds(*, sample: int, soak: int) -> int:
    """How many rounds a long run takes: a sample of it in `make test`, all in `make soak`."""
    return soak if SOAK else sample
