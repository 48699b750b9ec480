"""Convert a database again and again in forked children, kill each at another moment, and look at what is left.

Run as a program, since a child of the test process would inherit its threads. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from memoranda.errors import MemorandaError
from memoranda.security.encryption import EncryptionKey
from memoranda.storage.sqlite.backup import read_key_file
from memoranda.storage.sqlite.conversion import convert
from memoranda.storage.sqlite.store import SQLiteStore

_PROGRESS = "conversion.progress"
_EVENTS = {_PROGRESS, "open", "os.rename", "os.link", "os.remove", "os.mkdir", "sqlite3.connect", "os.truncate"}


def main(folder: Path, current: str, new: str, step: int) -> None:
    keys = [EncryptionKey(text) if text else None for text in (current, new)]
    convert_it(folder / "start", *keys).close()  # once whole, which also loads every module before the children do
    expected = read_all(folder / "start", keys[1])
    shutil.rmtree(folder / "start")
    killed, ends = 0, {"old": 0, "new": 0}
    moment = 1
    while True:
        shutil.copytree(folder / "pristine", folder / "try")
        if not kill_at(moment, lambda: convert_it(folder / "try", *keys)):
            break
        killed += 1
        readable = [key for key in keys if can_read(folder / "try", key)]
        assert len(readable) == 1, (moment, readable)
        assert read_all(folder / "try", readable[0]) == expected, moment
        ends["new" if readable[0] == keys[1] else "old"] += 1
        convert_it(folder / "try", *keys)
        assert [key for key in keys if can_read(folder / "try", key)] == [keys[1]], moment
        assert read_all(folder / "try", keys[1]) == expected, moment
        left = sorted(path.name for path in (folder / "try").iterdir())
        assert left == ["m.db", "m.db.key", "m.db.lock"], (moment, left)
        shutil.rmtree(folder / "try")
        moment += step
    print(json.dumps({"killed": killed, **ends}))


class Done:
    def close(self) -> None: ...


def convert_it(folder: Path, current: EncryptionKey | None, new: EncryptionKey | None) -> Done:
    if not folder.exists():
        shutil.copytree(folder.parent / "pristine", folder)
    convert(folder / "m.db", current, new, lambda *_: sys.audit(_PROGRESS))
    return Done()


def can_read(folder: Path, key: EncryptionKey | None) -> bool:
    try:
        SQLiteStore(folder / "m.db", key=key).close()
    except MemorandaError:
        return False
    return True


def read_all(folder: Path, key: EncryptionKey | None) -> list[object]:
    store = SQLiteStore(folder / "m.db", key=key)
    try:
        assert store.check() == []
        fetch = store._connections.fetch
        audit_key = read_key_file(folder / "m.db.key", store.file_keys())
        tables = ("memories", "vectors", "messages", "changes", "executions", "sqlite_sequence")
        return [audit_key.hex(), *(fetch(f"SELECT * FROM {table} ORDER BY 1") for table in tables)]
    finally:
        store.close()


def kill_at(moment: int, work: Callable[[], object]) -> bool:
    """Run the work in a child that dies at its n-th step; return whether it died."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = moment

    def count(event: str, _: object) -> None:
        nonlocal left
        if event in _EVENTS or event.startswith("os.fsync"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    real_fsync = os.fsync

    def fsync(descriptor: int) -> None:
        count("os.fsync", None)
        real_fsync(descriptor)
        count("os.fsync", None)

    os.fsync = fsync
    sys.addaudithook(count)
    try:
        work()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
