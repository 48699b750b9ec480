"""Every kind of writing operation, with the change that it must make to what the store holds.

Each writer has a name, under which it writes as a user and as an agent: several of them write to one file, and what one
of them must find is known whatever the others do.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text

from memoranda import Memory, MemoryManager, UpkeepReport, UpkeepSettings, create_session
from memoranda.server.keys import Keys
from memoranda.storage.base import ReadTransaction
from memoranda.storage.schema import unpack
from memoranda.storage.sqlite.backup import inspect, restore
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import LINKS, LOGS, TABLES
from tests.driver import sqlite3
from tests.prove.ledger import Operation, State

DIMENSION: Final = 32
MAX_MEMORIES: Final = 60
"""A crash test needs many operations, not many rows."""
_WORDS: Final = ("river", "stone", "lamp", "train", "cloud")
_CITIES: Final = (
    "Lisbon", "Madrid", "Oslo", "Paris", "Rome", "Berlin", "Vienna", "Prague", "Athens", "Dublin", "Helsinki",
    "Warsaw", "Budapest", "London", "Amsterdam", "Brussels", "Copenhagen", "Stockholm", "Tokyo", "Boston",
)  # fmt: skip
_SUMMARIES: Final = UpkeepSettings(session_least=3, session_timeout=timedelta(microseconds=1))


@dataclass(frozen=True, slots=True)
class Writer:
    """One writer with the store that it has open."""

    manager: MemoryManager
    name: str
    folder: Path
    """Where the database is, and the files that the writer makes beside it."""

    @property
    def store(self) -> Any:
        # The manager's own store: opening the file a second time would take twice as long.
        return self.manager._components.open().store

    def id_of(self, key: str) -> int:
        rows: dict[str, tuple[int, str]] = self.store.read(lambda tx: _read_memories(tx, self.name))
        return rows[key][0]

    def backup_file(self) -> Path:
        return self.folder / f"{self.name}.backup"

    def restored_file(self) -> Path:
        return self.folder / f"{self.name}.restored"


Plan = Callable[["Planner", str], Operation | None]
"""Returns the operation to do under a new name; None when the state has nothing for it."""


def open_manager(path: Path, *, dimension: int = DIMENSION, **options: Any) -> MemoryManager:
    return MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(dimension), **options)


def observe(writer: Writer) -> State:
    """Return everything that the store holds of a writer."""
    rows: State = writer.store.read(lambda tx: read_state(tx, writer.name))
    return rows | read_files(writer.folder, writer.name)


def find_problems(writer: Writer) -> list[str]:
    """Return what is wrong with the whole store: rows, terms, vectors, counts, chains and index files."""
    problems = list(writer.manager.check().problems)
    report = writer.manager.verify_executions()
    if not report.ok:
        problems.append(f"execution records: {report.problem}")
    return problems + _change_log_problems(writer) + _orphans(writer)


def find_problems_of(manager: MemoryManager, path: Path) -> list[str]:
    return find_problems(Writer(manager, "", path.parent))


def contents_of(manager: MemoryManager, user: str) -> list[str]:
    """Return the texts of all memories of a user."""
    query = text('SELECT content FROM memories WHERE "user" = :user ORDER BY id')
    store = manager._components.open().store
    return store.read(lambda tx: [str(unpack(row[0])) for row in tx.execute(query, {"user": user})])


def _change_log_problems(writer: Writer) -> list[str]:
    """Return a problem unless the change log has every number once and ends with the counter of its table."""
    query = "SELECT count(*), coalesce(max(seq), 0), coalesce(min(seq), 1) FROM changes"
    last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'"
    (count, newest, oldest), (counter,) = writer.store.read(
        lambda tx: (tx.execute(text(query)).one(), tx.execute(text(last)).one())
    )
    if count != newest - oldest + 1 or newest > counter:
        return [f"the change log has {count} entries from {oldest} to {newest}, and its counter is {counter}"]
    return []


def _orphans(writer: Writer) -> list[str]:
    """Return rows of derived tables whose memory is gone."""
    found: list[str] = []
    for table in ("vectors", "claims", "revisions"):
        query = f"SELECT count(*) FROM {table} WHERE memory_id NOT IN (SELECT id FROM memories)"
        if count := writer.store.read(lambda tx, query=query: tx.execute(text(query)).scalar()):
            found.append(f"{count} rows of {table} belong to no memory")
    return found


def read_state(tx: ReadTransaction, name: str) -> State:
    state = {key: shown for key, (_, shown) in _read_memories(tx, name).items()}
    for query, prefix in (
        ("SELECT key, value FROM memories WHERE agent = :name AND key IS NOT NULL", "value"),
        ("SELECT position, content FROM messages WHERE agent = :name AND position IS NOT NULL", "message"),
        ("SELECT json_extract(record, '$.name'), status FROM executions WHERE agent = :name", "execution"),
        ("SELECT name, CASE WHEN revoked_at IS NULL THEN 'valid' ELSE 'revoked' END FROM api_keys "
         "WHERE name LIKE :name || '.%'", "key"),
        ("SELECT workflow, 'ended' FROM sessions WHERE workflow LIKE :name || '.%'", "session"),
        ("SELECT source, group_concat(DISTINCT json_extract(metadata, '$.edition')) FROM memories "
         "WHERE type = 'shared' AND source LIKE :name || '.%' GROUP BY source", "knowledge"),
        ("SELECT memories.session, 'summary of ' || count(*) FROM memories JOIN lineage ON derived_id = memories.id "
         "WHERE memories.user = :name AND kind = 'summary' GROUP BY memories.id", "summary"),
    ):  # fmt: skip
        state |= {f"{prefix}/{row[0]}": str(unpack(row[1])) for row in tx.execute(text(query), {"name": name})}
    links = """SELECT a.content, b.content, relationship_type FROM associations JOIN memories a ON a.id = memory_id
      JOIN memories b ON b.id = related_memory_id WHERE a."user" = :name AND relationship_type = 'proves'"""
    for one, other, kind in tx.execute(text(links), {"name": name}):
        state[f"link/{key_of(unpack(one) or '')}>{key_of(unpack(other) or '')}"] = kind
    return state


def _read_memories(tx: ReadTransaction, name: str) -> dict[str, tuple[int, str]]:
    """Return the notes of a writer by their name: id, and the text with what was done to it."""
    query = """SELECT id, content, archived_at IS NOT NULL, pinned, superseded_by IS NOT NULL,
      json_extract(metadata, '$.count') FROM memories WHERE "user" = :name AND key IS NULL
      AND id NOT IN (SELECT derived_id FROM lineage WHERE kind = 'summary') ORDER BY id"""
    rows: dict[str, tuple[int, str]] = {}
    for memory_id, stored, archived, pinned, ended, count in tx.execute(text(query), {"name": name}):
        content = unpack(stored) or ""
        marks = [mark for mark, shown in (("archived", archived), ("pinned", pinned), ("ended", ended)) if shown]
        marks += [] if count is None else [f"count {count}"]
        key = key_of(content)
        key += "#2" if key in rows else ""
        rows[key] = (memory_id, shown(content, *marks))
    return rows


def shown(content: str, *marks: str) -> str:
    """Return a memory as the state shows it."""
    return " ".join([content, *(f"[{mark}]" for mark in sorted(marks))])


def read_files(folder: Path, name: str) -> State:
    """Return what is in the backup and in the database restored from it; each must be whole."""
    state: State = {}
    for what in ("backup", "restored"):
        if (file := folder / f"{name}.{what}").exists():
            beside = tuple((each.name, each.read_bytes()) for each in sorted(folder.glob(f"{name}.{what}*")))
            known, found = _INSPECTED.get(what, ((), ""))
            if known != beside:
                inspect(file)
                found = _count_memories(file, name)
                _INSPECTED[what] = beside, found
            state[f"file/{what}"] = found
    return state


_INSPECTED: Final[dict[str, tuple[tuple[tuple[str, bytes], ...], str]]] = {}
"""The bytes that were looked at last, with what was found in them: the same bytes need no second look."""


def _count_memories(file: Path, name: str) -> str:
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    try:
        return str(connection.execute("SELECT count(*) FROM memories WHERE user = ?", (name,)).fetchone()[0])
    finally:
        connection.close()


def key_of(content: str) -> str:
    """Return the key of a memory in the state: a word of its text that no edit changes."""
    return f"memory/{content.split()[3 if content.startswith('I moved') else 1].strip('.,')}"


@dataclass(slots=True)
class Planner:
    """Chooses operations at random; each depends on the state after the one before."""

    rng: random.Random
    writer: str
    state: State
    run: str
    """Makes the names of this run differ from those of all runs before."""
    kinds: tuple[str, ...] = ()
    """The kinds to choose from; all when empty."""
    number: int = 0

    def operations(self) -> Iterator[Operation]:
        while True:
            operation = self.next()
            yield operation
            self.state = operation.apply(self.state)

    def next(self) -> Operation:
        if len(self.notes(live=False)) > MAX_MEMORIES:
            notes = self.notes(live=False)
            return self.without("forget", self.rng.sample(notes, len(notes) // 2))
        while True:
            self.number += 1
            kind = self.rng.choice(self.kinds or tuple(KINDS))
            operation = KINDS[kind].plan(self, f"{self.writer}.{self.run}.{self.number}")
            if operation is not None:
                return Operation(kind, operation.put, operation.drop, atomic=KINDS[kind].atomic)

    def notes(self, *, live: bool = True) -> list[str]:
        """Return the keys of single notes; with `live`, only those that nothing was done to."""
        notes = [key for key, value in self.state.items() if key.startswith("memory/") and value.startswith("note ")]
        single = [key for key in notes if "#" not in key and f"{key}#2" not in self.state]
        return sorted(key for key in single if not (live and "[" in self.state[key]))

    def note(self) -> str | None:
        notes = self.notes()
        return self.rng.choice(notes) if notes else None

    def pick(self, prefix: str, ending: str = "") -> str | None:
        keys = sorted(key for key, found in self.state.items() if key.startswith(prefix) and found.endswith(ending))
        return self.rng.choice(keys) if keys else None

    def without(self, kind: str, keys: list[str]) -> Operation:
        """Return an operation that removes memories, and with them their links."""
        links = [key for key in self.state if key.startswith("link/") and set(key[5:].split(">")) & set(keys)]
        return Operation(kind, drop=(*keys, *links))

    def memories(self) -> int:
        """Return how many memories a backup has, of this writer."""
        return sum(key.startswith(("memory/", "summary/")) for key in self.state)

    def text(self, name: str, words: str = "note") -> str:
        # Sometimes a long text, so that one commit spans many pages of the file.
        size = self.rng.choice([3, 3, 3, 10, 600])
        return f"{words} {name} " + " ".join(self.rng.choices(_WORDS, k=size))


def plan_each(planner: Planner, kinds: tuple[str, ...]) -> Iterator[Operation]:
    """Yield one operation of each kind, each possible in the state after the one before."""
    usual = planner.kinds
    for kind in kinds:
        planner.kinds = (kind,)
        operation = planner.next()
        planner.kinds = usual
        yield operation
        planner.state = operation.apply(planner.state)


def _plan_bulk(planner: Planner, name: str) -> Operation:
    names = [f"{name}-{part}" for part in range(planner.rng.randint(2, 12))]
    return Operation("", {f"memory/{each}": planner.text(each) for each in names})


def _plan_twins(planner: Planner, name: str) -> Operation:
    content = planner.text(name)
    return Operation("", {f"memory/{name}": content, f"memory/{name}#2": content})


def _plan_move(planner: Planner, _: str) -> Operation | None:
    unused = [city for city in _CITIES if f"memory/{city}" not in planner.state]
    if not unused:
        return None
    city = planner.rng.choice(unused)
    lived = {
        key: shown(value, "ended")
        for key, value in planner.state.items()
        if value.startswith("I moved") and "[" not in value
    }
    return Operation("", {f"memory/{city}": f"I moved to {city}.", **lived})


def _plan_edit(planner: Planner, name: str) -> Operation | None:
    key = planner.note()
    return None if key is None else Operation("", {key: f"{planner.state[key][:200]} again {name.rpartition('.')[2]}"})


def _plan_count(planner: Planner, _: str) -> Operation | None:
    key = planner.pick("memory/", "]") if planner.rng.random() < 0.7 else planner.note()
    if key is None or ("[" in (value := planner.state[key]) and "[count" not in value):
        return None
    content, _, count = planner.state[key].partition(" [count ")
    return Operation("", {key: shown(content, f"count {int(count.strip(']') or 0) + 1}")})


def _plan_mark(mark: str) -> Plan:
    def plan(planner: Planner, _: str) -> Operation | None:
        key = planner.note()
        return None if key is None else Operation("", {key: shown(planner.state[key], mark)})

    return plan


def _plan_unarchive(planner: Planner, _: str) -> Operation | None:
    archived = [key for key in planner.notes(live=False) if planner.state[key].endswith(" [archived]")]
    if not archived:
        return None
    key = planner.rng.choice(archived)
    return Operation("", {key: planner.state[key].removesuffix(" [archived]")})


def _plan_removal(planner: Planner, _: str) -> Operation | None:
    key = planner.note()
    return None if key is None else planner.without("", [key])


def _plan_link(planner: Planner, _: str) -> Operation | None:
    notes = planner.notes()
    if len(notes) < 2:
        return None
    return Operation("", {f"link/{'>'.join(planner.rng.sample(notes, 2))}": "proves"})


def _plan_merge(planner: Planner, _: str) -> Operation | None:
    twins = {
        key: shown(value, "archived", "ended")
        for key, value in planner.state.items()
        if key.endswith("#2") and "[" not in value
    }
    return Operation("", twins) if twins else None


def _plan_talk(planner: Planner, name: str) -> Operation:
    """Plan a session of three messages, of which the upkeep that follows makes a summary."""
    session = name.replace(".", "-")
    return Operation("", {f"memory/{session}-{n}": f"Note {session}-{n} says that room {n} is cold." for n in range(3)})


def _plan_summary(planner: Planner, _: str) -> Operation | None:
    sessions = {key[7:].rpartition("-")[0] for key, value in planner.state.items() if value.startswith("Note ")}
    new = {f"summary/{each}": "summary of 3" for each in sessions if f"summary/{each}" not in planner.state}
    return Operation("", new) if new else None


def _plan_message(planner: Planner, name: str) -> Operation:
    position = sum(key.startswith("message/") for key in planner.state)
    return Operation("", {f"message/{position + 1}": f"said {name}"})


def _plan_value(planner: Planner, name: str) -> Operation:
    return Operation("", {f"value/{planner.rng.choice('abc')}": json.dumps(name)})


def _plan_knowledge(planner: Planner, name: str) -> Operation:
    return Operation("", {f"knowledge/{planner.writer}.{planner.rng.choice('abc')}": name})


def _plan_drop(prefix: str) -> Plan:
    def plan(planner: Planner, _: str) -> Operation | None:
        key = planner.pick(prefix)
        return None if key is None else Operation("", drop=(key,))

    return plan


def _plan_revoke(planner: Planner, _: str) -> Operation | None:
    key = planner.pick("key/", "valid")
    return None if key is None else Operation("", {key: "revoked"})


def _plan_new(prefix: str, value: str) -> Plan:
    return lambda _, name: Operation("", {f"{prefix}/{name}": value})


def _plan_backup(planner: Planner, _: str) -> Operation:
    return Operation("", {"file/backup": str(planner.memories())})


def _plan_restore(planner: Planner, _: str) -> Operation | None:
    backup = planner.state.get("file/backup")
    return None if backup is None else Operation("", {"file/restored": backup})


def _plan_nothing(_: Planner, __: str) -> Operation:
    """Plan what changes nothing that anybody reads."""
    return Operation("")


def _note(operation: Operation) -> tuple[str, str]:
    ((key, value),) = operation.put.items()
    return key, value


def _name(operation: Operation) -> str:
    """Return the last part of the only key that the operation writes."""
    return next(iter(operation.put)).partition("/")[2]


def _contents(operation: Operation) -> list[str]:
    return [value for value in operation.put.values() if "[ended]" not in value]


def _add(writer: Writer, operation: Operation) -> None:
    writer.manager.add_memory(_note(operation)[1], "semantic", "prove", user=writer.name)


def _add_all(writer: Writer, operation: Operation) -> None:
    writer.manager.add_memories(_contents(operation), user=writer.name)


def _remember(writer: Writer, operation: Operation) -> None:
    outcomes = writer.manager.remember(_contents(operation), user=writer.name)
    assert [outcome.status for outcome in outcomes] == ["stored"] * len(outcomes), outcomes


def _talk(writer: Writer, operation: Operation) -> None:
    session = _name(operation).rpartition("-")[0]
    messages = [{"role": "user", "content": content} for content in _contents(operation)]
    writer.manager.remember(messages, user=writer.name, session=session)


def _edit(writer: Writer, operation: Operation) -> None:
    key, content = _note(operation)
    writer.manager.update(writer.id_of(key), content, user=writer.name)


def _count(writer: Writer, operation: Operation) -> None:
    def increase(memory: Memory) -> dict[str, object]:
        return {"metadata": {"count": int(str(memory.metadata.get("count", 0))) + 1}}

    writer.manager.update(writer.id_of(_note(operation)[0]), change=increase, user=writer.name)


def _remove(writer: Writer, operation: Operation) -> None:
    keys = [key for key in operation.drop if key.startswith("memory/")]
    writer.manager.delete([writer.id_of(key) for key in keys], user=writer.name)


def _forget(writer: Writer, operation: Operation) -> None:
    keys = [key for key in operation.drop if key.startswith("memory/")]
    writer.manager.forget([writer.id_of(key) for key in keys], user=writer.name)


def _link(writer: Writer, operation: Operation) -> None:
    one, other = (writer.id_of(key) for key in _name(operation).split(">"))
    writer.manager.add_memory_association(one, other, "proves", user=writer.name)


def _say(writer: Writer, operation: Operation) -> None:
    writer.manager.set_retention_policy(writer.name, "persistent")
    writer.manager.get_memory(writer.name).add({"role": "user", "content": _note(operation)[1]})


def _learn(writer: Writer, operation: Operation) -> None:
    key, edition = _note(operation)
    text = f"The lamps of {edition} are made of stone. " * 60
    writer.manager.add_knowledge(text, source=key.partition("/")[2], metadata={"edition": edition})


def _revoke(writer: Writer, operation: Operation) -> None:
    keys = Keys(writer.store)
    (key,) = [key for key in keys.all() if key.name == _name(operation)]
    keys.revoke(key.id)


def _end_session(writer: Writer, operation: Operation) -> None:
    session = create_session(_name(operation), writer.manager)
    session.add_conversation_message(writer.name, "user", "a message that ends with the session")
    session.end_session()


def _import(writer: Writer, operation: Operation) -> None:
    source = writer.folder.parent / f"{writer.name}.jsonl"
    header = {"kind": "header", "format": "memoranda", "version": 1, "store": _name(operation)}
    at = "2026-01-01T00:00:00+00:00"
    records = [
        {"kind": "memory", "id": number, "user": writer.name, "content": content, "type": "semantic", "metadata": {},
         "trust": "user", "importance": 0.5, "recorded_at": at, "valid_from": at, "access_count": 0, "version": 1,
         "pinned": 0, "notes": {}}
        for number, content in enumerate(operation.put.values(), 1)
    ]  # fmt: skip
    end = dict.fromkeys([*TABLES, *LINKS, *LOGS], 0) | {"kind": "end", "memory": len(records)}
    source.write_text("".join(json.dumps(record) + "\n" for record in [header, *records, end]))
    writer.manager.import_jsonl(source)


def _back_up(writer: Writer, _: Operation) -> None:
    writer.manager.backup(writer.backup_file(), force=True)


def _restore_file(writer: Writer, _: Operation) -> None:
    restore(writer.backup_file(), writer.restored_file(), force=True)
    for old in writer.folder.glob(f"{writer.restored_file().name}.before-restore*"):
        with suppress(OSError):  # the disk may fail here too, and these are ours
            old.unlink()


def _reembed(writer: Writer, _: Operation) -> None:
    active = writer.store.active_generation()
    other = DIMENSION if active is None or active.dimension != DIMENSION else DIMENSION // 2
    with open_manager(writer.folder / "memories.db", dimension=other) as manager:
        manager.reembed()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of writing operation: what it must change, and how it is called."""

    plan: Plan
    do: Callable[[Writer, Operation], object]
    atomic: bool = True
    """Whether it is one commit. The others may be found half done after a crash, but only until they are repeated."""
    shared: bool = True
    """Whether other processes can go on meanwhile. They need another embedder after `reembed`."""


KINDS: Final[dict[str, Kind]] = {
    "add": Kind(lambda planner, name: Operation("", {f"memory/{name}": planner.text(name)}), _add),
    "bulk": Kind(_plan_bulk, _add_all),
    "twins": Kind(_plan_twins, _add_all),
    "remember": Kind(_plan_talk, _talk),
    "supersede": Kind(_plan_move, _remember),
    "update": Kind(_plan_edit, _edit),
    "change": Kind(_plan_count, _count),
    "delete": Kind(_plan_removal, _remove),
    "forget": Kind(_plan_removal, _forget),
    "archive": Kind(_plan_mark("archived"), lambda w, o: w.manager.archive(w.id_of(_note(o)[0]), user=w.name)),
    "unarchive": Kind(_plan_unarchive, lambda w, o: w.manager.restore(w.id_of(_note(o)[0]), user=w.name)),
    "pin": Kind(_plan_mark("pinned"), lambda w, o: w.manager.pin(w.id_of(_note(o)[0]), user=w.name)),
    "link": Kind(_plan_link, _link),
    "upkeep": Kind(_plan_merge, lambda w, _: w.manager.upkeep(user=w.name, policies=["merge"]), atomic=False),
    "consolidate": Kind(
        _plan_summary,
        lambda w, _: w.manager.upkeep(user=w.name, policies=["summarize"], settings=_SUMMARIES),
        atomic=False,
    ),
    "import": Kind(_plan_bulk, _import, atomic=False),
    "backup": Kind(_plan_backup, _back_up),
    "restore": Kind(_plan_restore, _restore_file),
    "conversation": Kind(_plan_message, _say),
    "value": Kind(_plan_value, lambda w, o: w.manager.save(w.name, _name(o), json.loads(_note(o)[1]), "long_term")),
    "session": Kind(lambda planner, name: Operation("", {f"session/{name}": "ended"}), _end_session),
    "execution": Kind(
        _plan_new("execution", "done"),
        lambda w, o: w.manager.save_execution_record(w.name, {"name": _name(o), "status": "done"}),
    ),
    "knowledge": Kind(_plan_knowledge, _learn),
    "unlearn": Kind(_plan_drop("knowledge/"), lambda w, o: w.manager.remove_knowledge(o.drop[0].partition("/")[2])),
    "key": Kind(_plan_new("key", "valid"), lambda w, o: Keys(w.store).create(_name(o))),
    "revoke": Kind(_plan_revoke, _revoke),
    "reembed": Kind(_plan_nothing, _reembed, shared=False),
    "compact": Kind(_plan_nothing, lambda w, _: w.store.compact()),
}


def perform(writer: Writer, operation: Operation) -> bool:
    """Run the operation through the public API; return False when another process does this work."""
    report = KINDS[operation.kind].do(writer, operation)
    return not (isinstance(report, UpkeepReport) and report.skipped)
