"""What the store notes of itself: single values under a key."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from memoranda.storage.schema import meta


def noted(connection: Connection, key: str) -> str | None:
    """The value under a key; None when there is none."""
    value: str | None = connection.execute(select(meta.c.value).where(meta.c.key == key)).scalar()
    return value


def note(connection: Connection, key: str, value: str) -> None:
    statement = upsert(meta).values(key=key, value=value)
    connection.execute(statement.on_conflict_do_update(set_={"value": statement.excluded.value}))


def strike(connection: Connection, key: str) -> None:
    connection.execute(delete(meta).where(meta.c.key == key))
