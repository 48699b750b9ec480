from __future__ import annotations

import pytest

from recollect.errors import InvalidType
from recollect.session.ttl import check_ttl


def test_times_are_seconds() -> None:
    assert check_ttl(60) == 60.0
    assert check_ttl(0.001) == 0.001


def test_a_wrong_type_is_a_type_error_too() -> None:
    with pytest.raises(InvalidType):
        check_ttl("60")  # type: ignore[arg-type]
