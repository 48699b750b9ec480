"""Put known faults into a copy of the package, and see that some regime finds each of them.

A check that finds nothing proves little; one that finds each of these has shown that it can.
"""

from __future__ import annotations

import compileall
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.prove.regime import Plan, Result, result, scratch_folder
from tests.prove.run import REGIMES, ROOT, run_apart

PACKAGE: Final = ROOT / "src" / "memoranda"


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault: a text in a file of the package, and what is put in its place."""

    name: str
    regime: str
    """The regime whose short version finds it."""
    file: str
    old: str
    new: str

    def plant(self, package: Path) -> None:
        """Put the fault into a copy of the package; `ValueError` when the code is no longer what it was."""
        file = package / self.file
        source = file.read_text("utf-8")
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has {source.count(self.old)} times {self.old!r}, not once")
        file.write_text(source.replace(self.old, self.new), "utf-8")


_CONNECTIONS: Final = "storage/sqlite/connections.py"
_TRANSACTION: Final = "storage/sqlite/transaction.py"
_COMMITS: Final = "storage/group_commit.py"
_WRITE: Final = "storage/write.py"
_READ: Final = "storage/read.py"
_ROWS: Final = "storage/rows.py"
_FORGET: Final = "maintenance/forget.py"

DEFECTS: Final = (
    Defect("lock of the file removed", "pauses", _CONNECTIONS,
           "with self._write_lock, translate_errors(str(self.path)), self.lock():",
           "with self._write_lock, translate_errors(str(self.path)):"),
    Defect("sync off", "power", _TRANSACTION, 'f"synchronous={durability.upper()}"', '"synchronous=OFF"'),
    Defect("acknowledged before the sync", "power", _TRANSACTION,
           'f"synchronous={durability.upper()}"', '"synchronous=NORMAL"'),
    Defect("no journal", "power", _TRANSACTION, '"journal_mode=WAL",', '"journal_mode=OFF",'),
    Defect("commit left out", "kill", _CONNECTIONS,
           "                else:\n                    self._commit(connection)\n", ""),
    Defect("error of a commit swallowed", "faults", _CONNECTIONS,
           '                ) from error\n            raise\n', '                ) from error\n'),
    Defect("failed commit not overwritten", "faults", _CONNECTIONS,
           "            overwrite_failed_commit(driver_of(self._writer_connection()))\n",
           "            self._writer_connection()\n"),
    Defect("writer that gave up is written all the same", "pauses", _COMMITS,
           "return self._begun.acquire(blocking=False)", "return self._begun.acquire(blocking=False) or True"),
    Defect("a writer waits without end", "pauses", _COMMITS,
           "if waited > _MAX_WAIT and ticket.begin():", "if waited > 60 * _MAX_WAIT and ticket.begin():"),
    Defect("holder of a lease not checked", "pauses", "storage/meta.py",
           "if _read_lease(tx, lease)[0] != lease.holder:", "if False:"),
    Defect("version not checked at an update", "processes", _WRITE,
           "if known.version != change.version:", "if False:"),
    Defect("deleted rows keep their vectors", "kill", _TRANSACTION, '"foreign_keys=ON",', '"foreign_keys=OFF",'),
    Defect("edit keeps the old vector", "kill", _WRITE,
           "        tx.execute(delete(vectors).where(vectors.c.memory_id == change.id))\n"
           "        insert_vectors(tx, [(change.id, new)])\n",
           "        tx.execute(delete(vectors).where(vectors.c.memory_id == change.id))\n"),
    Defect("terms not stored", "kill", "storage/add.py", "        notes, _terms(new),", '        notes, "",'),
    Defect("removal missing from the change log", "kill", _WRITE,
           '    insert_changes(tx, "remove", [(row[0], row[1], row[2]) for row in rows])\n', ""),
    Defect("new memories not counted", "kill", "storage/add.py", "    tx.add_counts(_counts(columns, rows))\n", ""),
    Defect("superseded memory stays current", "kill", _WRITE,
           "outcomes += [claim_resolution.resolve_new(tx, outcome, each) for outcome, each in added]",
           "outcomes += [outcome for outcome, _ in added]"),
    Defect("revoked key stays valid", "kill", "server/keys.py",
           "values(revoked_at=tx.at)).rowcount", "values(revoked_at=None)).rowcount"),
    Defect("replaced file not synced", "power", "files.py",
           "        fsync_file(temporary)\n        temporary.replace(target)", "        temporary.replace(target)"),
    Defect("folder of a replaced file not synced", "power", "files.py",
           "        temporary.unlink(missing_ok=True)\n    fsync_folder(target.parent)",
           "        temporary.unlink(missing_ok=True)"),
    Defect("folder of the key not synced", "power", "storage/database_key.py",
           "        fsync_folder(path.parent)", "        pass"),
    Defect("restore renames the database away", "faults", "storage/sqlite/backup.py",
           "            _link_or_copy(file, name)\n", "            file.rename(name)\n"),
    Defect("text not compared with its hash", "damage", _ROWS,
           "if not is_intact:", "if False:"),
    Defect("owner left out of the hash of a row", "damage", "storage/row_hash.py",
           "        f\"{tenant}{agent}{user}{session}{name}{content}{more or ''}\"",
           "        f\"{name}{content}{more or ''}\""),
    Defect("deleted log is not noticed", "damage", "storage/sqlite/store.py",
           "        if lost <= 0:\n", "        if True:\n"),
    Defect("readers wait on a condition", "interrupts", _CONNECTIONS,
           "            poolclass=HandlePool,\n",
           '            poolclass=__import__("sqlalchemy.pool").pool.QueuePool,\n'),
    Defect("recalls wait on an event of Python", "interrupts", "recall/ledger.py",
           "from memoranda.threads import Flag, register_fork_handler, start_thread\n",
           "from threading import Event as Flag\nfrom memoranda.threads import register_fork_handler, start_thread\n"),
    Defect("log without its database opens as new", "damage", "storage/sqlite/file_lock.py",
           "for log in filter(_holds_pages, (log_of(path), journal_of(path))):", "for log in ():"),
    Defect("file not compacted after a forget", "canaries", "storage/sqlite/store.py",
           "return self._compaction.run(_COMPACT_SECONDS)", "return True"),
    Defect("receipt complete while bytes are left", "canaries", _FORGET,
           'return self._file_places("erased" if done else "pending", index="erased")',
           'return self._file_places("erased")'),
    Defect("questions kept after a forget", "canaries", _FORGET,
           "            clear_recalls(tx, target.scope, recall_matches(target))\n", "            pass\n"),
    Defect("no tombstones", "canaries", "maintenance/receipts.py",
           '        tx.upsert(tombstones, rows, key=("tenant", "digest"), update=("receipt", "at"))\n', ""),
    Defect("scope left out when memories are read", "isolation", _TRANSACTION,
           """conditions = " AND ".join(f'memories."{column}" = ?' for column in columns)""",
           """conditions = " AND ".join(f"'{column}' != ?" for column in columns)"""),
    Defect("user left out of the scope", "isolation", _ROWS,
           "    if scope.user is not ANY:\n", "    if False:\n"),
    Defect("agent left out of the scope", "isolation", _ROWS,
           """columns = {"tenant": scope.tenant, "agent": scope.agent, "session": scope.session}""",
           """columns = {"tenant": scope.tenant, "session": scope.session}"""),
    Defect("session left out of the scope", "isolation", _ROWS,
           """columns = {"tenant": scope.tenant, "agent": scope.agent, "session": scope.session}""",
           """columns = {"tenant": scope.tenant, "agent": scope.agent}"""),
    Defect("agent left out when items are searched", "isolation", "items/items.py",
           "        return [*_owned(scope), *_between(key_range(prefix)), *self._not_expired()]",
           "        owner = [each for each in _owned(scope) if each.left is not _M.agent]\n"
           "        return [*owner, *_between(key_range(prefix)), *self._not_expired()]"),
    Defect("user left out of the namespaces of items", "isolation", "items/items.py",
           "        alive = [*_owned(scope), *self._not_expired()]",
           "        owner = [each for each in _owned(scope) if each.left is not _M.user]\n"
           "        alive = [*owner, *self._not_expired()]"),
    Defect("user left out of related memories", "isolation", _READ,
           "SELECT_MEMORY.where(_M.id.in_(part), *in_scope(scope))",
           "SELECT_MEMORY.where(_M.id.in_(part), *(each for each in in_scope(scope) if each.left is not _M.user))"),
    Defect("user left out of a list", "isolation", _READ,
           "        return in_scope(scope)\n",
           "        return [each for each in in_scope(scope) if each.left is not _M.user]\n"),
    Defect("user left out of the lists of agents and sessions", "isolation", _READ,
           "        counted = [*scope_conditions(table, scope), ",
           "        counted = [*(each for each in scope_conditions(table, scope) if each.left is not table.c.user), "),
    Defect("user left out of the facts", "isolation", "storage/claims.py",
           "_SELECT_STORED.where(*in_scope(scope), *visible)",
           "_SELECT_STORED.where(*(each for each in in_scope(scope) if each.left is not _M.user), *visible)"),
    Defect("user left out of a search", "isolation", "manager/recall.py",
           "            found = ask(scope, filters)\n",
           "            found = ask(self._scope(agent, AnyUser.ANY, session), filters)\n"),
    Defect("user left out of a conversation", "isolation", "conversation/stored.py",
           "for column in (_M.tenant, _M.agent, _M.user, _M.session)),",
           "for column in (_M.tenant, _M.agent, _M.session)),"),
    Defect("session left out of a conversation", "isolation", "conversation/stored.py",
           "for column in (_M.tenant, _M.agent, _M.user, _M.session)),",
           "for column in (_M.tenant, _M.agent, _M.user)),"),
    Defect("session left out when an item is read", "isolation", "manager/items.py",
           "        scope = self._scope(agent, user, session)\n", "        scope = self._scope(agent, user)\n"),
    Defect("user left out of an export", "isolation", "transfer/export.py",
           "stream_rows(tx, table, scope_conditions(table, scope), [key])",
           "stream_rows(tx, table, [e for e in scope_conditions(table, scope) if e.left is not table.c.user], [key])"),
    Defect("user left out when memories are deleted", "isolation", _WRITE,
           "where(memories.c.id.in_(part), *in_scope(change.scope))",
           "where(memories.c.id.in_(part), *(e for e in in_scope(change.scope) if e.left is not memories.c.user))"),
    Defect("every request reads all users", "isolation", "server/routes/__init__.py",
           "            return request.user\n", "            return ANY\n"),
    Defect("tools have no user", "isolation", "mcp/base.py",
           """{"agent": self.agent, "user": self.user,""", """{"agent": self.agent, "user": None,"""),
    Defect("key opens another tenant", "isolation", "server/auth.py",
           "return Principal(key.id, key.tenant, frozenset(key.scopes))",
           "return Principal(key.id, DEFAULT_TENANT, frozenset(key.scopes))"),
    Defect("callers without a key are let in", "requests", "server/auth.py",
           """raise Denied("no key: send it as 'Authorization: Bearer <key>'", status=401)""", "return LOCAL"),
    Defect("open again once the last key is revoked", "requests", "server/keys.py",
           "query = select(api_keys.c.id).limit(1)",
           "query = select(api_keys.c.id).where(api_keys.c.revoked_at.is_(None)).limit(1)"),
    Defect("wrong requests answered in another form", "requests", "server/app.py",
           "    app.add_exception_handler(RequestValidationError, responses.handle_validation_error)\n", ""),
    Defect("half a character breaks an answer of the memory stores", "requests", "server/routes/memory_stores.py",
           "    return Response(to_json(value), status,",
           '    return Response(__import__("json").dumps(value, ensure_ascii=False).encode(), status,'),
    Defect("expired memories are shown", "clocks", "index/partition.py",
           'allowed &= (columns["expires_at"] > moment) & ~ended', "allowed &= ~ended"),
    Defect("index never catches up", "model", "index/partitions.py",
           "if partition.seq == head and partition.key.user is not ANY:", "if partition.seq != NEVER_LOADED:"),
    Defect("string without an end read again at each quote", "parsers", "server/bodies.py",
           'rb\'"(?:[^"\\\\]++|\\\\.)*+(?:"|\\\\?\\Z)\'', 'rb\'"(?:[^"\\\\]|\\\\.)*"\''),
    Defect("numbers of any length are quantities", "parsers", "remember/reading/entities.py",
           r"(?<=\d)(?<!\w\d)[\d,]{0,30}", r"(?<=\d)(?<!\w\d)[\d,]*"),
    Defect("any number of blanks around the words of a date", "parsers", "dates/other_languages.py",
           'r"\\s{0,2}"', 'r"\\s*"'),
    Defect("handles of readers leak", "soak", "storage/sqlite/pool.py",
           "        self.idle.append(raw)\n        self.in_use.discard(raw)\n", "        self.in_use.add(raw)\n"),
)  # fmt: skip


def _regime_runs(name: str, plan: Sequence[object]) -> bool:
    """Return whether the regime runs on the package as it is: only then does a crash tell of the defect."""
    try:
        return not run_apart(name, *map(str, plan), source=PACKAGE.parent).violations
    except RuntimeError:
        return False


LONGER: Final = 3
"""How many times the runs of the short version: it ends with the first violation, and only a miss takes long."""


def compile_package(folder: Path) -> Path:
    """Return a copy of the package that is compiled, which takes seconds that each defect would need again."""
    made = folder / "compiled"
    shutil.copytree(PACKAGE, made, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(made, quiet=2)
    return made


def run_one(defect: Defect, compiled: Path, folder: Path, seed: int) -> tuple[bool, str]:
    """Run the regime for a while on a copy of the package with the defect; return whether it was found."""
    copy = folder / "memoranda"
    shutil.copytree(compiled, copy)
    try:
        defect.plant(copy)
        runs = LONGER * REGIMES[defect.regime].short
        plan = ("--runs", runs, "--seed", seed, "--seconds", 240, "--most-violations", 1)
        found = run_apart(defect.regime, *map(str, plan), source=folder)
    except ValueError as error:  # the code is no longer what it was: the list is out of date
        return False, str(error)
    except RuntimeError as error:  # the regime could not go on, which a broken machine brings about too
        return _regime_runs(defect.regime, plan), str(error)[-200:]
    finally:
        shutil.rmtree(copy)
    return bool(found.violations), found.violations[0].strip().splitlines()[-1][:200] if found.violations else ""


def run(plan: Plan) -> Result:
    """Plant one defect after another, as many as the plan says, beginning with a number that the seed chooses."""
    known = [defect for defect in DEFECTS if defect.regime in REGIMES and plan.only in ("", defect.regime)]
    order = plan.rng("order").sample(known, len(known))
    done, missed, caught = 0, list[str](), dict[str, object]()
    with scratch_folder() as folder:
        compiled = compile_package(folder)
        for defect in order:
            if not plan.goes_on(done):
                break
            found, how = run_one(defect, compiled, folder, plan.seed)
            done += 1
            print(f"{defect.name}: {defect.regime}: {how if found else 'NOT FOUND'}", file=sys.stderr, flush=True)
            caught[defect.name] = f"{defect.regime}: {how}" if found else "not found"
            missed += [] if found else [f"{defect.name}: not found by {defect.regime}"]
    return result("defects", plan, done, missed, {"caught": caught})
