"""The sentences of a text, its written words, and the words among them that carry content."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from memoranda.text.cache import text_cache
from memoranda.text.languages import is_small_talk
from memoranda.text.terms import folded_words

Span: TypeAlias = tuple[int, int]
"""A part of a text: the offset of its first character, and the offset after its last one."""
_END: Final = re.compile(
    # The punctuation comes first and the conditions on what precedes it follow, so that the search can skip ahead. An
    # end begins at the first of several marks: to try each of a thousand marks in a row would take seconds.
    r"[.!?…。！？\n](?:(?<=[。！？])|(?<=\n)\n*|(?<=[.!?…])(?<![.!?…][.!?…])"
    r"(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\bMrs.)(?<!\bSt.)(?<!\bvs.)(?<!\be\.g.)(?<!\bi\.e.)[.!?…]*+[\"'”’)\]]*+(?=\s|$))"
)


_NOT_BLANK: Final = re.compile(r"\S")


_MAX_PIECE: Final = 2_000


def pieces(text: str) -> Iterator[Span]:
    """Yield parts of at most 2,000 characters that make up a text, cut after a line, a sentence or a word if possible.

    One search for a pattern holds up the whole process until it ends, so no rule reads more than that at once.
    """
    start = 0
    while len(text) - start > _MAX_PIECE:
        last = start + _MAX_PIECE
        found = max(text.rfind(mark, start + _MAX_PIECE // 2, last) for mark in ("\n", ". ", "。"))
        end = (found if found >= 0 else text.rfind(" ", start + _MAX_PIECE // 2, last)) + 1 or last
        yield start, end
        start = end
    yield start, len(text)


@text_cache(16)  # entities and claims are extracted from the same text one after the other
def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return where each sentence or line is, without the white space around it; a very long one is cut."""
    return tuple(_find_spans(text))


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without the white space around them."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _find_spans(text: str) -> Iterator[Span]:
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        for first, last in pieces(text[start:end]):
            found = _NOT_BLANK.search(text, start + first, start + last)
            if found is not None:
                yield found.start(), found.start() + len(text[found.start() : start + last].rstrip())
        start = end


_WRITTEN_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FUNCTION_WORDS = """
    a about above after all am an and any are as at be because been before being below between both but by can could
    down during each few for from further had has have having he her here hers herself him himself his how if in into
    is it its itself me might most must my myself nor not now of off on once only or other our ours ourselves out over
    own same shall she should some such than that the their theirs them themselves then there these they this those
    through to under until us was we were what when where which while who whom whose why will with would you your
    yours yourself yourselves been being he's she's they're we've they've that'll who's
"""


_SOCIAL_WORDS = """
    hi hello hey heya hiya yo howdy greetings morning afternoon evening bye goodbye cya farewell later laters cheers
    thanks thank thx ty welcome please sorry pardon congrats congratulations kudos bravo yay woohoo hooray wow whoa ooh
    oh ah aww aw hmm hm mm mmm mhm uh um er haha hahaha lol lmao rofl omg ok okay okey k kk yes yeah yep yup yea yah
    sure no nope nah alright right exactly indeed absolutely definitely totally certainly course agreed true correct
    acknowledged understood noted roger got gotcha get see saw seen ya know think guess hope hear heard look looks
    looking sound sounds feel feels seems seem tell talk talking chat chatting catch catching speak soon take care
    stay safe keep going go come coming let lets let's well fine good great awesome amazing cool nice lovely fantastic
    wonderful excellent perfect brilliant terrific super neat sweet beautiful gorgeous adorable cute incredible
    impressive inspiring interesting exciting fun funny glad happy excited thrilled proud lucky grateful thankful
    appreciate appreciated mean means lot much really so very truly always ever never again still also too maybe
    thing things stuff something anything everything nothing one ones way time long day night luck enjoy love loved
    like wish best worries problem worry anytime pleasure rock awesome idea point hear up what's whats how's hows
    it's that's thats there's here's i'm i'll i'd i've you're you'll you've we're we'll can't cannot don't doesn't
    didn't won't wouldn't isn't aren't wasn't i u r ur im ill ive dont cant gonna wanna gotta want need make makes made
    making even though although friend friends buddy dude bro man girl guys everyone continue proceed next more
    done ready go ahead do did does doing say said says try new bit kind sort pretty quite actually just already
    support supporting supportive help helps helped helping helpful wait waiting spirit believe believing rooting
    word words compliment tip tips curious happen happened happening goes give gave given inspired inspire inspires
    encouragement encouraging motivation motivating motivated kindness update updated updates posted touch chance
    awww ahh ahhh yesss woah yess greatly especially probably honestly literally anyway anyways around back away
    together part hard better worth special yourself yourselves matter matters stop give giving gives use used using
    reminder remind reminds deal job guess able question questions answer answers information info advice
"""


EMPTY_WORDS: Final = frozenset(_SOCIAL_WORDS.split()) | frozenset(_FUNCTION_WORDS.split())
"""Words of greeting, thanks, praise and agreement, and function words."""
_MAX_WORDS: Final = 6
"""How many content words are searched for. More would change nothing, and a long text takes no longer."""
_FIRST_CHARS: Final = 300
"""A text with content nearly always has that many content words in its first characters."""


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return _WRITTEN_WORD.findall(text)


def first_words(text: str, limit: int) -> list[str]:
    """Return the first words of a text as they are written."""
    return [word.group() for word in islice(_WRITTEN_WORD.finditer(text), limit)]


def has_content(text: str, names: Collection[str]) -> bool:
    """Return whether a text has a content word that is not one of the `names`, which are in lower case."""
    first = first_content_words(text)
    if first and len(text) <= _FIRST_CHARS and _is_small_talk(text, names):
        return False
    if any(not is_name_of(word, names) for word in first):
        return True
    return len(first) == _MAX_WORDS and any(not is_name_of(word, names) for word in _content_words(_lower(text)))


def _is_small_talk(text: str, names: Collection[str]) -> bool:
    return is_small_talk([word for word in folded_words(text) if word not in names])


@text_cache(64)  # the gate and the importance use the same text one after the other
def first_content_words(text: str) -> tuple[str, ...]:
    """Return the first six content words of a text, in lower case."""
    folded = _lower(text)
    start = folded[: folded.find(" ", _FIRST_CHARS)]  # no word contains a space
    found = _content_words(start) if len(folded) > _FIRST_CHARS else []
    return tuple((found if len(found) >= _MAX_WORDS else _content_words(folded))[:_MAX_WORDS])


def _lower(text: str) -> str:
    # The lower case of \u0130 has two characters, one of which is not a letter.
    return text.replace("\u0130", "\u0131").lower().replace("’", "'")


def _content_words(folded: str) -> list[str]:
    return [
        w for w in _WRITTEN_WORD.findall(folded) if w not in EMPTY_WORDS and w.removesuffix("'s") not in EMPTY_WORDS
    ]


def is_name_of(word: str, names: Collection[str]) -> bool:
    """Return whether a word is the name of one of these people, or short for it: Mel for Melanie."""
    bare = word.removesuffix("'s")
    return bare in names or (len(bare) >= 2 and any(name.startswith(bare) for name in names))


def overlap(one: Span, other: Span) -> bool:
    """Return whether two parts of a text have a character in common."""
    return one[0] < other[1] and other[0] < one[1]


def blank_out(text: str, spans: Sequence[Span]) -> str:
    """Return the text with these parts replaced by spaces."""
    kept = list(text)
    for first, last in spans:
        start, end = max(0, first), min(last, len(text))
        kept[start:end] = " " * (end - start)
    return "".join(kept)
