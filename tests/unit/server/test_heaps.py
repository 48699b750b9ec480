from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

_HEAPS = """
import ctypes, sys, threading
from memoranda.server.run import share_heaps
share_heaps()
barrier = threading.Barrier(12)
kept = []
def allocate():
    barrier.wait()
    kept.append([bytearray(2_000) for _ in range(200)])
    barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator has no such heaps")
@pytest.mark.parametrize(("chosen", "shared"), [(None, True), ("16", False)])
def test_threads_of_a_server_share_two_heaps_unless_somebody_chose(
    tmp_path: Path, chosen: str | None, shared: bool
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    environment |= {} if chosen is None else {"MALLOC_ARENA_MAX": chosen}
    subprocess.run([sys.executable, "-c", _HEAPS, str(tmp_path / "heaps.xml")], env=environment, check=True)
    heaps = (tmp_path / "heaps.xml").read_text().count("<heap nr=")
    assert (heaps <= 2) == shared
