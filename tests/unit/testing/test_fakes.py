from __future__ import annotations

import numpy as np
import pytest

from memoranda.storage.base import PartitionKey
from memoranda.testing.fakes import HashEmbedder, MemoryIndexSource
from memoranda.types import ANY
from tests.unit.index.samples import row

ANN, BOB = PartitionKey("acme", "ann"), PartitionKey("acme", "bob")
ROW = row(7)


def test_texts_that_share_words_are_closer() -> None:
    tea, more_tea, car = HashEmbedder().embed(["Ann likes tea", "Ann likes green tea", "a red car"], kind="passage")
    assert float(tea @ more_tea) > float(tea @ car) + 0.3
    np.testing.assert_allclose(np.linalg.norm([tea, more_tea, car], axis=1), 1.0, atol=1e-6)


def test_index_source_shows_a_partition_only_its_own_rows() -> None:
    source = MemoryIndexSource()
    source.put(ANN, [ROW])
    assert [found.id for found in source.rows(ANN, None, 1)] == [ROW.id]
    assert list(source.rows(BOB, None, 1)) == []
    assert source.changed(BOB, 0).tolist() == []


def test_moved_row_is_a_change_of_both_partitions() -> None:
    source = MemoryIndexSource()
    source.put(ANN, [ROW])
    since = source.head()
    source.put(BOB, [ROW])
    assert source.changed(ANN, since).tolist() == source.changed(BOB, since).tolist() == [ROW.id]
    source.delete([ROW.id])
    assert list(source.rows(BOB, None, 1)) == []


def test_row_without_a_single_owner_is_refused() -> None:
    with pytest.raises(ValueError, match="name the user"):
        MemoryIndexSource().put(PartitionKey("acme", ANY), [ROW])
