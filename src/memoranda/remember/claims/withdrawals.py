"""The words with which somebody takes back what they said: "jk", "scrap the Cardiff thing", "it was my sister". Pure.

A sentence takes something back when it is made of such words alone, or says so of what it names. With anything else
beside them ("cancel my gym membership", "no regrets") they are about something else.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.reading.lexicon import PEOPLE, PETS, POSSESSIVES
from memoranda.remember.reading.statements import is_question
from memoranda.text.cache import text_cache
from memoranda.text.places import is_place
from memoranda.text.terms import query_terms

# What words of the speaker's own are called: "that", "what I just said", "my last message".
_MESSAGE = r"(?:message|sentence|statement|remark|comment|line|one|bit|part|text|note|post|thing)s?"
_SAID = (
    r"(?:(?:all (?:of )?)?(?:that|this)|it all|the above|(?:everything|anything|what(?:ever)?) i (?:just )?(?:said|wrote|told you|typed|sent|mentioned)"
    rf"|(?:my|the|that|this)(?: very)?(?: (?:last|previous|earlier|prior))?(?: (?:two|few))? {_MESSAGE}(?: (?:of mine|before|above))?)"
)
_DISCARD = r"(?:scratch|strike|forget|ignore|disregard|delete|erase|undo|discard|never ?mind|nvm)"
# An order begins a clause: not "I'll never forget that", "I try to ignore it".
_ORDERED = (
    r"(?:^\W{0,9}|[.!?,;:–—-]\s{0,5}|\b(?:please|pls|sorry|oops|wait|no|ok|okay|oh|ah|well|actually|so|and|but|hey|just|kindly|(?:can|could) you)\s+)"
    r"(?<!i just )(?<!to just )"
)
_CLAUSE_END = r"(?=\s*(?:[.,!;:)–—-]|$)|\s+(?:please|pls|sorry|thanks|i|i['’]m|we|my|it|it['’]s|he|she|because|as|since|and|wrong)\b)"
_ELSEWHERE = r"(?:window|chat|person|thread|tab|channel|group|conversation|recipient|contact|room|screen)"
_ANOTHER = rf"(?:someone|somebody|another|a different|{POSSESSIVES}|the other)"
_AT_KEYS = r"(?:borrowed|took|grabbed|had|has|stole|was on) my (?:phone|laptop|keyboard|computer|account)"
_FALSE = r"(?:a (?:joke|lie|prank|test)(?: message)?|made up(?! of)|nonsense|not true|untrue)"
TAKEN_BACK: Final = re.compile(
    rf"{_ORDERED}(?P<order>{_DISCARD} {_SAID}{_CLAUSE_END}|forget (?:that )?i (?:ever )?(?:said|told you|mentioned|wrote)\b)"
    rf"|\b(?:that|this|what i (?:just )?said) was (?:just |only |all )?{_FALSE}"
    r"|\b(?:that|this|what i (?:just )?said)(?:['’]s| is| was|) ?(?:not|isn['’]t|wasn['’]t) true"
    rf"|\b(?:none|nothing) of {_SAID} (?:is|was) true|^\W{{0,9}}(?:(?:sorry|no|ok|okay)\b\W{{0,5}})?not true\b"
    r"|\bi (?:was|am) (?:just |only )*(?:joking|kidding|lying|testing you|messing with you|pulling your leg)|\b(?:just|only) (?:kidding|joking)"
    r"|\bi take (?:that|it|this) back(?! about)|\bi made (?:that|it|this) up"
    # It was not for the listener, or not by the speaker.
    rf"|(?P<elsewhere>(?:^|[.!?,;:–—-]|\b(?:sorry|oops|ups|whoops|ah|oh|no|that was|(?:sent|typed|posted|wrote) (?:\w+ )?(?:in|to) the)\b)\W{{0,5}}wrong {_ELSEWHERE}\b"
    rf"|\b{_SAID} (?:was(?:n['’]t| not)|is(?:n['’]t| not)) (?:meant |intended )?for you\b"
    rf"|\b{_SAID} (?:was|is) (?:meant|intended|supposed to (?:be|go)) (?:for|to) {_ANOTHER}\b"
    rf"|\b{_SAID} (?:was|is) (?:from |by )?(?:my|our) [\w-]+(?: (?:typing|writing|texting)|,? (?:\w+ )?{_AT_KEYS})"
    r"|\b(?:my|our) [\w-]+ (?:was typing|typed (?:that|this|it)|(?:wrote|sent) that(?: message)?)\b)"
    r"|(?:[.!?]\s{1,3}|^\W{0,3})(?P<joke>(?:kidding|joking|april fools?['’]?s?(?: day)?)(?=\s*(?:[.,!–-]|$)))"
    # "Never mind, I'm staying" goes on with how things are.
    r"|(?P<goes_on>\b(?:never ?mind|false alarm|on second thoughts?|actually,? no)\b[\s,.!–-]*"
    r"(?:(?:i|we) (?:did(?:n['’]t| not)|won['’]t|will not|am not|are not)|(?:i['’]m|we['’]re|i am|we are) (?:not|staying|keeping|sticking|still)\b"
    r"|it['’]s not))",
    re.I,
)
"""Takes back what the speaker said before: in the same message, or else in the one before it."""


# What may stand before words that take something back, and says nothing itself.
LEAD: Final = (
    r"^\W{0,9}(?:(?:ok|okay|oh|ah|eh|well|no|nope|nah|wait|hm+|uh|um|sorry|oops|ups|whoops|actually|honestly|so|and|but|then|hey|just|please|pls|plz"
    r"|kindly|lol|(?:ha){2,}h?|maybe|yeah|yes|correction|typo|edit|i mean|i meant|for the record|on second thoughts?|haha|hehe|lmao|omg|thanks|btw"
    r"|can (?:you|we)|could (?:you|we)|will you|would you|you can|you should|let us|let['’]?s|i (?:want|need) you to|i would like (?:you )?to|i want to)\b\W{0,9}){0,6}"
)
_TAIL = r"(?:\W+(?:please|pls|plz|sorry|thanks?|thx|lol|haha|now|again|for me|ok|okay|though|everyone|i beg you))*\W*$"
_DROP = (
    r"(?:scratch|scrap|strike|forget|ignore|disregard|delete|erase|undo|discard|dismiss|remove|revert|retract|rescind|withdraw|unsay|unsend|cancel|drop"
    r"|never ?mind|nvm|take back|(?:do not|don['’]?t) (?:save|store|remember|keep|record|log|note|memori[sz]e|believe|count|use|write))(?: (?:down|out))?"
)
_POINTER = (
    r"(?:(?:about )?(?:(?:all|any|most) (?:of )?)?(?:it|that|this|them|those|these|me|everything|previous|(?:the )?(?:previous|last|above|earlier|former)"
    rf"(?: (?:one|two|{_MESSAGE}))?|(?:the|that|my|this) {_MESSAGE}(?: (?:above|before))?)|(?:that )?i (?:ever |just )?(?:said|wrote|mentioned|told you|sent|typed)"
    r"(?: (?:that|it|this|anything|so|something))?)(?: (?:about it|all|too|again|bit|part|thing|last|instead))?"
)
_DROPPED: Final = re.compile(rf"{LEAD}{_DROP}(?: {_POINTER})?{_TAIL}", re.I)
_DROPPED_THING: Final = re.compile(
    rf"{LEAD}{_DROP} (?:what i (?:just )?(?:said|told you|wrote) )?(?:about )?(?P<named>(?!(?:my|our|your) )[^.!?;,\n]{{2,60}}?){_TAIL}",
    re.I,
)
_JOKING = r"(?:kid|kidding|joking|joked|lying|lied|bluffing|messing with you|messing|teasing|pranking|trolling|pulling your leg|making (?:it|that) up|made (?:it|that|this|all)? ?up)"
_WAS_JOKING: Final = re.compile(
    rf"{LEAD}(?:i |we )?(?:(?:am|was|were|just|only|all|totally|obviously|really) )*{_JOKING} (?:to you )?about (?P<named>[^.!?;,\n]{{2,60}}?){_TAIL}"
    rf"|{LEAD}about (?P<first>[^.!?;:,\n]{{2,60}})[:,] (?:i |we )?(?:(?:am|was|were|just|only) )*(?:{_JOKING}|jk)\W*$"
    r"|^\W{0,9}(?:(?:and|but|so|ok|sorry|well|no|actually)\W+)*(?P<subject>(?:the|that|this|my|all) [^.!?;,\n]{2,60}?) (?:was|is|were|are)(?: (?:just|only|all|actually|totally|of course))*"
    r" (?:(?:a|an|one big|some) )?(?:(?:bad|silly|stupid|little|complete|april) )?(?:joke|lie|lies|prank|bluff|hoax|made up|invented|nonsense|fake|not true|untrue|false|test|fiction|fib)\W*$",
    re.I,
)
_GENERIC_WORDS = "thing bit part stuff news message joke story update announcement line comment remark business idea post note whole talk last"
_GENERIC: Final = frozenset(term for word in _GENERIC_WORDS.split() for term in query_terms(word))
"""What words that somebody said are called: "the Cardiff thing"."""

_EMPTY = """
    i we you me us it that this these those my your the a an all of some any just only really totally actually completely obviously clearly so and
    but or well ok okay oh ah haha hahaha hehe lol lmao rofl omg xd no nah nope yeah yes sorry guys man mate dude btw course little bit again here
    there now thing things message messages last previous part about with for to on at what was were is are am be been being im said say got ya
    please pls plz thanks thx big silly stupid bad ever everything anything did do does not fell fall believed believe i'd by up out hi hey s t m
    re d 1 2 3 123 then sure too over total lot complete pure one nothing very mean meant had have has got ha
"""
_FILLERS: Final = frozenset(_EMPTY.split())
_WITHDRAWING_WORDS = """
    jk psych psyche sike kidding kid joking joke jokes joked prank pranked pranking lie lies lied lying liar bluff bluffing fib sarcasm sarcastic
    irony ironic ironically hypothetical hypothetically theoretically trolling teasing test testing tested gotcha fooled fake untrue false nonsense
    rubbish bollocks autocorrect misclick mistype mistyped misheard invented nvm nevermind wrong incorrect mistaken hoax fiction fictional
    checking april oops whoops typo wishful
"""
_WITHDRAWING: Final = frozenset(_WITHDRAWING_WORDS.split())
_ALSO_EMPTY_WORDS = """
    leg pulling making made news fools fool day thinking siri alexa phone chat window tab person thread
    channel group app conversation recipient number messing around alarm voice text fingers keyboard sake
    argument speaking checking if listen remember
"""
_ALSO_EMPTY: Final = frozenset(_ALSO_EMPTY_WORDS.split())
_PHRASES: Final = re.compile(
    r"\bmade (?:(?:it|that|this|all|everything)(?: of (?:it|that))? )?up\b(?! my)|\bpull(?:ing|ed) your leg\b|\b(?:fell|fall) for (?:it|that)\b|\b(?:you|u|did you) (?:really )?believed? (?:that|it|me)\b"
    r"|\bdo not (?:you )?believe me\b|\bmess(?:ing|ed) with you\b|\bfor the sake of argument\b|^\W*(?:oh |ah |sorry,? )?my (?:bad|mistake)\W*$|\bvoice to text\b",
    re.I,
)
# "No joke", "I'm not kidding": it is meant.
_MEANT: Final = re.compile(
    r"\b(?:no|not|never|is it|are you|were you|without)(?: (?:even|a|any|an|just|all|you|your))* (?:jok\w+|kid\w*|l(?:ie|ies|ying|ied|iar)|prank\w*|fake|test\w*|bluff\w*|sarcas\w+|wrong|mistaken|false|untrue|nonsense)\b",
    re.I,
)
# "Not really", "almost", "I wish": it has not come true.
_NOT_SO: Final = re.compile(
    r"^\W*(?:(?:well|ok|okay|but|and|lol|haha|oh|actually|or|sorry|at least)\W+)*(?:not(?: (?:really|actually|quite|yet|true|for real|in real life|irl|literally|at all|exactly|anymore))?(?: yet)?[!.]*"
    r"|(?:really|actually) not|not(?= ?!)|almost|nearly|i wish|if only|one can dream|as if|(?:only |just )?in (?:my|your) (?:wildest )?(?:dreams|head|mind|imagination)|only in (?:my )?(?:dreams|theory)"
    r"|let(?: us|['’]?s) (?:say|suppose|assume)|suppose|in theory|for example|e\.g\.?|e\.?g|as an example)(?: (?:though|tho|i guess|lol|haha|at least|yet|actually))*\W*$"
    r"|^\W*(?:lol|(?:ha){2,}h?|hehe|lmao)\W+(?:no+|nope|nah|not)\W*$",
    re.I,
)
_ONE = rf"(?:(?:my|our|his|her|their|the|a) (?:\w+ )?(?:{PEOPLE}|{PETS}|ex|kid|family|mate|pal)(?: (?-i:[A-Z][a-z]+))?|he|she|they|(?:some(?:one|body)|another person)(?: else)?)"
_NAME = r"(?-i:[A-Z][a-z\u00df-\u024f]+)"
_TYPING = r"(?: (?:typing|writing|talking|speaking|texting|messing around|on (?:my|the) (?:phone|laptop|account|computer|keyboard)|again|playing|who \w+ (?:that|this|it)|using my \w+))"
_SOMEBODY: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"^\W*\*\s?(?:{_ONE}|his|her|their|{_NAME})\b[^.!?]{{0,30}}\W*$|^\W*(?:{_ONE}|his|her|{_NAME})\*\W*$",
        rf"{LEAD}(?:it|that|this)(?:['’]s| is| was)(?: \w+ly| just)? {_ONE}{_TYPING}*(?:,? not me)?(?:,? (?:again|sorry|lol|haha|grabbing|who) ?\w*)*\W*$",
        rf"{LEAD}(?:it|that|this)(?:['’]s| is| was) {_NAME}(?:{_TYPING}+|,? not me\W*$)",
        rf"{LEAD}(?:(?:it|that|this) )?(?:(?:is|was) not|not) (?:me|mine|about me|from me|by me|my \w+)\b(?:\W*$|,? (?:but |it was |that was )?(?:{_ONE}|{_NAME}))",
        rf"{LEAD}(?:{_ONE}|my (?:character|avatar|alter ego|persona|hero|\w+ character)|{_NAME})(?:,? \w+){{0,3}}?,? (?:(?:and )?not (?:me|i|us|mine)|i mean|i meant)\W*$",
        rf"^\W*(?:(?:well|no|sorry|actually|i mean|i meant|correction|typo|oops|wait)[\s,:]+)+{_ONE}(?: (?:did|does|has|is|was))?\W*$",
        rf"^\W*(?:(?:is|as|that is|these are|those are|that['’]s) )?(?:what|how|the way) {_ONE} (?:\w+ )?(?:wrote|said|says|told|texted|put|goes|typed)\b",
        r"^\W*(?:so )?(?:says|said|writes|wrote|quoth) (?:my|our|the|his|her|(?-i:[A-Z])\w+)\b[^.!?]{0,30}\W*$",
        r"\b(?:his|her|their|\w+['’]s) words?\b.{0,12}\bnot mine\b|^\W*not (?:my|our) words\b",
        rf"\b(?:meant|intended|supposed to (?:go|be)|message (?:is|was))(?: \w+)? (?:for|to) (?:{_ONE}|{_NAME}|someone|another|the other)\b|\bnot (?:meant |intended )for you\b",
    )
)
_SIGNED: Final = re.compile(
    rf"^\W*(?:[-–—~]{{1,2}}\s?|(?:xo(?:xo)*x?|(?:lots of )?love|hugs(?: and kisses)?|kisses|signed|(?:(?:kind|best|warm) )*regards|yours(?: \w+)?|sincerely)(?:,| from| by|\n|(?<=xoxo)|(?<=signed))\s?(?:your |my )?)"
    rf"(?P<name>{_NAME})(?: {_NAME})?\W*$",
    re.I,
)
# "I mean my sister moved", "typo: she moved": what is done stands at the end.
_DID_INSTEAD: Final = re.compile(
    rf"^\W{{0,9}}(?:(?:well|no|sorry|actually|i mean|i meant|correction|typo|oops|wait|it was)[\s,:]+){{1,3}}(?:{_ONE}|{_NAME}) (?:who |that )?(?P<deed>\w+)\b.{{0,30}}$",
    re.I,
)
_ASKS: Final = re.compile(r"\W{0,9}(?:did|do|does|why|how|what|should|shall)\b", re.I)
_WORD: Final = re.compile(r"[^\W_]+")
_NO_APOSTROPHE: Final = re.compile(
    r"\b(?P<verb>do|did|was|is|does|have|has|had|would|should|could|are|were)nt\b|\b(?P<it>that|what|it(?= (?:a|the|my|from|just|only)\b))s\b",
    re.I,
)
_SHORTEST_NAME: Final = 2


def in_full(sentence: str) -> str:
    """Return a sentence with "didnt" and "thats" as they are written with care."""
    return _NO_APOSTROPHE.sub(lambda found: f"{found['verb']} not" if found["verb"] else f"{found['it']}'s", sentence)


def words_in(sentence: str) -> list[str]:
    return [word for word in _WORD.findall(sentence.casefold()) if word not in ("s", "m", "re", "d")]


@text_cache(256)
def withdraws(sentence: str) -> bool:
    """Return whether a sentence is made of words that take back what was said before: "jk lol", "pls ignore that"."""
    if _MEANT.search(sentence):
        return False
    if (_DROPPED.match(sentence) and not _PHRASES.search(sentence)) or _NOT_SO.match(sentence):
        return not (is_question(sentence) and _ASKS.match(sentence))
    words = words_in(sentence)
    core = _PHRASES.search(sentence) is not None
    if is_question(sentence) and not core:
        return False
    core = core or not _WITHDRAWING.isdisjoint(words)
    return core and _FILLERS.union(_WITHDRAWING, _ALSO_EMPTY).issuperset(words)


@text_cache(256)
def is_somebody_elses(sentence: str, speaker: str = "") -> bool:
    """Return whether a sentence says that the words before it are somebody else's: "it was my sister", "- Lena"."""
    if is_question(sentence):
        return False
    signed = _SIGNED.match(sentence)
    if signed is not None:
        name = signed["name"]
        return name.casefold() not in speaker.casefold().split() and not is_place(name)
    return any(pattern.search(sentence) for pattern in _SOMEBODY)


def did_instead(sentence: str) -> frozenset[str]:
    """Return the terms of what a sentence says that somebody else did; empty where it says nothing like it."""
    found = _DID_INSTEAD.match(sentence)
    return frozenset(query_terms(found["deed"])) if found else frozenset()


@text_cache(256)
def named_taken_back(sentence: str) -> frozenset[str]:
    """Return the terms by which a sentence names what it takes back: "scrap the Cardiff thing"; empty for none."""
    found = (
        None
        if is_question(sentence) or _MEANT.search(sentence) or _DROPPED.match(sentence)
        else _WAS_JOKING.match(sentence) or _DROPPED_THING.match(sentence)
    )
    if found is None:
        return frozenset()
    named = next(words for words in found.groupdict().values() if words is not None)
    return frozenset(query_terms(named)) - _GENERIC
