"""Shared knowledge: documents that every agent can search and none can change."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.results.workflows import Document, KnowledgeReport, KnowledgeSource
from memoranda.server.access import Admin, Reader, create_router
from memoranda.server.requests import AddKnowledgeRequest, RemoveKnowledgeRequest, SourcesQuery
from memoranda.server.responses import CountResponse

routes = create_router("knowledge")


@routes.post("/knowledge")
async def add_documents(request: AddKnowledgeRequest, caller: Admin) -> list[KnowledgeReport]:
    """Add documents; a document whose source exists already replaces it."""
    return await caller.memory.add_knowledge(
        [
            Document(item.text, item.source, item.version, item.metadata or {}, item.markdown)
            for item in request.documents
        ]
    )


@routes.get("/knowledge")
async def list_documents(query: Annotated[SourcesQuery, Query()], caller: Reader) -> list[KnowledgeSource]:
    """Return the shared documents by name."""
    return await caller.memory.get_knowledge_sources(query.limit, query.offset)


@routes.post("/knowledge/remove")
async def remove_document(request: RemoveKnowledgeRequest, caller: Admin) -> CountResponse:
    """Remove a document; return how many chunks it had."""
    return CountResponse(await caller.memory.remove_knowledge(request.source))
