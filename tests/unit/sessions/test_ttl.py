from __future__ import annotations

import pytest

from memoranda.errors import InvalidType
from memoranda.sessions.base import check_ttl


def test_times_are_seconds() -> None:
    assert check_ttl(60) == 60.0
    assert check_ttl(0.001) == 0.001


def test_a_wrong_type_is_a_type_error_too() -> None:
    with pytest.raises(InvalidType):
        check_ttl("60")  # type: ignore[arg-type]
