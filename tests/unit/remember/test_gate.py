from __future__ import annotations

import re

import pytest

from memoranda.remember.base import Candidate, Verdict
from memoranda.remember.duplicates import KnownTextIndex
from memoranda.remember.extraction import extract, only_candidates
from memoranda.remember.importance.score import is_small_talk
from memoranda.security.fence import close_mark, open_mark
from tests.unit.remember.samples import extract_one, message


def rule_for(text: str, *, role: str = "user") -> str | None:
    found = extract_one(text, role=role)
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
def test_pleasantries_are_rejected(text: str) -> None:
    assert rule_for(text) == "greeting"


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "ok cool",
        "haha",
        "Good morning!",
        "I see.",
        "Got it!",
        "I'm so happy for you!",
        "That's a great idea!",
    ],
)
def test_short_small_talk_is_rejected(text: str) -> None:
    assert rule_for(text) == "greeting"


@pytest.mark.parametrize(
    "text",
    [
        "I got the job!",
        "It's a girl!",
        "She said yes!",
        "I go by they/them.",
        "No, I am not.",
        "I need it now.",
        "Got the job!",
        "They said no.",
        "Divorced.",
        "Pregnant!",
        "Vegan.",
        "Widowed.",
        "ADHD.",
    ],
)
def test_short_statement_is_kept_and_no_small_talk(text: str) -> None:
    assert rule_for(text) is None
    assert not is_small_talk(text)


@pytest.mark.parametrize("answer", ["No.", "Never!", "Yes", "Yes, always.", "Not any more.", "Oh, I do."])
def test_bare_answer_is_kept_after_a_question_only(answer: str) -> None:
    found = extract([message("Do you smoke?", name="Bo"), message(answer)])
    assert [each.content for each in only_candidates(found)] == ["Do you smoke?", f"Do you smoke? {answer}"]
    assert rule_for(answer) == "greeting"


@pytest.mark.parametrize("text", ["Thanks!", "Haha, no problem.", "Hello you!"])
def test_pleasantry_after_a_question_is_rejected(text: str) -> None:
    found = extract([message("Do you smoke?", name="Bo"), message(text)])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["greeting"]


@pytest.mark.parametrize("text", ["I love 🍜", "We have a 🐈", "I feel 😞 about it"])
def test_picture_that_stands_for_a_word_is_content(text: str) -> None:
    assert rule_for(text) is None


@pytest.mark.parametrize("text", ["I see 👍", "I know 😂", "Thank you ❤️", "Great 🎉"])
def test_picture_next_to_a_pleasantry_is_none(text: str) -> None:
    assert rule_for(text) in ("greeting", "fragment")


def test_greeting_with_only_a_name_is_rejected() -> None:
    found = extract([message("See you soon, Mel!", name="Caroline"), message("Bye Caroline!", name="Melanie")])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["greeting", "greeting"]


@pytest.mark.parametrize("text", ["VVVXV", "the contract", "X"])
def test_fragments_are_rejected(text: str) -> None:
    assert rule_for(text) == "fragment"


def test_single_word_that_answers_a_question_is_kept() -> None:
    found = extract([message("What is your favourite colour?", name="Bo"), message("Blue.")])
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
def test_short_text_with_content_is_kept(text: str) -> None:
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
def test_secret_is_rejected_and_not_repeated_in_the_reason(text: str) -> None:
    found = extract_one(text)
    assert isinstance(found, Verdict)
    assert found.rule == "secret"
    assert not any(word in found.reason for word in ("sk-", "hunter2", "swordfish", "4111", "s3cret"))


def test_only_the_sentence_with_a_secret_is_rejected() -> None:
    text = "I moved to Berlin. The door password is k7#pq2. My sister came along."
    found = extract([message(text, key="m1")])
    kept = only_candidates(found)
    assert [each.content for each in kept] == ["I moved to Berlin.", "My sister came along."]
    assert [text[slice(*each.span)] for each in kept] == [each.content for each in kept]
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["secret"]


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Bergen and the door PIN there is «8842».",
        "I'm allergic to nuts and my card is «4111 1111 1111 1111».",
        "Please note my IBAN «DE89 3704 0044 0532 0130 00» and that I'm on dialysis.",
        "My brother Tom died in May, his phone password was «sunflower99».",
        "The gate code is «4417» because Ana is blind.",
        "I can't walk, my PIN is «8842»",
        "My phone is in the safe with PIN «8842».",
        "We bought a boat; the password is «hunter22x»",
        "Mum is dead, PIN «8842»",
        "My card was stolen: «4111 1111 1111 1111»",
        "I never told Lena that my password is «Rosenrot77»",
        "My new job starts on Monday and the alarm code is «9921», please remember both.",
    ],
)
def test_secret_beside_a_statement_is_masked(text: str) -> None:
    head, secret, tail = re.split("[«»]", text)
    found = extract_one(head + secret + tail)
    assert isinstance(found, Candidate)
    assert secret not in found.content
    assert found.content.startswith(head)
    assert tail.strip(".") in found.content


@pytest.mark.parametrize(
    "text",
    [
        "Hi, my PIN is 7741.",
        "Use hunter22 as my password",
        "My phone's PIN is 4417",
        "Please remember: my PIN is 8842",
        "The gate code is 4417, the alarm code is 9921.",
        "Our wi-fi password is Fjord2020",
        "Mein WLAN-Passwort lautet Fjord2020",
        "la clave del wifi es Fjord2020x",
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA " + "PRIVATE KEY-----",
    ],
)
def test_sentence_that_only_names_a_secret_is_rejected(text: str) -> None:
    assert rule_for(text) == "secret"


def test_words_around_a_key_over_several_lines_are_kept() -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA " + "PRIVATE KEY-----"
    found = extract([message(f"I moved to Bergen.\n{key}\nMy cat is called Miso.")])
    kept = [each.content for each in only_candidates(found)]
    assert kept == ["I moved to Bergen.", "My cat is called Miso."]


def test_masked_secret_is_no_fact() -> None:
    found = extract_one("My favourite password is hunter2x and my dog is Rex.")
    assert isinstance(found, Candidate)
    assert [claim.value for claim in found.claims] == ["Rex"]


def test_recalled_text_is_an_echo_and_the_rest_is_kept() -> None:
    marker = "0123456789abcdef"
    recalled = f"{open_mark(marker)}\n- Ana: I live in Berlin [#1]\n{close_mark(marker)}"
    text = f"{recalled}\nI moved to Lisbon in May."
    found = extract([message(text)])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["echo"]
    assert [each.content for each in only_candidates(found)] == ["I moved to Lisbon in May."]
    assert text[slice(*only_candidates(found)[0].span)] == "I moved to Lisbon in May."


def test_system_prompt_is_rejected() -> None:
    assert rule_for("Be brief and polite.", role="system") == "system"
    assert rule_for("You are a helpful assistant. Answer in French.") == "system"


def test_restated_system_prompt_is_rejected() -> None:
    prompt = "You talk to customers of the bakery and never promise a delivery date before checking the oven plan."
    restated = "As I said: you talk to customers of the bakery and never promise a delivery date before checking."
    found = extract([message(prompt, role="system"), message(restated), message("The bakery opens at seven.")])
    assert [each.rule for each in found if isinstance(each, Verdict)] == ["system", "system"]
    assert [each.content for each in only_candidates(found)] == ["The bakery opens at seven."]


def test_empty_message_is_rejected() -> None:
    assert rule_for("   ") == "empty"


def test_repetition_in_one_call_is_a_duplicate() -> None:
    text = "We adopted a puppy called Max."
    found = extract([message(text, key="a"), message("we adopted a puppy called Max", key="b")], KnownTextIndex())
    assert isinstance(found[0], Candidate)
    assert isinstance(found[1], Verdict)
    assert (found[1].status, found[1].rule, found[1].duplicate_of) == ("duplicate", "duplicate", "a")


def test_replaying_a_conversation_adds_nothing() -> None:
    messages = [message(f"On day {n} I walked {n} miles to Porto.", key=str(n)) for n in range(30)]
    known = KnownTextIndex()
    assert len(only_candidates(extract(messages, known))) == 30
    for _ in range(20):
        assert only_candidates(extract(messages, known)) == []


def test_assistant_that_repeats_the_user_is_an_echo() -> None:
    found = extract(
        [
            message("My dog Rex is allergic to chicken and loves the beach.", key="u"),
            message("Your dog Rex is allergic to chicken and loves the beach.", role="assistant", name=None, key="a"),
        ],
        KnownTextIndex(),
    )
    assert isinstance(found[1], Verdict)
    assert (found[1].status, found[1].rule, found[1].duplicate_of) == ("rejected", "echo", "u")


@pytest.mark.parametrize(
    "text",
    [
        "All of my friends are coming.",
        "My friends are here.",
        "Everyone is coming.",
        "The girl is back.",
        "Nobody said no.",
    ],
)
def test_statement_about_others_in_everyday_words_is_kept(text: str) -> None:
    assert rule_for(text) is None


@pytest.mark.parametrize("text", ["Thanks, my friends!", "The idea is great.", "Everyone is awesome!", "My pleasure."])
def test_praise_of_others_is_rejected(text: str) -> None:
    assert rule_for(text) == "greeting"


@pytest.mark.parametrize(
    "text",
    [
        "I can't see well.",
        "He is not well.",
        "I'm not fine.",
        "It's so hard for me to get up.",
        "It's over between us.",
        "I love her.",
        "We are good friends.",
        "She is better now.",
        "I'm good at it.",
        "Please don't do it again.",
        "Thanks, but I don't like that.",
        "It was me.",
        "I feel so much better now.",
        "I'd like to help them more.",
        "Ça va pas bien.",
        "No va bien.",
    ],
)
def test_statement_in_the_words_of_pleasantries_is_kept(text: str) -> None:
    assert rule_for(text) is None
    assert not is_small_talk(text)
