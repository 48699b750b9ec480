"""Decides whether two texts are the same statement, by their words. Pure.

Two texts are the same statement when they have the same words in the same order, up to case, punctuation, white space
and politeness. Any other difference may be the point of the second one: "before meals" and "after meals", "I have a
car" and "I had a car", "tea over coffee" and "coffee over tea".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memoranda.dates.find import find_mentions
from memoranda.remember.base import KnownMatch, Utterance
from memoranda.remember.importance_words import classes_of
from memoranda.text.terms import query_terms

# A number with its point ("5" and ".5"), a word with its apostrophe, or a sign that makes a difference ("C" and "C++",
# "5" and "-5").
_TOKEN: Final = re.compile(
    r"[+\-]?(?:(?<![\w.,:;!?])\.)?\d+(?:[.,:/]\d+)*|[^\W\d_][^\W_]*(?:'[^\W_]+)*[+#]*|[^\W_]+|[$€£¥%°&@/=<>*+#~^|\\_§¬±×÷]"
    r"|!(?==)|(?<!\S)[!.](?=\w)|[:;]-?[()](?!\S)|[\u20a0-\u20cf\u2190-\u2bff\U0001f000-\U0001faff]"
    r"|(?:(?<=\bno)|(?<=\byes)|(?<=\bnot)|(?<=\bnever)|(?<=\bdon't)|(?<=\bstop))\s?[,;:.!–—-]+(?=\s+\w)"
)
_PAUSE: Final = re.compile(r"\s?[,;:.!–—-]+")
"""What follows a no in "No, more sugar", which says the opposite of "No more sugar"."""
_QUESTION: Final = re.compile(r"\?[\"'”’)\s]*$")
_POLITE_START: Final = re.compile(
    # A greeting without punctuation may be part of what is said: "Hello Kitty is my favourite".
    r"^(?:(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you(?: (?:so|very) much)?)"
    r"(?: there)?\s*[,.!:;\n–—]|please\b|kindly\b)[\s,.!:;–—-]*)+",
    re.I,
)
_POLITE_END: Final = re.compile(
    r"(?:(?:(?<![\s,.!?;–—-])(?=[^\S\n]*[,.!?;\n–—])[\s,.!?;–—-]+|(?<!\bto)(?<!\s)\s+(?=please\s*\?))(?:please|thanks"
    r"|thank you(?: (?:so|very) much)?|thx|cheers)){1,3}[\s.!?)]*$",
    re.I,
)
_ASKING = r"(?:what|where|who|whom|whose|when|why|how|which)\b"
_POLITE_WITHIN: Final = re.compile(r"^((?:can|could|would|will) you),? (?:please|kindly)\b,?", re.I)
# "Could you tell me where my key is?" asks where it is.
_TELL_ME: Final = re.compile(
    rf"^(?:(?:can|could|would|will) you )?(?:tell me|let me know),?\s+"
    rf"(?={_ASKING}|(?:is|are|was|were|do|does|did|has|have) (?:my|our|the|i|we)\b)",
    re.I,
)
_ASKS: Final = re.compile(
    rf"{_ASKING}(?:'s| (?:is|are|was|were|am|do|does|did|can|could|should|will|would|has|have)\b)", re.I
)
_BEING: Final = frozenset(("is", "are", "was", "were", "am"))
_ENDING: Final = 80
"""How many characters polite words at the end may have, with the marks around them."""
_PERSONS: Final = frozenset(("i", "we", "you", "they"))
_FIRST_WORDS: Final = re.compile(r"[a-z]+")
_VERB_WITHIN: Final = 4
"""Words from the beginning within which the verb of an event is looked for."""
_NO_EVENTS_WORDS = """
    was were had knew thought meant felt lived worked liked loved hated wanted preferred moved married studied graduated
    retired named used put read cut set hit shut lay bit built indeed hundred exceed succeed proceed breed speed
    allergic divorced widowed engaged interested tired excited scared bored
"""
_NO_EVENTS: Final = frozenset(_NO_EVENTS_WORDS.split())
"""Verbs of states and of what happens once, verbs with the same form in the present, and words in -ed that are none."""
_ECHO_TOKENS: Final = 5
"""A shorter answer is no echo."""
_LEAD_IN_WORDS = """
    so ok okay got it noted sure yes yeah right understood i'll remember that you said told me mentioned i see thanks
    thank for sharing telling and great glad to hear nice
"""
_LEAD_IN: Final = frozenset(_LEAD_IN_WORDS.split())
_NEGATIONS: Final = frozenset(("not", "no", "never", "nobody", "none", "nothing", "without", "hardly", "cannot"))
_OTHER_PERSON: Final = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "i'm": "you're", "i've": "you've",
    "i'll": "you'll", "i'd": "you'd", "am": "are",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The features by which two texts are compared."""

    tokens: tuple[str, ...]
    """The words in their order, without case, punctuation and politeness; a question ends with "?"."""
    terms: tuple[str, ...]
    times: tuple[tuple[datetime, datetime], ...]
    """The times it mentions; "yesterday" said on two days is two times, and so is something that happened."""


def fingerprint(text: str, said_at: datetime) -> Fingerprint:
    """Return the features of a text."""
    times = tuple((each.start, each.end) for each in find_mentions(text, said_at) if each.kind == "at")
    if not times and tells_what_happened(text):
        # "I paid rent" said again next month is another payment.
        day = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
        times = ((day, day + timedelta(days=1)),)
    return Fingerprint(statement_tokens(text), tuple(query_terms(text)), times)


def tells_what_happened(text: str) -> bool:
    """Return whether a text tells of something that may happen again: "I paid rent", not "I was born in Rome"."""
    verbs = [word for word in _FIRST_WORDS.findall(text.lower())[:_VERB_WITHIN] if word not in _NO_EVENTS]
    return any((len(word) > 4 and word.endswith("ed")) or "past" in classes_of(word) for word in verbs)


def statement_tokens(text: str) -> tuple[str, ...]:
    """Return the words by which statements are compared; two texts with equal words are the same statement."""
    spoken, is_told = _without_politeness(text)
    found = _TOKEN.findall(spoken.casefold()) or spoken.split()
    tokens = ["," if _PAUSE.fullmatch(token) else token for token in found]
    if is_told and tokens[-1] in _BEING:
        tokens.insert(1, tokens.pop())  # "tell me where my key is"
    elif is_told and tokens[1:2] and tokens[1] in _PERSONS:
        tokens.insert(1, "do")  # "tell me where I live"
    ending = _search_end(_POLITE_END, text) or _search_end(_QUESTION, text)
    asks = is_told or (ending is not None and "?" in ending[0]) or _ASKS.match(spoken)
    return (*tokens, "?") if asks else tuple(tokens)


def without_politeness(text: str) -> str:
    """Return a text without a greeting, thanks, "please" and "could you tell me"; all of it when it says only that."""
    return _without_politeness(text)[0]


def _without_politeness(text: str) -> tuple[str, bool]:
    """Return the same, and whether it asks to be told something."""
    plain = text.replace("’", "'").replace("‘", "'").strip()
    spoken = _POLITE_START.sub("", plain, count=1)
    ending = _search_end(_POLITE_END, spoken)
    spoken = _POLITE_WITHIN.sub(r"\1", spoken[: ending.start()] if ending else spoken) or plain
    told = _TELL_ME.match(spoken)
    return (spoken, False) if told is None else (spoken[told.end() :], True)


def _search_end(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return what a pattern finds in the last characters: in a long run of marks, a search takes the square of it."""
    return pattern.search(text, max(0, len(text) - _ENDING))


def same_statement(one: str, other: str) -> bool:
    """Return whether two texts are the same words in the same order, up to case, punctuation and politeness."""
    return statement_tokens(one) == statement_tokens(other)


def says_the_same(known: Fingerprint, new: Fingerprint) -> bool:
    """Return whether a new text is the same statement about the same times."""
    return known.tokens == new.tokens and known.times == new.times


def is_echo(answer: Fingerprint, known: Fingerprint) -> bool:
    """Return whether an answer has only words of a known text, as in "So you live in Berlin"."""
    if len(answer.tokens) < _ECHO_TOKENS or answer.tokens[-1] == "?":
        return False
    said, repeated = _as_second_person(known.tokens), _without_lead_in(_as_second_person(answer.tokens))
    if Counter(repeated) - Counter(said) or 2 * len(repeated) < len(said):
        return False
    return _count_negations(said) == _count_negations(repeated)


def _count_negations(tokens: Iterable[str]) -> int:
    return sum(token in _NEGATIONS or token.endswith("n't") for token in tokens)


def _as_second_person(tokens: Sequence[str]) -> list[str]:
    return [_OTHER_PERSON.get(token, token) for token in tokens]


def _without_lead_in(tokens: Sequence[str]) -> Sequence[str]:
    """Return the tokens after "Got it," or "So you said that"; all of them when nothing would be left."""
    for start, token in enumerate(tokens):
        if token not in _LEAD_IN:
            return tokens[start - 1 :] if start and tokens[start - 1] in ("you", "your") else tokens[start:]
    return ()


@dataclass(frozen=True, slots=True)
class _KnownText:
    id: int | str
    speaker: str
    role: str
    fingerprint: Fingerprint

    def match(self, utterance: Utterance, fingerprint: Fingerprint) -> KnownMatch | None:
        if self.speaker == utterance.speaker and says_the_same(self.fingerprint, fingerprint):
            return KnownMatch("duplicate", self.id)
        answers = utterance.role in ("assistant", "tool") and self.role != utterance.role
        return KnownMatch("echo", self.id) if answers and is_echo(fingerprint, self.fingerprint) else None


class KnownTextIndex:
    """The `KnownTexts` of the memories that a caller passes, and of what is added later. For one thread.

    Pass the memories that could say the same: all of a small scope, or the best lexical hits for each text of the
    call. In the second case, also pass which `terms` of the call occur in the scope.
    """

    def __init__(self, known: Iterable[tuple[int | str, Utterance]] = (), terms: Iterable[str] = ()) -> None:
        self._terms = set(terms)
        self._texts: list[_KnownText] = []
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._by_tokens: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._last: tuple[Utterance, Fingerprint] | None = None
        for known_id, utterance in known:
            self._insert(known_id, utterance)

    def find_match(self, utterance: Utterance) -> KnownMatch | None:
        """Return a known text that is the same statement, or else one that an answer only repeats."""
        fingerprint = self._fingerprint(utterance)
        for position in self._by_tokens.get(fingerprint.tokens, ()):
            if match := self._texts[position].match(utterance, fingerprint):
                return match
        if utterance.role not in ("assistant", "tool") or not fingerprint.terms:
            return None
        rarest = min(fingerprint.terms, key=lambda term: len(self._by_term.get(term, ())))
        matches = (self._texts[n].match(utterance, fingerprint) for n in self._by_term.get(rarest, ()))
        return next((match for match in matches if match), None)

    def novelty(self, utterance: Utterance) -> float:
        """Return the share of its terms that no known text contains, 0…1."""
        terms = self._fingerprint(utterance).terms
        new = sum(term not in self._by_term and term not in self._terms for term in terms)
        return new / len(terms) if terms else 0.0

    def add(self, utterance: Utterance) -> None:
        """Add an utterance to the known texts, under the id of its message."""
        self._insert(utterance.message_id, utterance)

    def _insert(self, known_id: int | str, utterance: Utterance) -> None:
        position, fingerprint = len(self._texts), self._fingerprint(utterance)
        self._texts.append(_KnownText(known_id, utterance.speaker, utterance.role, fingerprint))
        self._by_tokens[fingerprint.tokens].append(position)
        for term in set(fingerprint.terms):
            self._by_term[term].append(position)

    def _fingerprint(self, utterance: Utterance) -> Fingerprint:
        # An utterance is looked up and then added, so the last fingerprint is kept.
        if self._last is None or self._last[0] is not utterance:
            self._last = (utterance, fingerprint(utterance.text, utterance.said_at))
        return self._last[1]
