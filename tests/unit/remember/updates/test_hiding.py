"""What a later message must not hide, though it looks like a change of what was said before: both stay in recall."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID, ended_by, say


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    clock = FakeClock(SAID + timedelta(days=99))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def hides(manager: MemoryManager, older: str, newer: str) -> bool:
    first = say(manager, older, 0)
    second = say(manager, newer, 9)
    return ended_by(manager, first) == second


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I have a piano and a cello.", "I sold the cello."),
        ("I own a tent, a kayak and a canoe.", "I gave away my canoe."),
        ("I have a piano and a cello.", "I no longer have a cello."),
        ("I have a piano and a cello.", "I no longer have a piano."),
        ("I work at Bosch and Lidl.", "I quit my job."),
        ("I live in Ghent with Ben.", "I no longer live with Ben."),
    ],
)
def test_end_of_one_thing_hides_no_statement_of_several(manager: MemoryManager, older: str, newer: str) -> None:
    assert not hides(manager, older, newer)


def test_end_of_one_thing_leaves_the_fact_of_several(manager: MemoryManager) -> None:
    say(manager, "I have a piano and a cello.", 0)
    say(manager, "I sold the cello.", 9)
    assert [(fact.value, fact.holds) for fact in manager.facts(user="ana")] == [("piano and a cello", True)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I have a kayak.", "I sold my sister's kayak."),
        ("I have a kayak.", "I sold Ben's kayak."),
        ("I have a kayak.", "I sold his kayak."),
        ("I have a kayak.", "I donated their kayak."),
        ("I have a kayak.", "I gave away my spare kayak."),
        ("I own a piano.", "I got rid of my electric piano."),
        ("I have a company car.", "I sold my car."),
        ("I have a work laptop.", "I gave away my laptop."),
        ("We have a guest house.", "We sold our house."),
        ("I drive a company car.", "I traded my car for a bike."),
        ("I have a gym membership.", "I cancelled my membership."),
        ("I have a Spotify subscription.", "I cancelled my parents' Spotify subscription."),
        ("I use Firefox.", "I switched from my colleague's Firefox to Chrome."),
    ],
)
def test_end_of_another_thing_hides_nothing(manager: MemoryManager, older: str, newer: str) -> None:
    assert not hides(manager, older, newer)


def test_end_of_a_thing_with_another_modifier_is_linked(manager: MemoryManager) -> None:
    say(manager, "I have a car.", 0)
    say(manager, "I have a company car.", 1)
    say(manager, "I sold my car.", 9)
    hits = manager.recall("company car", user="ana")
    assert [[later.content for later in hit.later] for hit in hits if "company" in hit.content] == [["I sold my car."]]
    assert "I have a car." not in [hit.content for hit in hits]
    owned = {fact.value: fact.holds for fact in manager.facts(user="ana")}
    assert owned == {"company car": True, "car": False}


@pytest.mark.parametrize("job", ["weekend job", "night job", "third job", "tutoring job", "previous job at Bosch"])
def test_end_of_a_job_that_is_described_hides_no_employer(manager: MemoryManager, job: str) -> None:
    assert not hides(manager, "I work at Bosch.", f"I quit my {job}.")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I have a kayak.", "I sold the kayak."),
        ("I own a piano.", "I sold my piano."),
        ("I work at Bosch.", "I quit my job."),
        ("I work at Bosch.", "I quit my job at Bosch."),
        ("I have a piano.", "I no longer have a piano."),
    ],
)
def test_end_of_the_same_thing_hides(manager: MemoryManager, older: str, newer: str) -> None:
    assert hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Ghent.", "I live in Porto now and again."),
        ("My favourite band is Genesis.", "My favourite band is Yes now and then."),
        ("I work at Bosch.", "I no longer work at Bosch part-time."),
        ("I work at Bosch.", "I don't work at Bosch as a cleaner anymore."),
        ("I live in Ghent.", "I no longer live in Ghent with my sister."),
        ("I work at Bosch.", "I no longer work at Bosch because of the pay but because of the people."),
        ("I live in Ghent.", "I moved to Porto because of the sun, but not for long."),
    ],
)
def test_change_of_a_circumstance_hides_nothing(manager: MemoryManager, older: str, newer: str) -> None:
    assert not hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My favourite band is Genesis.", "My favourite band is louder now."),
        ("My favourite chair is oak.", "My favourite chair is broken now."),
        ("My job is tiring.", "My job is easier now."),
        ("My editor is vim.", "My editor is slow now."),
        ("My number is 7 in the choir.", "My new number is 555-8123."),
        ("My phone number is 555-8123.", "My new number is 7."),
        ("My team is Payments.", "My team is in Rome now."),
        ("My team is Payments.", "My team is Italian now."),
        ("My team is Payments.", "My team is now Berlin-based."),
        ("My team is Payments.", "My team is in Confluence now."),
        ("My office is Room 12.", "My office is Berlin now."),
        ("My car is a Golf.", "My car is Tom's now."),
        ("My manager is Sarah.", "My manager is Happy now."),
        ("My partner is Kim.", "My partner is now CEO."),
        ("My partner is Kim.", "My partner is now Mr Universe."),
        ("My sister is Kim.", "My sister is now Queen of the Castle."),
        ("My landlord is Mr Roth.", "My landlord is now Selling the house."),
        ("Our mascot is Otto.", "Our mascot is now Famous."),
        ("I work at Siemens.", "I was let go early today."),
        ("My name is Anna.", "My name is now Mud."),
    ],
)
def test_value_of_another_kind_hides_nothing(manager: MemoryManager, older: str, newer: str) -> None:
    assert not hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work at Bosch.", "I no longer work at Bosch because of the pay."),
        ("I live in Ghent.", "I don't live in Ghent anymore."),
        ("My favourite band is Genesis.", "My favourite band is Yes now."),
        ("My favourite colour is blue.", "My favourite colour is green now."),
        ("My phone number is 555-8123.", "My new number is 555-7456."),
    ],
)
def test_value_of_the_same_kind_hides(manager: MemoryManager, older: str, newer: str) -> None:
    assert hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My niece is 9 and uses a wheelchair.", "My niece is 10 now."),
        ("My horse Bolt is 12 and blind.", "My horse Bolt is 13 now."),
        ("The workshop is on Tuesday and lunch is included.", "The workshop moved to Friday."),
        ("The workshop is on Tuesday, Olga brings cake.", "The workshop moved to Friday."),
        ("The backup runs on host 12 and Olga has the key.", "The backup runs on host 14 now."),
        ("The archive is in Ghent and Olga has the key.", "The archive is now in Kiel."),
        ("My favourite tea is mint, like at home in Fez.", "My favourite tea is sage now."),
        ("My landlord is Tom, who hates dogs.", "My landlord is Kim now."),
    ],
)
def test_change_of_a_value_leaves_the_other_statements(manager: MemoryManager, older: str, newer: str) -> None:
    assert not hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My husband is 39.", "My husband is 40 now."),
        ("I live in Ghent, Belgium.", "I moved to Kiel."),
        ("I'm single.", "I'm married now."),
        ("The workshop is on Tuesday.", "The workshop moved to Friday."),
    ],
)
def test_change_of_all_that_was_said_hides(manager: MemoryManager, older: str, newer: str) -> None:
    assert hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Ghent.", "I now live in Ghent, Belgium."),
        ("I live in Kiel.", "I moved to Gaarden, Kiel."),
        ("I live in Ghent.", "Actually, I live in Ghent, Ledeberg."),
        ("I work at Bosch.", "Actually, I work at Bosch Thermotechnik."),
        ("I work at Bosch.", "I work at Bosch Thermotechnik now."),
        ("My favourite tea is Assam.", "I meant my favourite tea is smoky Assam."),
        ("My name is Ana.", "Correction: my name is Ana Sofia."),
    ],
)
def test_value_that_says_more_exactly_what_is_known_hides_nothing(
    manager: MemoryManager, older: str, newer: str
) -> None:
    assert not hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Ghent, Belgium.", "I now live in Bruges, Belgium."),
        ("I work at Bosch.", "I moved from Bosch to Bosch Thermotechnik."),
        ("My name is Ana.", "Correction: my name is Anja."),
    ],
)
def test_value_that_shares_a_word_but_differs_hides(manager: MemoryManager, older: str, newer: str) -> None:
    assert hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work at Bosch.", "I accepted the offer from Lidl."),
        ("I work at Bosch.", "I got the job at Lidl!"),
        ("I work at Bosch.", "I got hired by Lidl."),
        ("My colleague lives in Ghent.", "My colleague moved to Kiel."),
        ("My neighbour has a parrot.", "My neighbour no longer has a parrot."),
        ("A friend has a parrot.", "A friend no longer has a parrot."),
        ("Somebody at work is vegan.", "Somebody at work is no longer vegan."),
    ],
)
def test_new_job_and_change_of_somebody_unnamed_hide_nothing(manager: MemoryManager, older: str, newer: str) -> None:
    assert not hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work at Bosch.", "I started at Lidl on Monday."),
        ("My colleague Kim lives in Ghent.", "My colleague Kim moved to Kiel."),
        ("My wife lives in Ghent.", "My wife moved to Kiel."),
    ],
)
def test_change_of_a_known_person_hides(manager: MemoryManager, older: str, newer: str) -> None:
    assert hides(manager, older, newer)


@pytest.mark.parametrize(
    "back",
    [
        "That wasn't true, I lied.",
        "That's not true, I made that up.",
        "Lol, only teasing you.",
        "April Fools' Day!",
        "Just pulling your leg!",
        "Wait, no, I haven't.",
        "It was all made up, sorry.",
    ],
)
@pytest.mark.parametrize(
    ("older", "newer"), [("I live in Ghent.", "I moved to Porto."), ("I own a kayak.", "I sold the kayak.")]
)
def test_change_that_is_retracted_hides_nothing(manager: MemoryManager, older: str, newer: str, back: str) -> None:
    first = say(manager, older, 0)
    changed = say(manager, newer, 9)
    assert ended_by(manager, first) == changed
    say(manager, back, 9.01)
    assert ended_by(manager, first) is None


@pytest.mark.parametrize(
    ("older", "newer", "back", "retracted"),
    [
        ("I live in Ghent.", "I moved to Porto.", "Nah, I'm still in Ghent.", True),
        ("I live in Ghent.", "I moved to Porto.", "On second thought, we're staying in Ghent.", True),
        ("I own a kayak.", "I sold the kayak.", "Never mind, I'm keeping the kayak.", True),
        ("I own a kayak.", "I sold the kayak.", "Nah, I'm still in Ghent.", False),
        ("I live in Ghent.", "I moved to Porto.", "False alarm, I'm keeping the kayak.", False),
        ("I live in Ghent.", "I moved to Porto.", "Actually, I still work at Bosch.", False),
    ],
)
def test_words_that_name_what_stays_retract_only_its_change(
    manager: MemoryManager, older: str, newer: str, back: str, retracted: bool
) -> None:
    first = say(manager, older, 0)
    changed = say(manager, newer, 9)
    say(manager, back, 9.01)
    assert ended_by(manager, first) == (None if retracted else changed)


@pytest.mark.parametrize(
    ("older", "between", "newer"),
    [
        ("I live in Ghent.", "Book me a room in Kiel.", "Actually, Lund."),
        ("I live in Ghent.", "Is it raining in Kiel?", "Sorry, I meant Lund."),
        ("I was born in 1971.", "My aunt was born in 1944.", "Correction: 1945."),
        ("My rent is 700 euros.", "Send Kim 20 euros.", "Correction: 30 euros."),
        ("I'm 41.", "Remind me in 5 minutes.", "Make that 6."),
        ("My name is Anneliese.", "My dentist is Olga.", "I meant Oksana."),
        ("My meeting is on Monday.", "Kim is away on Tuesday.", "Sorry, Wednesday."),
        ("I moved to Porto.", "Two teas please.", "Scratch that."),
        ("I live in Ghent, near Bruges.", "", "Actually, Lund."),
    ],
)
def test_bare_correction_is_about_the_words_just_before_it(
    manager: MemoryManager, older: str, between: str, newer: str
) -> None:
    first = say(manager, older, 0)
    for hours, text in enumerate((between, newer), 1):
        if text:
            manager.remember(Message("user", text, timestamp=SAID + timedelta(hours=hours), name="Ana"), user="ana")
    assert ended_by(manager, first) is None
    assert not [fact for fact in manager.facts(user="ana") if fact.memory_id == first and not fact.holds]


@pytest.mark.parametrize(
    ("between", "hidden"),
    [("Noted!", True), ("You fly to Kiel on Friday.", False), ("Which city do you mean?", True)],
)
def test_bare_correction_after_an_answer_may_be_about_the_answer(
    manager: MemoryManager, between: str, hidden: bool
) -> None:
    first = say(manager, "I live in Ghent.", 0)
    manager.remember(Message("assistant", between, timestamp=SAID + timedelta(hours=1)), user="ana")
    last = say(manager, "Actually, Lund.", 0.1)
    assert ended_by(manager, first) == (last if hidden else None)


@pytest.mark.parametrize(
    "text",
    ["I'm not tired.", "That's true.", "Haha!", "My sister helped me.", "Is the train late?", "Book me a table."],
)
def test_other_answers_take_no_change_back(manager: MemoryManager, text: str) -> None:
    first = say(manager, "I live in Ghent.", 0)
    changed = say(manager, "I moved to Porto.", 9)
    manager.remember(Message("user", text, timestamp=SAID + timedelta(days=9.01), name="Ana"), user="ana")
    assert ended_by(manager, first) == changed


def test_words_that_fit_a_change_retract_no_statement(manager: MemoryManager) -> None:
    say(manager, "I like jazz.", 0)
    say(manager, "Wait, actually I haven't.", 0.01)
    assert [(fact.value, fact.holds) for fact in manager.facts(user="ana")] == [("jazz", True)]


@pytest.mark.parametrize(
    "around",
    [
        "Abridge this. {}",
        "Could you make this rhyme? {}",
        "{} Put that into Spanish.",
        "{} Make it sound friendlier, please.",
        "{} How do you spell that?",
        "Underline the verbs in the sentence. {}",
        "Tell me if this is correct English. {}",
        "Add commas to this\n{}",
        "Is this grammatical? {}",
        "Kim texted me this. {}",
        "The postcard reads as follows. {}",
        "{} That's what my brother wrote.",
        "{} It's a line from my play.",
        "Suppose this. {}",
        "Here's an excerpt. {}",
        "Scene one. {}",
        "Proverb of the week. {}",
        "Listening comprehension\n{}",
        "{} Paraphrase, please.",
        "My uncle's motto. {}",
        "Mark the adverbs. {}",
        "Reply as if you were me. {}",
        "{} Now in Danish.",
        "{} Same thing but longer.",
        "{} I'm quoting Olga.",
    ],
)
def test_words_that_another_sentence_presents_as_a_text_hide_nothing(manager: MemoryManager, around: str) -> None:
    assert not hides(manager, "I live in Ghent.", around.format("I moved to Porto."))


@pytest.mark.parametrize(
    "around",
    [
        "{} Please update my address.",
        "{} Please remember this.",
        "Please note the following. {}",
        "{} Please correct my address.",
        "{} Can you change that in my profile?",
        "Good morning! {} I'm so happy about it.",
        "Crazy week. {}",
        "{} I work at Bosch. We love it here.",
        "FYI: {} Many thanks for your help!",
        "I'm 41 now. {}",
    ],
)
def test_small_talk_and_other_claims_leave_a_change_as_it_is(manager: MemoryManager, around: str) -> None:
    assert hides(manager, "I live in Ghent.", around.format("I moved to Porto."))


@pytest.mark.parametrize(
    "around",
    [
        "{} Can you find me a school that takes dogs?",
        "{} Remind me to register.",
        "{} What documents do I need for that?",
        "{} Draft an email to my landlord.",
        "{} That means a longer commute.",
        "Hi Kim. {} This makes me very happy.",
        "It rained all day. {}",
        "My hero is Luca. {}",
        "I have a riddle. {}",
        "Type it exactly. {}",
        "{} said no one.",
        "You be the landlord. {}",
    ],
)
def test_change_next_to_words_that_are_not_understood_is_only_linked(manager: MemoryManager, around: str) -> None:
    first = say(manager, "I live in Ghent.", 0)
    second = say(manager, around.format("I moved to Porto."), 9)
    assert ended_by(manager, first) is None
    assert [later.id for later in manager.history(first, user="ana").later] == [second]


def tell(manager: MemoryManager, hours: float, text: str, role: str = "user") -> None:
    name = "Ana" if role == "user" else None
    manager.remember(Message(role, text, timestamp=SAID + timedelta(hours=hours), name=name), user="ana")


@pytest.mark.parametrize(
    "before",
    [
        "Put my next message into Dutch.",
        "Check the grammar of the following.",
        "I'll paste a paragraph of my essay.",
        "Let's pretend.",
        "You are a judge and I'm a witness.",
        "Shorten this, please.",
        "Two truths and a lie.",
        "Could you look over a text of mine?",
        "Ready for my poem?",
        "You are the landlord.",
    ],
)
@pytest.mark.parametrize(
    ("older", "newer"), [("I live in Ghent.", "I moved to Porto."), ("I have two cats.", "I now have three cats.")]
)
def test_words_that_the_message_before_announces_hide_nothing(
    manager: MemoryManager, before: str, older: str, newer: str
) -> None:
    first = say(manager, older, 0)
    tell(manager, 1, before)
    tell(manager, 2, "Sure, go ahead.", "assistant")
    tell(manager, 3, newer)
    assert ended_by(manager, first) is None


def test_words_that_a_message_of_the_same_call_announces_hide_nothing(manager: MemoryManager) -> None:
    first = say(manager, "I live in Ghent.", 0)
    texts = ("Proofread my next sentence.", "I moved to Porto.")
    manager.remember(
        [Message("user", text, timestamp=SAID + timedelta(hours=1), name="Ana") for text in texts], user="ana"
    )
    assert ended_by(manager, first) is None


@pytest.mark.parametrize(
    "before",
    [
        "Remember this.",
        "Thanks!",
        "My sister is a nurse.",
        "We bought a sofa.",
        "What is the capital of Peru?",
        "What's my name?",
    ],
)
def test_message_that_is_understood_leaves_the_next_one_as_it_is(manager: MemoryManager, before: str) -> None:
    first = say(manager, "I live in Ghent.", 0)
    tell(manager, 1, before)
    tell(manager, 3, "I moved to Porto.")
    assert ended_by(manager, first) is not None


@pytest.mark.parametrize(
    "before",
    [
        "It rained all day yesterday.",
        "My sister is using my account today.",
        "The patient is 54.",
        "Can you recommend a dentist?",
    ],
)
def test_change_after_a_statement_about_something_else_is_linked_and_a_fact(
    manager: MemoryManager, before: str
) -> None:
    first = say(manager, "I live in Ghent.", 0)
    tell(manager, 1, before)
    tell(manager, 3, "I moved to Porto.")
    assert ended_by(manager, first) is None
    assert "Porto" in [fact.value for fact in manager.facts(user="ana") if fact.attribute == "city"]


@pytest.mark.parametrize(
    "talk",
    [
        ("Put my next messages into Dutch.", "It rains a lot."),
        ("Three sentences to check.", "The sun is hot."),
        ("Could you polish my diary?", "A: Of course! Please share it, " + "and tell me about its tone and style " * 5),
        ("From now on correct my English.", "A: Sure!", "Thanks!", "A: You are welcome."),
        ("Write a poem about cats.", "A: Here is one.", "Thanks!"),
        ("Her exact words:",),
        ("and then he goes like",),
        ("My neighbour wants to ask you something.",),
        ("In 1994 my aunt lost her farm.",),
        ("A: What did you do after school?",),
        ("A: Give me a sentence with a verb.",),
        ("A: Who is speaking?",),
    ],
)
def test_framing_stays_open_until_its_speaker_leaves_it(manager: MemoryManager, talk: tuple[str, ...]) -> None:
    first = say(manager, "I live in Ghent.", 0)
    for minute, text in enumerate(talk):
        tell(manager, 1 + minute / 60, text.removeprefix("A: "), "assistant" if text.startswith("A: ") else "user")
    tell(manager, 2, "I moved to Porto.")
    assert ended_by(manager, first) is None
    assert [fact.value for fact in manager.facts(user="ana")] == ["Ghent"]


@pytest.mark.parametrize(
    "talk",
    [
        ("What is the capital of Peru?", "A: Lima."),
        ("A: How can I help?",),
        ("A: What's new with you?",),
        ("A: Where do you live now?",),
        ("A: Is that still right?",),
        ("A: Got it. Anything else?",),
        ("Pretend I'm a sailor.", "A: Ahoy!", "Ok, end of the game."),
    ],
)
def test_change_outside_of_a_framing_hides(manager: MemoryManager, talk: tuple[str, ...]) -> None:
    first = say(manager, "I live in Ghent.", 0)
    for minute, text in enumerate(talk):
        tell(manager, 1 + minute / 60, text.removeprefix("A: "), "assistant" if text.startswith("A: ") else "user")
    tell(manager, 2, "I moved to Porto.")
    assert ended_by(manager, first) is not None


def test_what_is_presented_as_a_text_is_no_fact(manager: MemoryManager) -> None:
    tell(manager, 1, "Fix the grammar of this:")
    tell(manager, 2, "My name is Peter.")
    assert manager.facts(user="ana") == []


@pytest.mark.parametrize(
    "after",
    ["jk", "...in The Sims", "^ from Kim's blog", "Please translate it.", "sorry that was my aunt", "Not really.",
     "It fell through.", "Is this correct?", "Only in my head."],
)  # fmt: skip
def test_change_that_the_next_message_may_retract_is_linked(manager: MemoryManager, after: str) -> None:
    first = say(manager, "I live in Ghent.", 0)
    changed = say(manager, "I moved to Porto.", 1)
    tell(manager, 24.1, after)
    assert ended_by(manager, first) is None
    assert [fact.value for fact in manager.facts(user="ana")] == ["Ghent"]
    assert [later.id for later in manager.history(first, user="ana").later] == [changed]


def test_change_hides_again_when_its_retraction_is_deleted(manager: MemoryManager) -> None:
    first = say(manager, "I live in Ghent.", 0)
    changed = say(manager, "I moved to Porto.", 1)
    back = manager.remember(Message("user", "jk", timestamp=SAID + timedelta(hours=25), name="Ana"), user="ana")[0]
    assert back.memory is not None
    manager.delete(back.memory.id, user="ana")
    assert ended_by(manager, first) == changed
    assert [fact.value for fact in manager.facts(user="ana")] == ["Porto"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Kim works at Lidl.", "I think Kim left Lidl."),
        ("Kim works at Lidl.", "I believe Kim left Lidl."),
        ("The workshop is on Tuesday.", "I guess the workshop moved to Friday."),
        ("The workshop is on Tuesday.", "I'm pretty sure the workshop moved to Friday."),
        ("The workshop is on Tuesday.", "The workshop moved to Friday, I think."),
        ("I live in Ghent.", "E.g. I moved to Porto."),
        ("The workshop is on Tuesday.", "The workshop moved to Friday just this once."),
        ("The workshop is on Tuesday.", "The workshop moved to Friday, one time only."),
        ("The workshop is on Tuesday.", "As an exception the workshop moved to Friday."),
        ("The shop opens at 9.", "The shop opens at 11 now, today only."),
        ("The shop opens at 9.", "The shop opens at 11 now because of the strike."),
        ("I work at Bosch.", "I started at Riverside Yoga."),
        ("I work at Bosch.", "I started at Oak Tennis Club last week."),
        ("I eat meat.", "I stop eating meat next month."),
        ("I drink coffee.", "I quit drinking coffee tomorrow."),
        ("I play tennis.", "I gave up tennis starting next week."),
    ],
)
def test_change_that_is_unsure_once_or_yet_to_come_hides_nothing(
    manager: MemoryManager, older: str, newer: str
) -> None:
    assert not hides(manager, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work at Bosch.", "I started a job at Riverside Yoga."),
        ("I drink coffee.", "I quit drinking coffee yesterday."),
        ("The workshop is on Tuesday.", "The workshop moved to Friday from now on."),
        ("I live in Ghent.", "I finally moved to Porto, at last."),
    ],
)
def test_change_that_is_sure_and_lasts_hides(manager: MemoryManager, older: str, newer: str) -> None:
    assert hides(manager, older, newer)


@pytest.mark.parametrize(
    ("answer", "back", "holds"),
    [
        ("So you live in Kiel.", "That's not true.", True),
        ("Ghent has nine million people.", "That is not true.", True),
        ("Shall I tell you a riddle?", "That was a joke, right?", True),
        ("Noted!", "That's not true.", False),
        ("Ghent is a good place for you.", "That was a joke.", False),
        ("So you live in Kiel.", "I made that up.", False),
    ],
)
def test_words_that_deny_an_answer_retract_nothing(manager: MemoryManager, answer: str, back: str, holds: bool) -> None:
    say(manager, "I live in Ghent.", 0)
    tell(manager, 1, answer, "assistant")
    tell(manager, 2, back)
    assert bool(manager.facts(user="ana")) == holds


@pytest.mark.parametrize(
    "request_for_words",
    [
        "{} Please correct my English.",
        "{} Fix my Italian please.",
        "{} Check for mistakes.",
        "{} Correct me.",
        "{} Make my writing better.",
        "{} Reply in Italian.",
        "{} Auf Deutsch bitte.",
        "{} Korrigiere mein Englisch.",
        "{} Explain the joke.",
        "{} Sound natural?",
        "{} Sound more excited.",
        "Translation wanted. {}",
        "{} Is there a comma missing?",
        "{} Add emojis.",
        "Convert to third person. {}",
        "It's for my English class. {}",
        "Help me with my English. {}",
    ],
)
def test_request_about_words_makes_a_change_a_text(manager: MemoryManager, request_for_words: str) -> None:
    assert not hides(manager, "I live in Berlin.", request_for_words.format("I moved to Rome."))


def test_place_of_a_thing_is_no_value_of_it(manager: MemoryManager) -> None:
    say(manager, "My team is Payments.", 0)
    say(manager, "My team is in Rome now.", 9)
    facts = {fact.attribute: fact.value for fact in manager.facts(user="ana")}
    assert facts == {"team": "Payments", "team location": "Rome"}


@pytest.mark.parametrize(
    "words",
    [
        "Make it short.",
        "Make that French.",
        "Make it Friday.",
        "Oops, Wrong chat.",
        "Typo.",
        "No, it's Tuesday.",
        "It's Ben after all.",
    ],
)
def test_request_or_excuse_corrects_nothing(manager: MemoryManager, words: str) -> None:
    assert not hides(manager, "I live in Lyon.", words)


def test_number_of_something_else_corrects_nothing(manager: MemoryManager) -> None:
    assert not hides(manager, "My birthday is 3 May.", "Correction: 5 bullets.")
    assert hides(manager, "My birthday is 3 June.", "Correction: 5 July.")
