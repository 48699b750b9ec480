from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect.errors import Closed, RecollectError
from recollect.storage.connections import Connections


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    return Connections(tmp_path / "a.db")


def test_reads_one_after_the_other_share_a_connection(connections: Connections) -> None:
    assert [connections.fetch("SELECT ?", (n,)) for n in range(3)] == [[(0,)], [(1,)], [(2,)]]
    assert len(connections._idle) == 1
    connections.close()


def test_a_read_that_fails_is_an_error_of_ours_and_keeps_nothing(connections: Connections) -> None:
    with pytest.raises(RecollectError):
        connections.fetch("SELECT nothing FROM nowhere")
    assert not connections._idle
    assert connections.fetch("SELECT 1") == [(1,)]
    connections.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_closing_while_others_read_leaves_no_handle_open(connections: Connections) -> None:
    started = threading.Barrier(9)

    def read() -> None:
        started.wait()
        try:
            while True:
                connections.fetch("SELECT count(*) FROM sqlite_schema")
        except Closed:
            return

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        started.wait()
        connections.close()
        for reader in readers:
            reader.result()
    assert [target for target in _open_files() if target.startswith(str(connections.path))] == []


def _open_files() -> list[str]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return found
