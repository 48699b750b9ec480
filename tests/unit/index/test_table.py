from __future__ import annotations

import numpy as np
import pytest

from memoranda.index.vectors import IdTable, grown


@pytest.mark.parametrize("seed", range(5))
def test_positions_stay_true_through_claims_releases_and_compaction(seed: int) -> None:
    rng, table = np.random.default_rng(seed), IdTable()
    names: dict[int, int] = {}
    for step in range(60):
        ids = rng.choice(200, size=int(rng.integers(1, 30)), replace=False)
        names |= dict(zip(ids.tolist(), table.claim(ids).tolist(), strict=True))
        gone = rng.choice(200, size=int(rng.integers(0, 25)), replace=False)
        released = {names.pop(number) for number in gone.tolist() if number in names}
        assert set(table.release(gone).tolist()) == released
        if step % 10 == 9:
            moved = {old: new for new, old in enumerate(table.compact().tolist())}
            names = {number: moved[position] for number, position in names.items()}
            assert (np.diff(table.ids) > 0).all()
        assert len(table) == len(names)
        everything = np.arange(200)
        assert table.find(everything).tolist() == [names.get(number, -1) for number in range(200)]


def test_an_id_comes_back_to_its_place() -> None:
    table = IdTable()
    first = table.claim(np.array([5, 6, 7]))
    table.release(np.array([6]))
    assert table.claim(np.array([6])).tolist() == [first[1]]
    assert table.size == 3


def test_growing_keeps_the_rows_and_leaves_room() -> None:
    array = np.arange(20.0)
    larger = grown(array, 21)
    assert len(larger) == 30
    assert larger[:20].tolist() == array.tolist()
    assert grown(array, 20) is array
