"""LangChain's retriever, over recall."""

from __future__ import annotations

from inspect import iscoroutinefunction
from os import PathLike
from typing import Any

from memoranda import aio
from memoranda.errors import InvalidType, MissingExtra
from memoranda.integrations.managers import open_source

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain adapter", "langchain") from error


class MemorandaRetriever(BaseRetriever):
    """A retriever over `recall`: what was remembered, in any way, in one scope."""

    memory: Any
    agent: str | None = None
    user: str | None = None
    session: str | None = None
    limit: int = 10
    min_score: float | None = None

    _owns_memory: bool = PrivateAttr(default=False)

    def __init__(self, memory: Any = None, **fields: Any) -> None:
        """Create a retriever over a manager, or the path or URL of a database; the default database when None."""
        is_owned = False
        if memory is None or isinstance(memory, aio.MemoryManager | str | PathLike):
            memory, is_owned = open_source(memory)
        recall = getattr(memory, "recall", None)
        if not callable(recall) or iscoroutinefunction(recall):
            raise InvalidType(
                f"memory must be a MemoryManager, not {type(memory).__name__}: write memory=MemoryManager(...)"
            )
        super().__init__(memory=memory, **fields)
        self._owns_memory = is_owned

    def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            self.memory.close()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        limit: int | None = None,
    ) -> list[Document]:
        scope = {"agent": self.agent, "user": self.user, "session": self.session}
        chosen = self.limit if limit is None else limit
        found = self.memory.recall(query, limit=chosen, min_score=self.min_score, **scope)
        return [
            Document(id=str(hit.id), page_content=hit.content, metadata={**hit.metadata, "score": hit.score})
            for hit in found
        ]
