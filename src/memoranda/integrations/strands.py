"""A memory store for the `MemoryManager` of Strands Agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput, MissingExtra
from memoranda.integrations.managers import RELEVANT, AsyncOpenedSource, Source, open_async
from memoranda.types import Hit, Outcome
from memoranda.validation import MAX_LIMIT, check_integer

try:
    from strands.memory.extraction.triggers import InvocationTrigger
    from strands.memory.types import MemoryEntry, MemoryStore
except ModuleNotFoundError as error:
    raise MissingExtra("the Strands adapter", "strands") from error

if TYPE_CHECKING:
    from strands.memory.extraction.types import ExtractionConfig
    from strands.memory.types import AddMessagesContext, SearchOptions
    from strands.types.content import Message


class MemorandaStore(AsyncOpenedSource, MemoryStore):
    """Long-term memory of Strands agents, for `strands.memory.MemoryManager(stores=[...])`.

    After each turn it remembers what was said. The model searches it by the tool of the memory manager, and finds what
    is relevant in front of each question.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        name: str = "memoranda",
        description: str | None = None,
        max_search_results: int | None = None,
        min_score: float | None = RELEVANT,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
    ) -> None:
        """Create a store.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            user, agent, session: The owner of the memories, and the scope of a search.
            name: The name of the store in the tools of the memory manager.
            description: What the tools tell the model about the store.
            max_search_results: The maximum number of entries of a search; the memory manager's default when None.
            min_score: The lowest score of an entry; None for any. By default, what is hardly related is left out.
            writable: False for a store that is only searched.
            extraction: When conversations are remembered: after each turn when None, never when False.
        """
        self.memory, self._owns_memory = open_async(memory)
        self.user, self.agent, self.session = user, agent, session
        self.name, self.description = name, description
        self.max_search_results = max_search_results
        self.min_score = min_score
        self.writable = writable
        if extraction is None and writable:
            extraction = {"trigger": InvocationTrigger()}
        self.extraction = extraction

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the memories that answer a question, best first; none for an empty question."""
        if not query.strip():
            return []
        limit = (options or {}).get("max_search_results") or self.max_search_results or 10
        found = await self.memory.recall(
            query,
            user=self.user,
            agent=self.agent,
            session=self.session,
            limit=min(check_integer(limit, "max_search_results"), MAX_LIMIT),
            min_score=self.min_score,
        )
        return [_to_entry(hit) for hit in found]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> list[Outcome]:
        """Remember a note of the agent, and return how it ended; raise `InvalidInput` when it is rejected."""
        note = {"role": "assistant", "content": content}
        outcomes = await self.memory.remember(
            [note], user=self.user, agent=self.agent, session=self.session, metadata=metadata, keep_all=True
        )
        if all(outcome.status == "rejected" for outcome in outcomes):
            raise InvalidInput(f"this was not remembered: {outcomes[0].reason if outcomes else 'it says nothing'}")
        return outcomes

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> list[Outcome]:
        """Remember what was said in messages, and return how it ended. A repeated message adds nothing."""
        spoken = [{"role": message["role"], "content": text} for message in messages if (text := _text_of(message))]
        if not spoken:
            return []
        return await self.memory.remember(spoken, user=self.user, agent=self.agent, session=self.session)


def _text_of(message: Message) -> str:
    return "\n".join(block["text"] for block in message["content"] if block.get("text", "").strip())


def _to_entry(hit: Hit) -> MemoryEntry:
    memory = hit.memory
    details = {"id": memory.id, "score": hit.score, "speaker": memory.speaker, "session": memory.session}
    return MemoryEntry(
        content=memory.content, metadata={**memory.metadata, **details, "said_at": memory.valid_from.isoformat()}
    )
