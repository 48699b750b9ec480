from __future__ import annotations

from memoranda.maintenance.policies import repeats
from memoranda.remember.duplicates import fingerprint, says_the_same
from memoranda.types import Memory, MemoryType
from tests.unit.maintenance.samples import NOW, SETTINGS, Subject, subject, turn


def same(one: Memory, other: Memory) -> bool:
    return says_the_same(fingerprint(one.content, one.valid_from), fingerprint(other.content, other.valid_from))


def merged(*subjects: Subject) -> list[tuple[int | None, int | None]]:
    return [(each.id, each.into) for each in repeats(subjects, NOW, SETTINGS, same)]


def test_the_same_words_in_another_dress_repeat() -> None:
    first, second = subject(1, "I really love green tea!"), subject(2, "i really love  green tea")
    assert merged(first, second) == [(2, 1)]


def test_a_number_a_name_or_a_not_makes_it_news() -> None:
    base = subject(1, "My sister Ann has 2 cats at home")
    others = [
        "My sister Ann has 3 cats at home",
        "My sister Eva has 2 cats at home",
        "My sister Ann has not 2 cats at home",
    ]
    assert merged(base, *(subject(n, text) for n, text in enumerate(others, 2))) == []


def test_what_says_more_is_never_merged_into_what_says_less() -> None:
    short, long = (
        subject(1, "Green tea is my favourite hot drink"),
        subject(2, "Green tea is my favourite hot morning drink"),
    )
    assert merged(short, long) in ([(1, 2)], [])
    assert merged(subject(1, "We walked the dog in the park"), subject(2, "We walked the dog in the wood")) == []


def test_the_best_supported_one_stays() -> None:
    words = "The meeting room is upstairs"
    assert merged(subject(1, words), subject(2, words, importance=0.9), subject(3, words, trust="tool")) == [
        (1, 2),
        (3, 2),
    ]
    assert merged(subject(1, words, trust="tool"), subject(2, words)) == [(1, 2)]
    assert merged(subject(1, words), subject(2, words, accesses=4)) == [(1, 2)]
    assert merged(subject(1, words), subject(2, words)) == [(2, 1)]


def test_pinned_memories_stay_whatever_they_repeat() -> None:
    words = "The key hangs behind the door"
    assert merged(subject(1, words, pinned=True), subject(2, words, pinned=True), subject(3, words)) == [(3, 1)]


def test_memories_of_different_people_types_or_agents_are_never_merged() -> None:
    words = "The garden needs water"
    kinds = [{"user": "ada"}, {"agent": "a"}, {"type": MemoryType.PROCEDURAL}, {"speaker": "Ben"}, {"tenant": "t"}]
    assert merged(*(subject(n, words, **fields) for n, fields in enumerate([{}, *kinds], 1))) == []


def test_words_said_again_later_or_elsewhere_are_news() -> None:
    words = "The garden needs water again"
    assert merged(turn(1, words, days=3), turn(2, words, days=2.9)) == [(2, 1)]
    assert merged(turn(1, words, days=3), turn(2, words, days=1.5)) == []
    assert merged(turn(1, words), turn(2, words, session="s2")) == []


def test_what_is_put_away_expired_derived_or_saved_takes_no_part() -> None:
    words = "The roof is new"
    odd = [{"archived_at": NOW}, {"valid_to": NOW}, {"expires_at": NOW}, {"derived": "summary"}, {"key": "k"}]
    assert merged(*(subject(n, words, **fields) for n, fields in enumerate([{}, *odd], 1))) == []


def test_texts_without_a_telling_word_are_left_alone() -> None:
    assert merged(subject(1, "…"), subject(2, "…")) == []
