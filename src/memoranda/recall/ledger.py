"""The ledger of recalls: what was asked and answered, so that an answer can be repeated later.

The answer is stored, not computed again: between two computations the model, the index or the rules may change, and a
repetition has to be exact. Its memories are stored as they were, once for each state. A recall only appends to a list;
every few dozen recalls a thread writes the list, once no recall is asked for a moment. A crash loses what was not yet
written, at most a minute of it.

`AccessCounter` counts which memories were returned.
"""

from __future__ import annotations

import json
import logging
import marshal
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from memoranda.display import plural
from memoranda.errors import Closed, Incompatible, MemorandaError, NotFound, Unavailable
from memoranda.records import build
from memoranda.results.recall import ErasedHit, Replay
from memoranda.security.redaction import default_redactor
from memoranda.storage.base import OwnedWork
from memoranda.storage.lifecycle import count_accesses
from memoranda.storage.recalls import (
    LedgerRow,
    PastAnswer,
    StateKey,
    insert_recalls,
    prune_recalls,
    read_recall,
)
from memoranda.storage.rows import from_micros, stored_json, to_micros
from memoranda.text.checks import escape_surrogates, replace_in_json
from memoranda.threads import Flag, register_fork_handler, start_thread
from memoranda.types import ANY, JSON, AnyUser, ArmScore, Clock, Explanation, Hit, Memory, Recall, Scope

if TYPE_CHECKING:
    from memoranda.storage.base import Store, Transaction

_log = logging.getLogger(__name__)
_WRITE_INTERVAL: Final = timedelta(minutes=1)
_BATCH: Final = 64
_LONGEST_WAIT: Final = 10.0
"""Seconds for which recalls wait for such a moment at most."""
_REFERENCE: Final = "$memory"
"""The key that stands for a memory inside an answer; its value is the position among the stored states."""
_MEMORY_FIELDS: Final = tuple(spec.name for spec in fields(Memory))
_all_fields: Final = attrgetter(*_MEMORY_FIELDS)
_fixed_fields: Final = attrgetter(*(name for name in _MEMORY_FIELDS if name not in ("metadata", "notes", "value")))
_MAX_DIGESTS: Final = 2_000
_IDLE: Final = 0.02
"""Seconds without a recall after which the background thread writes: it would slow down the recalls beside it."""
_MAX_WAITING: Final = 512
"""Recalls that wait for such a moment at most; then they are written beside others."""
_PAUSE: Final = 0.0002
"""Seconds after every few entries in the background, in which a recall gets the interpreter at once."""
_SLICE: Final = 8
"""With fewer, most recalls would meet one entry, and not a few of them several."""
_OTHER_HIT_FIELDS: Final = tuple(spec.name for spec in fields(Hit) if spec.name not in ("memory", "score", "why"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSettings:
    """Whether recalls are kept, and how many of them for how long; the oldest go first."""

    enabled: bool = True
    max_recalls: int = 10_000
    max_age: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A recall that is not yet written."""

    scope: Scope
    asked_at: datetime
    parameters: str
    recall: Recall
    mutable: tuple[bytes, ...]
    """A copy of the parts of each memory that the caller may change, who got the same objects."""


class RecallLedger:
    """Records recalls, and repeats them."""

    def __init__(self, store: Store, clock: Clock, settings: LedgerSettings, mask: Callable[[str], str]) -> None:
        """Create a ledger.

        Args:
            store: Where recalls are kept.
            clock: Tells when a recall was asked.
            settings: Whether recalls are kept, and how many.
            mask: Returns a text without its secrets, as messages are stored.
        """
        self._store = store
        self._clock = clock
        self._settings = settings
        self._mask = mask
        self._start()
        register_fork_handler(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._pending: list[_Entry] = []
        self._writer: threading.Thread | None = None
        self._hurry = Flag()
        """Set when somebody waits for what the writer has yet to write; each writer has its own, and misses nothing."""
        self._states = _States()

    def before_fork(self) -> None:
        """Do nothing: the parent process writes its own recalls."""

    def after_fork(self, *, in_child: bool) -> None:
        """Start with an empty list in the child, or recalls would be written twice."""
        if in_child:
            self._start()

    def record(self, scope: Scope, parameters: Mapping[str, Any], recall: Recall) -> Recall:
        """Note a recall, to be written later, and return it."""
        if not self._settings.enabled:
            return recall
        mutable = tuple(_copy_mutable(hit.memory) for hit in recall.hits)
        given = {name: value for name, value in parameters.items() if value is not None}
        entry = _Entry(scope, self._clock(), replace_in_json(_encode(given)), recall, mutable)
        with self._lock:
            self._pending.append(entry)
            due = len(self._pending) >= _BATCH or entry.asked_at - self._pending[0].asked_at >= _WRITE_INTERVAL
            if due and (self._writer is None or not self._writer.is_alive()):
                self._hurry = Flag()
                self._writer = threading.Thread(
                    target=self._write_when_idle, args=(self._hurry,), name="memoranda-recall-ledger"
                )
                start_thread(self._writer)
        return recall

    def _write_when_idle(self, hurry: Flag) -> None:
        """Write the recalls so far once none was added for a moment, or they are many, or old, or awaited."""
        started, waiting = time.monotonic(), 0
        while waiting < len(self._pending) < _MAX_WAITING and time.monotonic() - started < _LONGEST_WAIT:
            waiting = len(self._pending)
            if hurry.wait(_IDLE):
                break
        self._write(_PAUSE)

    def write(self) -> None:
        """Write the recalls so far; drop them with a warning when the store cannot be written."""
        self._hurry.set()
        self._write()

    def _write(self, pause: float = 0.0) -> None:
        with self._writing:
            with self._lock:
                entries, self._pending = self._pending, []
            if not entries:
                return
            self._states.start_batch()
            self._store_rows(self._make_rows(entries, pause))

    def _make_rows(self, entries: Sequence[_Entry], pause: float) -> list[LedgerRow]:
        """Return the recalls as rows. One that cannot be a row is left out: the others are those of other callers."""
        mask, rows = cache(self._mask), list[LedgerRow]()  # most recalls of a batch have the same parameters
        for number, entry in enumerate(entries, 1):
            try:
                rows.append(_to_row(entry, self._states, mask))
            except Exception as error:  # noqa: BLE001 - logged; whatever it is, it concerns this recall alone
                _warn_of_loss(1, type(error).__name__)
            if pause and number % _SLICE == 0:
                time.sleep(pause)
        return rows

    def _store_rows(self, rows: Sequence[LedgerRow]) -> None:
        """Write rows in one commit; each alone after an error that one of them may have caused."""
        if not rows:
            return
        try:
            # Beside the writes of others: of what it checks, it locks the rows itself.
            self._store.write(OwnedWork(lambda tx: self._insert(tx, rows)), tenant=ANY)
        except (Unavailable, Closed) as error:
            _warn_of_loss(len(rows), str(error))
        except MemorandaError as error:
            if len(rows) == 1:
                _warn_of_loss(1, str(error))
                return
            for row in rows:
                self._store_rows([row])

    def _insert(self, tx: Transaction, rows: Sequence[LedgerRow]) -> None:
        insert_recalls(tx, rows, self._states.to_json)
        prune_recalls(tx, self._settings.max_recalls, to_micros(self._clock() - self._settings.max_age))

    def replay(self, scope: Scope, recall_id: str) -> Replay:
        """Return a past recall of this scope as it was answered; `NotFound` when the ledger does not have it."""
        self.write()
        found = self._store.read(lambda tx: read_recall(tx, scope, recall_id), tenant=scope.tenant)
        if found is None:
            kept = "the ledger is switched off" if not self._settings.enabled else "the ledger keeps only the newest"
            raise NotFound(f"no recall {recall_id!r} in {scope} ({kept}): give the id of a `Recall` and its scope")
        try:
            return _to_replay(found)
        except (KeyError, IndexError, TypeError, ValueError, zlib.error) as error:
            raise Incompatible(f"recall {recall_id} in the ledger is damaged ({error!r}): restore a backup") from error


def _warn_of_loss(count: int, reason: str) -> None:
    _log.warning("%s could not be written to the ledger: %s", plural(count, "recall"), reason)


def _to_row(entry: _Entry, states: _States, mask: Callable[[str], str]) -> LedgerRow:
    recall = entry.recall
    found = [states.key_of(hit.memory, copy) for hit, copy in zip(recall.hits, entry.mutable, strict=True)]
    query = mask(recall.query)

    def to_plain(value: object) -> JSON:
        if isinstance(value, Memory):  # such as a later statement that a hit names
            found.append(states.key_of(value, _copy_mutable(value)))
            return {_REFERENCE: len(found) - 1}
        return _to_plain(value)

    answer = {
        "hits": [_hit_to_plain(hit) for hit in recall.hits],
        "answerable": recall.answerable,
        "degraded": recall.degraded,
        "elapsed_ms": recall.elapsed_ms,
        # Its terms would hold the secret that is masked in the question.
        "explanation": recall.explanation if query == recall.query else None,
    }
    text = escape_surrogates(json.JSONEncoder(default=to_plain, **_COMPACT).encode(answer))
    return LedgerRow(
        recall.id,
        entry.scope,
        to_micros(entry.asked_at),
        query,
        _mask_parameters(entry.parameters, mask),
        recall.head,
        zlib.compress(text.encode("utf-8"), 1),
        tuple(found),
    )


def _mask_parameters(parameters: str, mask: Callable[[str], str]) -> str:
    """Return the JSON without secrets: those that a text holds, and those that the name of a field tells."""
    if mask(parameters) == parameters:
        return parameters
    return _encode(default_redactor().object(_mask_texts(json.loads(parameters), mask)))


def _mask_texts(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_mask_texts(each, mask) for each in value]
    if isinstance(value, dict):
        return {mask(name): _mask_texts(each, mask) for name, each in value.items()}
    return value


class _States:
    """The states of the memories that are being written."""

    def __init__(self) -> None:
        self._digests: dict[tuple[int, int], str] = {}
        self._sources: dict[StateKey, tuple[Memory, bytes]] = {}
        self._texts: dict[StateKey, str] = {}

    def start_batch(self) -> None:
        """Let go of the memories of the batch before; digests are kept, so that a state is encoded once."""
        self._sources, self._texts = {}, {}
        if len(self._digests) > _MAX_DIGESTS:
            self._digests = {}

    def key_of(self, memory: Memory, mutable: bytes) -> StateKey:
        """Return the key of a state whose metadata, notes and value are those of the copy."""
        stamp = memory.id, hash((_fixed_fields(memory), mutable))
        digest, text = self._digests.get(stamp), None
        if digest is None:
            text = _encode_memory(memory, mutable)
            digest = self._digests[stamp] = blake2b(text.encode("utf-8"), digest_size=8).hexdigest()
        key = memory.id, digest
        self._sources[key] = memory, mutable
        if text is not None:
            self._texts[key] = text
        return key

    def to_json(self, key: StateKey) -> str:
        """Return a state of this batch as JSON."""
        text = self._texts.get(key)
        return _encode_memory(*self._sources[key]) if text is None else text


def _copy_mutable(memory: Memory) -> bytes:
    """Copy what the caller may change: the caller has the same objects.

    `marshal` is the fastest deep copy of JSON values; the copy never leaves this process.
    """
    return marshal.dumps((memory.metadata, memory.notes, memory.value))


def _encode_memory(memory: Memory, mutable: bytes) -> str:
    metadata, notes, value = marshal.loads(mutable)
    plain = dict(zip(_MEMORY_FIELDS, _all_fields(memory), strict=True))
    plain.update(metadata=metadata, notes=notes, value=value)
    return escape_surrogates(_encode(plain))


def _hit_to_plain(hit: Hit) -> list[Any]:
    why = [[each.arm, each.rank, each.score, each.gain] for each in hit.why]
    # Most hits have nothing else, and what is left out is read as nothing.
    return [hit.score, why, {name: value for name in _OTHER_HIT_FIELDS if (value := getattr(hit, name)) != ()}]


def _to_plain(value: object) -> JSON:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, AnyUser):
        return value.value
    if is_dataclass(value):
        return {spec.name: getattr(value, spec.name) for spec in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    return list(value)  # type: ignore[call-overload, no-any-return]


_COMPACT: Final[dict[str, Any]] = {"ensure_ascii": False, "separators": (",", ":")}
# One encoder for all: `json.dumps` with options creates a new one at each call.
_encode: Final = json.JSONEncoder(default=_to_plain, **_COMPACT).encode


def _to_replay(found: PastAnswer) -> Replay:
    """Return the recall without the hits whose memories are gone; these are named by position."""
    row, answer = found.row, json.loads(zlib.decompress(found.row.answer))
    states = [None if state is None else stored_json(state, dict) for _, state in found.memories]
    hits: list[Hit] = []
    erased: list[ErasedHit] = []
    for position, plain in enumerate(answer["hits"]):
        if states[position] is None:
            erased.append(ErasedHit(position + 1, found.memories[position][0]))
        else:
            hits.append(_to_hit(build(Memory, states[position]), plain, states))
    explanation = answer["explanation"]
    recall = Recall(
        tuple(hits),
        row.id,
        row.query,
        answer["answerable"],
        tuple(answer["degraded"]),
        answer["elapsed_ms"],
        None if explanation is None else build(Explanation, explanation),
        row.head,
    )
    complete = all(state is not None for state in states)
    return Replay(recall, from_micros(row.asked_at), stored_json(row.parameters, dict), tuple(erased), complete)


def _to_hit(memory: Memory, plain: list[Any], states: list[Any]) -> Hit:
    score, why, others = plain
    hints = get_type_hints(Hit) if others else {}
    more = {name: build(hints[name], _resolve(value, states)) for name, value in others.items()}
    return replace(Hit(memory, score, tuple(ArmScore(*each) for each in why)), **more)


def _resolve(value: Any, states: list[Any]) -> Any:
    """Return JSON with memories in place of references; one that is gone is None, or left out of a list."""
    if isinstance(value, dict):
        if value.keys() == {_REFERENCE}:
            return states[value[_REFERENCE]]
        return {name: _resolve(each, states) for name, each in value.items()}
    if isinstance(value, list):
        gone = [
            isinstance(each, dict) and each.keys() == {_REFERENCE} and states[each[_REFERENCE]] is None
            for each in value
        ]
        return [_resolve(each, states) for each, left_out in zip(value, gone, strict=True) if not left_out]
    return value


_MAX_PENDING: Final = 10_000


class AccessCounter:
    """Counts accesses per memory. A crash loses the counts of the last minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._start()
        register_fork_handler(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()
        self._since: datetime | None = None

    def before_fork(self) -> None:
        """Do nothing: the parent process writes its own counts."""

    def after_fork(self, *, in_child: bool) -> None:
        """Start from zero in the child, or accesses would be counted twice."""
        if in_child:
            self._start()

    def record(self, ids: Iterable[int]) -> None:
        """Count one access for each id."""
        now = self._clock()
        with self._lock:
            self._counts.update(ids)
            self._since = self._since or now
            due = now - self._since >= _WRITE_INTERVAL or len(self._counts) >= _MAX_PENDING
        if due:
            self.write()

    def write(self) -> None:
        """Write the counts to the store; drop them with a warning when the store cannot be written."""
        with self._lock:
            counts, self._counts, self._since = self._counts, Counter(), None
        if not counts:
            return
        now = self._clock()
        try:
            self._store.write(OwnedWork(lambda tx: count_accesses(tx, counts, now)), tenant=ANY)
        except MemorandaError as error:
            _log.warning("accesses could not be written: %s", error)
