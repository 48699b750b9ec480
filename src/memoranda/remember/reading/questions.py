"""What a question asks about, and which statement it makes together with the fragment that answers it. Pure.

Only a few questions about the listener's present are understood, word for word ("What's new?"); after any other one
("What's new in chapter two?") an answer may be anything. An answer takes the place of the question word, or affirms or
denies what was asked: "Where do you live now?" – "Cardiff". An answer with a clause of its own is read by itself.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.entities import NOT_NAMES
from memoranda.remember.reading.lexicon import PEOPLE, SAYING, TIMES
from memoranda.remember.reading.statements import is_statement
from memoranda.text.cache import text_cache
from memoranda.text.places import is_place

INTERJECTIONS: Final = (
    r"\W{0,9}(?:(?:so|and|but|ok|okay|hey|hi|hello|welcome(?: back)?|well|oh|oh my|wow|nice|great|noted|cool|thanks|thank you|got it|right|sure|good|really"
    r"|good (?:morning|afternoon|evening)|by the way|just (?:to check|to confirm|checking)|hm+|wait|congrats|congratulations|amazing|lovely)\b\W{0,9}){0,4}"
)
"""What may stand before a question, and says nothing about what it asks for."""
_WHILE = (
    r"(?:,? (?:now|today|currently|these days|nowadays|lately|recently|at the moment|right now|so far|then|with you|for you"
    rf"|this {TIMES}|since (?:last {TIMES}|then|we last (?:spoke|talked|met))))*"
)
_RECORDS = r"(?:address|number|e-?mail|details|profile|information|records?)"
_NEWS: Final = re.compile(
    INTERJECTIONS
    + r"(?:how (?:can|may|could) i (?:help|assist)(?: you)?|what (?:can|may|could|else can) i (?:do|help)(?: you)?(?: with)?|what brings you here"
    r"|(?:(?:is there|do you have|have you got) )?any(?:thing)? (?:new|news|else|changes?|updates?)(?: (?:i should know|i can (?:do|help)(?: you)?(?: with)?|to report|to add|to share))?"
    r"|how(?:['’]s| are| is| have) (?:you|things|life|everything|it)(?: (?:been|doing|going|all going))*"
    r"|what(?:['’]s| is| has| have)? (?:new|up|going on|happening|changed|you been(?: up to| doing)?|happened)"
    r"|(?:has|did) anything (?:changed?|happen(?:ed)?)|and (?:you|yourself)|how about you"
    rf"|(?:is|are) (?:it|that|this|everything|your {_RECORDS}) still (?:right|correct|current|true|up to date))"
    + _WHILE
    + r"\W*",
    re.I,
)
# "Where is the station?", "What's my name?", "What is the capital of Peru?"; "What is the best excuse?" asks for words.
_FACT: Final = re.compile(
    rf"{INTERJECTIONS}(?:(?:where|when|what time)(?:['’]s| is| are) (?:the|my|our)(?: [\w'’-]+){{1,4}}"
    r"|(?:what|who)(?:['’]s| is| are) (?:(?:my|our)(?: [\w'’-]+){1,2}|the \w+ of (?-i:[A-Z])[\w-]+))\?\W*",
    re.I,
)
_YOU: Final = re.compile(
    r"\b(?:do|are|have|did|were|can|will|would|could|had|has|is|about|with|and) you\b|\byou(?:['’]\w+| (?:are|do|have|still|now))\b",
    re.I,
)
_KIN: Final = re.compile(
    rf"\byour (?P<kin>(?:(?!best\b)[\w-]+ )?(?:{PEOPLE}|ex|family|landlord|landlady|tenant|doctor|dentist|teacher))\b(?P<of>['’]s)?",
    re.I,
)
_CAPITAL: Final = re.compile(r"(?<=[\w,] )(?P<name>[A-Z][a-z\u00df-\u024f]+)\b(?P<of>['’]s)?")
# "Who is your boss now?" asks for a value of the listener.
_WHO_IS: Final = re.compile(INTERJECTIONS + r"who(?:['’]s| is| are)(?: \w+)? your\b", re.I)
_BEFORE_SUBJECT_WORDS = """
    is are was does did has about with from and of to how's what's where's for
"""
_BEFORE_SUBJECT: Final = frozenset(_BEFORE_SUBJECT_WORDS.split())
_THIRD: Final = re.compile(r"\b(?:he|she|they|him|her|them|his|their)\b", re.I)
NOT_NAMED: Final = "?"
"""The subject of a question about a person without a name."""


@text_cache(256)
def asks_for_news(sentence: str) -> bool:
    """Return whether a question or an offer asks how things are now with whoever answers it, and nothing else."""
    return _NEWS.fullmatch(expand(sentence).text.strip()) is not None


@text_cache(256)
def asks_for_fact(sentence: str) -> bool:
    """Return whether a question asks what, where or when something is, so that no answer is another person's words."""
    return _FACT.fullmatch(sentence) is not None


@text_cache(256)
def asks_about_somebody(sentence: str) -> str:
    """Return the person other than its listener that a question is about: "my brother", "Lena".

    `NOT_NAMED` where that is not clear; empty where it is about no other person.
    """
    if "?" not in sentence or _YOU.search(sentence) or _WHO_IS.match(sentence):
        return ""
    people = {f"my {found['kin'].lower()}" for found in _KIN.finditer(sentence) if not found["of"]}
    named = {found["name"] for found in _CAPITAL.finditer(sentence) if not found["of"]}
    people |= {
        name
        for name in named
        if not is_place(name) and name.casefold() not in NOT_NAMES and _is_subject(name, sentence)
    }
    if len(people) == 1:
        return people.pop()
    return NOT_NAMED if people or _THIRD.search(sentence) else ""


def _is_subject(name: str, sentence: str) -> bool:
    """Return whether a name is the subject of a question: not in "Is Cardiff your city?" or "Do they like Ocado?"."""
    before = sentence[: sentence.index(name)].rstrip().rpartition(" ")[2].casefold().strip("'’,")
    return before in _BEFORE_SUBJECT


_LONGEST_ANSWER: Final = 60
_LONGEST_QUESTION: Final = 120
_OPENING: Final = re.compile(
    r"^\W{0,9}(?:(?:so|and|but|ok|okay|hey|hi|hello|well|oh|nice|great|noted|cool|by the way|just to (?:check|confirm)|remind me)\b\W{0,9}){0,4}",
    re.I,
)
_NOW: Final = re.compile(
    r",? ?\b(?:right now|now|currently|these days|nowadays|today|at the moment|at present|at present time|any ?more)\b",
    re.I,
)
_PREPOSITION: Final = r"(?:in|at|on|near|from|with|to|by|for|outside|around|behind)"
_SINCE: Final = re.compile(r",? since \w.*$", re.I)
_STARTS_WITH_ONE: Final = re.compile(rf"{_PREPOSITION}\b", re.I)
_FILLER: Final = re.compile(
    r"^\W{0,9}(?:(?:oh|ah|uh|um+|er|well|so|hm+|it is|it['’]s|that is|that['’]s|they are|now|just|currently|actually|sorry|haha|lol)\b\W{0,9}){0,3}",
    re.I,
)
_NO: Final = re.compile(
    r"\W{0,9}(?:(?:oh|well|haha|lol|sadly|unfortunately|actually|hm+)\W{1,3}){0,2}(?P<no>no+|nope|nah|not any ?more|not any longer|no longer|i used to|not now|not since [\w’']+(?: [\w’']+){0,2}"
    r"|i (?:do|am|have) not(?: any ?more)?|not at the moment|used to)\b(?P<rest>.*)",
    re.I | re.S,
)
_YES: Final = re.compile(
    r"\W{0,9}(?:yes|yeah|yep|yup|yea|sure(?: do| am)?|of course|correct|right|exactly|i (?:still )?(?:do|am|have)|still (?:do|am|have)|absolutely|indeed)\b[\s\W]{0,9}(?:i (?:still )?(?:do|am|have)\b)?\W*",
    re.I,
)
_OVER: Final = re.compile(r"any ?more|any longer|no longer|used to|since", re.I)
_EMPTY_REST: Final = re.compile(
    r"[\s\W]*(?:(?:any ?more|not any ?more|any longer|sorry|thanks?|i (?:do|am|have) not|i used to|sadly|unfortunately|not since [\w’']+(?: [\w’']+){0,2}|since [\w’']+(?: [\w’']+){0,2}|not now)\b[\s\W]*)*",
    re.I,
)
_NOT_PLAIN: Final = re.compile(
    rf"\b(?:would|could|should|will|can|may|might|want|think|mean|feel|like to|going to|{SAYING}|did|was|were|had|if|ever|next|first|last|before|why)\b",
    re.I,
)
_AT: Final = re.compile(
    r"\b(?:work|working|study|studying|employed|intern|interning|teach|teaching|bank|banking)\b", re.I
)
_PARTS: Final = (
    # "Where do you live", "Where does your sister work", "Where are you based", "Where is your office".
    ("where", re.compile(r"where (?:do you (?P<verb>\w+)(?P<tail>)|are you (?P<state>\w+)|does your (?P<who>[\w ]{2,30}?) (?P<does>\w+)|(?:is|are) your (?P<what>[\w' -]{2,40}))", re.I)),
    ("age", re.compile(r"how old (?:are you|is your (?P<who>[\w ]{2,30}))", re.I)),
    ("living", re.compile(r"what do you (?:do|work as)(?: for (?:a living|work))?|what is your (?:job|occupation|profession)", re.I)),
    ("what", re.compile(r"(?:what|who|which|how much|how big|how high|when|what time)(?: is| are|['’]s|['’]re) your (?P<what>[\w'’ -]{2,50})", re.I)),
    ("many", re.compile(r"how many (?P<noun>[\w ]{2,30}?) do you (?P<verb>\w+)", re.I)),
    ("do", re.compile(r"(?:what|which|who|whom|how much)(?: (?!do\b|are\b)[\w-]+){0,3} do you (?P<verb>\w+)(?P<tail>(?: \w+){0,3})", re.I)),
    ("are", re.compile(r"(?:what|which|who|whom)(?: (?!do\b|are\b)[\w-]+){0,3} are you (?P<verb>\w+)(?P<tail>(?: \w+){0,2})", re.I)),
)  # fmt: skip
_NO_ARTICLE: Final = re.compile(r"(?:an?|the|in|at|self\S*|freelanc\w+|retired|unemployed)\b", re.I)
_TWO_WORDS: Final = re.compile(r"[^\W\d]{3} [^\W\d]")
_YOUR: Final = re.compile(r"\byour\b", re.I)
_LAST_ONE: Final = re.compile(rf"\s?\b{_PREPOSITION}$", re.I)
_NOT_ANY_MORE: Final = re.compile(r"^(?:not )?any ?more\W+", re.I)
_SAYS_MORE: Final = re.compile(r"(?:not|never|i|we|he|she|they|because|but|thanks|sorry|why)\b", re.I)
_ASKS_WHETHER: Final = re.compile(
    r"(?:(?P<do>do) you|(?P<be>are) you|(?P<does>does) your (?P<who>[\w ]{2,30}?)|(?P<is>is|are) your (?P<what>[\w' -]{2,40}?))(?P<still> still)? (?P<rest>.{2,80})",
    re.I,
)
_TAGGED: Final = re.compile(
    r"(?:(?P<be>you are)|(?P<do>you)) (?P<still>still )?(?P<rest>.{2,80}?),? (?:right|correct|yes|no|is that right|(?:do|are) you not)",
    re.I,
)
_LAST_PART: Final = re.compile(rf"(?P<verb>.*\b{_PREPOSITION}|\w+)\s+(?P<object>(?!{_PREPOSITION}\b).+)", re.I)


@text_cache(64)
def read_answer(question: str, answer: str) -> str:
    """Return the statement that a fragment makes as the answer to a question about the present; empty if uncertain."""
    if (
        not question.rstrip().endswith("?")
        or len(question) > _LONGEST_QUESTION
        or len(answer) > _LONGEST_ANSWER
        or "?" in answer
        or "\n" in answer
    ):
        return ""
    asked = _OPENING.sub("", expand(question).text.strip(), count=1).rstrip("? ")
    plain = _NOW.sub("", asked)
    now = plain != asked
    said = expand(answer).text.strip().rstrip(".! ")
    if _NOT_PLAIN.search(plain):
        return ""
    whether = _TAGGED.fullmatch(plain) or _ASKS_WHETHER.fullmatch(plain)
    if whether is not None:
        return _read_whether(whether, said, now=now or bool(whether["still"]))
    fragment = _SINCE.sub("", _FILLER.sub("", said, count=1))
    if not fragment or _NO.match(said) or _YES.fullmatch(said) or is_statement(f"{fragment}."):
        return ""
    for kind, pattern in _PARTS:
        if (found := pattern.fullmatch(plain)) is not None:
            return _fill(kind, {key: value for key, value in found.groupdict().items() if value}, fragment, now=now)
    return ""


def _fill(kind: str, parts: dict[str, str], fragment: str, *, now: bool) -> str:
    """Return a wh-question as a statement with the answer in place of the question word."""
    end = " now." if now and not _NOW.search(fragment) else "."
    is_now = " is now " if end == " now." else " is "
    what, who = parts.get("what", ""), parts.get("who", "")
    if what.startswith("current "):
        what, is_now = what.removeprefix("current "), " is now "
    if kind == "where":
        verb = parts.get("verb") or parts.get("does") or parts.get("state") or ""
        where = fragment if _STARTS_WITH_ONE.match(fragment) else f"{'at' if _AT.search(verb) else 'in'} {fragment}"
        subject = (
            f"My {who} {verb}s"
            if who
            else f"My {what}{is_now.rstrip()}"
            if what
            else f"I am {verb}"
            if "state" in parts
            else f"I {verb}"
        )
        return f"{subject} {where}{'.' if what else end}"
    if kind == "age":
        return f"My {who} is {fragment}{end}" if who else f"I am {fragment}{end}"
    if kind == "living":
        article = "" if _NO_ARTICLE.match(fragment) else "an " if fragment[:1].lower() in "aeio" else "a "
        return f"I am {article}{fragment}{end}"
    if kind == "what":
        return f"My {what}{' is ' if what.startswith('new ') else is_now}{fragment}."
    if kind == "many":
        noun = "" if _TWO_WORDS.search(fragment) else f" {parts['noun']}"
        return f"I {parts['verb']} {fragment}{noun}{end}"
    tail = parts.get("tail", "")
    return f"I {'am ' if kind == 'are' else ''}{parts['verb']}{tail} {fragment}{end}"


def _read_whether(asked: re.Match[str], said: str, *, now: bool) -> str:
    """Return the statement that "no", "no, Monzo", "I used to" or "yes" makes as the answer to a yes-or-no question."""
    parts = {key: value for key, value in asked.groupdict().items() if value}
    rest = _YOUR.sub("my", parts["rest"])
    third = "who" in parts or "what" in parts
    subject = f"My {parts.get('who') or parts.get('what')}" if third else "I"
    be = "be" in parts or "is" in parts
    denied = _NO.match(said)
    if denied is None:
        verb = ("is " if third else "am ") if be else ""
        return f"{subject} {verb}{rest}." if _YES.fullmatch(said) and not (third and not be) else ""
    other = _other_value(denied["rest"])
    if other and "what" in parts and not _STARTS_WITH_ONE.match(rest) and not _STARTS_WITH_ONE.match(other):
        return f"{subject} is now {_NOW.sub('', other)}."
    last = _LAST_PART.fullmatch(rest) if other else None
    if other and last is not None and not third:
        head = last["verb"]
        if _STARTS_WITH_ONE.match(other):
            head = _LAST_ONE.sub("", head)
        return f"I {'am ' if be else ''}{head} {other}{'' if _NOW.search(other) else ' now'}."
    if now or _OVER.search(said):
        copula = ("is " if third else "am ") if be else ""
        return f"{subject} {copula}no longer {_third(rest) if third and not be else rest}."
    return f"{subject} {('is not' if third else 'am not') if be else ('does not' if third else 'do not')} {rest}."


def _third(rest: str) -> str:
    verb, _, others = rest.partition(" ")
    return f"{verb}s {others}".strip()


def _other_value(rest: str) -> str:
    """Return the value that follows a denial: "Monzo" of "no, Monzo"; empty where something else follows."""
    if _EMPTY_REST.fullmatch(rest):
        return ""
    value = _FILLER.sub("", rest, count=1).strip(" ,.;–-—!")
    value = _NOT_ANY_MORE.sub("", value)
    if not value or is_statement(f"{value}.") or len(value.split()) > 4 or _SAYS_MORE.match(value):
        return ""
    return value
