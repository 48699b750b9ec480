from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_clock import FakeClock
from tests.unit.maintenance.samples import NOW


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"
