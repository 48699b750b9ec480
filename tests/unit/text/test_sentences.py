from __future__ import annotations

import time

import pytest

from memoranda.text.sentences import pieces, sentence_spans, split_sentences


def test_text_is_split_at_sentence_ends_and_at_line_ends() -> None:
    text = 'He said "go!" Then he left. Pi is 3.14… Right?\n- one\n\n- two\n你好。再见!'
    assert split_sentences(text) == [
        'He said "go!"',
        "Then he left.",
        "Pi is 3.14…",
        "Right?",
        "- one",
        "- two",
        "你好。",
        "再见!",
    ]


def test_abbreviations_do_not_end_a_sentence() -> None:
    assert split_sentences("Dr. Lee met Mrs. Ray, e.g. on Monday. It rained.") == [
        "Dr. Lee met Mrs. Ray, e.g. on Monday.",
        "It rained.",
    ]


def test_blank_text_has_no_sentences() -> None:
    assert split_sentences("  \n ") == []


def test_spans_leave_out_white_space_between_sentences() -> None:
    assert sentence_spans("  One.  Two! ") == ((2, 6), (8, 12))


@pytest.mark.parametrize("run", ["?", "...", "?!", "\n", '."', "。"])
def test_long_run_of_marks_is_split_in_time(run: str) -> None:
    started = time.thread_time()
    for text in (f"tea {run * 10_000}x", f"tea {run * 10_000} milk"):
        assert split_sentences(text)[0].startswith("tea")
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize("part", ["a", " ", "\u3000", "one two. ", "one, two ", "去年"])
def test_pieces_are_short_and_make_up_the_text(part: str) -> None:
    text = part * (7_000 // len(part))
    spans = list(pieces(text))
    assert "".join(text[start:end] for start, end in spans) == text
    assert max(end - start for start, end in spans) <= 2_000
    assert all(end - start <= 2_000 for start, end in sentence_spans(text))
    if " " in part.strip():
        assert all(text[end - 1] in " ." for _, end in spans[:-1])
