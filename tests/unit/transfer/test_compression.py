from __future__ import annotations

import random
import sys
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from memoranda.errors import Incompatible, MissingExtra, Unavailable
from memoranda.files import compress, decompressed
from memoranda.manager.manager import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer import importing


def open_manager(path: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(16))


@pytest.fixture
def source(tmp_path: Path) -> MemoryManager:
    with open_manager(tmp_path / "a.db") as manager:
        manager.add_memories([f"The boat number {number} is blue" for number in range(300)], user="ada")
        archived = manager.add_memory("The old boat is sold", user="ada")
        manager.archive(archived.id, user="ada")
    return open_manager(tmp_path / "a.db")


@pytest.mark.parametrize("key", [None, "a passphrase for the export"])
def test_compressed_export_is_small_and_loads_everything(
    source: MemoryManager, tmp_path: Path, key: str | None
) -> None:
    with source:
        for name in ("plain.jsonl", "small.jsonl.zst"):
            source.export_jsonl(tmp_path / name, encryption_key=key)
    assert (tmp_path / "small.jsonl.zst").stat().st_size < (tmp_path / "plain.jsonl").stat().st_size / 4
    with open_manager(tmp_path / "b.db") as target:
        assert target.import_jsonl(tmp_path / "small.jsonl.zst", encryption_key=key).memories == 301
        assert target.import_jsonl(tmp_path / "small.jsonl.zst", encryption_key=key).memories == 0
        assert target.recall("boat number 7", user="ada")[0].content == "The boat number 7 is blue"
        assert not [hit for hit in target.recall("old boat sold", user="ada") if "old" in hit.content]


@pytest.mark.parametrize("damage", ["cut", "changed", "not compressed"])
def test_damaged_file_is_refused_and_nothing_is_imported(source: MemoryManager, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "small.jsonl.zst"
    with source:
        source.export_jsonl(file if damage != "not compressed" else tmp_path / "plain.jsonl")
    content = file.read_bytes() if file.exists() else (tmp_path / "plain.jsonl").read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes(each ^ 255 for each in content[middle : middle + 20]) + content[middle + 20 :]
    file.write_bytes({"cut": content[:middle], "changed": changed}.get(damage, content))
    with open_manager(tmp_path / "b.db") as target:
        with pytest.raises(Incompatible):
            target.import_jsonl(file)
        assert target.list_memories(user="ada") == []


def test_missing_package_is_named(source: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with source, pytest.raises(MissingExtra, match="zstd"):
        source.export_jsonl(tmp_path / "small.jsonl.zst")
    assert not (tmp_path / "small.jsonl.zst").exists()


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_line_longer_than_any_of_an_export_is_refused_before_it_is_read(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_MAX_LINE", 100_000)
    content = b'{"kind":"header","format":"memoranda","version":1,"store":"s"}\n' + bytes(20_000_000)
    file = tmp_path / f"large.jsonl{suffix}"
    file.write_bytes(zstandard.ZstdCompressor().compress(content) if suffix else content)
    del content
    with open_manager(tmp_path / "a.db") as manager:
        tracemalloc.start()
        with pytest.raises(Incompatible, match="line 2 is longer"):
            manager.import_jsonl(file)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()


def test_compressed_file_that_ends_early_or_late_is_refused(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed.zst"
    plain.write_bytes(random.Random(1).randbytes(3 << 20))  # like an encrypted database
    compress(plain, packed)
    with decompressed(packed, tmp_path) as copy:
        assert copy.read_bytes() == plain.read_bytes()
    assert not copy.exists()
    data = packed.read_bytes()
    for damaged in (data[: len(data) // 2], data[:-1], data + b"x", data + data, b""):
        packed.write_bytes(damaged)
        with pytest.raises(Incompatible, match="damaged"), decompressed(packed, tmp_path):
            pass
    assert {file.name for file in tmp_path.iterdir()} == {"plain", "packed.zst"}


@pytest.mark.parametrize("head", ["none", "real size", "all sizes"])
def test_backup_that_unpacks_to_far_more_than_a_database_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    bomb, size = tmp_path / "bomb.db.zst", 200 << 20
    pages = {"none": b"", "real size": b"SQLite format 3\0\x10\0" + bytes(10) + (1000).to_bytes(4)}
    pages["all sizes"] = pages["real size"][:-4] + b"\xff" * 4
    with bomb.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        for start in (pages[head], *(bytes(1 << 20) for _ in range(size >> 20))):
            writer.write(start)
    written = 0

    def count(path: Path) -> None:
        nonlocal written
        written = path.stat().st_size
        path.unlink()

    monkeypatch.setattr("memoranda.files.shred", count)
    tracemalloc.start()
    with pytest.raises((Incompatible, Unavailable)), decompressed(bomb, tmp_path):
        pass
    assert tracemalloc.get_traced_memory()[1] < 80 << 20
    tracemalloc.stop()
    assert written < 40 << 20
    assert [file.name for file in tmp_path.iterdir()] == ["bomb.db.zst"]
