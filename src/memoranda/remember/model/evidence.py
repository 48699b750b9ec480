"""Checks that a sentence a model wrote says what its evidence says, and nothing else. Pure.

A model may quote true words and still invent: "I don't live in Berlin" quoted as "live in Berlin", "I prefer tea over
coffee" in the other order, "My sister lives in Rome" with the speaker as the subject. So the sentence is compared word
by word with the clause of the quote. It may put a name for a pronoun and a date for "last week", and leave out words
that change nothing ("really", "the"), or a last "in …" or "with …". Every other word must be there, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from memoranda.dates.find import Mention, find_mentions
from memoranda.dates.rules import Precision
from memoranda.text.sentences import Span, sentence_spans


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STRAIGHT: Final = str.maketrans("’‘ʼ`´", "'''''")
_TOKEN: Final = re.compile(r"n't\b|'(?:s|m|re|ve|ll|d)\b|\d+(?:[.,:]\d+)*\w*|(?:(?!n't\b)[^\W_])+|[$€£¥%]")
_CLAUSE_END: Final = re.compile(r"[;:,—–\n]|\s-\s|(?=\b(?:and|but|because|so|while|although|though|whereas)\b)", re.I)
_HEAD: Final = re.compile(r"(?<![^\n.!?:])([^\n.!?:]*+):(?=\s)")
_QUOTED: Final = re.compile(r"[\"“„«][^\"“”„«»\n]*[\"”»]")
_FORMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("am", "is", "are", "'m", "'re"), "be"),
    **dict.fromkeys(("was", "were"), "was"),
    **dict.fromkeys(("have", "has", "'ve"), "have"),
    **dict.fromkeys(("do", "does"), "do"),
    **dict.fromkeys(("n't", "not"), "not"),
    **dict.fromkeys(("will", "'ll", "wo"), "will"),
    **dict.fromkeys(("can", "ca"), "can"),
}
"""Forms of one word that only agree with different persons, or are written together or apart."""
_ARTICLES: Final = frozenset(("a", "an", "the"))
_DROPPABLE: Final = _ARTICLES | _words(
    "please just really finally also actually well oh hey hi hello thanks now already still very too quite honestly "
    "anyway btw ok okay yes yeah yep currently definitely certainly and but so because"
)
"""Words that a restatement may leave out."""
_SPEAKER: Final = frozenset(("i", "we", "me", "us"))
_SPEAKERS: Final = frozenset(("my", "our"))
_OTHERS: Final = frozenset(("he", "she", "they", "him", "her", "them", "it"))
_OTHERS_OWN: Final = frozenset(("his", "her", "their", "its"))
_BACK_REFERENCES: Final = {
    **dict.fromkeys(("my", "our"), frozenset(("his", "her", "their"))),
    **dict.fromkeys(("me", "us"), frozenset(("him", "her", "them"))),
    **dict.fromkeys(("i", "we"), frozenset(("he", "she", "they"))),
    **dict.fromkeys(("myself", "ourselves"), frozenset(("himself", "herself", "themselves"))),
}
"""How a restatement may refer to the speaker once it has named them."""
_PRONOUNS: Final = _SPEAKER | _SPEAKERS | _OTHERS | _OTHERS_OWN | frozenset(("you", "your"))
_LIMITING: Final = _words(
    "not never no none nobody nothing neither nor without hardly barely rarely seldom only few little except unless "
    "almost nearly until till if"
)
"""Words under which leaving out the rest of the clause would say more than was said."""
_CONDITIONAL: Final = _words(
    "if unless whether suppose supposing imagine pretend hypothetically wish when whenever once until till"
)
"""Words that make the rest of the sentence depend on something else."""
_LAST_PHRASE: Final = _words("at in on with near for from by around over as about during")
_BEFORE_DATE: Final = _words("in on at since until from by around about circa during of for the")
_ABOUT: Final = frozenset(("around", "about", "circa", "approximately", "roughly"))
_SMALL: Final = (
    _PRONOUNS | _DROPPABLE | _LIMITING | _LAST_PHRASE | frozenset(_FORMS) | frozenset(_FORMS.values())
    | _words("'s 'd to of been being be had did would could should may might must shall than that")
)  # fmt: skip
"""Words that carry no content of their own."""
_SAID: Final = _words("say says said tells told thinks claims claimed asks asked writes wrote translate")
_REPORTING: Final = _SAID | _words(
    "that say says said tell tells told think thinks thought hear heard believe believes believed claim claims claimed "
    "ask asks asked know knows knew hope hopes write writes wrote translate translated he she they who"
)
_ANNOUNCEMENTS: Final = _words(
    "correction update note fyi ps btw important remember reminder also and edit news good bad about me anyway"
)
_RELATIONS: Final = _words(
    "sister brother mother father mom mum dad wife husband son daughter friend girlfriend boyfriend partner fiance "
    "fiancee cousin aunt uncle grandma grandpa grandmother grandfather nephew niece boss manager colleague coworker "
    "neighbor neighbour roommate flatmate therapist doctor teacher coach dog cat puppy kitten horse"
)
_TAKE_BACKS: Final = _words("not no nope really just kidding joking jk lol")
_BEFORE_VERB: Final = _words("longer never always usually often sometimes mostly only they you")
"""Words that may stand between "I" and its verb, besides those that may be left out."""
_MAX_CLAUSES: Final = 12
_FINER_FIRST: Final = tuple(Precision)


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a restatement may use for a pronoun, in lower case, each as its words."""

    speaker: Collection[tuple[str, ...]] = ()
    """For "I" and "my": the speaker's name, in full and the first name; "user" for a user."""
    addressee: Collection[tuple[str, ...]] = ()
    """For "you" and "your"."""
    others: Collection[tuple[str, ...]] = ()
    """For "he", "she" and "they": names that the conversation or the store mentions."""


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """The words of a message that a model quotes, and what is needed to judge a restatement of them."""

    message: str
    quote: Span
    said_at: datetime
    names: KnownNames


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    """In lower case, one spelling for all forms that mean the same."""
    written: str
    span: Span


def find_problem(text: str, evidence: QuotedWords) -> str | None:
    """Return why a text does not restate its evidence; None when it does."""
    sentence = _sentence_around(evidence)
    words = evidence.message[slice(*sentence)]
    if words.rstrip().endswith("?"):
        return "the evidence is a question"
    dated, problem = _resolve_dates(text, evidence)
    if problem is not None:
        return problem
    tokens = _tokens(dated)
    if all(token.word in _SMALL | _known_words(evidence.names) for token in tokens):
        return "it says nothing"
    depends = {token.word for token in _tokens(words)} & _CONDITIONAL
    if not depends <= {token.word for token in tokens}:
        return (
            f"the evidence depends on {' and '.join(sorted(depends - {t.word for t in tokens}))!r}, the text does not"
        )
    if any(_restates(tokens, run, evidence) for run in _clause_runs(evidence, sentence)):
        return None
    strange = unsupported_words(text, evidence)
    if strange:
        return f"{', '.join(repr(word) for word in strange[:5])}: not in the quoted words"
    return "it says something else than the quoted words"


def unsupported_words(text: str, evidence: QuotedWords) -> list[str]:
    """Return the words of a text that are neither in the quote nor names, dates or small words."""
    dated, problem = _resolve_dates(text, evidence)
    quoted = {token.word for token in _tokens(evidence.message[slice(*evidence.quote)])}
    tokens = _tokens(text if problem else dated)
    found = [token for token in tokens if token.word not in quoted | _known_words(evidence.names) | _SMALL]
    return [token.written for token in found if not any(token.word in _third_persons(word) for word in quoted)]


def _known_words(names: KnownNames) -> set[str]:
    return {word for group in (names.speaker, names.addressee, names.others) for name in group for word in name}


def first_words_are(text: str, words: str) -> bool:
    """Return whether a text begins with these words, whatever articles are before them."""
    wanted = [token.word for token in _tokens(words) if token.word not in _ARTICLES]
    begins = [token.word for token in _tokens(text) if token.word not in _ARTICLES][: len(wanted)]
    return bool(wanted) and begins == wanted


def contains_words(text: str, words: str) -> bool:
    """Return whether a text contains these words, one after the other."""
    wanted, found = ([token.word for token in _tokens(each)] for each in (words, text))
    return bool(wanted) and any(found[n : n + len(wanted)] == wanted for n in range(len(found)))


def is_denial(text: str) -> bool:
    return any(token.word in ("not", "never", "no", "none", "neither") for token in _tokens(text))


def names_of(name: str) -> list[tuple[str, ...]]:
    """Return how a person may be named: in full, and by the first name."""
    words = tuple(token.word for token in _tokens(name))
    return [words, words[:1]] if len(words) > 1 else [words] if words else []


def resolves_to(moment: datetime, evidence: QuotedWords) -> bool:
    """Return whether the evidence mentions this day, or it is the day on which it was said."""
    if moment.date() == evidence.said_at.date():
        return True
    ends = [(mention.start, mention.end) for mention in _quoted_mentions(evidence)]
    return any(start.date() <= moment.date() <= end.date() for start, end in ends)


def _tokens(text: str) -> list[_Token]:
    lowered = text.translate(_STRAIGHT).replace("\u0130", "i").lower()
    return [
        _Token(_FORMS.get(match.group(), match.group()), text[slice(*match.span())], match.span())
        for match in _TOKEN.finditer(lowered)
    ]


def _sentence_around(evidence: QuotedWords) -> Span:
    start, end = evidence.quote
    touched = [span for span in sentence_spans(evidence.message) if span[0] < end and start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else evidence.quote


def _quoted_mentions(evidence: QuotedWords) -> list[Mention]:
    start, end = evidence.quote
    mentions = find_mentions(evidence.message, evidence.said_at)
    return [mention for mention in mentions if start <= mention.span[0] and mention.span[1] <= end]


def _resolve_dates(text: str, evidence: QuotedWords) -> tuple[str, str | None]:
    """Return the text without the dates that the evidence resolves to, and what is wrong with another date."""
    quoted = _quoted_mentions(evidence)
    literal = {" ".join(mention.text.lower().split()) for mention in quoted}
    for mention in reversed(find_mentions(text, evidence.said_at)):
        if " ".join(mention.text.lower().split()) in literal:
            continue  # the words of the evidence, compared as words
        start, end = mention.span
        before = _tokens(text[:start])
        is_rough = bool(before) and before[-1].word in _ABOUT
        if not any(_agrees(mention, other, is_rough=is_rough) for other in quoted):
            if contains_words(evidence.message[slice(*evidence.quote)], mention.text):
                continue
            return text, f"the evidence does not say {mention.text!r}"
        while before and before[-1].word in _BEFORE_DATE and not text[before[-1].span[1] : start].strip():
            start = before.pop().span[0]
        text = f"{text[:start].rstrip()} {text[end:]}"
    return text, None


def _agrees(stated: Mention, said: Mention, *, is_rough: bool) -> bool:
    """Return whether a stated date means the time that was said, and is not more exact."""
    if is_rough:
        return stated.start < said.end and said.start < stated.end
    middle = said.start + (said.end - said.start) / 2
    as_exact = _FINER_FIRST.index(stated.precision) >= _FINER_FIRST.index(said.precision)
    return stated.start <= middle < stated.end and (as_exact or (stated.start, stated.end) == (said.start, said.end))


@dataclass(frozen=True, slots=True)
class _Clause:
    """Tokens of one or more clauses in a row, with what surrounds them."""

    tokens: tuple[_Token, ...]
    subject: tuple[_Token, ...]
    """The subject of the sentence, for a clause that has none of its own."""
    reported: bool
    """Whether "I" may be somebody else, because the words are quoted or follow a colon."""


def _clause_runs(evidence: QuotedWords, sentence: Span) -> Iterator[_Clause]:
    """Yield the clauses that the quote touches, each alone and with those that follow it."""
    clauses = _split_clauses(evidence.message, sentence)
    start, end = evidence.quote
    touched = [n for n, clause in enumerate(clauses) if any(start < t.span[1] and t.span[0] < end for t in clause)]
    reported = _is_reported(evidence) or any(_reports(clause) for clause in clauses)
    for first in touched[:_MAX_CLAUSES]:
        before = [token for clause in clauses[:first] for token in clause]
        subject = _subject_of(before)
        for last in (n for n in touched[:_MAX_CLAUSES] if n >= first and not _retracts(clauses[n + 1 : n + 2])):
            tokens = tuple(token for clause in clauses[first : last + 1] for token in clause)
            yield _Clause(tokens, subject, reported)


def _retracts(following: Sequence[Sequence[_Token]]) -> bool:
    """Return whether the next clause only takes the one before back: "…, not", "…, just kidding"."""
    return any(all(token.word in _TAKE_BACKS for token in clause) for clause in following)


def _reports(clause: Sequence[_Token]) -> bool:
    """Return whether a clause says that somebody else said something: "…, said Anna"."""
    words = {token.word for token in clause}
    return bool(words & _SAID) and "i" not in words


def _split_clauses(message: str, sentence: Span) -> list[list[_Token]]:
    start, end = sentence
    cuts = [start, *(start + match.end() for match in _CLAUSE_END.finditer(message[start:end])), end]
    tokens = [_moved(token, start) for token in _tokens(message[start:end])]
    clauses = [[t for t in tokens if low <= t.span[0] < high] for low, high in pairwise(cuts)]
    return [clause for clause in clauses if clause]


def _moved(token: _Token, offset: int) -> _Token:
    return _Token(token.word, token.written, (token.span[0] + offset, token.span[1] + offset))


def _is_reported(evidence: QuotedWords) -> bool:
    """Return whether the quote is in quotation marks, in a quoted line or after a colon, as pasted text is."""
    start = evidence.quote[0]
    if evidence.message[evidence.message.rfind("\n", 0, start) + 1 :].lstrip().startswith((">", "|")):
        return True
    if any(match.start() < start < match.end() for match in _QUOTED.finditer(evidence.message)):
        return True
    heads = (match[1] for match in _HEAD.finditer(evidence.message, 0, max(start, 0)))
    return any(not {token.word for token in _tokens(head)} <= _ANNOUNCEMENTS for head in heads)


def _subject_of(before: Sequence[_Token]) -> tuple[_Token, ...]:
    """Return the first words of a sentence if they are its subject: "I", or a name."""
    tokens = [token for token in before if token.word not in _DROPPABLE]
    if not tokens or any(token.word in _REPORTING for token in tokens[1:]):
        return ()
    if tokens[0].word in _SPEAKER | _OTHERS:
        return (tokens[0],)
    if tokens[0].word in _SPEAKERS:
        tokens = tokens[2:] if len(tokens) > 2 and tokens[1].word in _RELATIONS else []
    named = []
    for token in tokens:
        if not token.written[:1].isupper():
            break
        named.append(token)
    return tuple(named)


def _restates(text: Sequence[_Token], clause: _Clause, evidence: QuotedWords) -> bool:
    options = [clause.tokens, (*clause.subject, *clause.tokens)] if clause.subject else [clause.tokens]
    return any(_Alignment(text, tokens, evidence, reported=clause.reported).matches() for tokens in options)


class _Alignment:
    """Compares a text with the words of a clause, from left to right."""

    def __init__(
        self, text: Sequence[_Token], said: Sequence[_Token], evidence: QuotedWords, *, reported: bool
    ) -> None:
        self._text = text
        self._said = said
        self._quote = evidence.quote
        self._names = evidence.names
        self._reported = reported
        self._dates = {} if self._is_limited() else _date_blocks(said, evidence)
        self._t = self._s = 0
        self._named_speaker = False

    def matches(self) -> bool:
        if not self._text:
            return False
        while self._t < len(self._text):
            if not (self._match_word() or self._match_name() or self._skip()):
                return False
        return self._rest_may_go()

    def _is_limited(self) -> bool:
        return any(token.word in _LIMITING for token in self._said)

    def _match_word(self) -> bool:
        if self._s == len(self._said):
            return False
        stated, said = self._text[self._t], self._said[self._s]
        if not (self._same(stated.word, said.word) and self._is_quoted(said)):
            return False
        self._t += 1
        self._s += 1
        return True

    def _same(self, stated: str, said: str) -> bool:
        if stated == said:
            return True
        if "'s" in (stated, said) and {stated, said} & {"be", "have"}:
            return True
        if self._named_speaker and stated in _BACK_REFERENCES.get(said, ()):
            return True
        return self._follows_subject() and stated in _third_persons(said)

    def _follows_subject(self) -> bool:
        """Return whether the next word can be a verb, which takes an -s when a name stands for "I"."""
        before = self._said[self._s - 1].word if self._s else "and"
        return before in _SPEAKER | _DROPPABLE - _ARTICLES | _BEFORE_VERB

    def _is_quoted(self, said: _Token) -> bool:
        """Return whether a word may be used: it is in the quote, or carries no content."""
        inside = self._quote[0] <= said.span[0] and said.span[1] <= self._quote[1]
        return inside or said.word in _SMALL or said in self._said[:1]

    def _match_name(self) -> bool:
        """Match a name in the text with the pronoun that it stands for."""
        if self._s == len(self._said):
            return False
        pronoun = self._said[self._s].word
        names, owns = self._names_for(pronoun)
        for name in sorted(names, key=len, reverse=True):
            stop = self._t + len(name)
            if tuple(token.word for token in self._text[self._t : stop]) != tuple(name):
                continue
            has_s = stop < len(self._text) and self._text[stop].word == "'s"
            if owns and not has_s and not name[-1].endswith("s"):
                continue
            self._t = stop + (owns is not False and has_s)
            self._s += 1
            self._named_speaker |= pronoun in _SPEAKER | _SPEAKERS
            return True
        return False

    def _names_for(self, pronoun: str) -> tuple[Collection[tuple[str, ...]], bool | None]:
        """Return the names that may stand for a pronoun, and whether they need a possessive 's; None for either."""
        if pronoun in _SPEAKER | _SPEAKERS:
            return (() if self._reported else self._names.speaker), pronoun in _SPEAKERS
        if pronoun in ("you", "your"):
            return (() if self._reported else self._names.addressee), pronoun == "your"
        if pronoun == "her":  # "her dog" and "I met her"
            return self._names.others, None
        if pronoun in _OTHERS | _OTHERS_OWN:
            return self._names.others, pronoun in _OTHERS_OWN
        return (), False

    def _skip(self) -> bool:
        """Leave out a word of the evidence that may go, or accept an article in the text."""
        if self._text[self._t].word in _ARTICLES:
            self._t += 1
            return True
        if self._s < len(self._said):
            # Somebody's own note may begin without "I".
            if self._said[self._s].word in _DROPPABLE or (self._t == 0 and self._said[self._s].word in ("i", "we")):
                self._s += 1
                return True
            if self._s in self._dates:
                self._s = self._dates[self._s]
                return True
            return self._skip_relation()
        return False

    def _skip_relation(self) -> bool:
        """Leave out "my sister" before the name of that person."""
        said = self._said[self._s : self._s + 3]
        if len(said) < 3 or said[0].word not in _SPEAKERS | _OTHERS_OWN or said[1].word not in _RELATIONS:
            return False
        if said[2].word != self._text[self._t].word or not said[2].written[:1].isupper():
            return False
        self._s += 2
        return True

    def _rest_may_go(self) -> bool:
        """Return whether the clause may end here: only small words, dates or one last phrase are left."""
        while self._s < len(self._said):
            if self._said[self._s].word in _DROPPABLE:
                self._s += 1
            elif self._s in self._dates:
                self._s = self._dates[self._s]
            else:
                return self._said[self._s].word in _LAST_PHRASE and not self._is_limited()
        return True


def _date_blocks(said: Sequence[_Token], evidence: QuotedWords) -> dict[int, int]:
    """Return where the dates of a clause begin and end among its tokens, with the small words before them."""
    blocks: dict[int, int] = {}
    for mention in find_mentions(evidence.message, evidence.said_at):
        inside = [n for n, token in enumerate(said) if mention.span[0] <= token.span[0] < mention.span[1]]
        if not inside:
            continue
        stop = inside[-1] + 1
        blocks[inside[0]] = stop
        first = inside[0]
        while first and said[first - 1].word in _BEFORE_DATE:
            first -= 1
            blocks[first] = stop
    return blocks


def _third_persons(verb: str) -> tuple[str, ...]:
    """Return how a verb may end when a name stands for "I": keep, keeps; carry, carries."""
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return (f"{verb[:-1]}ies",)
    return (f"{verb}s", f"{verb}es")
