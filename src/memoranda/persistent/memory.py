"""`PersistentMemory`: long-term memory that an application fills by itself, or an agent through tools."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from memoranda.errors import InvalidInput
from memoranda.llm.base import LLM
from memoranda.manager.manager import MemoryManager
from memoranda.messages.message import Message
from memoranda.persistent.backends import EmbeddingBackend, VectorStoreConfig, as_embedder, as_llm, vector_store
from memoranda.persistent.base import AnyMessage, Found, Keeper, Names, PersistentMemoryBase, Question, Recalled, Saved
from memoranda.persistent.turns import asked, check_input_texts, in_order, spoken
from memoranda.recall.render import sanitize_name, sanitize_text
from memoranda.types import JSON, Hit, MemoryType, Outcome, Outcomes
from memoranda.validation import check_integer, check_limit

_log = logging.getLogger(__name__)


class PersistentMemory(PersistentMemoryBase):
    """Long-term memory of an agent, a user, a session, or a combination of them.

    With nothing but a name it runs on the embedded default, in the database that the settings name; `db_url` names
    another one, and a ready `manager` brings its own. With `on_disk=False` the memory is private and ends with this
    object. `llm_backend`, an `LLM` or an object of another library that completes a prompt, reads what is recorded
    once more. `embedding_backend` is a model's name, an `Embedder`, or an object of another library that embeds;
    `vector_store_config` is a name, or a dict or object with `provider` and `config`; with `mem0_config` everything
    runs on mem0.
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
        db_url: str | None = None,
        manager: MemoryManager | None = None,
    ) -> None:
        super().__init__(agent_name, user_name, session_name)
        self._keeper: Keeper
        self.llm_backend = llm_backend
        llm = as_llm(llm_backend)
        ours = {"embedding_backend": embedding_backend, "vector_store_config": vector_store_config, "db_url": db_url}
        if mem0_config is not None:
            _refuse("mem0_config", ours | {"manager": manager, "llm_backend": llm_backend})
            self._keeper = _on_mem0(mem0_config, self._names)
        elif manager is not None:
            _refuse("manager", ours | {"on_disk=False": None if on_disk else True, "llm_backend": llm_backend})
            self._keeper = Stored(manager, self._names)
        else:
            place, tidy = (db_url, _nothing) if on_disk else _private_place(self, db_url)
            made = _manager(place, embedding_backend, vector_store_config, llm)
            self._keeper = Stored(made, self._names, made.close, tidy)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the store, but for a manager that was given; may be called twice."""
        self._keeper.close()

    def record(self, messages: AnyMessage | Iterable[AnyMessage | None] | None) -> Outcomes:
        """Remembers what users and assistants said, as far as it is worth keeping and not known already.

        Greetings, secrets, system and tool messages, and recalled text that comes back, are not kept: their outcome
        says so, and names its message.
        """
        judged = spoken(messages)
        return in_order(judged, self._keeper.record([each for each in judged if isinstance(each, Message)]))

    def retrieve(self, query: Question, limit: int = 5, *, budget: int = 1500) -> str:
        """What is remembered on the query, as text for a prompt of at most `budget` tokens; "" when there is nothing.

        The text is fenced and marked as data, with dates, speakers and sources.
        """
        return self._keeper.context(asked(query), check_limit(limit), check_integer(budget, "budget"))

    def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> Saved:
        """For the agent: keeps these facts. `success` only when all of them are kept."""
        try:
            return self._keeper.save(check_input_texts(content, "content"), thinking)
        except Exception as error:  # noqa: BLE001 - a tool answers: the agent is told, and the log has the rest
            _log_failure("save_to_memory", error)
            return Saved(success=False, message=f"Nothing was saved: {error}", memory_ids=[])

    def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> Recalled:
        """For the agent: what is remembered on these keywords, the best of each first."""
        try:
            most = check_limit(limit)
            found = [self._keeper.search(keyword, most) for keyword in check_input_texts(keywords, "keywords")]
            memories = [each.text for each in _interleaved(found)[:most]]
            return Recalled(success=True, memories=memories, count=len(memories))
        except Exception as error:  # noqa: BLE001 - a tool answers: the agent is told, and the log has the rest
            _log_failure("recall_from_memory", error)
            return Recalled(success=False, memories=[], count=0, message=f"Memory could not be searched: {error}")


def _manager(
    place: str | None, backend: EmbeddingBackend | None, vectors: VectorStoreConfig | None, llm: LLM | None
) -> MemoryManager:
    store = vector_store(vectors)
    return MemoryManager(
        db_url=place, embedder=as_embedder(backend), index=store.engine, faiss_index_path=store.faiss_path, llm=llm
    )


def _on_mem0(config: object, names: Names) -> Keeper:
    from memoranda.persistent.mem0 import Mem0

    return Mem0(config, names)


def _private_place(owner: object, db_url: str | None) -> tuple[str, Callable[[], object]]:
    """A database that nobody else sees, and what removes it: called at the latest when the owner goes."""
    if db_url is not None:
        raise InvalidInput("on_disk=False keeps nothing: leave db_url out, or say on_disk=True")
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="memoranda-")
    return f"sqlite:///{folder}/memories.db", weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)


def _refuse(reason: str, others: dict[str, object]) -> None:
    if given := [name for name, value in others.items() if value is not None]:
        raise InvalidInput(f"{reason} brings its own store: leave {', '.join(given)} out")


def _nothing() -> None: ...


def _interleaved(found: Sequence[Sequence[Found]]) -> list[Found]:
    """The best of every keyword, then the second best, each thing once: no keyword crowds out another."""
    ranked = sorted(
        ((rank, -each.score, str(each.id), each) for of in found for rank, each in enumerate(of)),
        key=lambda row: row[:3],
    )
    first: dict[int | str, Found] = {}
    for *_, each in ranked:
        first.setdefault(each.id, each)
    return list(first.values())


def _log_failure(verb: str, error: Exception) -> None:
    if isinstance(error, InvalidInput):  # the agent's own slip, which the answer explains
        _log.info("%s refused: %s", verb, error)
    else:
        _log.error("%s failed", verb, exc_info=error)


_KEPT = ("stored", "duplicate", "superseded")


class Stored:
    """A `Keeper` over a `MemoryManager`; every call is inside the names."""

    def __init__(self, manager: MemoryManager, names: Names, *when_closed: Callable[[], object]) -> None:
        self._manager = manager
        self._names = names
        self._when_closed = when_closed

    def record(self, messages: Sequence[Message]) -> Outcomes:
        names = self._names
        return self._manager.remember(list(messages), agent=names.agent, user=names.user, session=names.session)

    def context(self, query: str, limit: int, budget: int) -> str:
        names = self._names
        return self._manager.context(
            query, budget=budget, agent=names.agent, user=names.user, session=names.session, limit=limit
        )

    def save(self, contents: Sequence[str], thinking: str) -> Saved:
        names = self._names
        metadata: dict[str, JSON] = {"thinking": thinking} if thinking.strip() else {}
        outcomes = self._manager.remember(
            list(contents),
            agent=names.agent,
            user=names.user,
            session=names.session,
            type=MemoryType.SEMANTIC,
            source="agent",
            metadata=metadata,
        )
        return _answer(contents, outcomes)

    def search(self, query: str, limit: int) -> list[Found]:
        names = self._names
        hits = self._manager.recall(query, agent=names.agent, user=names.user, session=names.session, limit=limit)
        return [Found(hit.id, hit.score, _line(hit)) for hit in hits]

    def close(self) -> None:
        for step in self._when_closed:
            step()


def _answer(contents: Sequence[str], outcomes: Sequence[Outcome]) -> Saved:
    lost = [f"{text!r} ({end.reason})" for text, end in zip(contents, outcomes, strict=True) if end.status not in _KEPT]
    known = sum(end.status == "duplicate" for end in outcomes)
    message = f"Saved {len(outcomes) - known - len(lost)}"
    message += f", known already {known}" if known else ""
    message += f", NOT saved {len(lost)}: {'; '.join(lost)}" if lost else ""
    ids: list[int | str] = [end.memory.id for end in outcomes if end.status in _KEPT and end.memory is not None]
    return Saved(success=not lost, message=message, memory_ids=ids)


def _line(hit: Hit) -> str:
    """A memory in words: what, who said it, and when."""
    day = hit.memory.valid_from.date().isoformat()
    who = f"{sanitize_name(hit.memory.speaker)}, " if hit.memory.speaker else ""
    return f"{sanitize_text(hit.content)} ({who}{day})"
