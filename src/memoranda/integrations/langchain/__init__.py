"""LangChain: a vector store, a retriever over recall, and a store of bytes. `pip install memoranda[langchain]`"""

from memoranda.integrations.langchain.byte_store import MemorandaByteStore
from memoranda.integrations.langchain.retriever import MemorandaRetriever
from memoranda.integrations.langchain.vector_store import MemorandaVectorStore

__all__ = ["MemorandaByteStore", "MemorandaRetriever", "MemorandaVectorStore"]
