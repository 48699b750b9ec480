from __future__ import annotations

import pytest

from memoranda.errors import Incompatible
from memoranda.storage.rows import stored_json


@pytest.mark.parametrize("text", [None, "", "{", "[]", "7", b"\xff", 7])
def test_damaged_json_column_is_a_typed_error(text: str | bytes | None) -> None:
    with pytest.raises(Incompatible, match="damaged"):
        stored_json(text, dict)


def test_json_column_is_read_as_it_was_written() -> None:
    assert stored_json('{"a": [1, null]}', dict) == {"a": [1, None]}
    assert stored_json("null") is None
