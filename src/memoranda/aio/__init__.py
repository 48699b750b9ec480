"""The async API: the same class and method names and the same results as `memoranda`, awaited."""

from memoranda.aio.context import ConversationContext
from memoranda.aio.conversation import ConversationMemory, SummarizingMemory
from memoranda.aio.manager import MemoryManager
from memoranda.aio.persistent import MemoryBase, PersistentMemory, PersistentMemoryBase
from memoranda.aio.session import SessionContext, create_session

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
