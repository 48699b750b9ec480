from __future__ import annotations

import random
from datetime import UTC, datetime

from memoranda.remember.base import KnownTexts, Utterance
from memoranda.remember.duplicates import Fingerprint, TextIndex, fingerprint_of, says_the_same

NOW = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)


def utterance(text: str, *, speaker: str = "Ana", role: str = "user", key: str = "m") -> Utterance:
    return Utterance(key, role, speaker, NOW, text, (0, len(text)))


def test_a_stored_memory_is_found_by_its_id() -> None:
    known: KnownTexts = TextIndex(
        [(7, utterance("I live in Berlin with Bo.")), (8, utterance("I bake bread on rainy days."))]
    )
    twin = known.find_match(utterance("i live in Berlin with Bo"))
    assert twin is not None
    assert (twin.of, twin.rule, twin.likeness) == (7, "duplicate", 1.0)
    assert known.find_match(utterance("I live in Porto with Bo.")) is None


def test_the_same_words_of_another_speaker_are_news() -> None:
    known = TextIndex([(7, utterance("I live in Berlin."))])
    assert known.find_match(utterance("I live in Berlin.", speaker="Bo")) is None


def test_what_is_learned_is_known_under_its_message() -> None:
    known = TextIndex()
    known.add(utterance("I live in Berlin.", key="m9"))
    twin = known.find_match(utterance("I live in Berlin!"))
    assert twin is not None
    assert twin.of == "m9"


def test_novelty_is_the_share_of_new_words() -> None:
    known = TextIndex([(1, utterance("My cousin plays chess."))])
    assert known.novelty("My cousin plays chess.") == 0.0
    assert known.novelty("Bread needs yeast.") == 1.0
    assert 0.0 < known.novelty("My cousin bakes bread.") < 1.0


def test_it_finds_what_comparing_with_every_text_finds() -> None:
    rng = random.Random(3)
    words = [f"word{chr(97 + n)}" for n in range(26)]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 9))) for _ in range(200)]
    known = TextIndex()
    seen: list[Fingerprint] = []
    for text in texts:
        new = utterance(text)
        expected = any(says_the_same(old, fingerprint_of(new)) for old in seen)
        assert (known.find_match(new) is not None) == expected, text
        known.add(new)
        seen.append(fingerprint_of(new))
