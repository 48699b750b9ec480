from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.knowledge.knowledge import split_document

GUIDE = """Intro before any heading.

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
    found = [(chunk.headings, chunk.text.splitlines()[0]) for chunk in split_document(GUIDE)]
    assert found == [
        ((), "Intro before any heading."),
        (("Guide",), "Welcome."),
        (("Guide", "Setup"), "First install it. Then run it!"),
        (("Guide", "Setup", "Later"), "Closing words."),
        (("Other title",), "| a | b |"),
        (("Other title", "Under"), "End."),
    ]
    setup = split_document(GUIDE)[2]
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
