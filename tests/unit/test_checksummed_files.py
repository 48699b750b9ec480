from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoranda.errors import Incompatible, Unavailable
from memoranda.index.faiss import FAISSIndex
from memoranda.testing.index import unit_rows


@pytest.fixture(params=["exact", "graph"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    index = FAISSIndex(8, graph_from=50 if request.param == "graph" else 1000)
    index.add(np.arange(120), unit_rows(np.random.default_rng(0), 120, 8))
    index.save(tmp_path / "whole.faiss", stamp=7)
    return (tmp_path / "whole.faiss").read_bytes()


def load(path: Path, content: bytes) -> FAISSIndex:
    path.write_bytes(content)
    index = FAISSIndex(8, path)
    assert index.load() == 7
    return index


def test_a_truncated_file_is_refused_at_every_length(whole: bytes, tmp_path: Path) -> None:
    for size in np.linspace(0, len(whole) - 1, 64, dtype=int):
        with pytest.raises(Incompatible):
            load(tmp_path / "cut.faiss", whole[:size])


def test_bytes_added_at_the_end_are_noticed(whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(Incompatible):
        load(tmp_path / "long.faiss", whole + b"\0")


def test_a_flipped_bit_is_noticed_wherever_it_is(whole: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    places = [*range(56), *rng.choice(len(whole), 300, replace=False).tolist()]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(Incompatible):
            load(tmp_path / "flipped.faiss", bytes(damaged))


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" * 40, b"RCLVECTS", b"\x80\x04K\x07."])
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(Incompatible):
        load(tmp_path / "foreign.faiss", content)


def test_a_failed_load_leaves_what_was_there(whole: bytes, tmp_path: Path) -> None:
    index = load(tmp_path / "index.faiss", whole)
    (tmp_path / "index.faiss").write_bytes(whole[:-3])
    with pytest.raises(Incompatible):
        index.load()
    assert len(index) == 120


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(Unavailable, match="Cannot write"):
        FAISSIndex(8).save(tmp_path / "file" / "index.faiss")


def test_saving_over_a_file_leaves_the_old_one_when_it_fails(whole: bytes, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "keep").write_bytes(whole)
    with pytest.raises(Unavailable):
        FAISSIndex(8).save(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target", "whole.faiss"]
    assert (target / "keep").read_bytes() == whole
