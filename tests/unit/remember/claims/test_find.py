from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.remember.claims.patterns import PARTS, PATTERNS
from memoranda.storage.claims import ANY_ATTRIBUTE, Claim, Operation
from tests.unit.remember.samples import WEDNESDAY, extract_candidate


def claims(text: str, *, role: str = "user", name: str | None = "Ana") -> tuple[Claim, ...]:
    return extract_candidate(text, role=role, name=name).claims


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("My name is Ana Silva.", "name", "Ana Silva"),
        ("I'm 32 years old.", "age", "32"),
        ("My birthday is March 3rd.", "birthday", "March 3rd"),
        ("I live in Berlin now.", "city", "Berlin"),
        ("We moved from Paris to Lisbon for work.", "city", "Lisbon"),
        ("I work at Acme Corp.", "employer", "Acme Corp"),
        ("I just started a new job at Spotify.", "employer", "Spotify"),
        ("I'm a software engineer.", "occupation", "software engineer"),
        ("I'm from Ireland.", "home town", "Ireland"),
        ("I got married in June 2021.", "relationship status", "married"),
        ("My favourite colour is dark green, not red.", "favourite colour", "dark green"),
        ("Harry Potter is my favorite book.", "favourite book", "Harry Potter"),
        ("My phone number is +49 151 2345678.", "phone", "+49 151 2345678"),
        ("My email is ana@example.org.", "email", "ana@example.org"),
        ("My workshop is back on Friday.", "workshop day", "Friday"),
        ("My workshop is on Friday as usual.", "workshop day", "Friday"),
        ("My dentist is Ilse for the time being.", "dentist", "Ilse"),
        ("My favourite tea is Assam by far.", "favourite tea", "Assam"),
        ("My weight is 61 kg as of today.", "weight", "61 kg"),
        ("I've been at Lidl for two months.", "employer", "Lidl"),
        ("My standup is at 9.", "standup", "9"),
        ("I moved to Ouagadougou.", "city", "Ouagadougou"),
        ("I live in the village of Grimmel.", "city", "Grimmel"),
        ("I live in a small town called Oakvale.", "city", "Oakvale"),
        ("We just moved into a house in Zzyzx.", "city", "Zzyzx"),
        ("i live in berlin", "city", "berlin"),
        ("Turned 30 yesterday!", "age", "30"),
        ("Started at Bosch this morning.", "employer", "Bosch"),
    ],
)
def test_attribute_with_one_value_is_found(text: str, attribute: str, value: str) -> None:
    (claim,) = claims(text)
    assert (claim.subject, claim.attribute, claim.value) == ("Ana", attribute, value)
    assert claim.single
    assert claim.holds


@pytest.mark.parametrize(
    ("text", "attribute", "value", "holds"),
    [
        ("I love hiking in the Alps.", "likes", "hiking in the Alps", True),
        ("I can't stand loud bars.", "likes", "loud bars", False),
        ("I don't like mushrooms.", "likes", "mushrooms", False),
        ("I have a peanut allergy.", "allergic to", "peanut", True),
        ("I'm vegetarian.", "diet", "vegetarian", True),
        ("I was diagnosed with asthma.", "condition", "asthma", True),
        ("I bought a Honda Civic.", "owns", "Honda Civic", True),
        ("We decided to go with Postgres.", "decided", "go with Postgres", True),
        ("I'll send you the contract.", "will", "send you the contract", True),
        ("Can you remind me to renew my passport?", "will", "renew my passport", True),
    ],
)
def test_attribute_with_several_values_is_found(text: str, attribute: str, value: str, holds: bool) -> None:
    (claim,) = claims(text)
    assert (claim.attribute, claim.value, claim.holds, claim.single) == (attribute, value, holds, False)


@pytest.mark.parametrize(
    "text",
    ["I moved to Marketing.", "I moved to Fastmail.", "I moved to Vodafone.", "i live in fear", "i moved to sales"],
)
def test_name_of_something_that_is_used_is_no_home(text: str) -> None:
    assert [claim for claim in claims(text) if claim.attribute == "city"] == []


@pytest.mark.parametrize("text", ["I moved to Ouagadougou.", "Moved to Berlin last week.", "Sold my car yesterday."])
def test_change_to_an_unknown_place_or_without_a_subject_hides_nothing(text: str) -> None:
    (claim,) = claims(text)
    assert claim.operation == "state"


def test_occupation_and_employer_are_read_from_one_clause() -> None:
    found = claims("My wife is a nurse at St. Mary's.")
    assert [(claim.attribute, claim.value) for claim in found] == [("occupation", "nurse"), ("employer", "St. Mary's")]


def test_list_of_values_makes_one_claim_each() -> None:
    found = claims("I'm allergic to peanuts, eggs and shellfish.")
    assert [claim.value for claim in found] == ["peanuts", "eggs", "shellfish"]
    assert len({claim.span for claim in found}) == 1


@pytest.mark.parametrize(
    ("text", "subject", "attribute", "value"),
    [
        ("My sister lives in Madrid.", "Ana's sister", "city", "Madrid"),
        ("My sister Anna lives in Madrid.", "Ana's sister Anna", "city", "Madrid"),
        ("My wife works for Siemens.", "Ana's wife", "employer", "Siemens"),
        ("My dog's name is Rex.", "Ana's dog", "name", "Rex"),
    ],
)
def test_claim_about_a_relative_names_the_relative_as_subject(
    text: str, subject: str, attribute: str, value: str
) -> None:
    claim = claims(text)[0]
    assert (claim.subject, claim.attribute, claim.value) == (subject, attribute, value)


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Berlin?",
        "If I lived in Rome I would be happy.",
        "I wish I lived in Rome.",
        "She said I live in Rome.",
        "I love your turtles!",
        "I like it at the beach.",
        "I'll keep working hard.",
        "Moments like these remind me to appreciate life.",
        "Translate to German: My name is Peter and I live in Rome.",
        'Mia wrote "I live in Rome" on the card.',
        "I joined Mark for lunch.",
        "I visited Tokyo.",
    ],
)
def test_question_condition_or_passing_remark_makes_no_claim(text: str) -> None:
    assert claims(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "My password is [redacted]",
        "My password is [redacted].",
        "My password is [redacted] since Monday",
        "My PIN is the [redacted] one",
        "My favourite codes are [redacted], [redacted] and [redacted]",
        "Remind me to change the key [redacted]",
    ],
)
def test_redacted_value_makes_no_claim(text: str) -> None:
    assert claims(text) == ()


def test_claim_next_to_a_redacted_value_is_found() -> None:
    assert [claim.value for claim in claims("I live in Berlin. My password is [redacted].")] == ["Berlin"]


def test_only_a_named_assistant_makes_claims() -> None:
    assert claims("I live in Berlin.", role="assistant", name=None) == ()
    assert claims("I live in Berlin.", role="assistant", name="Bo")[0].subject == "Bo"


def test_evidence_span_covers_only_the_words_of_the_claim() -> None:
    text = "Well, good news: I moved to Lisbon last month, and the sun is great."
    (moved,) = claims(text)  # how the sun is, is no fact
    assert text[slice(*moved.span)] == "I moved to Lisbon"
    (book,) = claims("Harry Potter is my favorite book.")
    assert book.span == (0, len("Harry Potter is my favorite book"))


def test_validity_is_read_from_the_dates_in_the_sentence() -> None:
    assert claims("I've worked for Google since 2019.")[0].valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    assert claims("I live in Berlin.")[0].valid_from == WEDNESDAY
    assert claims("I live in Berlin.")[0].valid_to is None
    assert claims("I used to live in Rome.")[0].valid_to == WEDNESDAY
    assert claims("I'll send you the contract by Friday.")[0].valid_to == datetime(2023, 6, 17, tzinfo=UTC)


def test_very_long_text_makes_no_claims() -> None:
    assert claims("I live in Berlin. " * 400) == ()


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("I live in Ghent.", "state"),
        ("I now live in Ghent.", "update"),
        ("I moved to Ghent.", "update"),
        ("I finally moved to Ghent last week.", "update"),
        ("Ghent is home now.", "update"),
        ("My new number is 555 1234.", "update"),
        ("The meeting moved to Thursday.", "update"),
        ("My rent went up to $1,200.", "update"),
        ("I no longer live in Ghent.", "end"),
        ("I don't like mushrooms anymore.", "end"),
        ("I don't like mushrooms.", "state"),
        ("Actually, my flight is on Friday.", "correct"),
        ("Correction: I was born in 1985.", "correct"),
    ],
)
def test_only_explicit_change_is_more_than_a_statement(text: str, operation: Operation) -> None:
    (claim,) = claims(text)
    assert claim.operation == operation


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("I lived in Rome when I was a student.", {"state"}),
        ("My team moved to second place in the league this year.", set()),
    ],
)
def test_old_past_or_unclear_change_is_no_change(text: str, operations: set[str]) -> None:
    assert {claim.operation for claim in claims(text)} == operations


def test_change_of_long_ago_is_an_event_that_may_still_hold() -> None:
    (claim,) = claims("I moved to Lisbon in 2015.")
    assert (claim.operation, claim.value, claim.valid_from.year, claim.valid_to) == ("event", "Lisbon", 2015, None)


@pytest.mark.parametrize(
    "text", ["I moved to Signal from WhatsApp.", "I moved to Marketing.", "I moved to Mars.", "We moved to Android."]
)
def test_move_to_what_is_not_known_as_a_place_names_no_city(text: str) -> None:
    assert "city" not in {claim.attribute for claim in claims(text)}


@pytest.mark.parametrize("name", ["Ghent", "Rosenheim", "Santa Monica", "Cedar Springs", "Lisbon, Portugal"])
def test_move_to_a_place_names_a_city(name: str) -> None:
    assert [(claim.attribute, claim.operation) for claim in claims(f"I moved to {name}.")] == [("city", "update")]


def test_part_of_a_city_is_only_stated() -> None:
    (claim,) = claims("I live in Kreuzberg now.")
    assert (claim.attribute, claim.operation) == ("city", "state")


@pytest.mark.parametrize(
    "text", ["My wife is pregnant.", "My boss is strict.", "Score 21.", "Score is 21.", "My weight is a problem."]
)
def test_value_without_the_shape_of_its_slot_makes_no_claim(text: str) -> None:
    assert not {"wife", "manager", "age", "weight"} & {claim.attribute for claim in claims(text)}


def test_list_ends_where_a_sentence_begins() -> None:
    assert [claim.value for claim in claims("I'm allergic to nuts and dust, keep them coming.")] == ["nuts", "dust"]


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("Today was my first day at Bosch.", "employer", "Bosch"),
        ("Tom is my manager now.", "manager", "Tom"),
        ("We migrated the backend from Postgres to MySQL.", "backend", "MySQL"),
        ("They pushed the meeting to Friday.", "meeting day", "Friday"),
    ],
)
def test_event_fills_the_slot_that_it_changes(text: str, attribute: str, value: str) -> None:
    (claim,) = claims(text)
    assert (claim.attribute, claim.value, claim.operation) == (attribute, value, "update")


def test_choice_between_two_things_is_one_slot_in_either_order() -> None:
    (tea,), (coffee,) = claims("I prefer tea over coffee."), claims("I prefer coffee over tea.")
    assert (tea.attribute, tea.value, coffee.value) == (coffee.attribute, "tea", "coffee")


@pytest.mark.parametrize(
    "text", ["Scratch that.", "That was a joke, I did not move.", "Never mind, I'm staying in Berlin.", "Just kidding!"]
)
def test_words_that_take_something_back_are_read(text: str) -> None:
    assert "retract" in {claim.operation for claim in claims(text)}


@pytest.mark.parametrize(
    "text",
    [
        "That is true of Ghent.",
        "Forget it, it rains.",
        "Never mind the dust.",
        "I like the joke.",
        "Scratch that itch.",
    ],
)
def test_other_words_take_nothing_back(text: str) -> None:
    assert "retract" not in {claim.operation for claim in claims(text)}


def test_text_that_takes_itself_back_claims_nothing() -> None:
    assert claims("I moved to Ghent. Just kidding!") == ()


def test_change_names_the_value_it_replaces() -> None:
    (claim,) = claims("I moved from Siemens to Bosch.")
    assert claim.replaces == "Siemens"
    (switch,) = claims("I switched from Spotify to Tidal.")
    assert (switch.attribute, switch.value, switch.replaces) == (ANY_ATTRIBUTE, "Tidal", "Spotify")


def test_two_clauses_make_a_claim_each() -> None:
    left, joined = claims("I left Siemens and joined Bosch.")
    assert (left.value, left.holds, left.operation) == ("Siemens", False, "end")
    assert (joined.value, joined.holds) == ("Bosch", True)


@pytest.mark.parametrize("text", ["User lives in Oslo.", "The user lives in Oslo.", "The customer lives in Oslo."])
def test_note_about_the_user_is_a_claim_about_the_owner(text: str) -> None:
    (claim,) = claims(text, role="assistant", name=None)
    assert (claim.subject, claim.attribute, claim.value) == ("user", "city", "Oslo")


@pytest.mark.parametrize(
    ("first", "second", "attribute"),
    [
        ("My phone number is 555 1234.", "My new number is 555 9876.", "phone"),
        ("The standup starts at 9:30.", "The standup is at 10:00.", "standup time"),
        ("My favorite book is Emma.", "Dune is my favourite book.", "favourite book"),
        ("I smoke.", "I quit smoking.", "smoke"),
    ],
)
def test_two_ways_to_say_it_fill_one_slot(first: str, second: str, attribute: str) -> None:
    (one,), (other,) = claims(first), claims(second)
    assert one.attribute == other.attribute == attribute


def test_opposite_state_is_the_denial_of_the_other() -> None:
    (on,), (off,) = claims("The light is on."), claims("The light is off.")
    assert (on.attribute, on.value, on.holds) == (off.attribute, off.value, not off.holds)


def test_every_pattern_compiles_and_uses_every_part() -> None:
    sources = "".join(pattern.template for pattern in PATTERNS) + "".join(PARTS.values())
    assert all(pattern.regex.groups for pattern in PATTERNS)
    assert [name for name in PARTS if f"~{name}" not in sources] == []


@pytest.mark.parametrize(
    ("text", "value", "old"),
    [("Correction: 1985", "1985", None), ("I meant Thursday, not Tuesday.", "Thursday", "Tuesday")],
)
def test_bare_correction_names_only_the_right_value(text: str, value: str, old: str | None) -> None:
    (claim,) = claims(text)
    assert (claim.attribute, claim.operation, claim.value, claim.replaces) == ("*", "correct", value, old)


def test_opinion_about_a_thing_is_no_claim() -> None:
    assert claims("My family is awesome.") == ()
    assert claims("That picture is so cute!") == ()
    assert claims("My plan is Starter.")[0].attribute == "plan"


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("My gym moved to Main Street.", "state"),
        ("I live in Bonn now.", "update"),
        ("My new client is Globex.", "state"),
        ("My new manager is Ben.", "update"),
        ("I closed my laptop.", "state"),
        ("I dropped my phone.", "state"),
        ("I closed my account.", "end"),
        ("I sold my car.", "end"),
    ],
)
def test_only_what_is_certain_is_a_change(text: str, operation: Operation) -> None:
    (claim,) = claims(text)
    assert claim.operation == operation


def test_only_last_change_of_a_slot_in_one_text_counts() -> None:
    first, last = claims("I moved to Rome, then moved back to Kiel.")
    assert (first.value, first.operation, first.valid_to) == ("Rome", "state", first.valid_from)
    assert (last.value, last.operation, last.valid_to) == ("Kiel", "update", None)


@pytest.mark.parametrize("text", ["Theo drinks it.", "Nora owns.", "My doctor is in Rome now."])
def test_clause_that_names_no_value_is_no_claim(text: str) -> None:
    assert claims(text) == ()


@pytest.mark.parametrize("text", ["Just kidding about the pineapple.", "That's not true! The earth is round."])
def test_words_about_something_else_take_nothing_back(text: str) -> None:
    assert [claim for claim in claims(text) if claim.operation == "retract"] == []


def test_correction_without_a_value_corrects_nothing() -> None:
    assert claims("Forget the recipe, I was wrong.") == ()


@pytest.mark.parametrize(
    "text",
    [
        "I left Bosch a bad review.",
        "I lost my job interview notes.",
        "I got fired up by the talk.",
        "I just finished smoking.",
        "I turned 90 degrees left.",
        "I'm now seeing Tom about the car.",
        "I got a job offer from Siemens.",
        "We are moving to Bonn.",
    ],
)
def test_other_sense_of_a_word_for_a_change_is_no_change(text: str) -> None:
    assert [claim for claim in claims(text) if claim.operation != "state"] == []


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("Hello! I'm Hana, I teach chemistry.", "Ana/name", "Hana"),
        ("I'm Sam, backend dev at Finlo.", "Ana/employer", "Finlo"),
        ("I run a bakery with my husband Joris.", "Ana's husband/name", "Joris"),
        ("My sister Leila lives in Izmir and her birthday is 3 October.", "Ana's sister Leila/birthday", "3 October"),
        ("My mother's name is Samira, she is 71.", "Ana's mother/age", "71"),
        ("My manager is Lucia, she's based in Madrid.", "Lucia/city", "Madrid"),
        ("Our landlord raised our rent to 1,040 euros.", "Ana/rent money", "1,040 euros"),
        ("We raised the price of a loaf from 4.50 to 5 euros.", "Ana/loaf price money", "5 euros"),
        ("I'm 1.84 m tall.", "Ana/height", "1.84 m"),
        ("My commute is 25 minutes by metro.", "Ana/commute duration", "25 minutes"),
        ("My commute is one hour now.", "Ana/commute duration", "one hour"),
        ("My Instagram handle is @norabakes.", "Ana/instagram handle", "@norabakes"),
        ("I'm from Coimbra originally.", "Ana/home town", "Coimbra"),
    ],
)
def test_plain_sentence_makes_a_claim_by_its_shape(text: str, slot: str, value: str) -> None:
    assert (slot, value) in [(f"{claim.subject}/{claim.attribute}", claim.value) for claim in claims(text)]


@pytest.mark.parametrize("text", ["I'm German.", "I'm Catholic, by the way.", "I'm Ana's sister."])
def test_what_somebody_is_is_no_name(text: str) -> None:
    assert "name" not in [claim.attribute for claim in claims(text)]


def test_pronoun_is_nobody_where_two_people_were_named() -> None:
    found = claims("My brother Tom lives in Oslo and met Anna, she works at Shell.")
    assert "employer" not in [claim.attribute for claim in found]


def test_job_that_starts_later_holds_from_then() -> None:
    found = {claim.attribute: claim for claim in claims("From 2 July I'm lead analyst at Velora.")}
    assert found["employer"].value == "Velora"
    assert found["employer"].valid_from > found["employer"].said_at
    assert found["employer"].operation == "state"


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("The alarm is set for 7:00.", "state"),
        ("Retries are set to 5.", "state"),
        ("The meeting is moved to Tuesday.", "state"),
        ("The meeting was moved to Tuesday.", "update"),
        ("The alarm is now set for 7:00.", "update"),
        ("I set the heating to 17 degrees tonight.", "state"),
        ("We lowered the heating to 17 degrees today.", "state"),
        ("We lowered the heating to 17 degrees.", "update"),
        ("Actually, my favourite food is ramen now.", "update"),
        ("*1985", "correct"),
    ],
)
def test_state_and_what_holds_for_a_while_are_no_change(text: str, operation: str) -> None:
    assert [claim.operation for claim in claims(text)] == [operation]
