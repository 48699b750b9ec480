"""Memory for AI agents: complete without a model, better with one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoranda.conversation.memory import ConversationMemory
    from memoranda.conversation.summarizing import SummarizingMemory
    from memoranda.embedding.model import EmbeddingModel
    from memoranda.errors import (
        Closed,
        Conflict,
        Denied,
        ExtractionFailed,
        Incompatible,
        InvalidInput,
        InvalidType,
        MemorandaError,
        MissingExtra,
        NotFound,
        Unavailable,
    )
    from memoranda.index.faiss import FAISSIndex
    from memoranda.manager.manager import MemoryManager, create_session
    from memoranda.messages.anthropic import format_for_anthropic, from_anthropic, system_text
    from memoranda.messages.calls import AgentCallMsg, MessageContent, ToolCallMsg
    from memoranda.messages.message import Message
    from memoranda.messages.openai import format_for_openai, from_openai
    from memoranda.persistent.agents import BaseAgent, MemoryMixin
    from memoranda.persistent.base import MemoryBase, PersistentMemoryBase
    from memoranda.persistent.context import ConversationContext
    from memoranda.persistent.memory import PersistentMemory
    from memoranda.sessions.context import SessionContext
    from memoranda.sessions.inmemory import InMemoryBackend
    from memoranda.sessions.redis import RedisBackend
    from memoranda.settings import MemoryConfig, get_settings
    from memoranda.types import ANY, Association, Hit, Memory, MemoryType, Outcome, Outcomes, Recall, Scope

    MemoryAssociation = Association
    MemoryEntry = Memory
    MemoryTypes = MemoryType

__version__ = "0.1.0"

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
    "MemorandaError",
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
    "memoranda.persistent.agents": (
        "BaseAgent",
        "MemoryMixin",
    ),
    "memoranda.conversation.memory": ("ConversationMemory",),
    "memoranda.conversation.summarizing": ("SummarizingMemory",),
    "memoranda.persistent.context": ("ConversationContext",),
    "memoranda.embedding.model": ("EmbeddingModel",),
    "memoranda.errors": (
        "Closed",
        "Conflict",
        "Denied",
        "ExtractionFailed",
        "Incompatible",
        "InvalidInput",
        "InvalidType",
        "MissingExtra",
        "NotFound",
        "MemorandaError",
        "Unavailable",
    ),
    "memoranda.index.faiss": ("FAISSIndex",),
    "memoranda.manager.manager": (
        "MemoryManager",
        "create_session",
    ),
    "memoranda.messages.anthropic": (
        "format_for_anthropic",
        "from_anthropic",
        "system_text",
    ),
    "memoranda.messages.calls": (
        "AgentCallMsg",
        "MessageContent",
        "ToolCallMsg",
    ),
    "memoranda.messages.message": ("Message",),
    "memoranda.messages.openai": (
        "format_for_openai",
        "from_openai",
    ),
    "memoranda.persistent.base": (
        "MemoryBase",
        "PersistentMemoryBase",
    ),
    "memoranda.persistent.memory": ("PersistentMemory",),
    "memoranda.sessions.context": ("SessionContext",),
    "memoranda.sessions.inmemory": ("InMemoryBackend",),
    "memoranda.sessions.redis": ("RedisBackend",),
    "memoranda.settings": (
        "MemoryConfig",
        "get_settings",
    ),
    "memoranda.types": (
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
        raise AttributeError(f"module 'memoranda' has no attribute {name!r}")
    wanted = _ALIASES.get(name, name)
    value = globals()[name] = getattr(import_module(_MODULES[wanted]), wanted)
    return value


def __dir__() -> list[str]:
    return __all__
