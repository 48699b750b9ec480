"""Shared knowledge: documents that every agent can search and none can change."""

from __future__ import annotations

from memoranda.results import Document, KnowledgeReport, KnowledgeSource
from memoranda.server.access import Admin, Reader, router
from memoranda.server.requests import AddKnowledge, KnowledgeDocument, KnowledgeName
from memoranda.server.responses import Done

routes = router("knowledge")


@routes.post("/knowledge")
async def add(request: AddKnowledge, caller: Admin) -> list[KnowledgeReport]:
    """Shares documents; a source given again is replaced."""
    return await caller.memory.add_knowledge([_document(each) for each in request.documents])


@routes.get("/knowledge")
async def sources(caller: Reader) -> list[KnowledgeSource]:
    """The documents that are shared, by name."""
    return await caller.memory.get_knowledge_sources()


@routes.post("/knowledge/remove")
async def remove(request: KnowledgeName, caller: Admin) -> Done:
    """Takes a document out of the shared knowledge; how many pieces it had."""
    return Done(await caller.memory.remove_knowledge(request.source))


def _document(given: KnowledgeDocument) -> Document:
    return Document(given.text, given.source, given.version, given.metadata or {}, given.markdown)
