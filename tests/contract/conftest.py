"""Sets up the stage of each kind of backend."""

from __future__ import annotations

import pytest

from queues.backend import Backend
from tests.contract.stages import STAGES, Stage


@pytest.fixture(params=STAGES)
def stage(request: pytest.FixtureRequest) -> Stage:
    return STAGES[request.param](request)


@pytest.fixture
def backend(stage: Stage) -> Backend:
    return stage.backend
