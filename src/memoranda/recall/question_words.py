"""What the words of a question show, by language: the type of answer, whether it asks for several things, and whom."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from memoranda.text.terms import HAS_NAME, HAS_NUMBER, HAS_TIME, fold, languages_of

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


_MAX_CHARACTERS: Final = 2_000  # a longer question is not read to its end
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
    return _SEVERAL.search(question[:_MAX_CHARACTERS]) is not None


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
