"""`PersistentMemory`: long-term memory that a program fills by itself, or an agent through tools."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from memoranda.display import shown
from memoranda.embedding.base import Embedder
from memoranda.errors import InvalidInput, InvalidType
from memoranda.llm.base import LLM
from memoranda.manager.manager import MemoryManager
from memoranda.messages.content import check_string
from memoranda.messages.message import CONVERTERS, Message, is_message
from memoranda.messages.parsing import as_message, as_text
from memoranda.persistent.backends import (
    EmbeddingBackend,
    Mem0Backend,
    VectorStoreConfig,
    check_dimension,
    open_configured_embedder,
    open_configured_llm,
    open_vector_store,
    to_embedder,
    to_llm,
)
from memoranda.persistent.base import (
    AnyMessage,
    BackendHit,
    EarlierWinner,
    MemoryNames,
    PersistentBackend,
    PersistentMemoryBase,
    QueryInput,
    RecallFromMemoryResult,
    RecordOptions,
    SaveToMemoryResult,
)
from memoranda.recall.render import render_context, sanitize_name, sanitize_text
from memoranda.records import Closing
from memoranda.remember.new_memory import spoken_text
from memoranda.security.fence import remove_recalled
from memoranda.text.checks import storable_text
from memoranda.types import JSON, Hit, MemoryType, Outcome, Outcomes, Recall
from memoranda.validation import check_integer, check_limit, check_name, check_writable_type, copy_json_object

MAX_QUERY_LENGTH = 2_000
"""Characters at the end of a conversation that are used as the query: what came before is not what is asked now."""
_RECORDED_ROLES = ("user", "assistant")


def prepare_messages(messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Message | Outcome]:
    """Return, in order, each message to store, or the outcome of one that is not stored."""
    several: object = [messages] if messages is None or is_message(messages) else messages
    if isinstance(several, str | bytes) or not isinstance(several, Iterable):
        raise InvalidType(
            f"messages must be a message or a list of messages, not {type(messages).__name__}; {CONVERTERS}"
        )
    return [_prepare_message(message) for message in several if message is not None]


def merge_outcomes(prepared: Sequence[Message | Outcome], stored: Outcomes) -> Outcomes:
    """Return all outcomes in the order of the messages; outcomes that belong to no message come last."""
    by_message: dict[str | None, list[Outcome]] = defaultdict(list)
    for outcome in stored:
        by_message[outcome.message_id].append(outcome)
    merged: list[Outcome] = []
    for item in prepared:
        merged += [item] if isinstance(item, Outcome) else by_message.pop(item.message_id, [])
    for remaining in by_message.values():
        merged += remaining
    return Outcomes(merged, stored.usage, stored.failure)


def to_query_text(query: QueryInput) -> str:
    """Return the text of a query; "" if it has none, as the latest message of a loop may have."""
    if isinstance(query, str):
        return storable_text(query, "query") if query.strip("\0 \t\r\n") else ""
    several = [query] if query is None or is_message(query) else query
    if not isinstance(several, Sequence):
        raise InvalidType(
            f"query must be a text, a message or a list of messages, not {type(query).__name__}; {CONVERTERS}"
        )
    messages = [message for message in map(as_message, filter(None, several)) if message.role in _RECORDED_ROLES]
    texts = [remove_recalled(spoken_text(message) or "").strip() for message in messages]
    text = "\n".join(text for text in texts if text)[-MAX_QUERY_LENGTH:]
    return storable_text(text, "the text of the query messages") if text else ""


def check_texts(value: str | AnyMessage | Sequence[str | AnyMessage], name: str) -> list[str]:
    """Return one text or message, or several, as a list of cleaned texts; raise `InvalidInput` if one is empty."""
    several: object = [value] if isinstance(value, str) or is_message(value) else value
    if not isinstance(several, Sequence) or isinstance(several, bytes):
        raise InvalidType(f"{name} must be a list of texts, not {type(value).__name__}")
    if not several:
        raise InvalidInput(f"{name} is empty: give at least one text")
    return [storable_text(as_text(text, f"each item of {name}"), f"each item of {name}") for text in several]


def _prepare_message(value: AnyMessage) -> Message | Outcome:
    message = as_message(value)
    if message.role not in _RECORDED_ROLES:
        return _reject(message, "system", f"{message.role} messages are not stored")
    text = spoken_text(message)
    if text is None:
        return _reject(message, "empty", f"the {message.role} message has no text")
    new_text = remove_recalled(text)
    if not new_text.strip():
        return _reject(message, "echo", "the message only repeats recalled text")
    changes: dict[str, JSON] = {}
    if new_text != text:
        changes["content"] = new_text
    given = value if isinstance(value, Mapping) else {"id": getattr(value, "id", None)}
    if not isinstance(value, Message) and not (given.get("message_id") or given.get("id")):
        changes["message_id"] = _derive_id(message, new_text, str(given.get("timestamp") or ""))
    return Message.from_dict({**message.to_dict(), **changes}) if changes else message


def _reject(message: Message, rule: str, reason: str) -> Outcome:
    return Outcome("rejected", None, reason, message.message_id, rule)


def _derive_id(message: Message, text: str, timestamp: str) -> str:
    """Derive an id from the text, so that recording a whole history after each turn adds only what is new."""
    parts = (message.role, message.name or "", timestamp, text)
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12)
    return f"said-{digest.hexdigest()}"


_log = logging.getLogger(__name__)
_KEPT = ("stored", "duplicate", "superseded")


class PersistentMemory(Closing, PersistentMemoryBase):
    """Long-term memory of an agent, a user, a session, or a combination of them.

    With only a name it uses the embedded store, in the database that the settings name.

    Args:
        agent_name: The agent that the memory belongs to. At least one of the three names is needed.
        user_name: The user that the memory belongs to.
        session_name: The session that the memory belongs to.
        llm_backend: A model that also extracts facts from recorded messages: an `LLM`, or an object of another
            library that completes a prompt.
        embedding_backend: A model's name, an `Embedder`, or an object of another library that embeds texts.
        vector_store_config: The name of a vector store, or a dict or object with `provider` and `config`. The provider
            `pgvector` stores everything in that PostgreSQL database.
        mem0_config: Store everything in mem0 instead: mem0's configuration, or a ready `mem0.Memory`.
        on_disk: False for a private memory that is deleted together with this object.
        llm_config: The model by its configuration, in place of `llm_backend`: `{"provider": "openai", "model": …}`.
        embedding_config: The embedding model by its configuration, in place of `embedding_backend`.
        qdrant_client: A client of a Qdrant server to share, in place of `vector_store_config`. It stays open.
        memory_type: The type of what is recorded; chosen by the content when None.
        debug: Log at level INFO what became of each recorded message, and why.
        db_url: The database to use instead of the configured one.
        manager: A manager to share. It stays open when this memory is closed.
    """

    def __init__(
        self,
        agent_name: str | None = None,
        user_name: str | None = None,
        session_name: str | None = None,
        llm_backend: object | None = None,
        embedding_backend: EmbeddingBackend | None = None,
        vector_store_config: VectorStoreConfig | None = None,
        mem0_config: object | None = None,
        on_disk: bool = True,
        *,
        llm_config: Mapping[str, Any] | object | None = None,
        embedding_config: Mapping[str, Any] | object | None = None,
        qdrant_client: object | None = None,
        memory_type: str | None = None,
        debug: bool = False,
        db_url: str | None = None,
        manager: MemoryManager | None = None,
    ) -> None:
        super().__init__(agent_name, user_name, session_name)
        self._backend: PersistentBackend
        self._type = _check_memory_type(memory_type)
        self._debug = debug
        self.llm_backend = llm_backend
        models = {"llm_backend": llm_backend, "llm_config": llm_config}
        embedders = {"embedding_backend": embedding_backend, "embedding_config": embedding_config}
        stores = {"vector_store_config": vector_store_config, "qdrant_client": qdrant_client}
        options = {**models, **embedders, **stores, "db_url": db_url}
        if mem0_config is not None:
            _refuse("mem0_config", options | {"manager": manager})
            self._backend = Mem0Backend(mem0_config, self._names)
            return
        if manager is not None:
            _refuse("manager", options | {"on_disk=False": None if on_disk else True})
            self._backend = ManagerBackend(manager, self._names)
            return
        for alternatives in (models, embedders, stores):
            _refuse_both(alternatives)
        llm = to_llm(llm_backend) if llm_config is None else open_configured_llm(llm_config)
        if embedding_config is not None:
            embedder: Embedder | None = open_configured_embedder(embedding_config)
        else:
            embedder = to_embedder(embedding_backend)
        shared = None if qdrant_client is None else {"provider": "qdrant", "config": {"client": qdrant_client}}
        self._backend = self._open_store(llm, embedder, shared or vector_store_config, db_url, on_disk=on_disk)

    def _open_store(
        self, llm: LLM | None, embedder: Embedder | None, store: VectorStoreConfig, db_url: str | None, *, on_disk: bool
    ) -> ManagerBackend:
        on_close: list[Callable[[], object]] = []
        opened = open_vector_store(store)
        if opened.dimension is not None and embedder is not None:
            check_dimension(opened.dimension, embedder)
        if opened.db_url is not None:
            if db_url is not None or not on_disk:
                raise InvalidInput("pgvector is a database of its own: leave db_url and on_disk=False out")
            db_url = opened.db_url
        elif not on_disk:
            db_url, remove = _make_private_database(self, db_url)
            on_close = [remove]
        manager = MemoryManager(
            db_url=db_url, embedder=embedder, index=opened.engine, faiss_index_path=opened.faiss_path, llm=llm
        )
        of_collection = manager if opened.collection is None else manager.for_tenant(opened.collection)
        return ManagerBackend(of_collection, self._names, manager.close, *on_close)

    def close(self) -> None:
        """Close the store, unless it belongs to a shared manager. Can be called twice."""
        self._backend.close()

    def record(
        self,
        messages: AnyMessage | Iterable[AnyMessage | None] | None,
        memory_type: str | None = None,
        infer: bool = True,
        *,
        metadata: Mapping[str, JSON] | None = None,
    ) -> Outcomes:
        """Store what users and assistants said, if it is worth keeping and not stored already.

        Greetings, secrets, system and tool messages, and recalled text that comes back are not stored. Their outcomes
        say so and name the message.

        Args:
            messages: A message, or several.
            memory_type: The type of the memories; that of the constructor when None.
            infer: False to store every message of a user or an assistant as it is, without asking the model.
            metadata: A JSON object stored with each memory, such as `{"turn": 2}`.
        """
        kind = self._type if memory_type is None else _check_memory_type(memory_type)
        prepared = prepare_messages(messages)
        new = [item for item in prepared if isinstance(item, Message)]
        outcomes = merge_outcomes(prepared, self._backend.record(new, RecordOptions(kind, metadata or {}, infer)))
        if self._debug:
            for outcome in outcomes:
                _log.info("record: message %s: %s (%s)", outcome.message_id, outcome.status, outcome.reason)
        return outcomes

    def retrieve(
        self,
        query: QueryInput,
        limit: int = 5,
        previous_winners: Sequence[Mapping[str, Any]] | None = None,
        *,
        budget: int = 1500,
    ) -> str:
        """Return the memories for the query as text for a prompt of at most `budget` tokens; "" if there are none.

        The text is fenced and marked as data, with dates, speakers and sources. A query without a word finds nothing.

        Args:
            query: A text, a message, or the last messages of a conversation.
            limit: The maximum number of memories; of each winner as many.
            previous_winners: Agents whose memories are searched too, and marked as theirs: `{"agent_id": "b", "turn":
                1}`. With a turn, only what was recorded with that `turn` in its metadata.
            budget: The maximum number of tokens.
        """
        limit, budget, text = check_limit(limit), check_integer(budget, "budget"), to_query_text(query)
        winners = [winner for winner in _to_winners(previous_winners) if winner.agent != self.agent_name]
        return self._backend.context(text, limit, budget, winners) if text else ""

    def save_to_memory(
        self, thinking: str | None, content: str | Sequence[str], metadata: Mapping[str, JSON] | None = None
    ) -> SaveToMemoryResult:
        """Store these facts for the agent. `success` is true only if all of them are stored."""
        try:
            reason = "" if thinking is None else check_string(thinking, "thinking")
            extra = copy_json_object(metadata, "metadata")
            return self._backend.save(
                check_texts(content, "content"), extra | ({"thinking": reason} if reason.strip() else {})
            )
        except Exception as error:  # noqa: BLE001 - the agent reads the failure in the result, and it is logged
            _log_failure("save_to_memory", error)
            return SaveToMemoryResult(
                success=False, message=f"Error saving to memory, nothing was saved: {error}", memory_ids=[]
            )

    def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> RecallFromMemoryResult:
        """Return the memories for these keywords to the agent, at most `limit` for each, the best of each first."""
        try:
            limit = check_limit(limit)
            found = [self._backend.search(keyword, limit) for keyword in check_texts(keywords, "keywords")]
            memories = [hit.text for hit in _interleave(found)]
            return RecallFromMemoryResult(success=True, memories=memories, count=len(memories))
        except Exception as error:  # noqa: BLE001 - the agent reads the failure in the result, and it is logged
            _log_failure("recall_from_memory", error)
            reason = f"Error retrieving memories: {error}"
            return RecallFromMemoryResult(success=False, memories=[], count=0, message=reason)


def _make_private_database(owner: object, db_url: str | None) -> tuple[str, Callable[[], object]]:
    """Return the URL of a temporary database and the function that deletes it, at the latest with the owner."""
    if db_url is not None:
        raise InvalidInput("on_disk=False keeps nothing: leave db_url out, or use on_disk=True")
    folder = tempfile.mkdtemp(prefix="memoranda-")
    return f"sqlite:///{folder}/memories.db", weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)


def _refuse(option: str, others: dict[str, object]) -> None:
    if conflicting := [name for name, value in others.items() if value is not None]:
        raise InvalidInput(f"{option} brings its own store: leave {', '.join(conflicting)} out")


def _refuse_both(alternatives: dict[str, object]) -> None:
    if None not in alternatives.values():
        raise InvalidInput(f"give {' or '.join(alternatives)}, not both")


def _check_memory_type(value: str | None) -> MemoryType | None:
    # mem0 calls its types "procedural_memory" and so on.
    return None if value is None else check_writable_type(str(value).removesuffix("_memory"))


def _to_winners(values: Sequence[Mapping[str, Any]] | None) -> list[EarlierWinner]:
    several: object = [] if values is None else values
    if not isinstance(several, Sequence) or not all(isinstance(each, Mapping) for each in several):
        raise InvalidType('previous_winners must be a list of dicts such as {"agent_id": "b", "turn": 1}')
    winners = []
    for each in several:
        agent = check_name(each.get("agent_id"), "agent_id")
        if agent is None:
            raise InvalidInput(f"a previous winner has no agent_id: {shown(dict(each))}")
        winners.append(EarlierWinner(agent, each.get("turn")))
    return winners


def _interleave(found: Sequence[Sequence[BackendHit]]) -> list[BackendHit]:
    """Return the best hit of every keyword, then the second best, without repeats: no keyword crowds out another."""
    ranked = sorted(
        ((rank, -hit.score, str(hit.id), hit) for hits in found for rank, hit in enumerate(hits)),
        key=lambda row: row[:3],
    )
    unique: dict[int | str, BackendHit] = {}
    for *_, hit in ranked:
        unique.setdefault(hit.id, hit)
    return list(unique.values())


def _log_failure(method: str, error: Exception) -> None:
    if isinstance(error, InvalidInput):  # the agent made a mistake, which the result explains to it
        _log.info("%s refused: %s", method, error)
    else:
        _log.error("%s failed", method, exc_info=error)


class ManagerBackend:
    """A `PersistentBackend` over a `MemoryManager`. Every call stays inside the scope of the names."""

    def __init__(self, manager: MemoryManager, names: MemoryNames, *on_close: Callable[[], object]) -> None:
        self._manager = manager
        self._names = names
        self._on_close = on_close

    def record(self, messages: Sequence[Message], options: RecordOptions) -> Outcomes:
        names = self._names
        return self._manager.remember(
            list(messages),
            agent=names.agent,
            user=names.user,
            session=names.session,
            type=options.type,
            metadata=options.metadata,
            keep_all=not options.infer,
        )

    def context(self, query: str, limit: int, budget: int, winners: Sequence[EarlierWinner]) -> str:
        ask = partial(
            self._manager.context,
            query,
            budget=budget,
            user=self._names.user,
            session=self._names.session,
            limit=limit,
        )
        own = ask(agent=self._names.agent)
        hits, answerable = list(own.hits), [own.answerable]
        for winner in winners:
            turn = None if winner.turn is None else {"metadata": {"turn": winner.turn}}
            found = ask(agent=winner.agent, where=turn)
            hits += [_relabel(hit, winner) for hit in found.hits]
            answerable.append(found.answerable)
        if len(hits) == len(own.hits):
            return own
        hits.sort(key=lambda hit: -hit.score)
        together = Recall(tuple(hits), own.recall_id, query, max(answerable))
        return render_context(together, budget, datetime.now(UTC))

    def save(self, contents: Sequence[str], metadata: dict[str, JSON]) -> SaveToMemoryResult:
        names = self._names
        outcomes = self._manager.remember(
            list(contents),
            agent=names.agent,
            user=names.user,
            session=names.session,
            type=MemoryType.SEMANTIC,
            source="agent",
            metadata=metadata,
        )
        return _to_save_result(contents, outcomes)

    def search(self, query: str, limit: int) -> list[BackendHit]:
        names = self._names
        hits = self._manager.recall(query, agent=names.agent, user=names.user, session=names.session, limit=limit)
        return [BackendHit(hit.id, hit.score, _to_line(hit)) for hit in hits]

    def close(self) -> None:
        for close in self._on_close:
            close()


def _to_save_result(contents: Sequence[str], outcomes: Sequence[Outcome]) -> SaveToMemoryResult:
    kept = [outcome for outcome in outcomes if outcome.status in _KEPT]
    known = sum(outcome.status == "duplicate" for outcome in kept)
    pairs = zip(contents, outcomes, strict=True)
    lost = [f"{text!r} ({outcome.reason})" for text, outcome in pairs if outcome.status not in _KEPT]
    message = f"Saved {len(kept) - known}"
    message += f", known already {known}" if known else ""
    message += f", NOT saved {len(lost)}: {'; '.join(lost)}" if lost else ""
    ids: list[int | str] = [outcome.memory.id for outcome in kept if outcome.memory is not None]
    return SaveToMemoryResult(success=not lost, message=message, memory_ids=ids)


def _relabel(hit: Hit, winner: EarlierWinner) -> Hit:
    memory = hit.memory
    name = None if memory.speaker == memory.trust else memory.speaker  # the trust is shown beside it
    return replace(hit, memory=replace(memory, speaker=winner.label(name)))


def _to_line(hit: Hit) -> str:
    """Write a memory as one line: what, who said it, and when."""
    day = hit.memory.valid_from.date().isoformat()
    speaker = f"{sanitize_name(hit.memory.speaker)}, " if hit.memory.speaker else ""
    return f"{sanitize_text(hit.content)} ({speaker}{day})"
