"""LangGraph: a store for long-term memory, and a checkpointer. `pip install memoranda[langgraph]`

    store = MemorandaStore()
    graph = builder.compile(store=store, checkpointer=MemorandaSaver(store.memory))

What an agent puts into the store is also found by `recall`. The same store serves LangMem and deepagents.
"""

from memoranda.integrations.langgraph.checkpointer import MemorandaSaver
from memoranda.integrations.langgraph.store import MemorandaStore

__all__ = ["MemorandaSaver", "MemorandaStore"]
