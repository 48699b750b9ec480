"""Receipts of what was forgotten: signed, stored, and without the names and texts that they are about.

Each receipt comes with tombstones: keyed hashes of the texts, message ids and idempotency keys that were erased. They
keep an import and a repeated call from bringing back what was forgotten, and they find it again after an old backup was
restored.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from hmac import compare_digest
from typing import Final

from sqlalchemy import func, select

from memoranda.errors import Incompatible, NotFound
from memoranda.messages.message import Message, text_of
from memoranda.remember.duplicates import statement_tokens
from memoranda.results.maintenance import ForgetReceipt, StoreReceipt
from memoranda.storage.base import ReadTransaction, Store, Transaction, chunked
from memoranda.storage.database_key import DatabaseKey
from memoranda.storage.forgotten_keys import key_digest
from memoranda.storage.meta import get_meta
from memoranda.storage.rows import to_json, to_micros
from memoranda.storage.schema import ERASURE_PENDING, receipts, tombstones
from memoranda.types import ANY, JSON, AnyUser, Scope

DATABASE_FILE: Final = "database file"
"""The name in a receipt of the place that is cleaned last."""
SEARCH_INDEX: Final = "search index and its file"
_DIGEST_BYTES: Final = 16
_NAME_CHARS: Final = 16
_NEVER: Final = -(2**63)
"""Before any time: no tombstone."""
_R = receipts.c
_T = tombstones.c


class Receipts:
    """The receipts and tombstones of one tenant."""

    def __init__(self, tenant: str, store: Store, key: DatabaseKey) -> None:
        self._tenant = tenant
        self._store = store
        self._key = key

    def prepare(self) -> None:
        """Read the key, and record that it is in use, before a transaction needs it."""
        self._key.read_to_sign()

    def pseudonym(self, kind: str, name: str | AnyUser | None) -> str | None:
        """Return a name that stands for this one and does not reveal it; None for no name."""
        if name is None:
            return None
        if isinstance(name, AnyUser):
            return f"every {kind}"
        return f"{kind}-{self._key.sign('name', [kind, self._tenant, name]).hex()[:_NAME_CHARS]}"

    def text_digest(self, user: str, text: str) -> bytes:
        """Return the tombstone of a statement of a user, as it is compared: without case and punctuation."""
        return self._key.sign("text", [self._tenant, user, *statement_tokens(text)])[:_DIGEST_BYTES]

    def message_digest(self, user: str, message_id: str) -> bytes:
        return self._key.sign("message", [self._tenant, user, message_id])[:_DIGEST_BYTES]

    def key_digest(self, agent: str, user: str, idempotency_key: str) -> bytes:
        """Return the tombstone of an idempotency key, which may store nothing any more."""
        return key_digest(self._key, self._tenant, agent, user, idempotency_key)

    def new(
        self,
        scope: Scope,
        ids: Iterable[int],
        at: datetime,
        places: tuple[StoreReceipt, ...],
        digests: Iterable[bytes],
    ) -> ForgetReceipt:
        """Return a receipt with a new id, in which pseudonyms stand for the names.

        Args:
            scope: What was forgotten.
            ids: The erased memories.
            at: When they were erased.
            places: What became of each place.
            digests: The tombstones of the erased texts.
        """
        return ForgetReceipt(
            tuple(sorted(ids)),
            places,
            at,
            dry_run=False,
            id=uuid.uuid4().hex,
            agent=self.pseudonym("agent", scope.agent),
            user=self.pseudonym("user", scope.user),
            session=self.pseudonym("session", scope.session),
            tombstones=tuple(sorted(digest.hex() for digest in set(digests))),
        )

    def write(self, tx: Transaction, receipt: ForgetReceipt) -> ForgetReceipt:
        """Sign and store a receipt with its tombstones, or replace the one with the same id; return it signed."""
        text = _to_text(receipt)
        signature = self._key.sign("receipt", [self._tenant, text])
        row = {
            "id": receipt.id,
            "tenant": self._tenant,
            "receipt": text,
            "signature": signature,
            **_columns(receipt),
        }
        tx.upsert(receipts, [row], key=("id",), update=("receipt", "signature", "finished"))
        rows = [
            {"tenant": self._tenant, "digest": bytes.fromhex(each), "receipt": receipt.id, "at": row["at"]}
            for each in receipt.tombstones
        ]
        tx.upsert(tombstones, rows, key=("tenant", "digest"), update=("receipt", "at"))
        return replace(receipt, signature=signature.hex())

    def find(self, user: str | AnyUser | None, limit: int, offset: int = 0) -> list[ForgetReceipt]:
        """Return the receipts for a user, or all of the tenant, newest first."""
        conditions = [_R.tenant == self._tenant]
        if user is not ANY:
            conditions.append(_R.user == (self.pseudonym("user", user) or ""))
        newest_first = select(_R.receipt, _R.signature).where(*conditions).order_by(_R.at.desc(), _R.id)
        query = newest_first.limit(limit).offset(offset)
        rows = self._store.read(lambda tx: tx.execute(query).all(), tenant=self._tenant)
        return [_from_text(row[0], row[1]) for row in rows]

    def get(self, receipt_id: str) -> ForgetReceipt:
        query = select(_R.receipt, _R.signature).where(_R.tenant == self._tenant, _R.id == receipt_id)
        row = self._store.read(lambda tx: tx.execute(query).first(), tenant=self._tenant)
        if row is None:
            raise NotFound(f"there is no receipt {receipt_id!r} in tenant {self._tenant!r}")
        return _from_text(row[0], row[1])

    def verify(self, receipt: ForgetReceipt) -> bool:
        """Return whether this store signed the receipt, exactly as it is."""
        expected = self._key.sign("receipt", [self._tenant, _to_text(receipt)])
        return compare_digest(expected.hex(), receipt.signature)

    def find_forgotten(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return those of the digests that are tombstones."""
        return self._store.read(lambda tx: set(self._find(tx, digests)), tenant=self._tenant)

    def leave_out_forgotten(self, user: str | None, messages: Sequence[Message]) -> list[Message]:
        """Return the messages of a user without those that were forgotten: said before, by their id or their text."""
        if not self.has_tombstones():
            return list(messages)
        owner = user or ""
        digests = [
            (self.message_digest(owner, each.message_id), self.text_digest(owner, text_of(each))) for each in messages
        ]
        both = [digest for pair in digests for digest in pair]
        since = self._store.read(lambda tx: self._find(tx, both), tenant=self._tenant)
        return [
            each
            for each, pair in zip(messages, digests, strict=True)
            if to_micros(each.timestamp) > max(since.get(digest, _NEVER) for digest in pair)
        ]

    def only_forgotten(self, tx: ReadTransaction, rows: Sequence[tuple[bytes, int, int]]) -> list[int]:
        """Return the ids of those (digest, id, microsecond) that are not younger than their tombstone."""
        since = self._find(tx, [row[0] for row in rows])
        return sorted(row[1] for row in rows if row[0] in since and row[2] <= since[row[0]])

    def _find(self, tx: ReadTransaction, digests: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for part in chunked(list(dict.fromkeys(digests))):
            query = select(_T.digest, _T.at).where(_T.tenant == self._tenant, _T.digest.in_(part))
            found.update((bytes(row[0]), row[1]) for row in tx.execute(query))
        return found

    def has_tombstones(self) -> bool:
        query = select(_T.digest).where(_T.tenant == self._tenant).limit(1)
        return self._store.read(lambda tx: tx.execute(query).first(), tenant=self._tenant) is not None


def finish_receipts(store: Store, key: DatabaseKey) -> None:
    """Record in receipts that were pending that the erased bytes are gone from the file by now, and sign them again."""
    unfinished = select(_R.tenant, _R.receipt, _R.signature).where(_R.finished == 0)

    def find(tx: ReadTransaction) -> list[tuple[Receipts, ForgetReceipt]]:
        if get_meta(tx, ERASURE_PENDING) is not None:  # somebody has erased more since the file was cleaned
            return []
        rows = [(Receipts(row[0], store, key), _from_text(row[1], row[2])) for row in tx.execute(unfinished)]
        return [row for row in rows if row[0].verify(row[1])]  # an edited one stays as it is, to be found by a check

    def finish(tx: Transaction) -> None:
        for signer, receipt in find(tx):
            signer.write(tx, replace(receipt, stores=tuple(_finished(each) for each in receipt.stores)))

    if store.read(find, tenant=ANY):
        store.write(finish, tenant=ANY)


def find_receipt_problems(store: Store, key: DatabaseKey) -> list[str]:
    """Return what is wrong with the receipts of all tenants, one sentence each."""
    query = select(_R.id, _R.tenant, _R.receipt, _R.signature, _R.user, _R.at, _R.finished)
    missing = select(func.count(_T.receipt.distinct())).where(_T.receipt.not_in(select(_R.id)))
    rows, removed = store.read(lambda tx: (tx.execute(query).all(), tx.execute(missing).scalar_one()), tenant=ANY)
    problems = [f"{removed} receipts were removed: their tombstones are left"] if removed else []
    for receipt_id, tenant, text, signature, user, at, finished in rows:
        is_whole = isinstance(tenant, str) and isinstance(text, str) and isinstance(signature, bytes)
        if not is_whole or not compare_digest(key.sign("receipt", [tenant, text]), signature):
            problems.append(f"receipt {receipt_id} was changed after it was signed, or the key is another one")
        elif _columns(_from_text(text, signature)) != {"user": user, "at": at, "finished": finished}:
            problems.append(f"receipt {receipt_id} has another user, time or state in its row than it was signed with")
    return problems


def _columns(receipt: ForgetReceipt) -> dict[str, str | int]:
    """Return what the row of a receipt repeats of it, to be searched by."""
    finished = int(not any(_is_in_files(each) for each in receipt.stores))
    return {"user": receipt.user or "", "at": to_micros(receipt.at), "finished": finished}


def _finished(place: StoreReceipt) -> StoreReceipt:
    return StoreReceipt(place.store, "erased", place.count, "finished later") if _is_in_files(place) else place


def _is_in_files(place: StoreReceipt) -> bool:
    """Return whether erased bytes may still be in this place, until the file is compacted."""
    return place.store in (DATABASE_FILE, SEARCH_INDEX) and place.status == "pending"


def _to_text(receipt: ForgetReceipt) -> str:
    """Return what is signed: everything but the signature, and the recalls of a preview."""
    places: list[JSON] = [[each.store, each.status, each.count, each.detail] for each in receipt.stores]
    names: list[JSON] = [receipt.agent, receipt.user, receipt.session]
    values: dict[str, JSON] = {
        "id": receipt.id,
        "at": receipt.at.isoformat(),
        "of": names,
        "ids": list(receipt.ids),
        "stores": places,
        "tombstones": list(receipt.tombstones),
    }
    return to_json(values)


def _from_text(text: str, signature: bytes) -> ForgetReceipt:
    try:
        values = json.loads(text)
        agent, user, session = values["of"]
        return ForgetReceipt(
            tuple(values["ids"]),
            tuple(StoreReceipt(*each) for each in values["stores"]),
            datetime.fromisoformat(values["at"]),
            dry_run=False,
            id=values["id"],
            agent=agent,
            user=user,
            session=session,
            tombstones=tuple(values["tombstones"]),
            signature=bytes(signature).hex(),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Incompatible(f"a stored receipt cannot be read ({error!r}): restore a backup") from error
