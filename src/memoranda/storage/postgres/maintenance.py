"""Check and repair the rows of a PostgreSQL database, and remove erased ones from its pages.

The pages are the server's to check: data checksums, amcheck.

PostgreSQL keeps a deleted row until no transaction can see it any more and a vacuum has come by. A vacuum that freezes
notes, for each table, the oldest transaction that a row of it still names. When that is younger than the transaction
that erased, no row that it deleted is left; a long transaction, a prepared one, or a standby that holds rows keeps it
older. No other number says so to a role without special rights.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import text

from memoranda.storage.base import ReadTransaction, Transaction
from memoranda.storage.integrity import run_checks, run_repairs
from memoranda.storage.postgres.tables import OWN_TABLES
from memoranda.storage.schema import ERASURE_PENDING

_UNEVEN: Final = """
  SELECT tenant, agent, "user", session, min(seq) AS first FROM messages WHERE position IS NOT NULL
  GROUP BY tenant, agent, "user", session
  HAVING max(position) - min(position) + 1 <> count(*) OR count(DISTINCT position) <> count(*)"""
_WRONG_COUNTS: Final = """
  SELECT tenant, type AS name, stored.entries - coalesce(counted.entries, 0) AS missing, stored.last_at
  FROM (SELECT tenant, type, count(*) AS entries, max(recorded_at) AS last_at FROM memories GROUP BY tenant, type)
    AS stored
  FULL JOIN (SELECT tenant, name AS type, entries FROM counters WHERE kind = 'type') AS counted USING (tenant, type)
  WHERE coalesce(stored.entries, 0) <> coalesce(counted.entries, 0)"""
_CHECKS: Final = {
    "memories without terms": "SELECT id FROM memories WHERE terms = '' AND content ~ '[a-zA-Z0-9]'",
    "memory types with a wrong count": f"SELECT name FROM ({_WRONG_COUNTS}) AS wrong",
    "owners whose latest change is not noted": """
        SELECT c."user" FROM (SELECT tenant, "user", max(seq) AS head FROM changes GROUP BY tenant, "user") AS c
        LEFT JOIN owners AS o ON o.tenant = c.tenant AND o."user" = c."user"
        WHERE o.head IS DISTINCT FROM c.head AND EXISTS
        (SELECT 1 FROM memories AS m WHERE m.tenant = c.tenant AND m."user" = c."user")""",
    "conversations with a gap, by their first message": f"SELECT first FROM ({_UNEVEN}) AS uneven",
}
_NOTE_HEADS: Final = """
    INSERT INTO owners AS o (tenant, "user", head)
    SELECT tenant, "user", max(seq) FROM changes GROUP BY tenant, "user"
    ON CONFLICT (tenant, "user") DO UPDATE SET head = excluded.head WHERE o.head <> excluded.head"""
_REMOVE_EMPTY: Final = """
    DELETE FROM {} AS o WHERE NOT EXISTS
    (SELECT 1 FROM changes AS c WHERE c.tenant = o.tenant AND c."user" = o."user")"""
_REPAIRS: Final = {
    "latest changes noted": _NOTE_HEADS,
    "counts corrected": f"""
        INSERT INTO counter_parts AS known (tenant, kind, name, entries, last_at)
        SELECT tenant, 'type', name, coalesce(missing, 0), coalesce(last_at, 0) FROM ({_WRONG_COUNTS}) AS wrong
        ON CONFLICT (tenant, kind, name, part) DO UPDATE SET entries = known.entries + excluded.entries""",
    "positions in conversations renumbered": f"""
        UPDATE messages SET position = n FROM (
          SELECT seq, row_number() OVER (PARTITION BY tenant, agent, "user", session ORDER BY position, seq) AS n
          FROM messages JOIN ({_UNEVEN}) AS uneven USING (tenant, agent, "user", session)
          WHERE position IS NOT NULL) AS numbered
        WHERE numbered.seq = messages.seq""",
}


def find_problems(tx: ReadTransaction) -> list[str]:
    """Return what our own questions find, damaged rows included."""
    return run_checks(tx, _CHECKS)


def note_heads(tx: Transaction) -> None:
    """Note the latest change of each owner, after changes were written past the usual way."""
    tx.execute(text(_NOTE_HEADS))


def renew_searches(tx: Transaction) -> None:
    """Let the next search of each large owner write its words and vectors anew, after they were made anew."""
    tx.execute(text("UPDATE search_owners SET built_to = 0"))


def remove_empty_owners(tx: Transaction) -> None:
    """Remove the names of owners of whom nothing is left."""
    for table in ("owners", "search_owners"):
        tx.execute(text(_REMOVE_EMPTY.format(table)))


def repair_rows(tx: Transaction) -> list[str]:
    """Rebuild what derives from the rows; return what was done, one sentence each."""
    renew_searches(tx)
    return run_repairs(tx, _REPAIRS)


_MAY_MAINTAIN: Final = 170_000
"""The version of the server from which on another role than the owner may be let vacuum."""
_VACUUM: Final = "VACUUM (FREEZE, ANALYZE, INDEX_CLEANUP ON) {}"
_REWRITE: Final = "VACUUM (FULL, FREEZE, ANALYZE) {}"
# The row of the mark names the transaction that wrote it last: the latest one that erased.
_LEFT: Final = f"""
SELECT count(*) FROM meta AS mark, pg_class AS c LEFT JOIN pg_class AS long ON long.oid = c.reltoastrelid
WHERE mark.key = '{ERASURE_PENDING}' AND c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
AND c.relname = ANY(%s) AND greatest(age(c.relfrozenxid), age(long.relfrozenxid)) >= age(mark.xmin)"""
_REFUSED: Final = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
AND relname = ANY(%s) AND NOT {}
AND NOT pg_has_role((SELECT datdba FROM pg_database WHERE datname = current_database()), 'USAGE') ORDER BY relname"""
_CLEANED: Final = [name for name in OWN_TABLES if name not in ("commits", "generations", "jobs")]
"""Those of which an erasure deletes something; the others hold nothing that a user said."""


def refused_tables(driver: Any) -> list[str]:
    """Return the tables that this role may not vacuum: the server would leave them out, and only warn."""
    is_newer = driver.info.server_version >= _MAY_MAINTAIN
    may = "has_table_privilege(oid, 'MAINTAIN')" if is_newer else "pg_has_role(relowner, 'USAGE')"
    return [row[0] for row in driver.execute(_REFUSED.format(may), (_CLEANED,)).fetchall()]


def vacuum(driver: Any, *, rewrite: bool = False) -> None:
    """Remove deleted rows from the pages, and their values from the statistics of the planner.

    Args:
        driver: A connection outside of a transaction.
        rewrite: Write each table anew, so that free space keeps nothing either. Nobody reads or writes it meanwhile.
    """
    known = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(%s)"
    for (name,) in driver.execute(f"{known} AND relkind = 'r' ORDER BY relname", (_CLEANED,)).fetchall():
        driver.execute((_REWRITE if rewrite else _VACUUM).format(name))


def is_clean(driver: Any) -> bool:
    """Return whether no table holds a row that was erased."""
    return bool(driver.execute(_LEFT, (_CLEANED,)).fetchone()[0] == 0)
