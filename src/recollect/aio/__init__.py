"""The async twins: the same names, the same results, awaited."""

from recollect.aio.conversation import ConversationMemory, SummarizingMemory
from recollect.aio.conversing import ConversationContext
from recollect.aio.manager import MemoryManager
from recollect.aio.persistent import MemoryBase, PersistentMemory, PersistentMemoryBase
from recollect.aio.session import SessionContext, create_session

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
