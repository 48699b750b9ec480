"""Remove erased rows from the pages of the server, and find out whether they are gone.

PostgreSQL keeps a deleted row until no transaction can see it any more and a vacuum has come by. A vacuum that freezes
notes, for each table, the oldest transaction that a row of it still names. When that is younger than the transaction
that erased, no row that it deleted is left; a long transaction, a prepared one, or a standby that holds rows keeps it
older. No other number says so to a role without special rights.
"""

from __future__ import annotations

from typing import Any, Final

from memoranda.storage.postgres.tables import OWN_TABLES
from memoranda.storage.schema import ERASURE_PENDING

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
