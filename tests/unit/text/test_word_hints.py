"""Hints: no text that holds one of the words is passed over."""

from __future__ import annotations

import pytest

from memoranda.security import redaction
from memoranda.security.secret_patterns import SPOKEN_PARTS, WORDS_HINT
from memoranda.text import wishes
from memoranda.text.word_hints import WordHints


@pytest.mark.parametrize("parts", [SPOKEN_PARTS, WORDS_HINT, wishes._HINTS], ids=["said", "named", "wished"])
def test_word_hints_find_every_part_inside_a_word_and_between_words(parts: tuple[str, ...]) -> None:
    hints = WordHints(parts)
    assert not hints.may_be_in("")
    for part in parts:
        assert hints.may_be_in(f"qq{part}qq"), part
        assert hints.may_be_in(f"qq {part} qq"), part


def test_word_hints_pass_over_text_without_a_part() -> None:
    hints = WordHints(("log in", "pin "))
    assert not hints.may_be_in("we met at the station")
    assert hints.may_be_in("i log out"), "a part with a space in it is looked for by its longest word"


def test_spoken_secret_is_found_after_the_same_words_without_one() -> None:
    assert redaction.find_secrets("The alarm went off at 7:30.") == ()
    assert redaction.redact_secrets("The alarm code is 4711.") != "The alarm code is 4711."
