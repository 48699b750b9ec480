"""Idempotency keys whose memories were forgotten.

Such a key must not bring the text back when a call is repeated, and must not swallow another text. It is kept as a
tombstone, a keyed hash beside those of the erased texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import select

from memoranda.display import shown
from memoranda.errors import Conflict
from memoranda.storage.base import ReadTransaction, Store, chunked
from memoranda.storage.changes import NewMemory
from memoranda.storage.database_key import DatabaseKey
from memoranda.storage.rows import stored_name
from memoranda.storage.schema import tombstones

_DIGEST_BYTES: Final = 16
_T = tombstones.c


def key_digest(key: DatabaseKey, tenant: str, agent: str, user: str, idempotency_key: str) -> bytes:
    """Return the tombstone of an idempotency key of an agent and a user."""
    return key.sign("idempotency key", [tenant, agent, user, idempotency_key])[:_DIGEST_BYTES]


def set_digests(store: Store, key: DatabaseKey, new: Sequence[NewMemory]) -> None:
    """Give new memories with an idempotency key its tombstone, by which `refuse_forgotten` finds it."""
    keyed = [each for each in new if each.idempotency_key is not None]
    # Where nothing was ever forgotten, nothing may have been signed either: there is no key to read.
    if not keyed or not _has_tombstones(store, keyed[0].scope.tenant):
        return
    for each in keyed:
        scope = each.scope
        owner = (scope.tenant, scope.agent or "", stored_name(scope.user))
        each.key_digest = key_digest(key, *owner, each.idempotency_key or "")


def find_forgotten(tx: ReadTransaction, new: Sequence[NewMemory]) -> set[tuple[str, bytes]]:
    """Return the tombstones of the idempotency keys of new memories, each with its tenant."""
    found: set[tuple[str, bytes]] = set()
    wanted = {(each.scope.tenant, each.key_digest) for each in new if each.key_digest is not None}
    for tenant in {tenant for tenant, _ in wanted}:
        for part in chunked(sorted(digest for owner, digest in wanted if owner == tenant)):
            query = select(_T.digest).where(_T.tenant == tenant, _T.digest.in_(part))
            found.update((tenant, bytes(digest)) for digest in tx.scalars(query))
    return found


def refuse_forgotten(new: NewMemory, forgotten: set[tuple[str, bytes]]) -> None:
    """Raise `Conflict` when what was stored under the idempotency key of a new memory was forgotten."""
    if new.key_digest is not None and (new.scope.tenant, new.key_digest) in forgotten:
        raise Conflict(
            f"what was stored under the idempotency key {shown(new.idempotency_key)} was forgotten since, so nothing "
            "is stored: use a new key"
        )


def _has_tombstones(store: Store, tenant: str) -> bool:
    query = select(_T.digest).where(_T.tenant == tenant).limit(1)
    return store.read(lambda tx: tx.execute(query).first(), tenant=tenant) is not None
