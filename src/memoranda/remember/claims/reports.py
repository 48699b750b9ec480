"""Decide whether a message is a plain report of a change. Pure.

Only a plain report may hide what was said before. It contains the change and nothing else than other claims, times,
companions and small talk. A message with any other words ("but it didn't last", "in the game", "Shorten this.") may
qualify the change: the change is only linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from memoranda.dates.find import Mention
from memoranda.dates.rules import Precision
from memoranda.remember.reading.lexicon import CHILDREN, PARTNERS, POSSESSIVES, RELATIVES
from memoranda.text.sentences import Span, sentence_spans

# What may open a report of one's own: a greeting, a conjunction, words that announce news or a correction.
_REPORT_OPENING: Final = re.compile(
    r"(?:(?:and|but|so|well|yes|yep|ok|okay|hey|hi|hello|good (?:morning|afternoon|evening)|also|plus|anyway|btw|by the way|fyi"
    r"|(?:i |we )?(?:just )?want(?:ed)? to let you know(?: that)?|just (?:so you know|to let you know)|for the record|for your (?:records|information)"
    r"|(?:(?:a|some|quick|small|big|good|great|bad|sad|personal|life|important) )*(?:news|updates?)|it['’]s official|as you know"
    r"|(?:please )?note(?: that)?|noted|reminder|remember(?: that)?|ps|p\.s\.|guess what|(?:it )?turns out|long story short|heads[- ]?up"
    r"|no|nope|wait|sorry|actually|correction|typo|edit|i meant?|oops|my (?:mistake|bad)|i (?:misspoke|was wrong)|hm+|um+|uh+|ah"
    r"|finally|at last|sadly|unfortunately|luckily|thankfully)\b[\s,!:.-]*)+",
    re.I,
)
_VERY = r"(?:(?:so|very|really|still|just|pretty|quite|super|a bit|absolutely|both|all) )*"
_FEELING = (
    r"(?:happy|glad|excited|thrilled|proud|relieved|sad|tired|exhausted|nervous|grateful|lucky|great|good|nice|lovely|wonderful|amazing"
    r"|awesome|fantastic|perfect|exciting|fun|cool|true|weird|strange|hard|tough|stressful|crazy|okay|ok|fine|for the best|worth it|(?:about|high) time"
    r"|overdue|an? relief|the right (?:decision|choice|call|thing))"
)
_RECORDS = (
    r"(?:profile|records?|notes?|files?|memory|address|number|e-?mail|details|contacts?|data|calendar|info(?:rmation)?)"
)
_SMALL_TALK: Final = re.compile(
    r"(?:(?:yay|phew|wow|woohoo|hooray|(?:ha)+h?|good (?:morning|afternoon|evening|night)|finally|and|but|so|oh|well|hi|hey|hello|ok|okay|yes|great|perfect|alright)\b[\s,!]*)*(?:there|all|everyone|again"
    # How somebody feels about it: "I'm so happy", "What a crazy week", "We love it here".
    rf"|(?:(?:i|we)(?:['’]m|['’]re| am| are| feel)|(?:it|that|this)(?:['’]s| is| was| feels)|life(?:['’]s| is)|feeling|what an?|such an?)? ?{_VERY}{_FEELING}"
    r"(?: (?:about (?:it|that|this)|day|week|month|year|news|time|to be (?:here|home|back)|so far|here|there|now))*"
    r"|(?:(?:i|we) )?(?:really |just |absolutely |still )*(?:love|like|enjoy|loving|enjoying|miss|hate) it(?: (?:here|there|so far|so much|a lot|already|now))*"
    r"|(?:many )?(?:thanks|thank you|thx|cheers)(?: (?:so much|a lot|again|for (?:your|the|all your|all the) (?:help|support|time)|for (?:asking|listening)|in advance))*"
    r"|(?:i )?hope (?:you(?:['’]re| are)|all is) (?:well|doing well|good|fine)|how are (?:you|things)(?: (?:today|doing))?"
    # A request to remember or update something.
    r"|(?:please )?(?:remember|note|do(?:n['’]t| not) forget) (?:this|that|it|the following)(?: (?:for me|for later|please))*"
    rf"|(?:so )?(?:please |can you |could you )*(?:update|correct|change|adjust) (?:that in )?(?:my|your|our) (?:[\w-]+ )?{_RECORDS}(?: (?:accordingly|please|too))*"
    r")?[\s.!?,🎉🥳🙂😊😀❤️👍-]*",
    re.I,
)
_FEELS: Final = re.compile(
    rf"\W{{0,9}}(?:many )?(?:thank|thx|cheers|(?:(?:i|we) )?(?:really |just |absolutely |still )*(?:love|like|enjoy|loving|enjoying|miss|hate) it"
    rf"|(?:i|we)(?:['’]m|['’]re| am| are| feel) {_VERY}{_FEELING})",
    re.I,
)
# The longer ones first: what was matched is not tried again, so that a long text takes no longer than its length.
# What may follow a change, and takes nothing from it. A claim or a time that is read by itself stands in these texts as a
# run of one sign. What is not here is not understood: "three days a week", "in summers", "around my parents".
_CLAIM, _TIME = "\x02", "\x03"
_KIN = rf"(?:(?:{POSSESSIVES}|the) )?(?:new )?(?:family|team|{PARTNERS}|{CHILDREN}|{RELATIVES})"
_ALSO_UNDERSTOOD: Final = re.compile(
    rf"[\s.,!;]+|{_CLAIM}+"
    rf"|(?:and|but|so|then|please)\b(?=[^{_CLAIM}]*{_CLAIM})"
    # One time, and no list of them: "Monday to Thursday", "Monday, Tuesday".
    r"|(?:(?:already|just|back|early|late|earlier|sometime) )*(?:(?:on|in|at|since|as of|from|starting|effective|around|about|of) )*(?:the )?"
    rf"{_TIME}+(?!\s*(?:,|to|and|or|through|till|until|[-–])\s*{_TIME})"
    r"|(?:just )?(?:an?|a few|a couple(?: of)?|several) (?:day|week|month)s? (?:ago|back)\b|(?:as of|from) now(?: on)?\b"
    rf"|with {_KIN}(?: and {_KIN})?\b|from (?-i:[A-Z])\w+|(?:instead of|rather than) (?:the |my |our )?[\w-]+"
    r"|(?:for (?:good|real|ever)|after all|full[- ]time|now(?! and (?:then|again)\b)|already|officially|finally|again|instead|permanently"
    r"|recently|just|yet|any ?more|these days|nowadays|currently|thanks?|actually|at last|sadly|unfortunately|luckily|thankfully"
    r"|by the way|btw|fyi)\b",
    re.I,
)
# Of a home these are reasons; what is used "for work" may be used beside what is used at home.
_WHY_MOVED: Final = re.compile(r"for (?:work|school|college|(?:an?|my|his|her|the|our) (?:new )?job)\b", re.I)
# A reason does not qualify an end. It may qualify another change, which may last only as long: "because of the strike".
_REASON: Final = re.compile(rf"(?:because of|due to) (?:an?|the|{POSSESSIVES}) (?:[\w-]+ )?[\w-]+(?=\W*$)", re.I)
# With a denial, these words say what is denied: "I no longer work at Acme full time", "… with my brother".
_CIRCUMSTANCE: Final = re.compile(r"\b(?:full|part)[- ]time\b|\b(?:with|as|for)\b", re.I)
_DENIAL: Final = re.compile(r"\b(?:no longer|not)\b|n['’]t\b", re.I)
# Of "Sporting in the league" and "VS Code for one file" only the beginning is the value.
_DETAIL: Final = re.compile(
    r" (?:for|in|on|at|with|when|while|during|under|whenever|according|by|as|like|except|per|and|or|but|then|plus)\b"
)
_CONTRAST: Final = re.compile(r"(?<![\s,])[\s,]*(?:and\s+)?not\s+[^.!,;]+", re.I)
_LIST: Final = re.compile(r"^[ \t]*(?:[-*•–—]|\w{1,2}[.)])[ \t]", re.M)
_LONGEST: Final = 2_000
"""A longer text is not a report of a change."""
_LONGEST_SENTENCE: Final = 300


# "…, but it didn't last", "… and came back": a change that is over when it is reported.
_UNDONE: Final = re.compile(
    r"\b(?:came|come|went|moved|switched|changed|flew|was|were|am|are|['’]m|['’]re|g[ai]ve \w+|took \w+|brought \w+) (?:right |straight |soon |already )?back\b(?! from\b)"
    r"|\b(?:returned|reversed|undid|undone|collapsed|called off|f[ae]ll(?:en)? through)\b"
    r"|(?:n['’]t|\bnot|\bnever) (?:really |quite |actually )?(?:last|work out|happen(?:ed)?|stick|hold|go through|went through|come to|came to)\b",
    re.I,
)


def is_undone(rest: str) -> bool:
    """Return whether the words after a change say that it is over: "… but it didn't last"."""
    return _UNDONE.search(rest[:_LONGEST_SENTENCE]) is not None


def is_small_talk(sentence: str) -> bool:
    """Return whether a whole sentence only greets, thanks, describes a feeling, or asks to remember what was said."""
    return len(sentence) <= _LONGEST_SENTENCE and _SMALL_TALK.fullmatch(sentence) is not None


def tells_feeling(sentence: str) -> bool:
    """Return whether a whole sentence thanks or tells how somebody feels: "Love it!", but not "Ok", which may agree."""
    return is_small_talk(sentence) and _FEELS.match(sentence) is not None


def is_opening(sentence: str) -> bool:
    """Return whether a whole sentence only opens a report, or is small talk: "Good news!", "Thanks."."""
    return is_small_talk(sentence) or _REPORT_OPENING.fullmatch(sentence[:_LONGEST_SENTENCE]) is not None


_SUBJECT = "i|we|it|he|she|they|you|my|our|his|her|their|your|the|that|this|there"
# Where another clause begins, which says something of its own: ", it was time", "because …", "and love it".
_CLAUSE_END: Final = re.compile(
    r"\s*(?:[.!?;:()–—…]|-\s|,?\s*\b(?:(?:and|but|so|then)(?! (?:\w+ )?back\b)|because|since|as|which|who|where|while|when|after|before"
    rf"|until|till|due|thanks|{_SUBJECT}|no|not|please)\b)",
    re.I,
)
_ANY_CLAUSE_END: Final = re.compile(rf"\s*,|{_CLAUSE_END.pattern}", re.I)
_PRAISE: Final = re.compile(rf",\s*{_VERY}{_FEELING}(?: [\w-]+)?(?=\W*$)", re.I | re.M)
# What limits a denial, or takes it back: "… after 3", "…, then started again".
_LIMIT: Final = re.compile(
    rf",?\s*\b(?:(?:where|while|when|after|before|until|till)\b|(?:and|but|so|then)\b(?!\s+(?:{_SUBJECT})\b|[^{_CLAIM}]*{_CLAIM}))",
    re.I,
)
# Where in a place, with whom, as what, and for how long: "at Bosch in Stuttgart", "in Ghent near the station".
_AROUND: Final = re.compile(
    r"\s*(?:(?:in|at|to|with) (?-i:[A-Z])[\w'’-]{0,30}|(?:near|by|outside|close to|next to) (?:the |my |our )?[\w'’-]{1,30}"
    r"|(?:as|with) (?:an?|the|my|our) [\w-]{1,30}(?: [\w-]{1,30}){0,2}"
    r"|for (?:\w{1,12} )?years?|here|there|too|alone|together)\b",
    re.I,
)


def is_point(time: Mention) -> bool:
    """Return whether a time says since when something is so: not "until May", "3-9 March" or a mere "in winter"."""
    season = time.precision is Precision.SEASON and " " not in time.text
    return time.kind != "until" and time.precision is not Precision.SPAN and not season


def is_whole(
    text: str, span: Span, others: Iterable[Span], times: Iterable[Span], *, states: bool, denies: bool
) -> bool:
    """Return whether the claim is followed only by understood words, up to the end of its clause.

    It is not in "I moved to the Rome office's channel", "I live in Rome in my head" and "I moved to Java from Python".
    After a comma, the rest only adds to what a claim `states` ("I work at Bosch, in the lab"), and may limit a change.
    More words limit what it `denies`: "I no longer drink coffee after 3" denies less than it seems to.
    """
    left = _mark(text, [each for each in others if each != span], times)
    pieces = (_AROUND, _ALSO_UNDERSTOOD, _WHY_MOVED, _PRAISE)
    end = _skip_matches(pieces, left, span[1], until=_ANY_CLAUSE_END if states else _CLAUSE_END)
    if denies and _LIMIT.match(left, end):
        return False
    return end == len(left) or (_ANY_CLAUSE_END if states else _CLAUSE_END).match(left, end) is not None


def is_plain_report(
    text: str,
    span: Span,
    value: str,
    others: Iterable[Span],
    times: Iterable[Span],
    *,
    moves: bool = False,
    contrasts: bool = False,
) -> bool:
    """Return whether a text reports a change without any words that may qualify it.

    Args:
        text: The whole text.
        span: Where in it the change is.
        value: The new value, which the words of the change end with; empty when they name none.
        others: The other claims, which are read by themselves.
        times: The points in time that it names.
        moves: Whether somebody moved home, for which the text may give a reason.
        contrasts: Whether the words after it may name the rejected value: "Kate, not Katie".
    """
    if len(text) > _LONGEST or _LIST.search(text):
        return False
    detail = _DETAIL.search(value)
    stop = span[1] - (len(value) - detail.start() if detail and text[: span[1]].endswith(value) else 0)
    read = [(first, last) for first, last in others if not (first <= span[0] and span[1] <= last)]
    left = _mark(text, [*read, (span[0], stop)], times)
    pieces = (_ALSO_UNDERSTOOD, _WHY_MOVED) if moves else (_ALSO_UNDERSTOOD,)
    for start, end in sentence_spans(text):
        words = left[start:end]
        if start <= span[0] < end:
            after = _CONTRAST.sub(" ", left[span[0] : end], count=1) if contrasts else left[span[0] : end]
            if _DENIAL.search(text, *span):
                after = _REASON.sub(" ", after)
                if _CIRCUMSTANCE.search(after):
                    return False
            words = left[start : span[0]] + after
        if not (_consists_of(pieces, words) or is_small_talk(text[start:end])):
            return False
    return True


def _mark(text: str, claims: Iterable[Span], times: Iterable[Span]) -> str:
    """Return a text with each part that is read by itself as a run of one sign."""
    kept = list(text)
    for sign, spans in ((_TIME, times), (_CLAIM, claims)):
        for first, last in spans:
            start, end = max(0, first), min(last, len(text))
            kept[start:end] = sign * (end - start)
    return "".join(kept)


def _consists_of(patterns: Sequence[re.Pattern[str]], sentence: str) -> bool:
    """Return whether a sentence consists of matches, after words that open a report."""
    first = sentence.find(_CLAIM)
    opening = sentence[: first if first >= 0 else len(sentence)]
    begins = _skip_matches((_REPORT_OPENING, *patterns), opening, 0)
    return begins == len(opening) and _skip_matches(patterns, sentence, begins) == len(sentence)


def _skip_matches(
    patterns: Sequence[re.Pattern[str]], text: str, position: int, until: re.Pattern[str] | None = None
) -> int:
    """Return the position after all consecutive matches of the patterns, or where `until` matches."""
    while position < len(text) and not (until and until.match(text, position)):
        found = (pattern.match(text, position) for pattern in patterns)
        end = max((match.end() for match in found if match), default=position)
        if end == position:
            break
        position = end
    return position
