from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memoranda.files import atomic_replace


def test_atomic_replace_keeps_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError), atomic_replace(target) as temporary:
        temporary.write_text("half\ud800")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_atomic_replace_writes_the_new_file_readable_by_its_owner_only(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_replace(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "new"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
