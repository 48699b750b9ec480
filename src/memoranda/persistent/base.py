"""Base classes for memory types: implement one and it works wherever a built-in memory does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, Protocol, TypeAlias, TypedDict

from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import InvalidInput
from memoranda.messages.message import Message
from memoranda.persistent.tools import MemoryTools
from memoranda.types import JSON, MemoryType, Outcome, Outcomes
from memoranda.validation import check_name

AnyMessage: TypeAlias = Message | Mapping[str, Any]
QueryInput: TypeAlias = str | AnyMessage | Sequence[AnyMessage]
"""What `retrieve` accepts: a text, a message, or the last messages of a conversation."""


class SaveToMemoryResult(TypedDict):
    """The result of `save_to_memory`."""

    success: bool
    message: str
    memory_ids: list[int | str]


class RecallFromMemoryResult(TypedDict):
    """The result of `recall_from_memory`."""

    success: bool
    memories: list[str]
    count: int
    message: NotRequired[str]
    """The reason, if it failed."""


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """The names that define the scope of a memory; at least one is set."""

    agent: str | None
    user: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class EarlierWinner:
    """An agent whose memories of one turn are shown to others, as its answer won that turn."""

    agent: str
    turn: JSON

    def label(self, speaker: str | None) -> str:
        """Return how what it knows is marked in a prompt."""
        turn = "" if self.turn is None else f" Turn {self.turn}"
        return f"[From {self.agent}{turn}]" + (f" {speaker}" if speaker else "")


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """How messages are recorded."""

    type: MemoryType | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    infer: bool = True
    """Whether rules decide what is worth keeping; otherwise everything is kept as it is."""


class NamedMemory:
    """A memory whose scope is defined by names."""

    def __init__(
        self, agent_name: str | None = None, user_name: str | None = None, session_name: str | None = None
    ) -> None:
        names = MemoryNames(
            check_name(agent_name, "agent_name"),
            check_name(user_name, "user_name"),
            check_name(session_name, "session_name"),
        )
        if names == MemoryNames(None, None, None):
            raise InvalidInput("At least one of agent_name, user_name or session_name is needed")
        self._names = names

    @property
    def agent_name(self) -> str | None:
        return self._names.agent

    @property
    def user_name(self) -> str | None:
        return self._names.user

    @property
    def session_name(self) -> str | None:
        return self._names.session

    # As mem0 and programs that use it call these names.
    agent_id = agent_name
    user_id = user_name
    session_id = session_name


class MemoryBase(ABC):
    """A memory of messages. `ConversationMemory` is one."""

    @abstractmethod
    def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Add one message, several, or none."""

    @abstractmethod
    def get_messages(self, limit: int | None = None) -> Sequence[Message]:
        """Return all messages, or the newest `limit`, oldest first."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all messages."""

    @abstractmethod
    def size(self) -> int:
        """Return the number of messages."""


MemoryBase.register(ConversationMemory)


class PersistentMemoryBase(NamedMemory, ABC):
    """A memory that outlives its process, with two methods for the developer and two for the agent."""

    @abstractmethod
    def record(self, messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Outcome]:
        """Store messages and return one outcome for each."""

    @abstractmethod
    def retrieve(self, query: QueryInput, limit: int = 5) -> str:
        """Return the memories for the query as text for a prompt, or "" if there are none."""

    @abstractmethod
    def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> SaveToMemoryResult:
        """Store these facts for the agent. Report a failure in the result; never raise."""

    @abstractmethod
    def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> RecallFromMemoryResult:
        """Return the memories for these keywords to the agent. Report a failure in the result; never raise."""

    def tools(self) -> MemoryTools:
        """Return the agent's two methods as tools: schemas for models, and a dispatcher for their calls."""
        return MemoryTools(self)


@dataclass(frozen=True, slots=True)
class BackendHit:
    """One memory that a back end found."""

    id: int | str
    score: float
    text: str


class PersistentBackend(Protocol):
    """What stores the memories of a `PersistentMemory`: a `MemoryManager` or mem0."""

    def record(self, messages: Sequence[Message], options: RecordOptions) -> Outcomes:
        """Store messages of users and assistants. Every outcome names its message."""
        ...

    def context(self, query: str, limit: int, budget: int, winners: Sequence[EarlierWinner]) -> str:
        """Return text for a prompt, or "" if nothing was found."""
        ...

    def save(self, contents: Sequence[str], metadata: dict[str, JSON]) -> SaveToMemoryResult: ...

    def search(self, query: str, limit: int) -> list[BackendHit]:
        """Return the hits, best first."""
        ...

    def close(self) -> None: ...
