"""Memory for AI agents: complete without a model, better with one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.agents import BaseAgent, MemoryMixin
    from recollect.conversation.memory import ConversationMemory
    from recollect.conversation.summarizing import SummarizingMemory
    from recollect.conversing import ConversationContext
    from recollect.embedding.model import EmbeddingModel
    from recollect.errors import (
        Closed,
        Conflict,
        Denied,
        ExtractionFailed,
        Incompatible,
        InvalidInput,
        InvalidType,
        MissingExtra,
        NotFound,
        RecollectError,
        Unavailable,
    )
    from recollect.index.faiss import FAISSIndex
    from recollect.manager import MemoryManager, create_session
    from recollect.messages.anthropic import format_for_anthropic, from_anthropic, system_text
    from recollect.messages.calls import AgentCallMsg, ToolCallMsg
    from recollect.messages.content import MessageContent
    from recollect.messages.message import Message
    from recollect.messages.openai import format_for_openai, from_openai
    from recollect.persistence.base import MemoryBase, PersistentMemoryBase
    from recollect.persistent import PersistentMemory
    from recollect.session.context import SessionContext
    from recollect.session.inmemory import InMemoryBackend
    from recollect.session.redis import RedisBackend
    from recollect.settings import MemoryConfig, get_settings
    from recollect.types import ANY, Association, Hit, Memory, MemoryType, Outcome, Outcomes, Recall, Scope

    MemoryAssociation = Association
    MemoryEntry = Memory
    MemoryTypes = MemoryType

__all__ = [
    "ANY",
    "AgentCallMsg",
    "Association",
    "BaseAgent",
    "Closed",
    "Conflict",
    "ConversationContext",
    "ConversationMemory",
    "Denied",
    "EmbeddingModel",
    "ExtractionFailed",
    "FAISSIndex",
    "Hit",
    "InMemoryBackend",
    "Incompatible",
    "InvalidInput",
    "InvalidType",
    "Memory",
    "MemoryAssociation",
    "MemoryBase",
    "MemoryConfig",
    "MemoryEntry",
    "MemoryManager",
    "MemoryMixin",
    "MemoryType",
    "MemoryTypes",
    "Message",
    "MessageContent",
    "MissingExtra",
    "NotFound",
    "Outcome",
    "Outcomes",
    "PersistentMemory",
    "PersistentMemoryBase",
    "Recall",
    "RecollectError",
    "RedisBackend",
    "Scope",
    "SessionContext",
    "SummarizingMemory",
    "ToolCallMsg",
    "Unavailable",
    "create_session",
    "format_for_anthropic",
    "format_for_openai",
    "from_anthropic",
    "from_openai",
    "get_settings",
    "system_text",
]

# Each name is loaded when it is first asked for: importing the package costs next to nothing.
_HOMES = {
    "recollect.agents": (
        "BaseAgent",
        "MemoryMixin",
    ),
    "recollect.conversation.memory": ("ConversationMemory",),
    "recollect.conversation.summarizing": ("SummarizingMemory",),
    "recollect.conversing": ("ConversationContext",),
    "recollect.embedding.model": ("EmbeddingModel",),
    "recollect.errors": (
        "Closed",
        "Conflict",
        "Denied",
        "ExtractionFailed",
        "Incompatible",
        "InvalidInput",
        "InvalidType",
        "MissingExtra",
        "NotFound",
        "RecollectError",
        "Unavailable",
    ),
    "recollect.index.faiss": ("FAISSIndex",),
    "recollect.manager": (
        "MemoryManager",
        "create_session",
    ),
    "recollect.messages.anthropic": (
        "format_for_anthropic",
        "from_anthropic",
        "system_text",
    ),
    "recollect.messages.calls": (
        "AgentCallMsg",
        "ToolCallMsg",
    ),
    "recollect.messages.content": ("MessageContent",),
    "recollect.messages.message": ("Message",),
    "recollect.messages.openai": (
        "format_for_openai",
        "from_openai",
    ),
    "recollect.persistence.base": (
        "MemoryBase",
        "PersistentMemoryBase",
    ),
    "recollect.persistent": ("PersistentMemory",),
    "recollect.session.context": ("SessionContext",),
    "recollect.session.inmemory": ("InMemoryBackend",),
    "recollect.session.redis": ("RedisBackend",),
    "recollect.settings": (
        "MemoryConfig",
        "get_settings",
    ),
    "recollect.types": (
        "ANY",
        "Association",
        "Hit",
        "Memory",
        "MemoryType",
        "Outcome",
        "Outcomes",
        "Recall",
        "Scope",
    ),
}
_ALIASES = {"MemoryAssociation": "Association", "MemoryEntry": "Memory", "MemoryTypes": "MemoryType"}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    wanted = _ALIASES.get(name, name)
    value = globals()[name] = getattr(import_module(_MODULES[wanted]), wanted)
    return value


def __dir__() -> list[str]:
    return __all__
