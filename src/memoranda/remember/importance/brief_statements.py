"""Tells short statements from small talk where both are made of the same everyday words. Pure.

"I got the job!", "She said yes!" and "No, I am not." have no word that pleasantries do not have. What makes them
statements is their shape: somebody, and a verb that is neither a feeling nor praise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from memoranda.text.sentences import EMPTY_WORDS, split_sentences

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CONTRACTED: Final = re.compile(r"(i|we|he|she|they|it|that|this)'(?:m|re|s|ve|ll|d)")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LEADS: Final = _set(
    "yes yeah yep yup no nope nah oh ah ooh wow well so and but ok okay haha hahaha lol omg hi hello hey hmm hm thanks "
    "sorry please just actually honestly now then because alright right sure maybe yay woohoo hooray"
)
"""Words before a statement."""
_SPEAKER: Final = _set("i we im ive")
_OTHERS: Final = _set("he she they everyone everybody nobody someone somebody none both")
_THINGS: Final = _set("it that this")
_ARTICLES: Final = _set("a an the my our his her their")
_SUBJECT: Final = re.compile(
    r"(?:(?:all|most|some|none|one|both|half)(?: of)? )?(?:a|an|the|my|our|his|her|their)(?: [\w']+){1,2} "
    r"(?:is|are|was|were|isn't|aren't|has|have|had|can|can't|will|won't|did|didn't|said) "
)
"""Who or what is spoken of, and its verb: "All of my friends are …"; without a verb it is a form of address."""
_ELIDED: Final = _set("got need want made said stopped used can't cannot am")
"""Verbs that are said without "I": "Got the job!"."""
_WANTS: Final = _set("need want stop")
_PRAISE: Final = _set(
    "good great awesome amazing cool nice lovely fantastic wonderful excellent perfect brilliant terrific super neat "
    "sweet beautiful gorgeous adorable cute incredible impressive inspiring interesting exciting fun funny best better "
    "special helpful supportive worth pleasure true right correct fine exactly indeed absolutely definitely idea point "
    "problem worries spirit deal"
)
_FEELINGS: Final = _set(
    "see saw know think guess hope hear heard look looking sound sounds feel feels seem seems mean means love loved "
    "like wish appreciate appreciated agreed believe believing understood glad happy excited thrilled proud lucky "
    "grateful thankful sorry sure curious inspired motivated wait waiting rooting thank thanks talk talking chat "
    "chatting catch catching speak tell say try enjoy help helping fine good great well"
)
_SET_PHRASES: Final = re.compile(
    r"\b(?:got it|get it|get that|on it|so do i|me too|you know|a lot|so much|long time"
    r"|(?:i do|i did|we do|i will|we will|i'm in|done|ready)$)\b"
)
_ANSWERS: Final = _set(
    "yes yeah yep yup no nope nah never always both neither none sometimes once twice nothing not do don't did "
    "didn't am was will won't have haven't can can't same all any most often rarely everything mine ours over "
    "better worse still"
)
_POLITE: Final = _set(
    "thanks thank thx hi hello hey bye goodbye sorry welcome haha hahaha lol omg wow you your problem worries"
)
_SHORT: Final = 4
_SIGNED: Final = re.compile(r"\w[+−%°#-](?!\w)")
"""A grade, a blood group, a temperature: "A+"."""
_EMOJI_OBJECT: Final = re.compile(
    r"\b(?:i|we|he|she|they|my|our)\b(?:\s+[\w'’]+){1,4}\s*"
    r"[\U0001F32D-\U0001F37F\U0001F3A0-\U0001F3FA\U0001F400-\U0001F43F\U0001F680-\U0001F6C5\U0001F950-\U0001F96F\U0001F980-\U0001F9CB]"
    r"|\b(?:i|we|he|she|they)(?:['’]m|['’]s|\s+\w+)?\s+(?:feel|feels|felt|feeling)\s*[\U0001F300-\U0001FAFF]",
    re.I,
)


def is_brief_statement(text: str, names: Collection[str] = ()) -> bool:
    """Return whether a sentence of everyday words says something: "I got the job!", "It's a girl!"."""
    return any(_states(sentence, names) for sentence in split_sentences(text))


def is_bare_answer(text: str) -> bool:
    """Return whether a short text says yes, no, how often or how much, which means something after a question."""
    words = _words(text)
    if not 0 < len(words) <= _SHORT or not _POLITE.isdisjoint(words):
        return False
    return not _ANSWERS.isdisjoint(words) or _SIGNED.search(text) is not None


def names_by_emoji(text: str) -> bool:
    """Return whether a picture stands for a word: "I like 🍕", but not "I agree 👍"."""
    return _EMOJI_OBJECT.search(text) is not None


def is_noise(word: str) -> bool:
    """Return whether a word is a single letter, or letters again and again: "VVVXV", "aaaah"."""
    return len(word) == 1 or (len(word) > 2 and len(set(word.casefold())) <= 2)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def _states(sentence: str, names: Collection[str]) -> bool:
    if sentence.rstrip("\"'”’) ").endswith("?"):
        return False
    words = [word for word in _words(sentence) if word not in names]
    while words and words[0] in _LEADS:
        words = words[1:]
    if len(words) < 2 or not EMPTY_WORDS.issuperset(words) or _SET_PHRASES.search(" ".join(words)):
        return False
    found = _CONTRACTED.fullmatch(words[0])
    if _SUBJECT.match(" ".join(words)):
        return _FEELINGS.isdisjoint(words) and _PRAISE.isdisjoint(words) and "you" not in words
    return _says_of(found[1] if found else words[0], words, contracted=found is not None)


def _says_of(subject: str, words: Sequence[str], *, contracted: bool) -> bool:
    """Return whether the words after a subject say something about it that is no feeling and no praise."""
    said = set(words[1:])
    if subject in _SPEAKER:
        addressed = not said.isdisjoint(("you", "your", "u", "ya")) and said.isdisjoint(_WANTS)
        return said.isdisjoint(_FEELINGS) and not addressed
    if subject in _OTHERS:
        return said.isdisjoint(_PRAISE) and said.isdisjoint(_FEELINGS)
    if subject in _THINGS:
        named = any(one in _ARTICLES for one in words[1:-1]) and (contracted or words[1] in ("is", "was"))
        return named and said.isdisjoint(_PRAISE)
    return words[0] in _ELIDED and said.isdisjoint(_FEELINGS | _PRAISE) and "you" not in said
