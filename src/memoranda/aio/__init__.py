"""The async API: the same class and method names and the same results as `memoranda`, awaited."""

from memoranda.aio.conversation import ConversationMemory, SummarizingMemory
from memoranda.aio.manager import ConversationContext, MemoryManager, SessionContext, create_session
from memoranda.aio.persistent import MemoryBase, PersistentMemory, PersistentMemoryBase

__all__ = [
    "ConversationContext",
    "ConversationMemory",
    "MemoryBase",
    "MemoryManager",
    "PersistentMemory",
    "PersistentMemoryBase",
    "SessionContext",
    "SummarizingMemory",
    "create_session",
]
