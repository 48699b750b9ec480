"""The async twins: the same names, the same results, awaited."""

from recollect.aio.conversation import ConversationMemory, SummarizingMemory
from recollect.aio.manager import MemoryManager

__all__ = ["ConversationMemory", "MemoryManager", "SummarizingMemory"]
