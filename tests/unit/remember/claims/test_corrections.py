from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.claims.corrections import find_replaced_values
from memoranda.testing.fakes import HashEmbedder

SAID = datetime(2026, 4, 20, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Her birthday. It's the 21st of June, not the 12th.", (6, 12)),
        ("They moved it. It's 2 January now instead of the 9th.", (1, 9)),
        ("The deadline is 3 May rather than 30 April.", (4, 30)),
        ("The party is on 2026-10-03, not 2026-10-01.", (10, 1)),
    ],
)
def test_old_day_is_read_whatever_is_left_out(text: str, day: tuple[int, int]) -> None:
    assert [found.day for found in find_replaced_values(text, SAID)] == [day]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The rent is 900 euros instead of 870 euros.", ("870", "euro")),
        ("We meet at 4 pm, not 3 pm.", ("3", "pm")),
        ("We use Postgres rather than Oracle.", ("oracl",)),
    ],
)
def test_old_amount_or_name_is_read(text: str, terms: tuple[str, ...]) -> None:
    assert [found.terms for found in find_replaced_values(text, SAID)] == [terms]


@pytest.mark.parametrize(
    "text",
    [
        "I'd rather walk than run.",
        "I am not Bob.",
        "I do not like 3 of them.",
        'He said "it is the 21st of June, not the 12th".',
        "I went there, not because of the 12th.",
        "We go by train, not on the 12th.",
    ],
)
def test_text_without_new_value_of_the_same_kind_takes_nothing_back(text: str) -> None:
    assert list(find_replaced_values(text, SAID)) == []


def _told(tmp_path: Path, *turns: tuple[str, str, str]) -> MemoryManager:
    manager = MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db")
    for at, name, text in turns:
        message = Message("user", text, name=name, timestamp=datetime.fromisoformat(f"{at}T10:00+00:00"))
        manager.remember([message], user="family")
    return manager


def test_correction_without_subject_comes_before_what_it_corrects(tmp_path: Path) -> None:
    with _told(
        tmp_path,
        ("2026-01-05", "Ole", "Jot this down, the school concert in the big hall is on 14 May, bring the twins."),
        ("2026-02-02", "Ole", "On 14 May last year we were in Crete, that was hot."),
        ("2026-03-09", "Ole", "It's 28 May now instead of the 14th. The hall has a leak. Everybody is annoyed."),
    ) as manager:
        hits = manager.recall("When is the school concert?", user="family")
        assert hits[0].content.startswith("It's 28 May")
        old = next(hit for hit in hits if "school concert" in hit.content)
        assert hits[0].content in [memory.content for memory in old.later]
        then = manager.recall("When is the school concert?", user="family", as_of="2026-02-03T00:00:00+00:00")
        assert "14 May" in then[0].content


def test_correction_by_somebody_else_is_not_linked(tmp_path: Path) -> None:
    with _told(
        tmp_path,
        ("2026-01-05", "Ole", "The school concert is on 14 May."),
        ("2026-03-09", "Eva", "My dentist wrote: it's 28 May instead of the 14th."),
    ) as manager:
        old = next(hit for hit in manager.recall("school concert", user="family") if "concert" in hit.content)
        assert old.later == ()


@pytest.mark.parametrize("text", ["It is 5" + " " * 5_000 + "x", "not " * 5_000, "A, but " * 5_000 + "not B"])
def test_long_text_is_searched_in_bounded_time(text: str) -> None:
    started = time.process_time()
    list(find_replaced_values(text, SAID))
    assert time.process_time() - started < 2


def open_manager() -> MemoryManager:
    return MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=lambda: SAID.replace(hour=12))


def say(manager: MemoryManager, *texts: str) -> None:
    for minute, text in enumerate(texts):
        said = SAID.replace(minute=minute)
        manager.remember(Message("user", text, timestamp=said), user="ana", session="talk")


@pytest.mark.parametrize(
    ("wrong", "right", "value"),
    [
        ("I was born in 1988.", "Sorry, typo: I was born in 1989.", "1989"),
        ("I live in Oslo.", "Typo: I live in Bergen.", "Bergen"),
        ("I live in Oslo.", "Bergen, sorry.", "Bergen"),
        ("I'm 30.", "31, oops", "31"),
        ("My flight is on Tuesday.", "Thursday, sorry!", "Thursday"),
        ("My brother's name is Jon.", "I meant Jan, not Jon.", "Jan"),
    ],
)
def test_short_correction_replaces_the_wrong_value(wrong: str, right: str, value: str) -> None:
    with open_manager() as manager:
        say(manager, wrong, right)
        assert [fact.value for fact in manager.facts(user="ana")] == [value]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("I'm allergic to peanuts.", "I meant hazelnuts."),
        ("I have two brothers.", "Correction: three."),
        ("I have two brothers.", "Actually three."),
        ("We meet at 5.", "Correction: 6."),
        ("The train leaves at 18:30.", "18:40, sorry"),
    ],
)
def test_correction_of_what_fills_no_slot_marks_it(wrong: str, right: str) -> None:
    with open_manager() as manager:
        say(manager, wrong, right)
        later = {hit.content: [each.content for each in hit.later] for hit in manager.recall(wrong, user="ana")}
        assert later[wrong] == [right]


@pytest.mark.parametrize("text", ["Great, sorry.", "I meant no harm.", "I meant it.", "So sorry."])
def test_words_without_a_value_correct_nothing(text: str) -> None:
    with open_manager() as manager:
        say(manager, "I live in Oslo.", text)
        [hit] = [hit for hit in manager.recall("Where do I live?", user="ana") if hit.content == "I live in Oslo."]
        assert hit.later == ()
