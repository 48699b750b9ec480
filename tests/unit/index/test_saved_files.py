from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoranda.errors import Incompatible, InvalidInput, Unavailable
from memoranda.index.faiss import FAISSIndex
from memoranda.testing.contracts import unit_rows


@pytest.fixture(params=["exact", "graph"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    index = FAISSIndex(8, graph_from=50 if request.param == "graph" else 1000)
    index.add(np.arange(120), unit_rows(np.random.default_rng(0), 120, 8))
    index.save(tmp_path / "saved.faiss", stamp=7)
    return (tmp_path / "saved.faiss").read_bytes()


def load(path: Path, content: bytes) -> FAISSIndex:
    path.write_bytes(content)
    index = FAISSIndex(8, path)
    assert index.load() == 7
    return index


def test_truncated_file_is_refused_at_every_length(saved: bytes, tmp_path: Path) -> None:
    for size in np.linspace(0, len(saved) - 1, 64, dtype=int):
        with pytest.raises(Incompatible):
            load(tmp_path / "cut.faiss", saved[:size])


def test_extra_bytes_at_the_end_are_detected(saved: bytes, tmp_path: Path) -> None:
    with pytest.raises(Incompatible):
        load(tmp_path / "long.faiss", saved + b"\0")


def test_flipped_bit_is_detected_at_any_position(saved: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    positions = [*range(56), *rng.choice(len(saved), 300, replace=False).tolist()]
    for position in positions:
        damaged = bytearray(saved)
        damaged[position] ^= 1 << int(rng.integers(8))
        with pytest.raises(Incompatible):
            load(tmp_path / "flipped.faiss", bytes(damaged))


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" * 40, b"RCLVECTS", b"\x80\x04K\x07."])
def test_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(Incompatible):
        load(tmp_path / "foreign.faiss", content)


def test_failed_load_keeps_the_loaded_index(saved: bytes, tmp_path: Path) -> None:
    index = load(tmp_path / "index.faiss", saved)
    (tmp_path / "index.faiss").write_bytes(saved[:-3])
    with pytest.raises(Incompatible):
        index.load()
    assert len(index) == 120


def test_saving_to_an_unwritable_folder_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(Unavailable, match="Cannot write"):
        FAISSIndex(8).save(tmp_path / "file" / "index.faiss")


def test_failed_save_leaves_the_target_unchanged(saved: bytes, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "keep").write_bytes(saved)
    with pytest.raises(InvalidInput, match="not an ordinary file"):
        FAISSIndex(8).save(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved.faiss", "target"]
    assert (target / "keep").read_bytes() == saved
