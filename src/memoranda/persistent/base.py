"""What a memory of your own kind must do: inherit, implement, and everything that takes a memory takes yours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypeAlias, TypedDict

from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import InvalidInput
from memoranda.messages.message import Message
from memoranda.types import Outcome, Outcomes
from memoranda.validation import check_name

if TYPE_CHECKING:
    from memoranda.persistent.tools import MemoryTools

AnyMessage: TypeAlias = Message | Mapping[str, Any]
Question: TypeAlias = str | AnyMessage | Sequence[AnyMessage]
"""What `retrieve` takes: a text, a message, or the last few of a conversation."""


class Saved(TypedDict):
    """The answer of `save_to_memory`."""

    success: bool
    message: str
    memory_ids: list[int | str]


class Recalled(TypedDict):
    """The answer of `recall_from_memory`."""

    success: bool
    memories: list[str]
    count: int
    message: NotRequired[str]
    """Why, when it did not succeed."""


@dataclass(frozen=True, slots=True)
class Names:
    """Whose memory it is; at least one name."""

    agent: str | None
    user: str | None
    session: str | None


def checked_names(agent_name: str | None, user_name: str | None, session_name: str | None) -> Names:
    """The names, or `InvalidInput` (a `ValueError`) when there is none."""
    names = Names(
        check_name(agent_name, "agent_name"),
        check_name(user_name, "user_name"),
        check_name(session_name, "session_name"),
    )
    if names == Names(None, None, None):
        raise InvalidInput("At least one of agent_name, user_name or session_name is needed: whose memory is it?")
    return names


class MemoryBase(ABC):
    """A memory of messages. `ConversationMemory` is one."""

    @abstractmethod
    def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Adds one message, several, or none."""

    @abstractmethod
    def get_messages(self, limit: int | None = None) -> Sequence[Message]:
        """All messages, or the newest `limit`, oldest first."""

    @abstractmethod
    def clear(self) -> None:
        """Removes all messages."""

    @abstractmethod
    def size(self) -> int:
        """How many messages there are."""


MemoryBase.register(ConversationMemory)


class Named:
    """Whose memory it is."""

    def __init__(
        self, agent_name: str | None = None, user_name: str | None = None, session_name: str | None = None
    ) -> None:
        self._names = checked_names(agent_name, user_name, session_name)

    @property
    def agent_name(self) -> str | None:
        return self._names.agent

    @property
    def user_name(self) -> str | None:
        return self._names.user

    @property
    def session_name(self) -> str | None:
        return self._names.session


class PersistentMemoryBase(Named, ABC):
    """A memory that outlives its process: two verbs for the developer, two for the agent."""

    @abstractmethod
    def record(self, messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Outcome]:
        """Remembers what was said, and says what became of it."""

    @abstractmethod
    def retrieve(self, query: Question, limit: int = 5) -> str:
        """What is remembered on the query, as text for a prompt; "" when there is nothing."""

    @abstractmethod
    def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> Saved:
        """For the agent: keeps these facts. A failure is told in the answer, never raised."""

    @abstractmethod
    def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> Recalled:
        """For the agent: what is remembered on these keywords. A failure is told in the answer, never raised."""

    def tools(self) -> MemoryTools:
        """The agent's two verbs as tools: schemas for models, and a dispatcher for their calls."""
        from memoranda.persistent.tools import MemoryTools

        return MemoryTools(self)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing found for a keyword."""

    id: int | str
    score: float
    text: str


class Keeper(Protocol):
    """What `PersistentMemory` stands on: this package's own engine, or mem0."""

    def record(self, messages: Sequence[Message]) -> Outcomes:
        """Remembers messages of users and assistants; every outcome names its message."""
        ...

    def context(self, query: str, limit: int, budget: int) -> str:
        """Text for a prompt, "" when nothing was found."""
        ...

    def save(self, contents: Sequence[str], thinking: str) -> Saved: ...

    def search(self, query: str, limit: int) -> list[Found]:
        """The best first."""
        ...

    def close(self) -> None: ...
