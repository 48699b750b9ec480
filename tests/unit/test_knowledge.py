from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.embedding.base import InputKind
from memoranda.errors import InvalidInput, InvalidType, NotFound
from memoranda.knowledge import split_document
from memoranda.manager.manager import MemoryManager
from memoranda.results.workflows import Document
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY, FloatArray, MemoryType
from memoranda.validation import SHARED_USER

GUIDE = "# Brand\nOur colour is teal.\n\n## Voice\nWe write short sentences."


def contents(hits: object) -> list[str]:
    return [hit.content for hit in hits]  # type: ignore[attr-defined]


def test_every_agent_finds_shared_documents_and_hits_name_their_source(manager: MemoryManager) -> None:
    manager.add_knowledge(GUIDE, source="brand.md", version="2", metadata={"team": "marketing"})
    manager.remember("The colour of my draft is teal too", agent="writer")
    for agent in ("writer", "editor", None):
        hits = manager.recall("Which colour is it, teal?", agent=agent, shared=True)
        shared = [hit for hit in hits if hit.type is MemoryType.SHARED]
        assert shared[0].content == "Brand\nOur colour is teal."
        assert (shared[0].source, shared[0].metadata["version"], shared[0].metadata["team"]) == (
            "brand.md", "2", "marketing",
        )  # fmt: skip
        assert shared[0].metadata["headings"] == ["Brand"]
    own = manager.recall("colour teal", agent="writer", shared=True)
    assert {hit.type for hit in own} == {MemoryType.SHARED, MemoryType.SEMANTIC}
    assert [hit.score for hit in own] == sorted((hit.score for hit in own), reverse=True)
    assert len(manager.recall("colour teal", agent="writer", shared=True, limit=1)) == 1
    assert manager.search_similar("editor", "colour teal", shared=True)[0].source == "brand.md"


def test_recall_without_shared_does_not_find_shared_documents(manager: MemoryManager) -> None:
    manager.add_knowledge(GUIDE, source="brand.md")
    assert contents(manager.recall("colour teal")) == []
    assert contents(manager.recall("colour teal", agent="writer", user="ann")) == []
    assert manager.search_similar("writer", "colour teal") == []


def test_type_filter_shared_searches_shared_documents(manager: MemoryManager) -> None:
    manager.add_knowledge(GUIDE, source="brand.md")
    manager.remember("colour teal", agent="writer")
    assert {hit.type for hit in manager.recall("colour teal", agent="writer", types=["shared"])} == {MemoryType.SHARED}
    assert len(manager.search_memories("colour teal", ["shared", "semantic"], agent="writer")) >= 2


def test_filters_apply_to_shared_documents(manager: MemoryManager) -> None:
    manager.add_knowledge("The colour is teal.", source="a", version="1")
    manager.add_knowledge("The colour was red.", source="b", version="2")
    found = manager.recall("colour", shared=True, types=["semantic"], where={"source": "b"})
    assert [hit.source for hit in found] == ["b"]
    assert [hit.source for hit in manager.recall("colour", shared=True, where={"metadata": {"version": "1"}})] == ["a"]


def test_agents_cannot_write_shared_documents(manager: MemoryManager) -> None:
    manager.add_knowledge(GUIDE, source="brand.md")
    chunk = manager.recall("colour teal", shared=True)[0]
    for write in (
        lambda: manager.add_memory("Our colour is red", "shared", agent="writer"),
        lambda: manager.add_memory("Our colour is red", "shared"),
        lambda: manager.add_memories(["Our colour is red"], MemoryType.SHARED, agent="writer"),
        lambda: manager.remember("Our colour is red", agent="writer", type="shared"),
        lambda: manager.save("writer", "colour", "red", "shared"),
        lambda: manager.update(chunk.id, memory_type="shared"),
    ):
        with pytest.raises(InvalidInput, match="add_knowledge"):
            write()
    for reach in (
        lambda: manager.update(chunk.id, "Our colour is red", agent="writer"),
        lambda: manager.update(chunk.id, "Our colour is red"),
        lambda: manager.delete(chunk.id, agent="writer"),
        lambda: manager.delete(chunk.id),
    ):
        with pytest.raises(NotFound):
            reach()
    with pytest.raises(InvalidInput, match="reserved"):
        manager.update(chunk.id, "Our colour is red", user=SHARED_USER)
    with pytest.raises(InvalidInput, match="reserved"):
        manager.add_memory("Our colour is red", user=SHARED_USER)
    assert manager.users() == []
    assert manager.cleanup_old_memories(0, 1.0).removed == 0
    assert contents(manager.recall("colour teal", shared=True))[0] == "Brand\nOur colour is teal."
    assert len(manager.recall("colour teal", user=ANY)) > 0


class CountingEmbedder(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(64)
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        self.embedded += texts
        return super().embed(texts, kind=kind)


def test_same_source_is_replaced_and_only_new_chunks_are_embedded(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    with MemoryManager(f"sqlite:///{tmp_path}/b.db", embedder=embedder) as manager:
        (first,) = manager.add_knowledge(GUIDE, source="brand.md", version="1")
        assert (first.chunks, first.added, first.kept, first.removed) == (2, 2, 0, 0)
        kept = manager.recall("short sentences", shared=True)[0]
        embedder.embedded.clear()
        (second,) = manager.add_knowledge(GUIDE.replace("teal", "red"), source="brand.md", version="2")
        assert (second.chunks, second.added, second.kept, second.removed) == (2, 1, 1, 1)
        assert embedder.embedded == ["Brand\nOur colour is red."]
        again = manager.recall("short sentences", shared=True)[0]
        assert (again.id, again.metadata["version"]) == (kept.id, "2")
        assert not any("teal" in text for text in contents(manager.recall("colour teal", shared=True)))
        (same,) = manager.add_knowledge(GUIDE.replace("teal", "red"), source="brand.md", version="2")
        assert (same.added, same.kept, same.removed) == (0, 2, 0)
        assert manager._components.open().store.check() == []


def test_concurrent_replacements_of_one_source_never_mix(tmp_path: Path) -> None:
    texts = ["\n".join(f"# {letter}{number}\ntext {letter}" for number in range(6)) for letter in "ab"]

    def work(text: str) -> None:
        with MemoryManager(f"sqlite:///{tmp_path}/b.db", embedder=HashEmbedder(16)) as own:
            for _ in range(5):
                own.add_knowledge(text, source="doc")

    with MemoryManager(f"sqlite:///{tmp_path}/b.db", embedder=HashEmbedder(16)) as manager:
        manager.add_knowledge("start", source="doc")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, texts))
        found = contents(manager.recall("text", shared=True, limit=50))
        assert sorted(found) in [[f"{letter}{number}\ntext {letter}" for number in range(6)] for letter in "ab"]


def test_sources_are_independent(manager: MemoryManager) -> None:
    manager.add_knowledge("Shared words.", source="a", version="1")
    manager.add_knowledge("Shared words.", source="b")
    manager.add_knowledge("Other words.", source="a", version="2")
    found = [(each.source, each.version, each.chunks) for each in manager.get_knowledge_sources()]
    assert found == [("a", "2", 1), ("b", None, 1)]
    assert manager.remove_knowledge("a") == 1
    assert [each.source for each in manager.get_knowledge_sources()] == ["b"]
    with pytest.raises(NotFound, match="'a'"):
        manager.remove_knowledge("a")
    assert manager.get_stats().by_type["shared"] == 1


def test_repeated_paragraph_is_stored_twice(manager: MemoryManager) -> None:
    text = "# A\nSame.\n# A\nSame.\n"
    assert manager.add_knowledge(text, source="a")[0].added == 2
    report = manager.add_knowledge("# A\nSame.\n", source="a")[0]
    assert (report.kept, report.removed) == (1, 1)


def test_files_folders_and_documents_can_be_added(manager: MemoryManager, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Title\nMarkdown text.", "utf-8")
    (folder / "deep" / "b.txt").write_text("# plain\n\nText.", "utf-8-sig")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    reports = manager.add_knowledge(folder, version="7")
    assert [(each.source, each.version) for each in reports] == [("a.md", "7"), ("deep/b.txt", "7")]
    assert manager.add_knowledge(folder / "a.md")[0].kept == 1
    assert contents(manager.recall("plain text", shared=True))[0] == "# plain\n\nText."
    own = [Document("One.", "one", "1", {"n": 1}), Document("Two.", "two")]
    assert [(each.source, each.version) for each in manager.add_knowledge(own, version="0")] == [
        ("one", "1"),
        ("two", "0"),
    ]


def test_one_bad_document_leaves_nothing_added(manager: MemoryManager, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InvalidInput, match="UTF-8"):
        manager.add_knowledge([Document("Fine.", "fine"), tmp_path / "bad.txt"])
    assert manager.get_knowledge_sources() == []


def test_invalid_calls_raise_with_advice(manager: MemoryManager, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="source="):
        manager.add_knowledge("text")
    with pytest.raises(InvalidInput, match="empty"):
        manager.add_knowledge("  ", source="a")
    with pytest.raises(InvalidInput, match="several documents"):
        manager.add_knowledge(["one", "two"], source="a")
    with pytest.raises(NotFound):
        manager.add_knowledge(tmp_path / "nothing.md")
    with pytest.raises(InvalidType):
        manager.add_knowledge(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidType):
        manager.add_knowledge([7], source="a")  # type: ignore[list-item]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="nothing to add"):
        manager.add_knowledge(tmp_path / "empty")


def test_tenants_do_not_share_documents(manager: MemoryManager) -> None:
    manager.for_tenant("acme").add_knowledge(GUIDE, source="brand.md")
    assert contents(manager.recall("colour teal", shared=True)) == []
    assert len(manager.for_tenant("acme").recall("colour teal", shared=True)) > 0


def test_link_out_of_a_folder_is_not_followed(manager: MemoryManager, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("Tea is brewed for three minutes.")
    (folder / "also.md").symlink_to(folder / "tea.md")
    (tmp_path / "secret.md").write_text("The safe opens with 4711.")
    (folder / "notes.md").symlink_to(tmp_path / "secret.md")
    manager.add_knowledge(folder)
    assert {each.source for each in manager.get_knowledge_sources()} == {"tea.md", "also.md"}


CHUNKED_GUIDE = """Intro before any heading.

# Guide

Welcome.

## Setup

First install it. Then run it!

```sh
# not a heading
make test

make demo
```

### Later ###
Closing words.

Other title
===========

| a | b |
|---|---|

Under
-----
End.
"""


def test_headings_split_the_text_and_are_kept_as_a_path() -> None:
    found = [(chunk.headings, chunk.text.splitlines()[0]) for chunk in split_document(CHUNKED_GUIDE)]
    assert found == [
        ((), "Intro before any heading."),
        (("Guide",), "Welcome."),
        (("Guide", "Setup"), "First install it. Then run it!"),
        (("Guide", "Setup", "Later"), "Closing words."),
        (("Other title",), "| a | b |"),
        (("Other title", "Under"), "End."),
    ]
    setup = split_document(CHUNKED_GUIDE)[2]
    assert "# not a heading\nmake test\n\nmake demo\n```" in setup.text
    assert setup.content.startswith("Guide > Setup\nFirst install")


@pytest.mark.parametrize(
    ("line", "title"), [("# A #", "A"), ("## A ##  ", "A"), ("# About C#", "About C#"), ("#\t#tag here", "#tag here")]
)
def test_closing_hashes_of_a_heading_are_not_part_of_it(line: str, title: str) -> None:
    assert [chunk.headings for chunk in split_document(f"{line}\nText.")] == [(title,)]


def test_heading_of_many_blanks_is_read_once() -> None:
    # Three parts of the line could all take the blanks: a pattern would try every way to share 100,000 of them.
    chunks = split_document("# a #" + " " * 100_000 + "b\nText.")
    assert chunks[0].headings[0].startswith("a #")


def test_heading_without_text_becomes_a_chunk() -> None:
    assert [chunk.content for chunk in split_document("# One\n# Two\ntext\n## Three\n")] == [
        "One",
        "Two\ntext",
        "Two\nThree",
    ]


def test_paragraphs_are_joined_while_they_fit() -> None:
    text = "\n\n".join(f"Paragraph {number}." for number in range(10))
    chunks = split_document(text, max_chars=39)
    assert chunks[0].text == "Paragraph 0.\n\nParagraph 1."
    assert all(len(chunk.text) <= 39 for chunk in chunks)


def test_long_paragraph_is_split_between_sentences() -> None:
    text = "The first one is here. Is this the second? Yes! It goes on (as one does.) And ends."
    assert [chunk.text for chunk in split_document(text, max_chars=45)] == [
        "The first one is here. Is this the second?",
        "Yes! It goes on (as one does.) And ends.",
    ]
    assert [chunk.text for chunk in split_document("今日は晴れです。明日は雨です。", max_chars=9)] == [
        "今日は晴れです。",
        "明日は雨です。",
    ]


def test_title_before_a_name_ends_no_sentence() -> None:
    chunks = split_document("We met Dr. Weber at noon. She was early.", max_chars=30)
    assert [chunk.text for chunk in chunks] == ["We met Dr. Weber at noon.", "She was early."]


def test_long_sentence_is_split_between_words_and_long_word_anywhere() -> None:
    assert [chunk.text for chunk in split_document("one two three four", max_chars=9)] == ["one two", "three", "four"]
    assert [chunk.text for chunk in split_document("x" * 25, max_chars=10)] == ["x" * 10, "x" * 10, "x" * 5]


def test_plain_text_has_no_headings() -> None:
    assert [chunk.headings for chunk in split_document("# Not a heading\n\ntext", markdown=False)] == [()]


def test_unclosed_code_block_ends_with_the_document() -> None:
    assert len(split_document("# A\n```\n# b\n\n# c\n")) == 1


@given(st.text(st.sampled_from("ab #-=`.\n!。"), max_size=200), st.integers(1, 30), st.booleans())
def test_no_word_is_lost_and_no_chunk_is_too_long(text: str, size: int, markdown: bool) -> None:
    chunks = split_document(text, markdown=markdown, max_chars=size)
    assert all(chunk.text.strip() for chunk in chunks)
    letters = [letter for chunk in chunks for letter in chunk.text + "".join(chunk.headings) if letter in "ab"]
    assert sorted(set(letters)) == sorted({letter for letter in text if letter in "ab"})
    if not markdown:
        assert all(len(chunk.text) <= size for chunk in chunks)
        assert [letter for letter in text if not letter.isspace()] == [
            letter for chunk in chunks for letter in chunk.text if not letter.isspace()
        ]
