from __future__ import annotations

import time

import pytest

from memoranda.remember.reading.entities import find_entities


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("We met Dr. Miller there.", "person", "Miller"),
        ("my sister Anna came along", "person", "Anna"),
        ("then I moved to Fort Wayne", "place", "Fort Wayne"),
        ("we saw the Grand Canyon", "place", "Grand Canyon"),
        ("she works at Door Dash", "organisation", "Door Dash"),
        ("he teaches at Lisbon University", "organisation", "Lisbon University"),
        ('I read "Becoming Nicole" twice', "title", "Becoming Nicole"),
        ("it cost $325,000 in the end", "quantity", "$325,000"),
        ("we walked 12 km", "quantity", "12 km"),
        ("write to ana@example.org please", "email", "ana@example.org"),
        ("see https://example.org/a?b=1.", "url", "https://example.org/a?b=1"),
        ("ask @anasilva about it", "handle", "@anasilva"),
        ("ring +49 151 2345678 soon", "phone", "+49 151 2345678"),
        ("then Patrick Rothfuss wrote", "name", "Patrick Rothfuss"),
        ("New York was loud", "name", "New York"),
        ("we flew to Great Britain", "place", "Great Britain"),
        ("Happy Birthday Emi", "name", "Emi"),
        ("Dear Nora, it rains", "name", "Nora"),
    ],
)
def test_entity_is_found_with_its_kind(text: str, kind: str, name: str) -> None:
    (entity,) = find_entities(text)
    assert (entity.kind, entity.text) == (kind, name)
    assert text[slice(*entity.span)] == name


@pytest.mark.parametrize(
    "text",
    [
        "Sometimes I go home.",
        "Happy New Year, twelve days late.",
        "possibly a New Year's baby",
        "we wished them a Merry Christmas and a Happy New Year",
        "it was Black Friday, then Boxing Day and Valentine’s Day",
        "he is in Year 10 now, and Plan B is ready",
        "that is all, Best Regards",
        "Last week was fine.",
        "On Monday I rest.",
        "I AM SO HAPPY TODAY",
        "it rained",
        'he said "That"',
    ],
)
def test_capitalised_word_that_is_no_name_is_ignored(text: str) -> None:
    assert find_entities(text) == ()


def test_short_name_of_a_speaker_is_a_person() -> None:
    found = find_entities("well Mel, ask Caroline", people={"Melanie", "Caroline"})
    assert [(entity.kind, entity.text) for entity in found] == [("person", "Mel"), ("person", "Caroline")]


def test_text_of_names_and_titles_takes_no_longer_than_its_length() -> None:
    started = time.thread_time()
    assert len(find_entities('Yéa "' * 4_000)) == 3_999
    assert time.thread_time() - started < 1
