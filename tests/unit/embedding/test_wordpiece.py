from __future__ import annotations

import time

import memoranda_models
import pytest

from memoranda.embedding.wordpiece import WordPiece


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(memoranda_models.path("vocab.txt"))


# The ids come from the reference tokenizer for this vocabulary.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, world!", [7592, 1010, 2088, 999]),
        ("unaffable embeddings", [14477, 20961, 3468, 7861, 8270, 4667, 2015]),
        ("Ångström's CAFÉ", [17076, 15687, 1005, 1055, 7668]),
        ("日本 Tokyo", [1864, 1876, 5522]),
        ("ΟΔΥΣΣΕΥΣ", [1169, 29722, 29735, 29733, 29733, 29723, 29735, 29733]),
        ("a\x0bb\u200bc d\x85e\u2028f", [5925, 2139, 1042]),
        ("\U0001fae8 ok", [100, 7929]),
        ("x" * 101 + " y", [100, 1061]),
        ("\ufffdfine", [2986]),
        ("１２３", [100]),
        ("don't $5.00", [2123, 1005, 1056, 1002, 1019, 1012, 4002]),
        (" \t\n", []),
    ],
)
def test_ids_equal_those_of_the_reference_tokenizer(tokenizer: WordPiece, text: str, ids: list[int]) -> None:
    assert tokenizer.ids(text) == ids


def test_special_tokens_in_a_text_are_plain_text(tokenizer: WordPiece) -> None:
    assert tokenizer.ids("[CLS]") == tokenizer.ids("[") + tokenizer.ids("cls") + tokenizer.ids("]")


def test_encode_adds_start_and_end_tokens(tokenizer: WordPiece) -> None:
    assert tokenizer.encode("Hello, world!", 512) == [101, 7592, 1010, 2088, 999, 102]


@pytest.mark.parametrize("window", [3, 4, 5, 6, 7])
def test_encode_cuts_at_the_window(tokenizer: WordPiece, window: int) -> None:
    ids = [7592, 1010, 2088, 999]
    assert tokenizer.encode("Hello, world!", window) == [101, *ids[: window - 2], 102]


def test_long_chunk_without_white_space_is_cut_at_the_limit(tokenizer: WordPiece) -> None:
    text = "hello,world!" * 50
    assert tokenizer.ids(text, 10) == tokenizer.ids(text)[:10]
    assert len(tokenizer.ids(text)) == 200


@pytest.mark.parametrize("text", ["word " * 200_000, "日" * 1_000_000, "a,b;" * 250_000])
def test_encode_reads_only_as_much_of_a_huge_text_as_needed(tokenizer: WordPiece, text: str) -> None:
    start = time.perf_counter()
    assert len(tokenizer.encode(text, 512)) == 512
    assert time.perf_counter() - start < 1.0
