"""LlamaIndex: a memory block, and a chat store. `pip install memoranda[llama-index]`"""

from memoranda.integrations.llama_index.chat_store import MemorandaChatStore
from memoranda.integrations.llama_index.memory_block import MemorandaMemoryBlock

__all__ = ["MemorandaChatStore", "MemorandaMemoryBlock"]
