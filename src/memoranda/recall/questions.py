"""What a question asks for: the type of answer, several things, about whom, and what was true in the past. Pure.

Only for a question about the past does recall also find what has ended. A question about the present is never one, even
if it is put in the past tense for politeness ("What was my rent again?") or asks for words ("Where did I say I live?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Final

from memoranda.text.terms import HAS_NAME, HAS_NUMBER, HAS_TIME, fold, languages_of
from memoranda.types import Window

MAX_CHARACTERS: Final = 2_000
"""How many characters of a question the rules read."""

_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|me|my|mine|myself)\b", re.I)
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|yours|we|our|us)\b", re.I)
_QUESTION_WORD: Final = re.compile(
    r"\b(?:(?P<time>when|how\s+long|(?:what|which)\s+(?:year|month|day|date|time|week|season))"
    r"|(?P<number>how\s+(?:many|much|old|often|far|big|tall|large|fast|heavy)|what\s+(?:age|number|amount|price|percentage))"
    r"|(?P<name>who|whom|whose|where|what|which))\b",
    re.I,
)
_ANSWER_TYPES: Final = {"time": HAS_TIME, "number": HAS_NUMBER, "name": HAS_NAME}


@dataclass(frozen=True, slots=True)
class _QuestionWords:
    """The words of one language that show what a question asks for, and whom it is about. Patterns without accents."""

    time: str
    number: str
    name: str
    first_person: str
    second_person: str

    @property
    def kinds(self) -> re.Pattern[str]:
        return _compile(f"(?P<time>{self.time})|(?P<number>{self.number})|(?P<name>{self.name})")


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Return the pattern for whole words; for characters where words are not separated."""
    first = pattern.removeprefix("(?P<time>")[0]
    return re.compile(pattern if _UNSEPARATED.match(first) else rf"\b(?:{pattern})\b")


_UNSEPARATED: Final = re.compile("[\u3040-\u9fff]")


_QUESTION_WORDS: Final = {
    "de": _QuestionWords(
        r"wann|wie\s+lange|seit\s+wann|welche[mnrs]?\s+(?:jahr|monat|tag|datum|woche)|um\s+wie\s*viel\s+uhr",
        r"wie\s*viele?|wie\s+(?:alt|oft|weit|hoch|gross|lang|teuer|schwer)",
        r"wer|wem|wen|wessen|wo|wohin|woher",
        r"ich|mich|mir|mein(?:e[mnrs]?)?",
        r"du|dich|dir|dein(?:e[mnrs]?)?|sie|ihnen|wir|uns|unser(?:e[mnrs]?)?",
    ),
    "es": _QuestionWords(
        r"cuando|que\s+(?:dia|ano|mes|fecha|semana|hora)|cuanto\s+tiempo|desde\s+cuando",
        r"cuant[oa]s?|que\s+(?:edad|precio|numero)",
        r"quien|quienes|donde|adonde",
        r"yo|me|mi|mis|mio|mia",
        r"tu|tus|te|usted|nosotros|nuestr[oa]s?",
    ),
    "fr": _QuestionWords(
        r"quand|quel(?:le)?\s+(?:jour|annee|mois|date|semaine|heure)|combien\s+de\s+temps|depuis\s+quand",
        r"combien|quel\s+(?:age|prix|nombre)",
        r"qui|ou",
        r"je|j|me|m|moi|mon|ma|mes",
        r"tu|te|ton|ta|tes|vous|votre|vos|nous|notre|nos",
    ),
    "pt": _QuestionWords(
        r"quando|(?:que|qual)\s+(?:dia|ano|mes|data|semana|hora)|quanto\s+tempo|desde\s+quando",
        r"quant[oa]s?|que\s+idade",
        r"quem|onde|aonde",
        r"eu|me|meu|meus|minha|minhas",
        r"tu|te|teu|tua|voce|voces|nos|nosso|nossa",
    ),
    "it": _QuestionWords(
        r"quando|quand|(?:che|quale)\s+(?:giorno|anno|mese|data|settimana|ora)|quanto\s+tempo|da\s+quando",
        r"quant[oaie]|che\s+eta",
        r"chi|dove",
        r"io|mi|mio|mia|miei|mie",
        r"tu|ti|tuo|tua|voi|vostro|noi|nostro|nostra",
    ),
    "nl": _QuestionWords(
        r"wanneer|hoe\s*lang|sinds\s+wanneer|welke?\s+(?:dag|jaar|maand|datum|week)|hoe\s+laat",
        r"hoeveel|hoe\s+(?:oud|vaak|ver|groot|hoog|duur)",
        r"wie|wiens|waar|waarheen",
        r"ik|mij|me|mijn",
        r"jij|je|jou|jouw|u|uw|wij|we|ons|onze",
    ),
    "zh": _QuestionWords(
        "什么时候|什麼時候|何时|哪天|哪一天|哪年|哪个月|几点|星期几|几号|多久",
        "多少|几[个岁次天年]|多大|多高|多远|多长", "谁|誰|哪里|哪裡|哪儿",
        "我(?!们|們)", "你|您|我们|我們",
    ),
    "ja": _QuestionWords(
        "いつ|何[年月日時]|何曜日|どのくらいの期間",
        "いくつ|いくら|何[人歳回個本枚匹]|どのくらい|どれくらい", "誰|だれ|どこ",
        "私(?!たち|達)|僕(?!たち|達)|俺", "あなた|君|私たち|私達|僕たち",
    ),
    "ar": _QuestionWords("متى|منذ متى", "كم", "من|اين", "انا", "انت|نحن"),
}  # fmt: skip


_VERB_FORM: Final = r"(?:is|was|does|has|did|do|are|were|will|would|can|should)\b"
_PLURAL: Final = (
    rf"(?:(?!{_VERB_FORM}|(?:kind|type|sort)\b)[\w'’-]+\s+){{0,3}}?"
    rf"(?!{_VERB_FORM}|(?:this|his|its)\b)[\w-]*[a-rt-z]s\b"
)
_SEVERAL: Final = re.compile(
    r"\bhow many\b|^\W*(?:please )?(?:list|name|enumerate)\b|\b(?:all|every|each|both|in (?:what|which) order|"
    rf"compare\w*|similar|common)\b|\b(?:kinds|types|sorts|ways|things|names) |\b(?:what|which|whose)\s+{_PLURAL}|"
    r"\b(?:what|which|who|where)(?: \w+)? (?:are|were) (?:\w+['’]s )?(?:\w+ )?\w+s\b|"
    r"\b(?:what|where|who|which)\b.*\b(?:has|have)\b (?:\w+ )?\w+(?:ed|en|ne|de|ad|t|n)\b",
    re.I,
)


def asks_for_several(question: str) -> bool:
    """Return whether an English question asks for a list, a count, an order or a comparison."""
    return _SEVERAL.search(question[:MAX_CHARACTERS]) is not None


def find_answer_type(question: str) -> str | None:
    """Return the index key of the texts that can answer, by the first question word; None without one."""
    if (words := _words_of_language(question)) is not None:
        found = words.kinds.search(fold(question))
        return _ANSWER_TYPES[str(found.lastgroup)] if found else None
    word = _QUESTION_WORD.search(question)
    return _ANSWER_TYPES[str(word.lastgroup)] if word else None


def is_about_asker(question: str) -> bool:
    """Return whether a question is about the asker alone: "you" or "we" may ask for what an assistant said."""
    words = _words_of_language(question)
    if words is None:
        return bool(_FIRST_PERSON.search(question) and not _SECOND_PERSON.search(question))
    first, second = _compile(words.first_person), _compile(words.second_person)
    return bool(first.search(fold(question)) and not second.search(fold(question)))


def _words_of_language(question: str) -> _QuestionWords | None:
    """Return the question words of the language that a question is in; None for English."""
    return next((_QUESTION_WORDS[code] for code in languages_of(question) if code in _QUESTION_WORDS), None)


ANY_TIME: Final = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), "")
_PERSON = r"(?:i|we|you|he|she|they|(?:my|our|the|his|her|their) [\w'’-]+|(?-i:[A-Z][\w'’-]+))"
# Phrases that ask about the past in any question.
_WAS: Final = re.compile(
    r"(?<!\bam i )(?<!\bi am )(?<!\bis )(?<!\bare )(?<!\bget )(?<!\bgetting )\bused to\b"
    r"|\bprevious(?:ly)?\b|\bformer(?:ly)?\b|\bin the past\b|\bback (?:then|when)\b|\bat (?:that|the) time\b"
    r"|\bin those days\b"
    r"|\bpast (?:jobs?|homes?|addresses|employers?|cities|places|partners?|names?)\b"
    rf"|\b(?:have|has|had|did|was|were) {_PERSON} ever\b"
    rf"|\b(?:have|has) {_PERSON} (?:already |once )?(?:lived|worked|been to|owned|smoked)\b"
    r"|\b(?:else|all)\b[^?]{0,120}?\b(?:have|has|had) [^?]{0,120}?\b(?:lived|worked|owned|studied|rented)\b"
    r"|\b(?:lived|worked|had|owned|drove|rented|smoked|was|were|did|used)\b[^?]{0,120}?\b(?:before|until|prior to)\b"
    r"|\bbefore (?:this|that|(?:the|my) (?:current|present|new)"
    r"|(?:i|we|he|she|they) (?:moved|changed|switched|started|joined|left|quit|got))\b"
    r"|\b(?:my|our|\w+['’]s) (?:old|last) (?:job|employer|boss|manager|company|address|home|flat|apartment|house|city"
    r"|town|phone|number|landlord|dentist|doctor|car|name|school|rent|salary|team|role|position|partner)\b",
    re.I,
)
_LEAD: Final = re.compile(
    r"^\W*(?:(?:so|and|but|ok|okay|hi|hello|hey|well|please|just)\b[\s,]*)*"
    r"(?:(?:(?:can|could|would|will) you (?:please )?)?(?:tell|remind) me\b"
    r"|do you (?:still )?(?:know|remember)\b)?[\s,:]*",
    re.I,
)
_FIRST_VERB: Final = re.compile(
    r"\b(?:(?P<past>did|was|were|had|(?<=\bi )(?:lived|worked|owned|drove|smoked|rented))"
    r"|am|is|are|do|does|have|has|can|could|should|will|would|may|must)\b|(?<=\w)['’](?:s|m|re|ve|ll)\b",
    re.I,
)
# Politeness, or a question about words: the answer is the present state.
_NOW: Final = re.compile(
    r"\bagain\s*\??$|\b(?:now|currently|these days|nowadays|at the moment|today)\b|\bwhat was (?:it|that)\b"
    r"|\bdid (?:i|we|you|he|she|they) (?:just |ever |already )?"
    r"(?:say|tell|mention|call|write|note|ask|save|store|give)\b",
    re.I,
)


def find_time_asked_about(question: str, windows: Sequence[Window], now: datetime) -> Window | None:
    """Return the past time that a question is about; None for a question about the present.

    Args:
        question: The question.
        windows: The times that it names.
        now: The asker's time.
    """
    text = _LEAD.sub("", question[:MAX_CHARACTERS])
    over = [window for window in windows if window.end <= now]
    named = Window(min(each.start for each in over), max(each.end for each in over), "") if over else None
    verb = _FIRST_VERB.search(text)
    in_the_past = verb is None or verb["past"] is not None
    if named is not None and len(over) == len(windows):
        return named if in_the_past or _WAS.search(text) else None
    if windows:
        return None
    if _WAS.search(text):
        return ANY_TIME
    return ANY_TIME if verb is not None and in_the_past and not _NOW.search(text) else None
