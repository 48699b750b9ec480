"""Shared knowledge: documents that every agent can search and none can change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memoranda.errors import Conflict, InvalidInput, InvalidType, NotFound, Unavailable
from memoranda.results import Document, Knowledge, KnowledgeReport, KnowledgeSource
from memoranda.storage.changes import Change, Edit, NewMemory, Remove
from memoranda.storage.read import walk
from memoranda.storage.write import MemoryWrite, retry_on_conflict
from memoranda.text import clean_text, content_hash, terms
from memoranda.types import JSON, Clock, Filter, Memory, MemoryType, Progress, Recall, Scope
from memoranda.validation import SHARED_USER, check_name, copy_json_object

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.knowledge.chunks import Chunk
    from memoranda.storage.base import Store, Transaction

_MARKDOWN: Final = (".md", ".markdown", ".mdx")
_SUFFIXES: Final = (*_MARKDOWN, ".txt", ".text", ".rst")
_IMPORTANCE: Final = 0.5


class SharedKnowledge:
    """The knowledge of one tenant, in a partition of its own that no scope of a caller can name."""

    def __init__(self, tenant: str, store: Store, vectors: Vectors, clock: Clock) -> None:
        self.scope = Scope(tenant, user=SHARED_USER)
        self._store = store
        self._vectors = vectors
        self._clock = clock
        self._lock = threading.Lock()

    def add(self, documents: Sequence[Document], progress: Progress | None) -> list[KnowledgeReport]:
        """Each document takes the place of what its source said before, all in one commit."""
        sources = [document.source for document in documents]
        if doubled := sorted({source for source in sources if sources.count(source) > 1}):
            raise InvalidInput(f"several documents have the source {doubled[0]!r}: give each its own")
        with self._lock:  # another process may still replace the same source meanwhile
            return retry_on_conflict(lambda: self._replace(documents, progress))

    def _replace(self, documents: Sequence[Document], progress: Progress | None) -> list[KnowledgeReport]:
        plans = [self._plan(document) for document in documents]
        new = iter(self._vectors.attach([draft for plan in plans for draft in plan.new], progress))
        changes: list[Change] = []
        for plan in plans:
            changes += [*plan.edits, *(next(new) for _ in plan.new)]
            if plan.gone:
                changes.append(Remove(self.scope, tuple(plan.gone)))
        known = {plan.source: plan.known for plan in plans}
        self._store.write(lambda tx: self._apply(tx, known, changes))
        return [plan.report() for plan in plans]

    def _apply(self, tx: Transaction, known: dict[str, set[int]], changes: Sequence[Change]) -> None:
        """The changes, if the sources still hold what the plan was made from."""
        from memoranda.storage.read import matching_ids
        from memoranda.storage.write import apply_changes

        for source, ids in known.items():
            if set(matching_ids(tx, self.scope, Filter(sources=(source,))).tolist()) != ids:
                raise Conflict(f"the shared source {source!r} is being replaced by somebody else: try again")
        apply_changes(tx, changes)

    def _plan(self, document: Document) -> _Plan:
        from memoranda.knowledge.chunks import split

        known: dict[str, list[Memory]] = {}
        plan = _Plan(document)
        for memory in self._pieces(document.source):
            known.setdefault(memory.content, []).append(memory)
            plan.known.add(memory.id)
        for place, chunk in enumerate(split(document.text, markdown=document.markdown)):
            draft = self._draft(document, chunk, place)
            same = known.get(draft.content)
            if same:
                plan.keep(same.pop(0), draft)
            else:
                plan.new.append(draft)
        plan.gone = [memory.id for left in known.values() for memory in left]
        return plan

    def _draft(self, document: Document, chunk: Chunk, place: int) -> NewMemory:
        now = self._clock()
        about: dict[str, JSON] = {"version": document.version, "headings": list(chunk.headings), "chunk": place}
        return NewMemory(
            content=chunk.content,
            type=MemoryType.SHARED,
            scope=self.scope,
            importance=_IMPORTANCE,
            recorded_at=now,
            valid_from=now,
            content_hash=content_hash(chunk.content),
            terms=" ".join(terms(chunk.content)),
            source=document.source,
            trust="document",
            metadata={**document.metadata, **about},
        )

    def remove(self, source: str) -> int:
        """How many pieces went."""
        name = clean_text(source, "source")
        ids = tuple(memory.id for memory in self._pieces(name))
        if not ids:
            raise NotFound(f"the shared knowledge has no source {name!r}")
        self._store.write(MemoryWrite([Remove(self.scope, ids)]))
        return len(ids)

    def sources(self) -> list[KnowledgeSource]:
        """What there is, by name."""
        found: dict[str, KnowledgeSource] = {}
        for memory in self._pieces(None):
            source, version = memory.source or "", memory.metadata.get("version")
            before = found.get(source)
            newest = max(memory.recorded_at, before.recorded_at) if before else memory.recorded_at
            found[source] = KnowledgeSource(source, version, before.chunks + 1 if before else 1, newest)
        return sorted(found.values(), key=lambda each: each.source)

    def recall(self, ask: Callable[[Scope, Filter], Recall], scope: Scope, where: Filter, limit: int) -> Recall:
        """An answer from the memories of a scope together with what the shared knowledge says."""
        own, shared = ask(scope, where), ask(self.scope, replace(where, types=()))
        hits = sorted([*own.hits, *shared.hits], key=lambda hit: (-hit.score, hit.id))[:limit]
        return replace(
            own,
            hits=tuple(hits),
            answerable=max(own.answerable, shared.answerable),
            degraded=tuple(dict.fromkeys(own.degraded + shared.degraded)),
            elapsed_ms=own.elapsed_ms + shared.elapsed_ms,
        )

    def _pieces(self, source: str | None) -> Iterator[Memory]:
        return walk(self._store, self.scope, Filter(sources=() if source is None else (source,)))


class _Plan:
    """What must change so that a source says what its document says."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.source = document.source
        self.known: set[int] = set()
        self.new: list[NewMemory] = []
        self.edits: list[Edit] = []
        self.gone: list[int] = []
        self._kept = 0

    def keep(self, known: Memory, draft: NewMemory) -> None:
        self._kept += 1
        if known.metadata != draft.metadata:
            self.edits.append(Edit(known.id, known.version, draft))

    def report(self) -> KnowledgeReport:
        name, version = self._document.source, self._document.version
        count = self._kept + len(self.new)
        return KnowledgeReport(name, version, count, len(self.new), self._kept, len(self.gone))


def documents_of(
    given: Knowledge, source: str | None, version: str | None, metadata: Mapping[str, JSON] | None
) -> list[Document]:
    """The documents in a text, a file, a folder, or several of them."""
    extra = copy_json_object(None if metadata is None else dict(metadata), "metadata")
    name, edition = check_name(source, "source"), check_name(version, "version")
    several = [given] if isinstance(given, str | Path | Document) else given
    if not isinstance(several, Sequence):
        raise InvalidType(f"knowledge must be a text, a Path or Documents, not {type(given).__name__}")
    found = [document for each in several for document in _documents(each, name, edition, extra)]
    if not found:
        raise InvalidInput(f"nothing to add: no {', '.join(_SUFFIXES)} file in there")
    return found


def _documents(given: object, source: str | None, version: str | None, metadata: dict[str, JSON]) -> Iterator[Document]:
    if isinstance(given, Document):
        own = copy_json_object(dict(given.metadata), "metadata")
        yield replace(
            given,
            text=clean_text(given.text, "the document's text"),
            source=clean_text(given.source, "source"),
            version=check_name(given.version, "version") or version,
            metadata={**metadata, **own},
        )
    elif isinstance(given, Path):
        for path, name in _files(given):
            markdown = path.suffix.lower() in _MARKDOWN
            yield Document(clean_text(_read(path), str(path)), source or name, version, metadata, markdown)
    elif isinstance(given, str):
        if source is None:
            raise InvalidInput("say where the text is from: add_knowledge(text, source=...); a file is given as a Path")
        yield Document(clean_text(given, "the text"), source, version, metadata)
    else:
        raise InvalidType(f"knowledge must be a text, a Path or a Document, not {type(given).__name__}")


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.suffix.lower() in _SUFFIXES and each.is_file():
                yield each, each.relative_to(path).as_posix()
    elif path.is_file():
        yield path, path.name
    else:
        raise NotFound(f"there is no file or folder {path}")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text ({error.reason}): convert it first") from error
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror or error}") from error
