from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.errors import Incompatible
from memoranda.maintenance.forget import last_erasure
from memoranda.storage.meta import Lease, set_meta, take_lease
from memoranda.storage.schema import LAST_ERASURE
from memoranda.storage.sqlite.integrity import read_state
from memoranda.storage.sqlite.store import open_sqlite


@pytest.mark.parametrize("value", ["add", "[1", "[1]", '"x"', "null"])
def test_value_of_another_row_is_a_typed_error(value: str, tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "m.db")
    lease = Lease("upkeep", "me")
    try:
        for key in (LAST_ERASURE, lease.key, "scrub"):
            store.write(lambda tx, key=key: set_meta(tx, key, value))
        with pytest.raises(Incompatible, match="damaged"):
            last_erasure(store)
        with pytest.raises(Incompatible, match="damaged"):
            store.write(lambda tx: take_lease(tx, lease))
        with pytest.raises(Incompatible, match="damaged"):
            store.read(read_state)
    finally:
        store.close()
