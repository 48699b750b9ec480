from __future__ import annotations

import random
import re

import pytest

from memoranda.remember.claims.patterns import PATTERNS, possible_patterns
from memoranda.remember.screening.wordings import SIGNS
from memoranda.security import redaction
from memoranda.security.secret_patterns import SPOKEN_PARTS, WORDS_HINT
from memoranda.text import wishes
from memoranda.text.word_filter import AnyPart, Needs, WordFilter, WordHints, needed_words, words_in
from tests.unit.remember.screening.poison_cases import demo_turns, read_cases


def _needs(*words: str) -> Needs:
    return tuple(frozenset(each.split()) for each in words)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("moved to", _needs("moved", "to")),
        ("works?", _needs("work")),
        ("(?:live|work)s? in", _needs("live work", "in")),
        ("(?:live|\\w+)", ()),
        ("(?:now )?here", _needs("here")),
        ("(?:now )+here", _needs("now", "here")),
        ("(?P<who>Anna|Bob){1,2}", _needs("anna bob")),
        ("(?:very ){0,2}old", _needs("old")),
        ("(?!not)(?<=so)(?=it)gone", _needs("gone")),
        ("[abc]def[]]g", _needs("def", "g")),
        (r"\bi\u00e9x\b", _needs("<i", "x>")),
        (r"\b(?:door|gates?)\b(?! mm)", _needs("<door> <gate")),
        (r"\b(?!no)(?:front (?:door|gate)|lock)\b", _needs("<front <lock>")),
        (r"\d+ years: now", _needs(r"\d", "years", ":", "now")),
        ("Straße", _needs("strasse")),
    ],
)
def test_a_pattern_tells_what_a_text_must_contain(pattern: str, expected: Needs) -> None:
    assert needed_words(pattern) == expected


def test_parts_of_a_template_bring_their_own_needs() -> None:
    assert needed_words("~who~verb home", {"who": (), "verb": _needs("went came")}) == _needs("went came", "home")


def test_hints_are_reduced_to_their_longest_word() -> None:
    assert words_in(["a.i.", "role-play", "Don't"]) == _needs("a role don")
    assert words_in(["bot", "!"]) == ()


def test_only_patterns_whose_words_a_text_has_are_tried() -> None:
    patterns = ("moved to", "age \\d+", "name: ", ".*")
    words = WordFilter(map(needed_words, patterns))
    assert words.find("We REMOVED it to be safe") == (0, 3)
    assert words.find("my age is 4٣") == (1, 3)
    assert words.find("name: Ann") == (2, 3)
    assert words.find("") == (3,)


def test_letters_that_only_ignoring_case_makes_equal_count_as_the_same() -> None:
    for text in ("ſKıp", "SKIP", "skİp"):
        assert bool(re.search("skip", text, re.I)) <= (WordFilter([needed_words("skip")]).find(text) == (0,))


def test_a_long_word_is_read_like_a_short_one() -> None:
    assert WordFilter([_needs("moved")]).find("x" * 500 + "moved" + "x" * 500) == (0,)


def test_no_pattern_that_matches_is_left_out() -> None:
    texts = [case.text for name in ("poison.txt", "benign.txt") for case in read_cases(name)]
    texts += [case.text for case in demo_turns()]
    signs = WordFilter(needed_words(sign.source) for sign in SIGNS)
    for text in texts:
        possible = set(signs.find(text))
        assert not [n for n, sign in enumerate(SIGNS) if n not in possible and sign.pattern.search(text.casefold())]
        claims = list(possible_patterns(text))
        assert not [each for each in PATTERNS if each not in claims and each.regex.match(text)]


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


def test_any_part_is_found_where_one_of_the_parts_is_and_nowhere_else() -> None:
    rng = random.Random(4)

    def make(longest: int) -> str:
        return "".join(rng.choices("ab .|(", k=rng.randint(1, longest)))

    for _ in range(200):
        parts = [make(4) for _ in range(rng.randint(0, 6))]
        found = AnyPart(parts)
        for text in (make(8) for _ in range(50)):
            assert found.is_in(text) == any(part in text for part in parts), (parts, text)
