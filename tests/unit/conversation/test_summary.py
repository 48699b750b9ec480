from __future__ import annotations

import random

from memoranda.conversation.summary import condense, select, sentences_of, summarize, transcript
from memoranda.messages.message import Message

WHEN = "2024-05-08T13:00:00+00:00"
FACTS = (
    "I moved to Lisbon on 3 March.",
    "My sister Clara bought a boat last week.",
    "We decided to launch the new website on Monday.",
    "My doctor told me to avoid peanuts since January.",
)
TALK = (
    "That sounds great!",
    "How have you been?",
    "Wow, really?",
    "I see what you mean.",
    "It is always so nice to talk about these things.",
    "Thanks for asking.",
    "What do you think about it?",
    "Haha, that is so true.",
)


def conversation() -> list[Message]:
    source = random.Random(3)
    messages = []
    for i in range(120):
        said = [source.choice(TALK), source.choice(TALK)]
        if i % 30 == 7:
            said.insert(1, FACTS[i // 30])
        messages.append(Message("user", " ".join(said), name=("Ann", "Bob")[i % 2], timestamp=WHEN))
    return messages


def test_facts_survive_and_talk_does_not() -> None:
    messages = conversation()
    sentences = sentences_of(messages)
    kept = select(sentences, sum(map(len, FACTS)) + 10)
    assert [sentence.text for sentence in kept] == list(FACTS)


def test_a_summary_says_who_and_when_in_order_and_within_its_length() -> None:
    messages = conversation()
    summary = summarize(messages, ratio=0.1)
    lines = summary.splitlines()
    assert "- Bob, 2024-05-08: I moved to Lisbon on 3 March." in summary
    assert all(fact in summary for fact in FACTS)
    assert [summary.index(fact) for fact in FACTS] == sorted(summary.index(fact) for fact in FACTS)
    assert all(line.startswith("- ") for line in lines)
    said = sum(len(line.split(": ", 1)[1]) for line in lines)
    assert said <= 0.1 * sum(len(str(message.content)) for message in messages) + 600


def test_it_is_the_same_each_time() -> None:
    messages = conversation()
    assert summarize(messages) == summarize(messages)


def test_the_budget_is_never_passed() -> None:
    sentences = sentences_of(conversation())
    for budget in (0, 1, 28, 29, 100, 1_000):
        assert sum(len(sentence.text) for sentence in select(sentences, budget)) <= budget


def test_instructions_are_no_part_of_the_conversation() -> None:
    messages = [Message("system", "Answer in 3 words since Monday."), Message("user", "I like tea.", timestamp=WHEN)]
    assert summarize(messages) == "- user, 2024-05-08: I like tea."
    assert summarize([]) == ""


def test_the_same_news_is_not_told_twice() -> None:
    messages = [Message("user", "I bought a red car on Monday.", timestamp=WHEN) for _ in range(20)]
    messages.append(Message("user", "I adopted the cat Tom on Friday.", timestamp=WHEN))
    kept = [sentence.text for sentence in select(sentences_of(messages), 70)]
    assert "I adopted the cat Tom on Friday." in kept


def test_sentences_of_one_turn_share_a_line() -> None:
    message = Message("user", "I like tea. I like cake.", name="Ann", timestamp=WHEN)
    assert transcript(sentences_of([message])) == ["- Ann, 2024-05-08: I like tea. I like cake."]


def test_summaries_are_condensed_by_the_same_rule() -> None:
    lines = [f"- Ann, 2024-05-08: {text}" for text in (*TALK, *FACTS)]
    kept = condense(lines, budget=sum(len(line) for line in lines[-4:])).splitlines()
    assert set(lines[-4:]) == set(kept)
