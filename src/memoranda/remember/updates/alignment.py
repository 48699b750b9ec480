"""Compare two clauses word by word: the same sentence with one value changed, or the same sentence denied. Pure.

"I have two children" and "I now have three children" differ in one place. That place is a slot, whatever the sentence
is about: both clauses make a claim in it, with the rest of the sentence as the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memoranda.dates.find import find_mentions
from memoranda.remember.claims.reports import is_plain_report, is_point
from memoranda.remember.claims.values import is_adjective, is_number, length_of_value, read_value
from memoranda.remember.reading.clauses import Clause, find_clauses
from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.lexicon import ANYBODY, NOW
from memoranda.storage.claims import Claim, Operation
from memoranda.text.cache import text_cache

_TOKEN: Final = re.compile(r"[^\W_][\w'’.,@/+#%&-]*[\w%+#]|[^\W_]|[$€£:]")
_MAX_TOKENS: Final = 30
_MAX_SEGMENT: Final = 5
_MIN_COMMON_WORDS: Final = 2
"""How many words in front of a value two clauses must share."""
_EXPANDED: Final = {"it's": ("it", "is"), "he's": ("he", "is"), "she's": ("she", "is"), "cannot": ("can", "not")}
_DROPPED: Final = frozenset(
    ("now", "currently", "just", "still", "also", "anymore", "actually", "finally", "again", "instead", "officially",
     "nowadays", "these", "days", "please", "really", "already", "currently", "today", "the", "a", "an", "my", "our")
)  # fmt: skip
_NOW: Final = re.compile(rf"\b(?:{NOW})\b", re.I)
_DENIED: Final = re.compile(r"\bno longer\b|\bany ?more\b|\bany longer\b", re.I)
_NEGATIONS: Final = frozenset(("not", "no", "never", "longer", "do", "does", "nobody", "nothing"))
# After these a person or thing has one value at a time.
_ONE_VALUE_WORDS = """
    is are am prefer prefers weigh weighs live lives work works cost costs wear wears start starts end ends
    commute commutes report reports belong belongs expire expires open opens close closes land lands arrive
    arrives depart departs called named due last lasts earn earns pay pays measure measures charge charges sit
    sits :
"""
_ONE_VALUE: Final = frozenset(_ONE_VALUE_WORDS.split())
_OTHER_VERB_WORDS = """
    be was were have has had take takes use uses go goes run runs need needs want wants drive drives eat eats
    drink drinks play plays speak speaks own owns sleep sleeps study studies meet meets read keep keeps like
    likes love loves get gets cover covers support supports leave leaves allow allows require requires cap caps
    contain contains host hosts ship ships plan plans at to
"""
_VERBS: Final = _ONE_VALUE | frozenset(_OTHER_VERB_WORDS.split())
"""Words after which the value of a sentence begins."""
_EMPTY_WORDS = """
    i we you he she it they is are am be have has do does to of in on at for with and or not no this that user
    customer client patient there
"""
_EMPTY: Final = frozenset(_EMPTY_WORDS.split())
_COPULAS: Final = frozenset(("is", "are", "am"))
_MEASURES: Final = frozenset(("number", "money", "time", "day", "address"))
_NO_VALUE: Final = frozenset(("not", "no", "never", "who", "which", "is", "are", "was", "were"))
_PREPOSITIONS: Final = frozenset(("in", "on", "at", "to", "under", "over", "with", "from", "by", "out", "off", "near"))
_COORDINATORS: Final = frozenset(("and", "or", "plus", "besides"))
_SHORTEST_ING: Final = 5
"""So that "king" and "ring" are values."""
_POINTING: Final = frozenset(
    ("it", "this", "that", "these", "those", "there", "you", "your", "last", "since", "not", "what")
)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two claims in one slot: one for the older text, one for the newer."""

    older: Claim
    newer: Claim


def align(
    older: str, newer: str, subject: str, said_at: tuple[datetime, datetime], trust: tuple[str, str]
) -> list[Alignment]:
    """Return the slots in which a newer text changes or denies an older one of the same speaker.

    Args:
        older: The text that was said before.
        newer: The text that was said later.
        subject: Whom both texts are about, as the speaker's own statements.
        said_at: When each was said.
        trust: The channel of each.
    """
    found: list[Alignment] = []
    olds = _present_clauses(older)
    times = [each.span for each in find_mentions(newer, said_at[1]) if is_point(each)]
    for new in _present_clauses(newer):
        for old in olds:
            pair = _compare(old, new)
            if pair is not None:
                plain = is_plain_report(newer, pair.new_span, pair.new_value, (), times)
                if ANYBODY.match(new.clause.text) or not plain:
                    pair = replace(pair, operation="state")
                found.append(_to_alignment(pair, subject, said_at, trust))
                break
    return found


def can_align(text: str) -> bool:
    """Return whether a text says something that an older one could have said otherwise."""
    return bool(_present_clauses(text))


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A clause with its words."""

    clause: Clause
    words: tuple[_Word, ...]
    texts: tuple[str, ...]
    denies: bool


@text_cache(1024)  # what is similar to one text is often similar to the next
def _present_clauses(text: str) -> tuple[_Sentence, ...]:
    """Return the clauses about the present that are short enough to be compared."""
    sentences: list[_Sentence] = []
    for clause in find_clauses(text):
        words = tuple(_words(clause)) if clause.tense == "present" else ()
        if 0 < len(words) <= _MAX_TOKENS:
            denies = _DENIED.search(clause.text) is not None
            sentences.append(_Sentence(clause, words, tuple(word.text for word in words), denies))
    return tuple(sentences)


@dataclass(frozen=True, slots=True)
class _Pair:
    attribute: str
    old_value: str
    new_value: str
    old_span: tuple[int, int]
    new_span: tuple[int, int]
    operation: Operation
    holds: bool = True


def _to_alignment(pair: _Pair, subject: str, said_at: tuple[datetime, datetime], trust: tuple[str, str]) -> Alignment:
    def claim(
        value: str, span: tuple[int, int], n: int, *, operation: Operation = "state", holds: bool = True
    ) -> Claim:
        return Claim(
            subject, pair.attribute, value, span, said_at[n], said_at[n], None, holds, True, trust[n], operation
        )

    return Alignment(
        claim(pair.old_value, pair.old_span, 0),
        claim(pair.new_value, pair.new_span, 1, operation=pair.operation, holds=pair.holds),
    )


def _compare(old: _Sentence, new: _Sentence) -> _Pair | None:
    if new.clause.qualified and not old.clause.qualified:
        return None  # "I no longer drink coffee after four" denies less than "I drink coffee" says
    if new.denies and (pair := _compare_denial(old.clause, new.clause, old.words, new.words)) is not None:
        return pair
    # Two words in front must be the same: most pairs end here.
    if old.texts[:_MIN_COMMON_WORDS] != new.texts[:_MIN_COMMON_WORDS]:
        return None
    return _compare_values(old, new)


def _compare_denial(old: Clause, new: Clause, one: Sequence[_Word], other: Sequence[_Word]) -> _Pair | None:
    """Return a pair when the newer clause denies what the older one says."""
    said = [_lemma(word.text) for word in one]
    denied = [_lemma(word.text) for word in other if word.text not in _NEGATIONS]
    twice = "longer" in (texts := [word.text for word in other]) and not {"not", "never"}.isdisjoint(texts)
    if twice or any(word.text in ("not", "never", "no") for word in one) or not denied:
        return None
    content = [word for word in denied if word not in _EMPTY]
    known = iter(said)
    in_order = all(any(word == each for each in known) for word in denied)
    if not in_order or not content or (len(content) < 2 and said != denied and len(denied) < 3):
        return None
    value = " ".join(denied)
    operation: Operation = "end" if _denies_all(said, denied) else "state"
    return _Pair("says", value, value, _span(old, one), _span(new, other), operation, holds=False)


def _denies_all(said: Sequence[str], denied: Sequence[str]) -> bool:
    """Return whether a denial covers the whole statement, and not one item of a list or only a circumstance.

    "I no longer live with Ana" does not deny Oslo in "I live in Oslo with Ana". "I no longer drink milk" may not cover
    "oat milk": a word that the denial leaves out after the verb may name another thing. A number does not.
    """
    left, gap, narrowed, began = iter(denied), list[str](), False, False
    wanted = next(left, None)
    for word in said:
        if word == wanted:
            began = began or word not in _EMPTY
            wanted = next(left, None)
        elif wanted is not None:
            gap.append(word)
            narrowed = narrowed or (began and word not in _EMPTY and not is_number(word))
    listed = not _COORDINATORS.isdisjoint(word for word in said if word not in denied)
    return not listed and not narrowed and _PREPOSITIONS.isdisjoint(gap)


def _compare_values(older: _Sentence, newer: _Sentence) -> _Pair | None:
    """Return a pair when the clauses differ in one place that holds a value."""
    old, new, one, other = older.clause, newer.clause, older.words, newer.words
    first, second = older.texts, newer.texts
    before = _common(first, second)
    after = _common(first[before:][::-1], second[before:][::-1])
    old_words, new_words = one[before : len(one) - after], other[before : len(other) - after]
    if not (0 < len(old_words) <= _MAX_SEGMENT and 0 < len(new_words) <= _MAX_SEGMENT):
        return None
    common = [*first[:before], "…", *first[len(first) - after :]]
    verb = next((word for word in reversed(first[:before]) if word in _VERBS), None)
    if verb is None or before < _MIN_COMMON_WORDS or not _names_subject(common, verb):
        return None
    about = [word for word in first[: first.index(verb)] if word not in _EMPTY]
    old_value, new_value = _text(old, old_words), _text(new, new_words)
    if {word.text for word in (*old_words, *new_words)} & _NO_VALUE:
        return None
    old_kind, new_kind = read_value(old_value), read_value(new_value)
    measured = old_kind.kind == new_kind.kind and old_kind.kind in _MEASURES
    if old_kind.kind != new_kind.kind and {old_kind.kind, new_kind.kind} & _MEASURES:
        return None  # "on Tuesday" and "at 3 pm", "80 kg" and "pregnant": both may be true
    if measured and old_kind.unit != new_kind.unit:
        return None
    # "I am always …" and "it is so …" are about the moment: before "is", the words must name something.
    if not measured and (verb not in _ONE_VALUE or (verb in _COPULAS and not about) or first[0] in _POINTING):
        return None
    if not measured and verb in _COPULAS and not _are_alike(old_words, new_words):
        return None
    operation: Operation = "state"
    # What something is called is replaced by another name; how it is ("happy", "tired") need not be.
    alike = old_kind.kind == new_kind.kind in ("name", "state") and not is_adjective(new_value)
    named = verb not in _COPULAS or alike
    certain = named and _names_subject(common, verb, besides_verb=True)
    if measured:
        certain = _count_alike(old_kind.kind, old_words, new_words)
    if certain and new.corrects:
        operation = "correct"
    elif certain and _NOW.search(new.text):
        operation = "update"
    trailing = len(old_value) - length_of_value(old_value)
    old_span = (old.start, old_words[-1].end - trailing) if trailing else _span(old, one)
    return _Pair(" ".join(common), old_value, new_value, old_span, _span(new, other), operation)


def _count_alike(kind: str, old: Sequence[_Word], new: Sequence[_Word]) -> bool:
    """Return whether two numbers count the same thing: not "5 mg of ramipril" and "10 mg of simvastatin"."""
    counted = [[_lemma(word.text) for word in words if not is_number(word.text)] for words in (old, new)]
    return kind != "number" or counted[0] == counted[1]


def _are_alike(old: Sequence[_Word], new: Sequence[_Word]) -> bool:
    """Return whether two values after "is" can be answers to one question: not "Olga" and "on holiday"."""
    first, second = old[0].text, new[0].text
    if any(word.endswith("ing") and len(word) > _SHORTEST_ING for word in (first, second)):
        return False  # what somebody is doing
    return first == second or not {first, second} & _PREPOSITIONS


def _names_subject(common: Sequence[str], verb: str, *, besides_verb: bool = False) -> bool:
    """Return whether the words that both clauses share say what has the value: "I am …" alone does not."""
    content = [word for word in common if word not in _EMPTY and word not in ("…", ":")]
    return bool(content) and (content != [verb] or not (besides_verb or verb in _COPULAS))


def _words(clause: Clause) -> Iterator[_Word]:
    for match in _TOKEN.finditer(clause.text):
        text = match[0].casefold().replace("’", "'").strip(".,")
        start, end = clause.span(*match.span())
        for word in _expand_word(text):
            if word and word not in _DROPPED:
                yield _Word(word, start, end)


def _expand_word(text: str) -> Sequence[str]:
    """Return a word as the words that it stands for: "isn't" as "is" and "not"."""
    words = expand(text).text.split()
    return [word for each in words for word in _EXPANDED.get(each, (each,))]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _span(clause: Clause, words: Sequence[_Word]) -> tuple[int, int]:
    return clause.start, max(word.end for word in words)


def _text(clause: Clause, words: Sequence[_Word]) -> str:
    first, last = words[0].start - clause.start + clause.added, words[-1].end - clause.start + clause.added
    return clause.text[first:last]


def _lemma(word: str) -> str:
    for ending in ("ing", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word
