"""Split a text into clauses, and find the statements in the speaker's own words. Pure.

A question, a condition, a wish, a plan, a quotation, a pasted text or another person's words state nothing about the
speaker, and neither does a clause about the past state what holds now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

from memoranda.remember.reading.foreign_text import blank_foreign
from memoranda.remember.reading.lexicon import CORRECTION, HAPPENED, MONTHS, USER, WEEKDAY
from memoranda.text.cache import text_cache
from memoranda.text.sentences import Span, sentence_spans
from memoranda.text.word_filter import WordFilter, needed_words

Tense: TypeAlias = Literal["present", "past"]

# Verbs with which a clause goes on whose subject is that of the clause before: "I left Fiat, joined Bosch and sold the car".
_DID = (
    r"joined|moved|started|switched|left|got|bought|sold|became|took|changed|signed|went|cancell?ed|adopted|ended|stopped|landed|accepted"
    r"|settled|relocated|replaced|renamed|deleted|closed|opened|dropped|gave|turned|traded|swapped|upgraded|lost|broke|retired|resigned|divorced"
    r"|married"
)
_GOING_ON = rf"{_DID}|quit|live|lives|work|works|drive|drives"
_SPLIT: Final = re.compile(
    # Blanks before a mark are matched from their first one only: tried from each, a long run of them takes seconds.
    rf"""(?:(?<!\s)\s+)?[;—–]\s*|\s-+\s|(?:(?<!\s)\s+)?:\s+(?=(?:i|we|my|our|the\s+(?:{USER}))\b)|(?:(?<!\s)\s+)?[()]\s*|\.{{2,}}\s*|…\s*
    |(?:,|(?<!\s))\s+(?=(?:and|but|so|because|since|although|though|whereas|while|which|who|where|when|whenever|if|unless|until
        |till|then|after|before|as)\s+(?:(?:now|then|just|also|finally|recently|actually|still)\s+)?
        (?:i|we|my|our|it|he|she|they|you|the|that|this|there|his|her|their|your|user|everyone|nobody|people)\b)
    |,\s*(?=(?:i|i['’](?:m|ve|ll|d)|we|we['’](?:re|ve|ll)|my|our|it|it['’]s|he|she|they|you|that|that['’]s|this|there
        |the|now|not|so|but|though|although|because|which|who|where|since|if|unless|when|while|and|then|right|as
        |instead|no\s+longer|just|her|his|their)\b)
    |,\s*(?=[\w'’.&@+-]+(?:\s[\w'’.&+-]+){{0,3}}\s(?:is|are|was|were|has|will|works|lives)\b)
    |(?<!\s)\s+and\s+(?=(?:(?:now|then|just|also|finally|recently|have|am|now\s+have)\s+)?(?:{_GOING_ON}|use|prefer|like|love|hate)\b)
    |,\s*(?=(?:(?:now|then|just|also|finally|recently|and)\s+)?(?:{_GOING_ON})\b)""",
    re.I | re.X,
)  # fmt: skip
OPENING: Final = re.compile(
    r"(?:(?:and|but|so|then|well|yes|yeah|yep|ok|okay|oh|hey|hi|hello|also|plus|anyway|btw|by the way|fyi|just so you know"
    r"|for the record|good news|big news|news|update|ps|p\.s\.|honestly|look|listen|guess what|as you know|you know|turns out"
    r"|it turns out|long story short|heads up|noted|note|please note(?: that)?|correction|typo|remember|reminder|please remember|important|first|second"
    r"|as of (?:today|now|this \w+)|from now on|from today|starting (?:today|now|monday)|that|the thing is"
    r"|right|scratch that|never mind|no,? (?:wait|sorry)|no(?=\s*(?:[,.!]|$))|sorry|actually|i meant|i mean|oops|wait,? no|wait|hm+|um+|uh+|ah|finally|at last|sadly|unfortunately|luckily|thankfully|apparently|i think|i believe)"
    r"\b[\s,!:.-]*)+",
    re.I,
)
_ASKS: Final = re.compile(
    r"(?:if|when|whenever|unless|until|till|once|in\s+case|suppose|supposing|imagine|pretend|assume|assuming|say|let['’]s\s+say"
    r"|what\s+if|would|could|should|(?-i:may)|might|do|does|did|can|will|shall|is|are|am|was|were|who|what|where|which|why|how"
    r"|whether|although\s+if|before|wish|hopefully)\b",
    re.I,
)
"""At the start of a clause: a question, a condition or a wish."""
_NOT_STATED: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:i|we)\s+wish\b|\bif\s+only\b|\bas\s+if\b|\bas\s+though\b|\bact\s+as\b|\bkidding\b|\bjok(?:e|ing)\b",
        r"\bin\s+(?:my|a|the|this|that)\s+(?:dreams?|novel|story|book|game|film|movie|play|show|poem|song|scenario|simulation|draft"
        r"|example|role)\b|\bdream(?:ed|t)?\b",
        r"\b(?:would|could|might|(?-i:may)|should|ought\s+to|supposed\s+to|['’]d\s+(?:love|like|rather|prefer|be|move|have|go))\b(?!\s+(?:to\s+)?be\s+(?:called|addressed)\b)",
        r"\b(?:maybe|perhaps|possibly|probably|hypothetically|theoretically|in\s+theory|someday|some\s+day|one\s+day|eventually)\b",
        r"\b(?:want|wants|wanted|hope|hopes|hoping|plan|plans|planning|planned|intend|intends|thinking|considering|consider"
        r"|considered|tempted|dreaming|trying|tried|about|almost|nearly|close)\s+(?:to|of|about|on|for)\b(?!\s+be\s+(?:called|addressed)\b)|\balmost\b|\bnearly\b",
        r"\b(?:will|['’]ll|won['’]t|going\s+to|gonna|about\s+to|shall)\b",
        r"\b(?:he|she|they|someone|somebody|people|everyone|everybody|nobody|who|you|mom|dad|(?!I\b)[A-Z]\w+)\s+(?:\w+\s+)?"
        r"(?:said|says|say|told|tells|asked|asks|thinks|think|thought|claims|claimed|believes|wrote|writes|texted|mentioned"
        r"|insists|reckons|joked|replied|suggested|suggests|wants(?!\s+to\s+be\s+called\b)|heard)\b",
        r"\b(?:according\s+to|rumou?r|heard\s+that|i\s+heard|i\s+read|it\s+says|they\s+say|supposedly|allegedly"
        r"|i\s+was\s+told|told\s+me)\b|\bneither\b",
        r"\b(?:never|not\s+yet|haven['’]t|hasn['’]t|didn['’]t|did\s+not|have\s+not|has\s+not)\b(?!.*\b(?:any\s*more|any\s+longer)\b)",
    )
)  # fmt: skip
_PAST: Final = re.compile(
    r"""\b(?:used\s+to|(?:had|['’]d)\s+(?:been|moved|lived|worked|joined|\w+ed|gone|had|got|bought|taken)|(?:was|were)(?!\s+(?:just\s+|recently\s+|officially\s+)?(?:changed|moved|switched|rescheduled|postponed|pushed|brought|renamed|raised|lowered|cut|bumped|increased|decreased|dropped|reduced|upgraded|downgraded|updated|extended|shifted|reassigned|transferred|migrated|delayed|revised|corrected|replaced|cancell?ed|closed|promoted|laid|fired|let\s+go|diagnosed|hired|born|called\s+off|resolved|completed|discontinued|(?:my|our)\s+(?:very\s+)?first\s+(?:day|week|shift)))|wasn['’]t|weren['’]t
        |back\s+(?:then|in|when|at|home)|at\s+the\s+time|in\s+those\s+days|in\s+the\s+past|years?\s+ago|decades?\s+ago|ages\s+ago
        |long\s+ago|previously|formerly|originally|before\s+(?:that|this|then|now|i|we)|when\s+(?:i|we|he|she)\s+(?:was|were|lived|worked)
        |as\s+a\s+(?:kid|child|student|teen|teenager|boy|girl|baby|young\s+\w+|junior|freshman|toddler)|in\s+(?:my\s+)?(?:childhood|youth|school|college
        |university|uni|high\s+school|my\s+twenties|my\s+teens)|growing\s+up|until\s+(?:i|we|last|my)|once\s+(?:lived|worked|had|owned|was)
        |at\s+one\s+point|for\s+a\s+(?:while|year|summer|few\s+\w+)\s*(?:,|\.|$|back|once|before)|way\s+back|ex-|my\s+ex|my\s+(?:old|former|previous|last))\b
    |\b(?:lived|worked|studied|drove|owned|loved|liked|(?<!my\s)(?<!our\s)(?<!'s\s)preferred(?!\s+[\w\s]{1,30}(?::|\s(?:is|are)\b))|hated|played|taught|spoke|weighed|smoked|drank|ate|rented|stayed|dated|ran|used)\b
        (?!\s+to\b)""",
    re.X | re.I,
)  # fmt: skip
# "I lived in Rome" is past, "I've lived in Rome since 2019" is not.
_STILL: Final = re.compile(
    r"\b(?:have|has|['’]ve|['’]s)\s+(?:\w+\s+)?(?:lived|worked|studied|owned|loved|liked|played|taught|used|been|had)\b",
    re.I,
)
_OVER: Final = re.compile(
    r"\b(?:now(?!\s+and\s+(?:then|again)\b)|these\s+days|nowadays|currently|any\s*more|no\s+longer|as\s+of|today|from\s+now\s+on)\b",
    re.I,
)
_CORRECTS: Final = re.compile(rf"\b(?:{CORRECTION}|after\s+all)\b|^(?:sorry|actually|no,?\s+(?:wait|sorry))\b", re.I)
# A change that holds only then, or held long ago, is no change of what holds now.
_QUALIFIED: Final = re.compile(
    r"\b(?:when|whenever|while|before|after(?! all\b)|until|unless|except|during|only|also|part[- ]time|temporarily|every|for a"
    rf"|on (?:weekends?|weekdays|{WEEKDAY}s)|in the (?:summer|winter|morning|evening|mornings|evenings)"
    r"|at (?:home|work|night|age)|back then|joke|joking|kidding|yeah right)\b"
    r"|(?<!s )(?<!now )(?<!to )\bat \d{1,2}\b(?!\s*(?:[ap]\.?m|:|o['’]?clock|%|h\b))|\bi was (?:\w+|\d+)\b(?:\.|$)",
    re.I,
)
# "I work at the pool this summer", but not "I moved this summer".
_THIS_PERIOD: Final = re.compile(r"\bthis (?:week|month|summer|winter)\b", re.I)
# "If I win, I live in Rome", "Once it is signed, we move": nothing is stated; "if I remember correctly" does, and so does
# a past condition: "Once I had the keys, I moved".
_SUPPOSED: Final = re.compile(
    r"\W*(?:(?:and|but|so|well)\s+)?(?:if|unless|once(?!\s+(?:again|more|upon)\b)|when(?:ever)?|as\s+soon\s+as|as\s+long\s+as|in\s+case|should"
    r"|provided|assuming|supposing|on\s+condition|the\s+(?:day|moment|minute|week|year))\b"
    r"(?P<condition>(?!\s+(?:i|we|you)\s+(?:remember|recall|ask|am\s+honest|wonder|must\s+know|want\s+to\s+know|didn['’]?t\s+know)\b)[^,]*,)",
    re.I,
)
_ASKED_AFTER: Final = re.compile(
    r",\s+(?:(?:and|so|but)\s+)?(?:(?:can|could|would|will)\s+(?:you|we|i)|(?:what|where|which|how|who|when)(?:['’]s)?)\s",
    re.I,
)
_PASSIVE: Final = re.compile(r"\b(?:is|are|am|be|been|being|get|gets)\s+(?:\w+ly\s+)?\w+", re.I)
# Words that attribute the sentence to another person, or say the opposite: "…, says the baby", "She goes, I …", "Yeah right, …".
_NOT_MEANT: Final = re.compile(
    r"[,!]\s+(?:say|says|said|goes|wrote|writes|texted|sang|sings)\s+(?:no\s+one|nobody|the|my|our|his|her|he|she|they|(?-i:[A-Z])\w+)\b"
    r"|\b(?:he|she|they|everyone|(?:my|our|his|her|the)\s+\w+|(?-i:[A-Z]\w+))\s+(?:\w+\s+)?(?:goes|says|said|wrote|texted|replied|answered|yelled|(?:was|is)\s+like),\s"
    r"|^\W*(?:yeah,?\s+right|(?:oh\s+)?sure,\s+and)\b",
    re.I,
)
_LONG_AGO: Final = re.compile(
    r"\bwhen (?:i|we) (?:was|were)\b|(?<!s )(?<!now )(?<!to )\bat (?:age )?\d{1,2}\b(?!\s*(?:[ap]\.?m|:|o['’]?clock|%|h\b))|\bback then\b"
    r"|\b(?:before|after) (?:school|college|uni|university|high school|graduation)\b|\bi was (?:\d{1,2}|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven|twelve)\b",
    re.I,
)
_SUBJECT: Final = re.compile(
    rf"(?:i|we|(?:the\s+)?(?:{USER})|(?:my|our)\s+(?:(?:older|younger|little|big|best|twin)\s+)?[\w-]+"
    r"(?:\s(?-i:[A-Z])[\w-]+)?|(?-i:[A-Z][\w-]+(?:\s[A-Z][\w-]+)?))(?=\s|['’])",
    re.I,
)
_BARE_VERB: Final = re.compile(
    r"(?:(?:now|then|just|also|finally|recently|actually|officially|already|still)\s+)*"
    rf"(?:{_GOING_ON}|use|am|have|prefer|like|love|hate|been|no\s+longer|packed|handed|prefers|has|is|uses|likes)\b",
    re.I,
)
# "Sold the car yesterday" is said by who sold it. It may be a headline as well.
_ELLIPTIC: Final = re.compile(rf"(?:(?:just|finally|recently|also|already|officially)\s+)*(?:{_DID})\b", re.I)
_TIME = rf"(?:day|night|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter|morning|afternoon|evening|{WEEKDAY})"
_DAY_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    rf"(?:the\s+)?(?:(?:early|mid|late)[\s-]|(?:start|beginning|middle|end)\s+of\s+)?(?:the\s+)?(?:{_DAY_NUMBER}\s+(?:of\s+)?(?:{MONTHS})"
    rf"|(?:{MONTHS})(?:\s+{_DAY_NUMBER}\b)?|\d{{1,2}}(?:st|nd|rd|th)|(?:last|this|next)\s+{_TIME}|{WEEKDAY}|today|tomorrow|yesterday|now"
    r"|\d{4}-\d\d-\d\d|(?:19|20)\d\d)\b(?:,?\s+(?:19|20)\d\d\b)?"
)
# A time before the subject: "Last week I moved". Of "On Monday I work at the pool" it is a part of what is said.
_TIME_FIRST: Final = re.compile(
    rf"(?:(?P<lasting>(?:(?:since|as\s+of|from|starting|beginning|effective|until|till|between)\s+(?:(?:in|on)\s+)?{_DATE}(?:\s+(?:to|until|till|and)\s+{_DATE})?)"
    r"|these\s+days|nowadays|currently|right\s+now|at\s+the\s+moment)"
    rf"|(?:(?:back\s+)?(?:in|on)\s+)?{_DATE}|recently"
    rf"|(?:an?|one|two|three|four|five|six|ten|\d+|a\s+few|a\s+couple\s+of|several|some)\s+{_TIME}s?\s+ago)"
    r"(?:[\s,]+(?=(?:i|we|my|our|he|she|they|the|it)\b|(?-i:[A-Z]))|(?P<alone>\W*$))",
    re.I,
)
# The last two numbers of a filtered part; those before are of `_NOT_STATED`.
_MAY_BE_PAST: Final = len(_NOT_STATED)
_MAY_CORRECT: Final = len(_NOT_STATED) + 1


@cache
def _filter() -> WordFilter:
    past = "".join(_PAST.pattern.split())  # as it is without `re.X`
    patterns = (*(pattern.pattern for pattern in _NOT_STATED), past, _CORRECTS.pattern)
    return WordFilter(map(needed_words, patterns))


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause that states something, where it is in the text, and whether it is about the past."""

    text: str
    """With the subject of the clause before in front, where it has none of its own: "I joined Bosch"."""
    start: int
    """The offset of its own words in the text."""
    added: int
    """How many characters of `text` were put in front."""
    tense: Tense
    end: int
    qualified: bool = False
    """Whether its sentence names a time or a condition ("when I was nine", "on weekends"), or does not say who did it."""
    corrects: bool = False
    """Whether it says that it corrects something: "I meant", "correction"."""
    lead: int = 0
    """How many characters before it name its time: "Last week"."""

    def span(self, start: int, end: int) -> Span:
        """Return offsets in `text` as offsets in the whole text."""
        return self.start + max(0, start - self.added), self.start + max(0, end - self.added)


@text_cache(256)  # extraction and alignment read the same texts
def find_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses in which the speaker states something."""
    own = blank_foreign(text)
    clauses: list[Clause] = []
    for start, end in sentence_spans(own):
        sentence = own[start:end]
        asks = sentence.rstrip(" \t\n\"'”’)").endswith("?")
        if asks and (found := _ASKED_AFTER.search(sentence)) is not None:
            sentence, asks = sentence[: found.start()], False  # "My doctor is Dr. Klein, could you write to her?"
        if not asks and not _is_supposed(sentence) and _NOT_MEANT.search(sentence) is None:
            clauses += _clauses_of(sentence, start)
    return tuple(clauses)


def _is_supposed(sentence: str) -> bool:
    """Return whether a sentence begins with a condition that has not come true."""
    found = _SUPPOSED.match(sentence)
    return found is not None and HAPPENED.search(_PASSIVE.sub(" ", found["condition"])) is None


def _clauses_of(sentence: str, offset: int) -> Iterator[Clause]:
    subject, past, stated, corrects = "", False, True, False
    find_possible = _filter().find
    long_ago, period = _LONG_AGO.search(sentence) is not None, _THIS_PERIOD.search(sentence) is not None
    qualified = _QUALIFIED.search(sentence) is not None or (period and HAPPENED.search(sentence) is None)
    for start, part in _parts_of(sentence):
        lead = OPENING.match(part)
        opened = lead.end() if lead else 0
        skipped = opened + _length_of_time(part[opened:])
        rest = part[skipped:]
        starts_with_verb = _BARE_VERB.match(rest) is not None
        possible = find_possible(part)
        stated = _is_stated(rest, possible) and (stated or not starts_with_verb)
        past = (_MAY_BE_PAST in possible and _is_past(part)) or (past and starts_with_verb and not _OVER.search(part))
        elliptic = not subject and _ELLIPTIC.match(rest) is not None
        named = None if elliptic else _SUBJECT.match(rest)
        prefix = "" if named or not starts_with_verb else f"{subject or 'I'} "
        subject = named[0] if named else subject
        corrects = corrects or (_MAY_CORRECT in possible and _CORRECTS.search(part) is not None)
        if not rest:
            continue  # "Actually, …" corrects by the clause that follows
        if stated:
            first = offset + start + skipped
            tense: Tense = "past" if past else "present"
            if tense == "present" and long_ago and not _OVER.search(part):
                tense = "past"
            unsure = qualified or elliptic
            last = offset + start + len(part)
            yield Clause(prefix + rest, first, len(prefix), tense, last, unsure, corrects, skipped - opened)
        corrects = False


def _parts_of(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a sentence that may be clauses, with where each starts; a time alone belongs to what it dates."""
    ends = [*(found.start() for found in _SPLIT.finditer(sentence)), len(sentence)]
    parts: list[tuple[int, str]] = []
    position = 0
    for n, end in enumerate(ends):
        part = sentence[position:end]
        start = position + len(part) - len(part.lstrip(" \t\n,;:()—–-."))
        time = _TIME_FIRST.match(sentence, start, end)
        position = end
        if time is not None and time["lasting"] and time["alone"] is not None and len(ends) > 1:
            if not parts and n + 1 < len(ends):
                position = start  # "Effective 1 March, my landlord is …"
                continue
            start = parts.pop()[0]  # "… since the beginning of March"
        if part := sentence[start:end].rstrip():
            parts.append((start, part))
    yield from parts


def _length_of_time(part: str) -> int:
    """Return how many characters at the start of a part say only when it happened, or since when it holds."""
    time = _TIME_FIRST.match(part)
    return time.end() if time and (time["lasting"] or HAPPENED.search(part, time.end())) else 0


def _is_stated(rest: str, possible: tuple[int, ...]) -> bool:
    """Return whether a part without its conjunction states something, given which patterns can match it."""
    if _ASKS.match(rest):
        return False
    return not any(_NOT_STATED[number].search(rest) for number in possible if number < len(_NOT_STATED))


def _is_past(part: str) -> bool:
    found = _PAST.search(part)
    return (
        found is not None
        and not _STILL.search(part)
        and not re.match(r"(?:was|were)\s+(?:just|recently|now)\b", found[0], re.I)
    )
