from __future__ import annotations

import pytest

from memoranda.fence import close_mark, open_mark
from memoranda.remember.base import Candidate, Verdict
from memoranda.remember.duplicates import TextIndex
from memoranda.remember.extraction import extract, only_candidates
from memoranda.remember.gate import holds_secret
from tests.unit.remember.utterances import one, said


def rule_for(text: str, *, role: str = "user") -> str | None:
    found = one(text, role=role)
    return found.rule if isinstance(found, Verdict) else None


@pytest.mark.parametrize(
    "text",
    [
        "Hi!",
        "Hey, good to see you! How have you been?",
        "Thanks so much, that means a lot!",
        "Wow, that's amazing! Congrats!",
        "Okay, sounds good. Talk to you later!",
        "Please continue",
        ";)",
    ],
)
def test_pleasantries_are_refused(text: str) -> None:
    assert rule_for(text) == "greeting"


def test_a_name_alone_does_not_make_a_greeting_telling() -> None:
    found = extract([said("See you soon, Mel!", name="Caroline"), said("Bye Caroline!", name="Melanie")])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["greeting", "greeting"]


@pytest.mark.parametrize("text", ["Blue.", "VVVXV", "the contract"])
def test_fragments_are_refused(text: str) -> None:
    assert rule_for(text) == "fragment"


def test_a_word_that_answers_a_question_is_kept() -> None:
    found = extract([said("What is your favourite colour?", name="Bo"), said("Blue.")])
    assert [each.content for each in only_candidates(found)] == ["What is your favourite colour?", "Blue."]


@pytest.mark.parametrize(
    "text",
    [
        "It's Shia Labeouf!",
        "I'm vegetarian.",
        "See you tomorrow!",
        "They were awestruck.",
        "我住在柏林，喜欢咖啡。",
        "Я живу в Берлине",
    ],
)
def test_what_tells_something_is_kept(text: str) -> None:
    assert rule_for(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "my key is sk-abcdefghijklmnopqrstuvwx",
        "the wifi password is hunter2!",
        "password: swordfish99",
        "My card is 4111 1111 1111 1111.",
        "postgresql://admin:s3cret@db.example.org/app",
    ],
)
def test_secrets_are_refused_and_not_repeated_in_the_reason(text: str) -> None:
    found = one(text)
    assert isinstance(found, Verdict)
    assert found.rule == "secret"
    assert not any(word in found.reason for word in ("sk-", "hunter2", "swordfish", "4111", "s3cret"))


@pytest.mark.parametrize(
    "text", ["My password is too long.", "You need a basic understanding of algebra.", "My PIN is new."]
)
def test_talk_about_secrets_is_none(text: str) -> None:
    assert not holds_secret(text)


def test_only_the_sentence_with_the_secret_goes() -> None:
    text = "I moved to Berlin. The door password is k7#pq2. My sister came along."
    found = extract([said(text, key="m1")])
    kept = only_candidates(found)
    assert [each.content for each in kept] == ["I moved to Berlin.", "My sister came along."]
    assert [text[slice(*each.span)] for each in kept] == [each.content for each in kept]
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["secret"]


def test_recalled_text_coming_back_is_an_echo_and_the_rest_is_kept() -> None:
    marker = "0123456789abcdef"
    recalled = f"{open_mark(marker)}\n- Ana: I live in Berlin [#1]\n{close_mark(marker)}"
    text = f"{recalled}\nI moved to Lisbon in May."
    found = extract([said(text)])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["echo"]
    assert [each.content for each in only_candidates(found)] == ["I moved to Lisbon in May."]
    assert text[slice(*only_candidates(found)[0].span)] == "I moved to Lisbon in May."


def test_system_prompts_are_instructions() -> None:
    assert rule_for("Be brief and polite.", role="system") == "system"
    assert rule_for("You are a helpful assistant. Answer in French.") == "system"


def test_a_restated_system_prompt_is_refused() -> None:
    prompt = "You talk to customers of the bakery and never promise a delivery date before checking the oven plan."
    restated = "As I said: you talk to customers of the bakery and never promise a delivery date before checking."
    found = extract([said(prompt, role="system"), said(restated), said("The bakery opens at seven.")])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["system", "system"]
    assert [each.content for each in only_candidates(found)] == ["The bakery opens at seven."]


def test_an_empty_message_has_a_verdict_too() -> None:
    assert rule_for("   ") == "empty"


def test_repetitions_of_one_call_are_found() -> None:
    text = "We adopted a puppy called Max."
    found = extract([said(text, key="a"), said("we adopted a puppy called Max", key="b")], TextIndex())
    assert isinstance(found[0], Candidate)
    assert isinstance(found[1], Verdict)
    assert (found[1].status, found[1].rule, found[1].duplicate_of) == ("duplicate", "duplicate", "a")


def test_replaying_a_conversation_adds_nothing() -> None:
    messages = [said(f"On day {n} I walked {n} miles to Porto.", key=str(n)) for n in range(30)]
    known = TextIndex()
    assert len(only_candidates(extract(messages, known))) == 30
    for _ in range(20):
        assert only_candidates(extract(messages, known)) == []


def test_an_assistant_that_repeats_the_user_is_an_echo() -> None:
    found = extract(
        [
            said("My dog Rex is allergic to chicken and loves the beach.", key="u"),
            said("Your dog Rex is allergic to chicken and loves the beach.", role="assistant", name=None, key="a"),
        ],
        TextIndex(),
    )
    assert isinstance(found[1], Verdict)
    assert (found[1].status, found[1].rule, found[1].duplicate_of) == ("rejected", "echo", "u")
