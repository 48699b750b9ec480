from __future__ import annotations

import numpy as np
import pytest

from memoranda.index.vectors import IdTable, grow_array


@pytest.mark.parametrize("seed", range(5))
def test_positions_stay_correct_through_claims_releases_and_compaction(seed: int) -> None:
    rng, table = np.random.default_rng(seed), IdTable()
    positions: dict[int, int] = {}
    for step in range(60):
        ids = rng.choice(200, size=int(rng.integers(1, 30)), replace=False)
        positions |= dict(zip(ids.tolist(), table.claim(ids).tolist(), strict=True))
        removed = rng.choice(200, size=int(rng.integers(0, 25)), replace=False)
        released = {positions.pop(number) for number in removed.tolist() if number in positions}
        assert set(table.release(removed).tolist()) == released
        if step % 10 == 9:
            moved = {old: new for new, old in enumerate(table.compact().tolist())}
            positions = {number: moved[position] for number, position in positions.items()}
            assert (np.diff(table.ids) > 0).all()
        assert len(table) == len(positions)
        everything = np.arange(200)
        assert table.find(everything).tolist() == [positions.get(number, -1) for number in range(200)]


def test_id_added_again_gets_its_old_position() -> None:
    table = IdTable()
    first = table.claim(np.array([5, 6, 7]))
    table.release(np.array([6]))
    assert table.claim(np.array([6])).tolist() == [first[1]]
    assert table.size == 3


def test_grow_array_keeps_rows_and_adds_spare_space() -> None:
    array = np.arange(20.0)
    larger = grow_array(array, 21)
    assert len(larger) == 30
    assert larger[:20].tolist() == array.tolist()
    assert grow_array(array, 20) is array
