"""Which older memories a new one is linked to, or ends, by its words and its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.updates.likeness import describes_event
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    clock = FakeClock(SAID + timedelta(days=99))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def say(manager: MemoryManager, text: str, days: float, *, name: str = "Ana", user: str = "ana") -> int:
    message = Message("user", text, name=name, timestamp=SAID + timedelta(days=days))
    (outcome,) = manager.remember(message, user=user)
    assert outcome.memory is not None
    return outcome.memory.id


def ended_by(manager: MemoryManager, memory_id: int) -> int | None:
    return manager.get(memory_id, user="ana").superseded_by


def follows(manager: MemoryManager, newer: int, older: int) -> bool:
    found = manager.get_related_memories(newer, "follows", user="ana")
    return older in [link.id for link in found] and manager.get(older, user="ana").notes.get("followed") is True


@pytest.mark.parametrize("text", ["I sold it.", "No longer true.", "It moved to Friday.", "Ghent is home now."])
def test_event_is_recognised(text: str) -> None:
    assert describes_event(text)


@pytest.mark.parametrize(
    "text", ["I live in Rome.", "My boss is Eva.", 'He says "I sold the boat"?', "If I sold the boat, I'd move."]
)
def test_statement_question_or_condition_describes_no_event(text: str) -> None:
    assert not describes_event(text)


def test_change_that_names_only_values_ends_the_claim_with_that_value(manager: MemoryManager) -> None:
    spotify = say(manager, "I use Spotify.", 0)
    other = say(manager, "I use Firefox.", 1)
    switch = say(manager, "I switched from Spotify to Tidal.", 9)
    assert [ended_by(manager, each) for each in (spotify, other)] == [switch, None]


def test_sold_thing_is_no_longer_owned(manager: MemoryManager) -> None:
    boat = say(manager, "I bought a boat.", 0)
    bike = say(manager, "I bought a red bike.", 1)
    sold = say(manager, "I sold the boat.", 9)
    assert [ended_by(manager, each) for each in (boat, bike)] == [sold, None]


def test_repeated_sentence_with_a_new_value_and_now_ends_what_the_older_says(manager: MemoryManager) -> None:
    two = say(manager, "I have two children.", 0)
    three = say(manager, "I now have three children.", 9)
    assert [claim.get("ended_by") for claim in manager.get(two, user="ana").notes["claims"]] == [None, three]
    first, second = manager.recall("How many children do I have?", user="ana")
    assert [(first.id, first.later), (second.id, [each.id for each in second.later])] == [(three, ()), (two, [three])]


def test_repeated_sentence_with_a_new_value_follows(manager: MemoryManager) -> None:
    two = say(manager, "I have two children.", 0)
    three = say(manager, "I have three children.", 9)
    assert ended_by(manager, two) is None
    assert follows(manager, three, two)


def test_denied_sentence_ends(manager: MemoryManager) -> None:
    sundays = say(manager, "I volunteer on Sundays.", 0)
    denied = say(manager, "I no longer volunteer on Sundays.", 9)
    assert ended_by(manager, sundays) == denied


def test_change_in_other_words_follows_what_shares_a_telling_word(manager: MemoryManager) -> None:
    lease = say(manager, "The lease for the Zwicky office is signed by Petra.", 0)
    for number in range(5):
        say(manager, f"Lunch number {number} was soup.", 1)
    changed = say(manager, "Petra cancelled the Zwicky deal yesterday.", 9)
    assert ended_by(manager, lease) is None
    assert follows(manager, changed, lease)


@pytest.mark.parametrize(("name", "user"), [("Bob", "ana"), ("Ana", "bob")])
def test_other_speakers_and_users_change_nothing(manager: MemoryManager, name: str, user: str) -> None:
    two = say(manager, "I have two children.", 0)
    say(manager, "I now have three children.", 9, name=name, user=user)
    assert ended_by(manager, two) is None
    assert "followed" not in manager.get(two, user="ana").notes


def test_older_sentence_that_arrives_late_changes_nothing(manager: MemoryManager) -> None:
    three = say(manager, "I have three children.", 9)
    two = say(manager, "I now have two children.", 0)
    assert [ended_by(manager, each) for each in (two, three)] == [None, None]


def test_document_is_not_compared(manager: MemoryManager) -> None:
    two = say(manager, "I have two children.", 0)
    manager.remember("I now have three children. " + "The rest is a long report. " * 90, user="ana")
    assert ended_by(manager, two) is None


def test_text_from_a_web_page_hides_nothing_the_user_said(manager: MemoryManager) -> None:
    manager.remember("I have two children.", user="ana", at=SAID)
    manager.remember("I now have three children.", user="ana", source="https://example.org/a")
    first, second = manager.list_memories(user="ana")
    assert first.superseded_by is None
    found = manager.get_related_memories(second.id, "contradicts", user="ana")
    assert [link.id for link in found] == [first.id]


@pytest.mark.parametrize(
    ("statement", "event"),
    [
        ("I'm vegetarian, no meat for me.", "I started eating meat again, mostly chicken."),
        ("We rent a flat by the river.", "We moved out of the flat, goodbye rent!"),
        ("My boyfriend Luca is a chef.", "Luca and I split up."),
        ("We have two kids, two boys.", "Our third kid was born, a girl."),
        ("The meeting with Bob is on Tuesday.", "The meeting with Bob got pushed."),
    ],
)
def test_event_is_linked_to_the_statement_it_changes(manager: MemoryManager, statement: str, event: str) -> None:
    older = say(manager, statement, 0)
    newer = say(manager, event, 9)
    assert follows(manager, newer, older) or ended_by(manager, older) == newer


@pytest.mark.parametrize(
    ("statement", "event"),
    [
        ("The meeting with Bob is on Tuesday.", "The meeting with Carla moved."),
        ("My flight leaves at seven.", "Lena's flight was cancelled."),
        ("I'm vegetarian, no meat for me.", "My brother started eating meat again."),
        ("My brother works at Audi.", "I quit my job."),
        ("I have a cat.", "If I had a cat, I would sell it."),
    ],
)
def test_event_of_somebody_else_is_not_linked(manager: MemoryManager, statement: str, event: str) -> None:
    older = say(manager, statement, 0)
    newer = say(manager, event, 9)
    assert not follows(manager, newer, older)


@pytest.mark.parametrize(
    ("statement", "past"),
    [
        ("I study physics in Ulm.", "I studied law in Ulm in 2009."),
        ("My gym costs 30 euros a month.", "I paid 30 euros for a gym bag."),
    ],
)
def test_event_of_the_past_is_not_linked_to_what_holds(manager: MemoryManager, statement: str, past: str) -> None:
    older = say(manager, statement, 0)
    newer = say(manager, past, 9)
    assert not follows(manager, newer, older)
    assert ended_by(manager, older) is None


def test_something_bought_marks_and_leaves_the_order(manager: MemoryManager) -> None:
    older = say(manager, "I'm allergic to seeds and nuts.", 0)
    newer = say(manager, "I bought seeds and nuts.", 9)
    assert follows(manager, newer, older)
    hits = manager.recall("What am I allergic to?", user="ana")
    assert [hit.id for hit in hits] == [older, newer]
    assert [later.id for later in hits[0].later] == [newer]


def test_event_is_linked_to_a_statement_of_the_same_call(manager: MemoryManager) -> None:
    texts = ("I'm vegetarian, no meat for me.", "I started eating meat again, mostly chicken.")
    messages = [Message("user", text, name="Ana", timestamp=SAID + timedelta(days=n)) for n, text in enumerate(texts)]
    older, newer = (outcome.memory for outcome in manager.remember(messages, user="ana"))
    assert older is not None
    assert newer is not None
    assert follows(manager, newer.id, older.id)


def test_mark_goes_with_the_memory_that_set_it(manager: MemoryManager) -> None:
    older = say(manager, "I have two children.", 0)
    newer = say(manager, "I have three children.", 9)
    assert manager.get(older, user="ana").notes.get("followed") is True
    manager.delete(newer, user="ana")
    assert "followed" not in manager.get(older, user="ana").notes


@pytest.mark.parametrize(
    "words", ["Scratch that.", "That was a joke, I did not move.", "Never mind, I'm staying in Berlin."]
)
def test_claim_that_is_retracted_is_no_fact(manager: MemoryManager, words: str) -> None:
    berlin = say(manager, "I live in Berlin.", 0)
    ghent = say(manager, "I moved to Ghent.", 9)
    assert ended_by(manager, berlin) == ghent
    back = say(manager, words, 9.1)
    [city] = [fact for fact in manager.facts(user="ana") if fact.attribute == "city"]
    assert (city.value, city.disputed_by) == ("Berlin", ())
    assert [ended_by(manager, each) for each in (berlin, ghent)] == [None, None]
    hits = {hit.id: hit for hit in manager.recall("Ghent or Berlin?", user="ana")}
    assert back in [later.id for later in hits[ghent].later]
    values = {value.value: value.until for value in manager.history("ana/city", user="ana").values}
    assert values["Berlin"] is None
    assert values["Ghent"] is not None


def test_what_was_retracted_counts_again_without_the_words_that_did(manager: MemoryManager) -> None:
    say(manager, "I live in Berlin.", 0)
    say(manager, "I moved to Ghent.", 9)
    back = say(manager, "Scratch that.", 9.1)
    manager.delete(back, user="ana")
    assert [fact.value for fact in manager.facts(user="ana")] == ["Ghent"]


def test_old_claim_is_not_retracted(manager: MemoryManager) -> None:
    say(manager, "I live in Berlin.", 0)
    say(manager, "Scratch that.", 30)
    assert [fact.value for fact in manager.facts(user="ana")] == ["Berlin"]


def test_change_of_the_meeting_is_about_the_only_meeting_that_is_known(manager: MemoryManager) -> None:
    older = say(manager, "The team meeting is on Monday.", 0)
    newer = say(manager, "They pushed the meeting to Friday.", 1)
    [fact] = manager.facts(user="ana")
    assert (fact.attribute, fact.value) == ("team meeting day", "Friday")
    assert ended_by(manager, older) is None
    assert follows(manager, newer, older)


def test_renamed_dog_has_one_name(manager: MemoryManager) -> None:
    say(manager, "The dog is called Max.", 0)
    say(manager, "We renamed the dog to Rex.", 1)
    assert [(fact.attribute, fact.value) for fact in manager.facts(user="ana")] == [("name", "Rex")]


def test_events_of_long_ago_are_ordered_by_when_they_happened(manager: MemoryManager) -> None:
    say(manager, "I moved to Ghent five years ago.", 0)
    say(manager, "I moved to Hamburg ten years ago.", 1)
    [city] = manager.facts(user="ana")
    assert (city.value, [value.value for value in city.replaced]) == ("Ghent", ["Hamburg"])


def test_event_of_long_ago_does_not_replace_what_is_said_of_the_present(manager: MemoryManager) -> None:
    say(manager, "I live in Berlin.", 0)
    say(manager, "I moved to Munich ten years ago.", 1)
    assert [fact.value for fact in manager.facts(user="ana")] == ["Berlin"]


def test_value_in_history_does_not_begin_after_its_end(manager: MemoryManager) -> None:
    say(manager, "I live in Hamburg.", 0)
    say(manager, "I moved to Ghent last week.", 0.01)
    hamburg, _ = manager.history("ana/city", user="ana").values
    assert hamburg.until is not None
    assert hamburg.since <= hamburg.until


def test_own_later_words_do_not_dispute(manager: MemoryManager) -> None:
    say(manager, "I eat meat.", 0)
    say(manager, "I don't eat meat.", 1)
    [fact] = manager.facts(user="ana")
    assert (fact.holds, fact.disputed_by) == (False, ())


def test_statement_about_the_past_is_recalled_for_its_own_time(manager: MemoryManager) -> None:
    say(manager, "I lived in Munich from 2010 to 2014.", 0)
    found = {
        year: manager.recall("Where did I live?", user="ana", as_of=f"{year}-06-01T00:00Z")
        for year in (2008, 2012, 2016)
    }
    assert {year: bool(hits) for year, hits in found.items()} == {2008: False, 2012: True, 2016: False}


UNRELATED = (
    "My cat is called Mumble.",
    "I keep three beehives behind the barn.",
    "My sister Ida lives in Oslo.",
    "I'm allergic to peanuts.",
    "I play the cello on Thursdays.",
    "We had pasta with friends on Sunday.",
    "I drive a red Volvo.",
    "I take vitamin D in winter.",
    "We booked a cabin in Norway for July.",
    "I can't stand coriander.",
    "The honey harvest was 20 kilos.",
    "My shoe size is 43.",
    "I baked bread with rye flour.",
    "The tomatoes are finally ripe.",
    "I collect stamps from Iceland.",
    "I voted early this year.",
)


def test_update_in_other_words_is_noticed_among_many_statements() -> None:
    with MemoryManager("sqlite://", clock=FakeClock(SAID + timedelta(days=99))) as manager:
        bank = say(manager, "My bank is ING.", 0)
        for day, text in enumerate(UNRELATED):
            say(manager, text, 1 + day)
        news = say(manager, "My salary goes to N26 now, I closed the ING account.", 50)
        assert follows(manager, news, bank)
        hits = [hit.id for hit in manager.recall("Which bank do I use?", user="ana")]
        assert hits.index(news) < hits.index(bank)
        marked = [hit for hit in manager.recall("What do you know?", user="ana", limit=50, min_score=0) if hit.later]
        assert [hit.id for hit in marked] == [bank]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("My name is Tim. I mean Tom.", "Tom"),
        ("The meeting is on Monday. It moved to Thursday.", "Thursday"),
        ("My rent is 900 euros. They raised it to 950 euros.", "950 euros"),
        ("The standup is at 9 am. It got pushed to 10 am.", "10 am"),
    ],
)
def test_second_sentence_corrects_or_changes_the_first(manager: MemoryManager, text: str, value: str) -> None:
    say(manager, text, 0)
    assert [fact.value for fact in manager.facts(user="ana")] == [value]


def test_name_that_is_said_to_be_wrong_is_replaced(manager: MemoryManager) -> None:
    wrong = say(manager, "Call me Katie.", 0)
    right = say(manager, "Call me Kate, not Katie.", 1)
    assert ended_by(manager, wrong) == right


def test_corrected_value_was_never_true(manager: MemoryManager) -> None:
    wrong = say(manager, "I was born in 1986.", 0)
    say(manager, "Correction: 1985.", 9)
    then = SAID + timedelta(days=1)
    assert [fact.value for fact in manager.facts(user="ana", as_of=then)] == ["1985"]
    assert wrong not in [hit.id for hit in manager.recall("When was Ana born?", user="ana", as_of=then)]


@pytest.mark.parametrize(
    "text",
    [
        "I have a question about bees.",
        "I have no idea.",
        "I got a call.",
        "My name is not important.",
        "I study in the evening.",
        "My favourite band is now on tour.",
        "I'm allergic to Mondays.",
        "If I win, I live in Rome.",
        "Tom: I moved to Vienna.",
        "My name is mud.",
        "My car is now clean.",
        "My office is too hot.",
        "My bike is in the garage.",
        "I'm in Lisbon now.",
        "We're staying in Porto.",
        "People hate hills.",
        "His name is Wouter.",
        "Answer: gravity",
        "I keep opening the fridge.",
        "I have a week owed to me.",
        "The van is booked for the 31st.",
    ],
)
def test_words_that_name_no_value_make_no_fact(manager: MemoryManager, text: str) -> None:
    say(manager, text, 0)
    assert manager.facts(user="ana") == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Turin.", "I moved to Milan and back within one weekend."),
        ("I live in Turin.", "I moved to Milan (my alter ego did, anyway)."),
        ("I live in Turin.", "I no longer live in Turin alone, Marco moved in."),
        ("I live in Turin.", "I moved to Milan! No wait, that's my colleague's status."),
        ("I work at Fiat.", "I started at Ferrari's stand and then walked the whole fair."),
        ("I'm single.", "I'm married to my job now."),
        ("My name is Nora.", "My name is now Agent Smith in the office Secret Santa."),
        ("I live in Turin.", "I moved to Milan but it didn't last."),
        ("I live in Turin.", "I live in Milan now and then."),
        ("I work at Fiat.", "I got hired by Ferrari, if the rumours are to be believed."),
        ("I work at Fiat.", "I quit my job as treasurer of the club."),
        ("My team is Juve.", "My new team is Inter in the office league."),
        ("My budget is 500 euros.", "My budget is now 50 euros smaller."),
        ("My gym is FitOne.", "My gym moved to Main Street."),
    ],
)
def test_words_after_a_value_that_take_from_it_end_nothing(manager: MemoryManager, older: str, newer: str) -> None:
    first = say(manager, older, 0)
    say(manager, newer, 9)
    assert ended_by(manager, first) is None
    assert all("ended_by" not in claim for claim in manager.get(first, user="ana").notes["claims"])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I have a dog.", "We no longer have a dog."),
        ("I'm vegan.", "I'm not vegan anymore."),
        ("I play tennis.", "I gave up tennis."),
        ("Anna is my manager.", "Anna is no longer my manager."),
        ("I live in Turin.", "I moved to Milan last week for work."),
        ("I work at Lidl.", "Lidl let me go last week."),
        ("I work at Lidl.", "Lidl has laid me off."),
        ("I work at Lidl.", "Lidl fired me."),
    ],
)
def test_explicit_end_hides_what_was(manager: MemoryManager, older: str, newer: str) -> None:
    first = say(manager, older, 0)
    second = say(manager, newer, 9)
    assert ended_by(manager, first) == second


def test_messages_that_are_all_kept_make_facts_and_updates(manager: MemoryManager) -> None:
    for role, text in (("system", "User lives in Rome."), ("user", "I live in Kiel."), ("user", "I moved to Bonn.")):
        manager.remember([Message(role, text, timestamp=SAID)], user="ana", session="s", keep_all=True)
    (city,) = manager.facts(user="ana")
    assert (city.value, [each.value for each in city.replaced]) == ("Bonn", ["Kiel"])
