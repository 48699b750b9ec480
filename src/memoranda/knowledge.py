"""Shared knowledge: documents that every agent can search and none can change."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memoranda.errors import Conflict, InvalidInput, InvalidType, NotFound, Unavailable
from memoranda.files import is_file, translate_file_errors
from memoranda.remember.screening.screen import screen
from memoranda.results.workflows import Document, Knowledge, KnowledgeReport, KnowledgeSource
from memoranda.storage.changes import Change, Edit, NewMemory, Remove
from memoranda.storage.read import matching_ids, walk
from memoranda.storage.write import MemoryWrite, apply_changes, retry_on_conflict
from memoranda.text.cache import clear_text_caches
from memoranda.text.checks import clean_text, storable_text
from memoranda.text.sentences import sentence_spans
from memoranda.text.terms import content_hash, lexical_keys
from memoranda.types import JSON, Clock, Filter, Memory, MemoryType, Progress, Recall, Scope
from memoranda.validation import SHARED_USER, check_name, copy_metadata

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.storage.base import Store, Transaction

_MARKDOWN: Final = (".md", ".markdown", ".mdx")
_SUFFIXES: Final = (*_MARKDOWN, ".txt", ".text", ".rst")
_IMPORTANCE: Final = 0.5


class SharedKnowledge:
    """The documents of one tenant, stored under a reserved user that no caller can name."""

    def __init__(self, tenant: str, store: Store, vectors: Vectors, clock: Clock) -> None:
        self.scope = Scope(tenant, user=SHARED_USER)
        self._store = store
        self._vectors = vectors
        self._clock = clock
        self._lock = threading.Lock()

    def add(self, documents: Sequence[Document], progress: Progress | None) -> list[KnowledgeReport]:
        """Add documents in one commit. Each replaces the document with the same source."""
        sources = [document.source for document in documents]
        if repeated := sorted({source for source in sources if sources.count(source) > 1}):
            raise InvalidInput(f"several documents have the source {repeated[0]!r}: give each its own")
        with self._lock:  # another process may still replace the same source at the same time
            try:
                return retry_on_conflict(lambda: self._replace(documents, progress))
            finally:
                clear_text_caches()

    def _replace(self, documents: Sequence[Document], progress: Progress | None) -> list[KnowledgeReport]:
        plans = [self._plan(document) for document in documents]
        new = iter(self._vectors.attach([memory for plan in plans for memory in plan.new], progress))
        changes: list[Change] = []
        for plan in plans:
            changes += [*plan.edits, *(next(new) for _ in plan.new)]
            if plan.removed:
                changes.append(Remove(self.scope, tuple(plan.removed)))
        self._store.write(lambda tx: self._apply(tx, plans, changes), tenant=self.scope.tenant)
        return [plan.report() for plan in plans]

    def _apply(self, tx: Transaction, plans: Sequence[_Plan], changes: Sequence[Change]) -> None:
        """Apply the changes if each source still has the chunks that its plan was made from."""
        for plan in plans:
            source = plan.document.source
            if set(matching_ids(tx, self.scope, Filter(sources=(source,))).tolist()) != plan.known:
                raise Conflict(f"the shared source {source!r} is being replaced by another call: try again")
        apply_changes(tx, changes)

    def _plan(self, document: Document) -> _Plan:
        stored: dict[str, list[Memory]] = {}
        plan = _Plan(document)
        for memory in self._stored_chunks(document.source):
            stored.setdefault(memory.content, []).append(memory)
            plan.known.add(memory.id)
        for position, chunk in enumerate(split_document(document.text, markdown=document.markdown)):
            new = self._to_memory(document, chunk, position)
            if same := stored.get(new.content):
                plan.keep(same.pop(0), new)
            else:
                plan.new.append(new)
        plan.removed = [memory.id for unused in stored.values() for memory in unused]
        return plan

    def _to_memory(self, document: Document, chunk: Chunk, position: int) -> NewMemory:
        now = self._clock()
        fields: dict[str, JSON] = {"version": document.version, "headings": list(chunk.headings), "chunk": position}
        new = NewMemory(
            content=chunk.content,
            type=MemoryType.SHARED,
            scope=self.scope,
            importance=_IMPORTANCE,
            recorded_at=now,
            valid_from=now,
            content_hash=content_hash(chunk.content),
            terms=lexical_keys(chunk.content),
            source=document.source,
            trust="document",
            metadata={**document.metadata, **fields},
        )
        screen([new])
        return new

    def remove(self, source: str) -> int:
        """Remove a document and return how many chunks it had."""
        name = clean_text(source, "source")
        ids = tuple(memory.id for memory in self._stored_chunks(name))
        if not ids:
            raise NotFound(f"the shared knowledge has no source {name!r}")
        self._store.write(MemoryWrite([Remove(self.scope, ids)]))
        return len(ids)

    def sources(self) -> list[KnowledgeSource]:
        """Return the documents, sorted by source."""
        found: dict[str, KnowledgeSource] = {}
        for memory in self._stored_chunks():
            source, version = memory.source or "", memory.metadata.get("version")
            known = found.get(source)
            newest = max(memory.recorded_at, known.recorded_at) if known else memory.recorded_at
            found[source] = KnowledgeSource(source, version, known.chunks + 1 if known else 1, newest)
        return [found[source] for source in sorted(found)]

    def recall(self, ask: Callable[[Scope, Filter], Recall], scope: Scope, where: Filter, limit: int) -> Recall:
        """Recall from a scope and from the shared knowledge, and merge the hits by score.

        Args:
            ask: Recalls from one scope with filters.
            scope: The caller's scope.
            where: The filters; their types do not apply to the shared knowledge.
            limit: The maximum number of hits.
        """
        private, shared = ask(scope, where), ask(self.scope, replace(where, types=()))
        hits = sorted([*private.hits, *shared.hits], key=lambda hit: (-hit.score, hit.id))[:limit]
        return replace(
            private,
            hits=tuple(hits),
            answerable=max(private.answerable, shared.answerable),
            degraded=tuple(dict.fromkeys(private.degraded + shared.degraded)),
            elapsed_ms=private.elapsed_ms + shared.elapsed_ms,
        )

    def _stored_chunks(self, source: str | None = None) -> Iterator[Memory]:
        return walk(self._store, self.scope, Filter(sources=() if source is None else (source,)))


class _Plan:
    """The changes that replace the stored chunks of a source by those of a document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.known: set[int] = set()
        self.new: list[NewMemory] = []
        self.edits: list[Edit] = []
        self.removed: list[int] = []
        self._kept = 0

    def keep(self, stored: Memory, new: NewMemory) -> None:
        self._kept += 1
        if stored.metadata != new.metadata:
            self.edits.append(Edit(stored.id, stored.version, new))

    def report(self) -> KnowledgeReport:
        source, version, added = self.document.source, self.document.version, len(self.new)
        return KnowledgeReport(source, version, self._kept + added, added, self._kept, len(self.removed))


def parse_documents(
    documents: Knowledge, source: str | None, version: str | None, metadata: Mapping[str, JSON] | None
) -> list[Document]:
    """Check the arguments of `add_knowledge` and return the documents; files are read here."""
    extra = copy_metadata(metadata)
    source, version = check_name(source, "source"), check_name(version, "version")
    items = [documents] if isinstance(documents, str | Path | Document) else documents
    if not isinstance(items, Sequence):
        raise InvalidType(f"knowledge must be a text, a Path or Documents, not {type(documents).__name__}")
    found = [document for item in items for document in _parse_item(item, source, version, extra)]
    if not found:
        raise InvalidInput(f"nothing to add: give a text, a Document, or a folder with {', '.join(_SUFFIXES)} files")
    return found


def _parse_item(item: object, source: str | None, version: str | None, metadata: dict[str, JSON]) -> Iterator[Document]:
    if isinstance(item, Document):
        yield replace(
            item,
            text=storable_text(item.text, "the document's text"),
            source=clean_text(item.source, "source"),
            version=check_name(item.version, "version") or version,
            metadata={**metadata, **copy_metadata(dict(item.metadata))},
        )
    elif isinstance(item, Path):
        for path, name in _find_files(item):
            markdown = path.suffix.lower() in _MARKDOWN
            yield Document(storable_text(_read_text(path), str(path)), source or name, version, metadata, markdown)
    elif isinstance(item, str):
        if source is None:
            raise InvalidInput("name the source of the text: add_knowledge(text, source=...); pass a file as a Path")
        yield Document(storable_text(item, "the text"), source, version, metadata)
    else:
        raise InvalidType(f"knowledge must be a text, a Path or a Document, not {type(item).__name__}")


def _find_files(path: Path) -> list[tuple[Path, str]]:
    """Return a file, or the texts in a folder, with their names. A link out of the folder is not followed."""
    with translate_file_errors(path):
        if path.is_dir():
            inside = path.resolve()
            found = sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
            files = [file for file in found if file.resolve().is_relative_to(inside)]
            return [(file, file.relative_to(path).as_posix()) for file in files]
    if is_file(path):
        return [(path, path.name)]
    raise NotFound(f"there is no file or folder {path}")


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text ({error.reason}): convert it first") from error
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror or error}") from error


_MAX_CHARS: Final = 1000
"""Characters in one chunk, about what the embedding model reads of a text."""
_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]")
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document."""

    headings: tuple[str, ...]
    """The headings above it, the outermost first."""
    text: str

    @property
    def content(self) -> str:
        """The text with its headings, so that it can be found and understood alone."""
        return f"{' > '.join(self.headings)}\n{self.text}" if self.headings else self.text


def split_document(text: str, *, markdown: bool = True, max_chars: int = _MAX_CHARS) -> list[Chunk]:
    """Return the chunks of a document in order. Every word of it is in exactly one."""
    sections = _split_sections(text) if markdown else [((), text)]
    return [
        Chunk(headings, part)
        for headings, body in sections
        for part in _pack_blocks(_split_blocks(body, markdown=markdown), max_chars)
    ]


def _split_sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the headings and text of each section. A heading without text becomes text, so that it is not lost."""
    path: list[tuple[int, str]] = []
    body: list[str] = []
    for item in _parse_headings(text.splitlines()):
        if isinstance(item, str):
            body.append(item)
            continue
        yield from _make_section(path, body)
        level, _ = item
        path = [*(heading for heading in path if heading[0] < level), item]
        body = []
    yield from _make_section(path, body)


def _make_section(path: list[tuple[int, str]], body: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    titles = [title for _, title in path]
    if any(line.strip() for line in body):
        yield tuple(titles), "\n".join(body)
    elif titles:
        yield tuple(titles[:-1]), titles[-1]


def _parse_headings(lines: list[str]) -> Iterator[tuple[int, str] | str]:
    """Yield each heading as (level, title), and each other line. A line in a code block is never a heading."""
    fence = ""
    position = 0
    while position < len(lines):
        line, following = lines[position], lines[position + 1] if position + 1 < len(lines) else ""
        position += 1
        fence = _fence_after(line, fence)
        heading = None if fence else _HEADING.match(line)
        if heading and (title := _strip_closing(line[heading.end() :])):
            yield len(heading[1]), title
        elif not fence and _can_be_title(line) and (underline := _UNDERLINE.match(following)):
            position += 1
            yield 1 if underline[1][0] == "=" else 2, line.strip()
        else:
            yield line


def _strip_closing(title: str) -> str:
    """Return a title without the `#` that may end its line. Those of a word, as in `C#`, are part of the title."""
    title = title.strip()
    words = title.rstrip("#")
    return words.rstrip() if not words or words[-1].isspace() else title


def _fence_after(line: str, fence: str) -> str:
    """Return the fence of the code block that is open after this line, or "" outside one."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and line.strip() == found[1]
    return "" if closes else fence


def _can_be_title(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("|", "-", "*", ">", "#")) and not _FENCE.match(line)


def _split_blocks(body: str, *, markdown: bool) -> Iterator[str]:
    """Yield paragraphs, lists, tables and code blocks: everything between empty lines."""
    block: list[str] = []
    fence = ""
    for line in body.splitlines():
        fence = _fence_after(line, fence) if markdown else ""
        if line.strip() or fence:
            block.append(line.rstrip())
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def _pack_blocks(blocks: Iterable[str], max_chars: int) -> Iterator[str]:
    """Join blocks while they fit, and split a block that does not fit alone."""
    packed = ""
    for block in blocks:
        if packed and len(packed) + 2 + len(block) > max_chars:
            yield packed
            packed = ""
        if len(block) > max_chars:
            *full, block = _split_block(block, max_chars)
            yield from full
        packed = f"{packed}\n\n{block}" if packed else block
    if packed.strip():
        yield packed


def _split_block(block: str, max_chars: int) -> list[str]:
    parts: list[str] = []
    part = ""
    for unit in _split_units(block, max_chars):
        if part and len(part) + len(unit.rstrip()) > max_chars:
            parts.append(part.strip())
            part = ""
        part += unit
    return [item for item in (*parts, part.strip()) if item] or [""]


def _split_units(block: str, max_chars: int) -> Iterator[str]:
    """Yield lines and sentences; a long sentence as its words, a long word in pieces."""
    for line in block.splitlines(keepends=True):
        for sentence in _split_sentences(line):
            if len(sentence) <= max_chars:
                yield sentence
                continue
            for word in re.findall(r"\S+\s*|\s+", sentence):
                yield from (word[start : start + max_chars] for start in range(0, len(word), max_chars))


def _split_sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line, each with the white space after it."""
    starts = [start for start, _ in sentence_spans(line)][1:]
    for start, end in pairwise((0, *starts, len(line))):
        yield line[start:end]
