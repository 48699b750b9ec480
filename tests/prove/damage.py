"""Damage the files of a store at random: flipped bits, cut, zeroed, swapped, copied pages, side files of another time.

What must hold: a right answer, one of our errors, or a problem that `check` reports. Never a crash, never a text that
nobody wrote, never the text of another user.
"""

from __future__ import annotations

import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from memoranda import MemoryManager
from memoranda.errors import MemorandaError
from tests.driver import sqlite3
from tests.prove.children import Child, send
from tests.prove.operations import open_manager
from tests.prove.regime import Plan, Result, result, scratch_folder

USERS: Final = ("ana", "ben", "cleo")
TEXTS: Final = {
    user: [f"note {number} of {user}: river stone lamp " * (number % 7 + 1) for number in range(12)] for user in USERS
}
PAGE_SIZES: Final = (512, 1024, 4096, 8192, 65_536)
CASES_PER_PROCESS: Final = 250
TIMEOUT_S: Final = 60.0
_OLD: Final = Path(__file__).parents[1] / "data"

Damage = Callable[[random.Random, bytearray, int], str]
"""Changes the bytes of a file with pages of this size, and says what it did."""


def _flip(rng: random.Random, data: bytearray, _: int) -> str:
    count = rng.choice([1, 1, 3, 20])
    for _ in range(count):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return f"{count} bits flipped"


def _truncate(rng: random.Random, data: bytearray, size: int) -> str:
    length = rng.randrange(len(data)) if rng.random() < 0.5 else rng.randrange(len(data) // size + 1) * size
    length = max(length, 1)  # nothing tells an empty file from a new one, except what lies beside it: see `damage`
    del data[length:]
    return f"cut to {length} bytes"


def _fill_page(rng: random.Random, data: bytearray, size: int) -> str:
    page = rng.randrange(-(-len(data) // size))
    length = len(data[page * size : (page + 1) * size])
    data[page * size : page * size + length] = bytes(length) if rng.random() < 0.5 else rng.randbytes(length)
    return f"page {page + 1} overwritten"


def _swap_pages(rng: random.Random, data: bytearray, size: int) -> str:
    pages = len(data) // size
    if pages < 3:
        return _flip(rng, data, size)
    one, other = (page * size for page in rng.sample(range(1, pages), 2))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    return f"pages {one // size + 1} and {other // size + 1} swapped"


def _copy_page(rng: random.Random, data: bytearray, size: int) -> str:
    pages = len(data) // size
    if pages < 3:
        return _flip(rng, data, size)
    one, other = (page * size for page in rng.sample(range(1, pages), 2))
    data[one : one + size] = data[other : other + size]
    return f"page {other // size + 1} copied over {one // size + 1}"


def _overwrite(rng: random.Random, data: bytearray, _: int) -> str:
    start = rng.randrange(len(data)) if rng.random() < 0.6 else rng.randrange(min(len(data), 200))
    noise = rng.randbytes(min(rng.randint(1, 40), len(data) - start))
    data[start : start + len(noise)] = noise
    return f"{len(noise)} bytes overwritten at {start}"


def _change_text(rng: random.Random, data: bytearray, size: int) -> str:
    """Change one letter of a stored text, which no page and no index shows."""
    places = [match.start() for match in re.finditer(rb"river|stone|lamp", data)]
    if not places:
        return _flip(rng, data, size)
    place = rng.choice(places)
    data[place] ^= 0x20
    return f"a letter changed at {place}"


def _redirect_entry(rng: random.Random, data: bytearray, size: int) -> str:
    """Let an entry of an index by owner and number point to another row."""
    entries = list(re.finditer(rb"default(?:ana|ben|cleo)([\x02-\x7f])\1", data))
    if not entries:
        return _flip(rng, data, size)
    entry, other = rng.choice(entries), rng.choice(entries)
    data[entry.end() - 1] = other[1][0]
    return f"index entry at {entry.start()} points to row {other[1][0]}"


DAMAGES: Final[tuple[Damage, ...]] = (
    _flip, _truncate, _fill_page, _swap_pages, _copy_page, _overwrite, _change_text, _redirect_entry,
)  # fmt: skip


def damage(folder: Path, stale: Path, rng: random.Random) -> str:
    """Damage one file of the store, or put a side file of another time beside it; return what was done."""
    if (folder / "memories.db-wal").exists() and rng.random() < 0.2:
        (folder / "memories.db").unlink()
        if rng.random() < 0.5:
            (folder / "memories.db").touch()
        return "the database is missing or empty beside its log"
    if (folder / "memories.db-wal").exists() and rng.random() < 0.25:
        (folder / "memories.db-wal").unlink()
        return "the log is missing"
    if (folder / "memories.db.key").exists() and rng.random() < 0.05:
        for file in folder.glob("memories.db-*"):
            file.unlink()
        (folder / "memories.db").write_bytes(b"")
        return "the database is empty beside its key"
    if rng.random() < 0.1:
        source = rng.choice(sorted(stale.iterdir()))
        shutil.copy(source, folder / source.name)
        return f"{source.name} of another time"
    files = sorted(file for file in folder.iterdir() if file.suffix != ".lock" and file.stat().st_size)
    weights = [6 if file.name == "memories.db" else 1 for file in files]
    (file,) = rng.choices(files, weights)
    data = bytearray(file.read_bytes())
    done = rng.choice(DAMAGES)(rng, data, page_size(folder / "memories.db"))
    file.write_bytes(data)
    return f"{file.name}: {done}"


def page_size(path: Path) -> int:
    size = int.from_bytes(path.read_bytes()[16:18])
    return 65_536 if size == 1 else max(size, 512)


def judge(folder: Path, rng: random.Random) -> tuple[str, list[str]]:
    """Use the store like a program would; return how it ended, and what was wrong."""
    wrong: list[str] = []
    try:
        with open_manager(folder / "memories.db") as manager:
            complete = _read(manager, wrong)
            if rng.random() < 0.3:
                manager.add_memory("a new note", user="new")
                manager.forget(containing="a new note", user="new")
            report = manager.check()
            if not complete and report.ok:
                wrong.append("memories are missing or changed, and check finds nothing wrong")
    except MemorandaError as error:
        return type(error).__name__, wrong
    return ("right answer" if complete and report.ok else "reported by check"), wrong


def _read(manager: MemoryManager, wrong: list[str]) -> bool:
    """Read everything in every way; return whether all of it is there, as it was written."""
    complete = True
    for user in USERS:
        listed = [memory.content for memory in manager.list_memories(1000, user=user)]
        recalled = [hit.content for hit in manager.recall("river stone lamp note", user=user, limit=100)]
        expected = set(TEXTS[user])
        for way, found in (("list_memories", listed), ("recall", recalled)):
            wrong += [f"{way} gave {user} {content[:60]!r}" for content in found if content not in expected]
        complete = complete and set(listed) == expected
        for memory in manager.list_memories(1000, user=user):
            if memory.user != user:
                wrong.append(f"memory {memory.id} of {user} became one of {memory.user}")
            # What else a row says, such as its times, `check` compares with its seal.
            complete = complete and memory.metadata == {"of": user}
    return complete


def run_cases(cases: list[tuple[str, Path]], folder: Path, stale: Path, pipe: int) -> None:
    for number, (seed, template) in enumerate(cases):
        rng, place = random.Random(seed), folder / str(number)
        shutil.copytree(template, place)
        send(pipe, begins=number, damage=f"{template.name}, {damage(place, stale, rng)}")
        try:
            outcome, wrong = judge(place, rng)
        except Exception as error:  # noqa: BLE001 - the parent reports it
            outcome, wrong = "untyped error", [f"{type(error).__name__}: {error}"]
        send(pipe, outcome=outcome, wrong=wrong)
        shutil.rmtree(place)
    send(pipe, finished=True)


def run(plan: Plan) -> Result:
    """Damage one copy after another."""
    runs, violations, outcomes = 0, list[str](), Counter[str]()
    with scratch_folder() as folder:
        templates = make_templates(folder / "templates")
        stale = make_stale_files(folder / "stale")
        while plan.goes_on(runs, violations):
            count = min(CASES_PER_PROCESS, plan.runs - runs)
            seeds = [f"{plan.seed}/{number}" for number in range(runs, runs + count)]
            cases = [(seed, random.Random(f"{seed}/template").choice(templates)) for seed in seeds]
            place = folder / "cases"
            place.mkdir()
            child = Child(partial(run_cases, cases, place, stale))
            messages = [*child.messages(time.monotonic() + TIMEOUT_S * 2), *child.kill()]
            _count(messages, seeds, violations, outcomes)
            runs += count
            shutil.rmtree(place)
    return result("damage", plan, runs, violations, {"outcomes": dict(outcomes)})


def _count(messages: Iterable[dict[str, Any]], seeds: list[str], violations: list[str], seen: Counter[str]) -> None:
    case = "before the first case"
    for message in messages:
        match message:
            case {"begins": number, "damage": what}:
                case = f"case {seeds[number]}: {what}"
            case {"outcome": outcome, "wrong": wrong}:
                seen[outcome] += 1
                violations += [f"{case}: {line}" for line in wrong]
            case {"error": trace}:
                violations.append(f"{case}: {trace}")
            case {"finished": _}:
                return
    violations.append(f"{case}: the process died or did not end")


def make_templates(folder: Path) -> list[Path]:
    """Make stores with pages of every size, with a log that was not checkpointed, and copies of old schemas."""
    made = []
    for size in PAGE_SIZES:
        made.append(folder / f"pages of {size}")
        _make_store(made[-1])
        _change_page_size(made[-1] / "memories.db", size)
    crashed, open_store = folder / "with a log", folder / "open"
    open_store.mkdir(parents=True)
    with open_manager(open_store / "memories.db") as manager:
        _fill(manager)
        shutil.copytree(open_store, crashed, ignore=shutil.ignore_patterns("*-shm"))
    for schema in sorted(_OLD.glob("schema-*.db")):
        old = folder / schema.stem
        old.mkdir()
        shutil.copy(schema, old / "memories.db")
        with open_manager(old / "memories.db") as manager:
            manager.reembed()
            _fill(manager)
        made.append(old)
    return [*made, crashed, crashed]


def _make_store(folder: Path) -> None:
    folder.mkdir(parents=True)
    with open_manager(folder / "memories.db") as manager:
        _fill(manager)


def _fill(manager: MemoryManager) -> None:
    # First, since it empties the log: what comes after is in the log alone.
    manager.forget(manager.add_memory("gone", user="ben").id, user="ben")
    manager.save_execution_record("ana", {"status": "done"})
    for user in USERS:
        manager.add_memories(TEXTS[user], metadata={"of": user}, user=user)


def _change_page_size(path: Path, size: int) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode=DELETE", f"PRAGMA page_size={size}", "VACUUM", "PRAGMA journal_mode=WAL"):
        connection.execute(statement).fetchall()
    connection.close()


def make_stale_files(folder: Path) -> Path:
    """Make side files of another store: a log, shared memory, a key, a rollback journal."""
    store = folder.with_name("stale-store")
    store.mkdir()
    folder.mkdir()
    with open_manager(store / "memories.db") as manager:
        _fill(manager)
        for name in ("memories.db-wal", "memories.db-shm", "memories.db.key"):
            shutil.copy(store / name, folder / name)
    (folder / "memories.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(2000))
    return folder
