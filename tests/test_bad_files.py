"""A damaged file, a full disk or a read-only folder raises a typed error, and nothing is lost or invented."""

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
from memoranda.security.encryption import make_key
from memoranda.settings import MemoryConfig
from memoranda.storage.sqlite.conversion import convert
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.chats import read_chatgpt_export
from memoranda.transfer.export import restore
from memoranda.types import Scope
from tests.driver import sqlite3

TEXTS = [f"note {number} about " + "river stone lamp " * (number * 7 % 90 + 1) for number in range(60)]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("intact") / "memories.db"
    with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        manager.add_memories(TEXTS, metadata={"kept": True})
    return path


def read_all(path: Path) -> list[str]:
    """Return all contents in the store, after a recall through the index."""
    with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        assert {hit.content for hit in manager.recall("river stone", limit=100)} <= set(TEXTS)
    store = open_sqlite(path)
    try:
        return [memory.content for memory in StoreOperations(store).find(Scope(), limit=1000)]
    finally:
        store.close()


def assert_refused_or_reported(path: Path) -> None:
    """Reading raises `Incompatible`, or returns texts as they were written; if some are missing, `check` says so."""
    error_raised: MemorandaError | None = None
    contents: list[str] = []
    try:
        contents = read_all(path)
    except MemorandaError as error:
        error_raised = error
    if error_raised is not None:
        assert isinstance(error_raised, Incompatible), error_raised
    elif contents != TEXTS:
        assert set(contents) <= set(TEXTS)
        assert find_problems(path)


def find_problems(path: Path) -> list[str]:
    store = open_sqlite(path)
    try:
        return store.check()
    except Incompatible as error:
        return [str(error)]
    finally:
        store.close()


def page_size(data: bytes) -> int:
    """Return the size of a page of a database, as its header says."""
    size = int.from_bytes(data[16:18])
    return 65_536 if size == 1 else size


def write_file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "memories.db"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("part", range(1, 32))
def test_truncated_file_is_refused(intact: Path, tmp_path: Path, part: int) -> None:
    whole = intact.read_bytes()
    path = write_file(tmp_path, whole[: len(whole) * part // 32])
    with pytest.raises(Incompatible, match="restore a backup"):
        read_all(path)


def test_file_truncated_while_open_raises_incompatible_and_can_be_closed(intact: Path, tmp_path: Path) -> None:
    path = write_file(tmp_path, intact.read_bytes())
    manager = MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16))
    manager.recall("river")
    os.truncate(path, 3 * page_size(path.read_bytes()))
    for call in (manager.recall, manager.add_memory):
        with pytest.raises(Incompatible, match="restore a backup"):
            call("river")
    manager.close()


@pytest.mark.parametrize("garbage", [b"not a database at all\n" * 500, b"\0" * 8192, b"x" * 100], ids=len)
def test_file_that_is_no_database_is_refused_and_unchanged(tmp_path: Path, garbage: bytes) -> None:
    path = write_file(tmp_path, garbage)
    with pytest.raises(Incompatible, match="restore a backup"):
        read_all(path)
    assert path.read_bytes() == garbage


def test_database_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, shopping TEXT)")
    connection.execute("INSERT INTO memories (shopping) VALUES ('milk')")
    connection.commit()
    connection.close()
    with pytest.raises(Incompatible):
        read_all(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT shopping FROM memories").fetchall() == [("milk",)]
    connection.close()


@pytest.mark.parametrize("seed", range(24))
def test_overwritten_page_is_refused_or_reported(intact: Path, tmp_path: Path, seed: int) -> None:
    rng, data = random.Random(seed), bytearray(intact.read_bytes())
    size = page_size(data)
    start = rng.randrange(len(data) // size) * size
    data[start : start + size] = rng.randbytes(size) if seed % 2 else bytes(size)
    assert_refused_or_reported(write_file(tmp_path, bytes(data)))


@pytest.mark.parametrize("seed", range(24))
def test_flipped_bits_are_refused_or_reported(intact: Path, tmp_path: Path, seed: int) -> None:
    rng, data = random.Random(seed), bytearray(intact.read_bytes())
    for _ in range(20):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    assert_refused_or_reported(write_file(tmp_path, bytes(data)))


@pytest.mark.parametrize("seed", range(24))
def test_swapped_pages_are_refused_or_reported(intact: Path, tmp_path: Path, seed: int) -> None:
    rng, data = random.Random(seed), bytearray(intact.read_bytes())
    size = page_size(data)
    one, other = (page * size for page in rng.sample(range(1, len(data) // size), 2))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    assert_refused_or_reported(write_file(tmp_path, bytes(data)))


@pytest.mark.parametrize("change", ["missing", "empty"])
def test_log_without_its_database_is_refused_and_kept(tmp_path: Path, change: str) -> None:
    path, crashed = tmp_path / "memories.db", tmp_path / "crashed"
    crashed.mkdir()
    with MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        manager.add_memory("only in the log")
        log = shutil.copy(tmp_path / "memories.db-wal", crashed / "memories.db-wal")
        shutil.copy(path, crashed / "kept")
    before = Path(log).read_bytes()
    assert before
    if change == "empty":
        (crashed / "memories.db").touch()
    with pytest.raises(Incompatible, match="put the database file back"):
        read_all(crashed / "memories.db")
    assert Path(log).read_bytes() == before
    (crashed / "kept").replace(crashed / "memories.db")
    with MemoryManager(db_url=f"sqlite:///{crashed}/memories.db", embedder=HashEmbedder(16)) as manager:
        assert [memory.content for memory in manager.list_memories()] == ["only in the log"]


def test_folder_in_place_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memories.db").mkdir()
    with pytest.raises(Unavailable, match=r"memories\.db"):
        read_all(tmp_path / "memories.db")


def run_in_child(program: str, folder: Path, *, mounts: str = "") -> dict[str, object]:
    """Return the JSON that a Python program prints; with mounts, it runs in its own mount namespace."""
    command = [sys.executable, "-c", textwrap.dedent(program), str(folder)]
    if mounts:
        if not _can_mount():
            pytest.skip("this system does not allow mounts, not even in a separate namespace")
        shell = f'{mounts.format(folder=folder)} && exec "$@"'
        command = [*_unshare(), "sh", "-c", shell, "sh", *command]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    return dict(json.loads(process.stdout))


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
    free_space()
    later = attempt("space again")
    manager.close()
    print(json.dumps({
        "refused": refused, "written": len(written), "same": kept == ["the first", *written],
        "found": found, "later": later, "problems": [],
    }))
"""
)


def test_full_disk_refuses_write_and_keeps_stored_memories(tmp_path: Path) -> None:
    ballast = """
    def fill():
        (folder / "ballast").write_bytes(bytes(1_500_000))
    def free_space():
        (folder / "ballast").unlink()
    """
    result = run_in_child(
        textwrap.dedent(ballast) + textwrap.dedent(FILL),
        tmp_path,
        mounts="mount -t tmpfs -o size=3m tmpfs {folder}",
    )
    assert result["refused"] is not None
    kind, message = result["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "the disk is full, nothing was written: free some space" in message
    assert result["written"]
    assert (result["same"], result["later"]) == (True, None)
    assert result["found"] == min(5, int(str(result["written"])))


def test_file_size_limit_refuses_write_and_keeps_stored_memories(tmp_path: Path) -> None:
    limit = """
    import resource

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
    def free_space():
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    """
    result = run_in_child(textwrap.dedent(limit) + textwrap.dedent(FILL), tmp_path)
    assert result["refused"] is not None
    kind, message = result["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "memories.db" in message
    assert (result["same"], result["later"]) == (True, None)


def test_path_outside_file_system_encoding_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    program = OPEN.replace("/memories.db", "/m\\xe9moires.db") + '\n    print(json.dumps({"refused": attempt("x")}))'
    kind, message = run_in_child(program, tmp_path)["refused"]  # type: ignore[misc]
    assert (kind, "UTF-8 locale" in message) == ("InvalidInput", True)


READ_ONLY = "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"


def test_new_store_in_read_only_folder_is_refused(tmp_path: Path) -> None:
    result = run_in_child(OPEN + '\n    print(json.dumps({"refused": attempt("x")}))', tmp_path, mounts=READ_ONLY)
    kind, message = result["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "choose another path" in message
    assert list(tmp_path.iterdir()) == []


def test_store_in_read_only_folder_refuses_writes_and_is_unchanged(intact: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(intact, tmp_path / "memories.db"))
    before = path.read_bytes()
    result = run_in_child(OPEN + '\n    print(json.dumps({"refused": attempt("x")}))', tmp_path, mounts=READ_ONLY)
    kind, message = result["refused"]  # type: ignore[misc]
    assert kind == "Unavailable"
    assert "choose another path" in message
    assert path.read_bytes() == before


def test_file_in_a_folder_that_may_not_be_entered_is_a_typed_error(
    intact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, config, stat = tmp_path / "locked", MemoryConfig(db_url=f"sqlite:///{tmp_path}/new.db"), Path.stat

    def refuse(path: Path, **options: bool) -> os.stat_result:
        if path.is_relative_to(locked):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    with MemoryManager(db_url=f"sqlite:///{intact}", embedder=HashEmbedder(16)) as manager:
        for call in (
            lambda: manager.import_jsonl(locked / "a.jsonl"),
            lambda: manager.import_files(locked),
            lambda: manager.archive_to(locked / "a.jsonl.zst"),
            lambda: manager.backup(locked / "a.db"),
            lambda: manager.export_jsonl(locked / "a.jsonl"),
            lambda: manager.add_knowledge(locked / "a.md"),
            lambda: restore(locked / "a.db", config),
            lambda: convert(locked / "a.db", None, make_key("3f" * 32)),
            lambda: read_chatgpt_export(locked / "a.zip"),
        ):
            with pytest.raises(MemorandaError, match="locked"):
                call()
