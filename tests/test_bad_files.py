"""A damaged file, a full disk, a folder that cannot be written: a typed error, and nothing lost or made up."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from memoranda import Incompatible, MemorandaError, MemoryManager, Unavailable
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Scope

PAGE = 4096
TEXTS = [f"note {number} about " + "river stone lamp " * (number * 7 % 90 + 1) for number in range(60)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "memories.db"
    with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        manager.add_memories(TEXTS, metadata={"kept": True})
    return path


def answer(path: Path) -> list[str]:
    """All contents by the store, after a question through the index has been answered too."""
    with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        assert {hit.content for hit in manager.recall("river stone", limit=100)} <= set(TEXTS)
    store = open_sqlite(path)
    try:
        return [memory.content for memory in StoreOperations(store).find(Scope(), limit=1000)]
    finally:
        store.close()


def assert_refused_or_told(path: Path) -> None:
    """Refused; or every text as it was written, and if some are missing then the store's own check says so."""
    refusal: MemorandaError | None = None
    contents: list[str] = []
    try:
        contents = answer(path)
    except MemorandaError as error:
        refusal = error
    if refusal is not None:
        assert isinstance(refusal, Incompatible), refusal
    elif contents != TEXTS:
        assert set(contents) <= set(TEXTS)
        assert problems_of(path)


def problems_of(path: Path) -> list[str]:
    store = open_sqlite(path)
    try:
        return store.check()
    except Incompatible as error:
        return [str(error)]
    finally:
        store.close()


def damaged(sound: Path, tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "memories.db"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("share", range(1, 32))
def test_a_file_cut_short_is_refused(sound: Path, tmp_path: Path, share: int) -> None:
    whole = sound.read_bytes()
    path = damaged(sound, tmp_path, whole[: len(whole) * share // 32])
    with pytest.raises(Incompatible, match="restore a backup"):
        answer(path)


def test_a_file_cut_short_while_it_is_open_is_told_and_can_be_closed(sound: Path, tmp_path: Path) -> None:
    path = damaged(sound, tmp_path, sound.read_bytes())
    manager = MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16))
    manager.recall("river")
    os.truncate(path, 3 * PAGE)
    for call in (manager.recall, manager.add_memory):
        with pytest.raises(Incompatible, match="restore a backup"):
            call("river")
    manager.close()


@pytest.mark.parametrize("garbage", [b"not a database at all\n" * 500, b"\0" * 8192, b"x" * 100], ids=len)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, garbage: bytes) -> None:
    path = damaged(tmp_path, tmp_path, garbage)
    with pytest.raises(Incompatible, match="restore a backup"):
        answer(path)
    assert path.read_bytes() == garbage


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "memories.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, shopping TEXT)")
    connection.execute("INSERT INTO memories (shopping) VALUES ('milk')")
    connection.commit()
    connection.close()
    with pytest.raises(Incompatible):
        answer(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT shopping FROM memories").fetchall() == [("milk",)]
    connection.close()


@pytest.mark.parametrize("seed", range(24))
def test_a_page_of_garbage_is_refused_or_told(sound: Path, tmp_path: Path, seed: int) -> None:
    rng, data = random.Random(seed), bytearray(sound.read_bytes())
    start = rng.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = rng.randbytes(PAGE) if seed % 2 else bytes(PAGE)
    assert_refused_or_told(damaged(sound, tmp_path, bytes(data)))


@pytest.mark.parametrize("seed", range(24))
def test_flipped_bytes_are_refused_or_told(sound: Path, tmp_path: Path, seed: int) -> None:
    rng, data = random.Random(seed), bytearray(sound.read_bytes())
    for _ in range(20):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    assert_refused_or_told(damaged(sound, tmp_path, bytes(data)))


def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memories.db").mkdir()
    with pytest.raises(Unavailable, match=r"memories\.db"):
        answer(tmp_path / "memories.db")


def in_a_child(program: str, folder: Path, *, mounts: str = "") -> dict[str, object]:
    """What a Python program prints as JSON; with mounts, in a namespace of its own that ends with it."""
    command = [sys.executable, "-c", textwrap.dedent(program), str(folder)]
    if mounts:
        if not _can_mount():
            pytest.skip("this system lets nobody mount anything, not even in a namespace of its own")
        shell = f'{mounts.format(folder=folder)} && exec "$@"'
        command = [*_unshare(), "sh", "-c", shell, "sh", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def _unshare() -> list[str]:
    return ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_unshare(), "true"], capture_output=True, check=False).returncode == 0


OPEN = """
    import json, sys
    from pathlib import Path
    from memoranda import MemoryManager, MemorandaError
    from memoranda.testing.fakes import HashEmbedder

    folder = Path(sys.argv[1])
    manager = MemoryManager(db_url=f"sqlite:///{folder}/memories.db", embedder=HashEmbedder(16))

    def attempt(text):
        try:
            manager.add_memory(text)
        except MemorandaError as error:
            return [type(error).__name__, str(error)]
        return None
"""

FILL = (
    OPEN
    + """
    written, refused = [], None
    attempt("the first")
    fill()
    for number in range(100_000):
        text = f"note {number} " + "river stone " * 300
        refused = attempt(text)
        if refused:
            break
        written.append(text)
    store = manager._components.open().store
    from memoranda.testing.differential import StoreOperations
    from memoranda.types import Scope

    kept = [memory.content for memory in StoreOperations(store).find(Scope(), limit=10**6)]
    found = len(manager.recall("river stone", limit=5))
    make_room()
    later = attempt("room again")
    manager.close()
    print(json.dumps({
        "refused": refused, "written": len(written), "same": kept == ["the first", *written],
        "found": found, "later": later, "problems": [],
    }))
"""
)


def test_a_full_disk_refuses_the_write_and_keeps_the_rest(tmp_path: Path) -> None:
    room = """
    def fill():
        (folder / "ballast").write_bytes(bytes(1_500_000))
    def make_room():
        (folder / "ballast").unlink()
    """
    told = in_a_child(
        textwrap.dedent(room) + textwrap.dedent(FILL),
        tmp_path,
        mounts="mount -t tmpfs -o size=3m tmpfs {folder}",
    )
    assert told["refused"] is not None
    kind, message = told["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "the disk is full, nothing was written: free some space" in message
    assert told["written"]
    assert (told["same"], told["later"]) == (True, None)
    assert told["found"] == min(5, int(str(told["written"])))


def test_a_file_that_may_not_grow_refuses_the_write_and_keeps_the_rest(tmp_path: Path) -> None:
    limit = """
    import resource

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
    def make_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    """
    told = in_a_child(textwrap.dedent(limit) + textwrap.dedent(FILL), tmp_path)
    assert told["refused"] is not None
    kind, message = told["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "memories.db" in message
    assert (told["same"], told["later"]) == (True, None)


def test_a_path_that_the_system_cannot_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    program = OPEN.replace("/memories.db", "/m\\xe9moires.db") + '\n    print(json.dumps({"refused": attempt("x")}))'
    kind, message = in_a_child(program, tmp_path)["refused"]  # type: ignore[misc]
    assert (kind, "UTF-8 locale" in message) == ("InvalidInput", True)


READ_ONLY = "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"


def test_a_read_only_folder_cannot_hold_a_new_store(tmp_path: Path) -> None:
    told = in_a_child(OPEN + '\n    print(json.dumps({"refused": attempt("x")}))', tmp_path, mounts=READ_ONLY)
    kind, message = told["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "choose another path" in message
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_a_read_only_folder_refuses_writes_and_stays_whole(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sound, tmp_path / "memories.db"))
    before = path.read_bytes()
    told = in_a_child(OPEN + '\n    print(json.dumps({"refused": attempt("x")}))', tmp_path, mounts=READ_ONLY)
    kind, message = told["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "choose another path" in message
    assert path.read_bytes() == before
