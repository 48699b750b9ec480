"""Decide whether a message withdraws, doubts or leaves unchanged the speaker's previous change. Pure.

A message withdraws or doubts it only with certain words: "jk", "scrap the Cardiff thing", "in French please", "it was my
sister". A remark such as "Wish me luck" may mean anything: the change is then still the latest statement, but hides
nothing. A message with a statement or a question of its own leaves the change as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from memoranda.remember.base import Retraction
from memoranda.remember.claims.confirmations import Reply, read_reply
from memoranda.remember.claims.reports import is_small_talk, is_undone
from memoranda.remember.claims.retractions import (
    LEAD,
    WITHDRAWAL,
    is_about_words,
    is_another_persons,
    restore_apostrophes,
    terms_of_other_action,
    terms_of_retracted,
    withdraws,
)
from memoranda.remember.importance.pleasantries import is_pleasantry
from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.lexicon import AUXILIARY, DETERMINER, HAPPENED, SOMEBODY
from memoranda.remember.reading.statements import (
    ABOUT_TEXTS,
    ABOUT_WORDS,
    LONGEST,
    REFERS_BACK,
    is_complete_question,
    is_question,
    is_statement,
)
from memoranda.text.cache import text_cache
from memoranda.text.sentences import has_content, split_sentences
from memoranda.text.terms import query_terms

# A verb without its object: "Or so I did", "the neighbour wishes", "they say", but not "I heard what he said".
_CUT_SHORT: Final = re.compile(
    rf"\b(?:{AUXILIARY}|to)\b[^\w\s]*(?:$|,)"
    r"|^(?!.*\b(?:what|how|which|whatever)\b).*\b(?:(?:wish|hop|think|believ|say|claim|guess|suppos|assum|reckon|swear)e?(?:s|es|d|ed)?|thought|said|swore)\b[^\w\s]*$",
    re.I,
)
# A request that names its object: "Remind me to pay the rent", "Recommend a good tea"; but not "Until the end", "Rephrase please".
_ORDERS: Final = re.compile(
    rf"(?:please )?(?!(?:until|till|for|in|on|at|only|just|not|with|by|from|of|since|because|if|when|while|after|before|as|and|or|to|than"
    rf"|starting|maybe|almost|well|then|\w*[^\Ws]s)\b)\w+ (?:me (?:to|about|of|when|if|where|an?|the|my|our|some|any)|(?!me|two|three|\d){DETERMINER} \w+|up|for)\b",
    re.I,
)
# A statement of the speaker, or of an agent about its user, that does not go on with a story ("And then I woke up").
OWN: Final = re.compile(
    r"(?:(?:and|also|but|so|well|oh|plus|btw|by the way|anyway|now|today|yesterday|tonight|(?:this|last|next|on|in) \w+)\b[\s,]{0,9}){0,4}"
    r"(?:i|we|my|our|(?:the )?user)\b",
    re.I,
)
# "I didn't move", "I never left", "no I didn't", but not "I haven't unpacked".
_NEGATED: Final = re.compile(
    rf"{LEAD}(?:i|we) (?:(?:did|have|had|was|were|do|am|are)\s+not|never)\b(?P<verb>(?: \w+){{0,2}})", re.I
)
_ELLIPTIC: Final = re.compile(r"(?: (?:really|actually|yet|though|at all|lol|either|true|so|do (?:that|it|so)))*", re.I)
_OF_CHANGE: Final = re.compile(
    r"\b(?:left|moved?|moving|quit|sold|changed?|switched?|started?|stopped|joined|bought|happen(?:ed)?|going|gone|went|get|got)\b",
    re.I,
)
_STAYED: Final = re.compile(
    r"\b(?:stay(?:ed|ing)?|remain(?:ed)?|still (?:here|there|live|living|work|working))\b", re.I
)
_NAME: Final = re.compile(r"(?<!^)\b(?!I\b)[A-Z]\w+")
_ADMITS: Final = re.compile(
    rf"{LEAD}(?:i|we) (?:(?:was|am|were|got|must have been) (?:just |only )?(?:wrong|mistaken|confused|hacked)\b(?! (?:about|by|at|with|for|when)\b)"
    r"|(?:have |just )?changed my mind\b|(?:have )?(?:mixed|got) (?:that|it|this) (?:up|mixed)|misspoke"
    r"|(?:(?:have|want|need|had) to |must |should )?correct (?:myself|that|this)\b"
    rf"|(?:was|am|were) (?:talking about|speaking of|thinking of|describing) (?:(?:my|our|his|her) \w+|{SOMEBODY}|(?-i:[A-Z])\w+)\W*$)"
    rf"|{LEAD}(?:my|our|the|this) (?:account|phone|laptop|computer|chat|profile) (?:was|got|has been|had been|is) (?:hacked|compromised|taken over|stolen)\b",
    re.I,
)
"""A comment on one's own words."""
# A comment on one's own words or on anything else: "I was confused by the signs", "I haven't slept".
_MAY_ADMIT: Final = re.compile(
    r"\b(?:lied|(?:was|am|were|got) (?:wrong|mistaken|confused|hacked)|mixed|talking about|speaking of|correct (?:myself|that)|changed my mind)\b"
    r"|^(?!.*(?:\b(?:my|our|the|an?|some|any|enough|much|many|\d+|two|three)\s+\w|\b(?:like|love|mind|know|think|eat|drink|smoke)\b))"
    r".*\b(?:(?:did|have|has|had|was|were) not|never)\b",
    re.I,
)
# "No, the first one was right": it restores the value before the change.
_WAS_RIGHT: Final = re.compile(
    r"\b(?:first|old|previous|original|earlier) (?:one|time|value|number|version|date|answer)\b(?: \w+){0,2}? (?:right|correct|true|stands|holds)\b"
    r"|\b(?:right|correct) the first time\b",
    re.I,
)
_WITHDRAWS: Final = re.compile(
    r"\W*(?:(?:and|but|so|oh|ah|well|haha|lol|yeah|ok|okay)\b\W*)*(?:no|nope|nah|wait|actually|sorry|oops|never ?mind(?! the| about)|false alarm|i meant?|on second thoughts?|but|except)\b",
    re.I,
)
_TAG: Final = re.compile(r"^\W*/(?:s|j|jk|sarcasm|joke|hj)\W*$", re.I)
# "The move got cancelled", "it's off": the change did not happen.
_CALLED_OFF: Final = re.compile(
    r"^\W*(?:(?:but|and|well|ok|update|sadly|unfortunately|actually)\W+)*(?P<what>it|that|(?:the|this|that|my|our) (?:whole )?\w+)(?: is| was| got| has been|['’]s)(?: now| just)? "
    r"(?:cancell?ed|called off|off|withdrawn|annulled|revoked|reversed|scrapped|undone|dead)(?: (?:again|after all|now|anyway|in the end))?\W*$",
    re.I,
)
# "I'm still at Lego", "the Golf is still here", "keeping my name": a value that holds; the write finds whether it changed.
_STILL: Final = re.compile(
    r"\b(?:still|stay|staying|keep|keeping|stick|sticking)\b(?: (?:in|at|with|to|on|here|there|have|has|got|live|living|work|working|own|drive|use))*"
    r" (?:(?-i:[A-Z])|(?:the|my|our)\b)|^\W*(?:the|my|our) (?:[\w'’-]+ ){1,3}?(?:is|are) still\b",
    re.I,
)
_CHATTER: Final = re.compile(
    r"(?:(?:x+d+|brb|gtg|g2g|afk|one sec|cheers|phew|(?:he|hi|ho|ha){2,}h?|sup|np|k+|yes|yeah|yep|yup|sure|ok|okay|cool|nice|bye|goodbye|see you(?: (?:later|soon|tomorrow))?"
    r"|lol|lmao|rofl|noted|good (?:night|luck))\b|[\s.,!😂🤣😅😄😁😆🎊🙌❤💕🥰😍🙏👍👌✨️])+",
    re.I,
)
_SEVERAL: Final = re.compile(
    r"\b(?:one|two|three|four|five|some|most|half|all|none|both|neither|either|each|which|any|everything|nothing|the (?:first|second|third|last|other))\b",
    re.I,
)
_UNTRUE: Final = re.compile(
    r"\b(?:true|truths?|real|facts?|false|fake|lies?|jokes?|jokes|invented|made up|nonsense)\b", re.I
)


@text_cache(256)
def says_nothing(text: str) -> bool:
    """Return whether a whole message is small talk, which may stand between a change and its withdrawal."""
    if len(text) > LONGEST:
        return False
    return is_small_talk(text) or is_pleasantry(text) or _CHATTER.fullmatch(text) is not None


@text_cache(256)
def read_retraction(
    text: str,
    before: str = "",
    *,
    replies: tuple[str, ...] = (),
    said_at: datetime | None = None,
    speaker: str = "",
) -> Retraction | None:
    """Return how a message affects the speaker's previous change; None where it does not.

    `replies` is what others said since the change, the newest first. The name of the `speaker` under a message is a
    signature, not another person's.
    """
    if len(text) > LONGEST:
        return None
    text = restore_apostrophes(expand(text).text)
    reply = read_reply(replies, text, before, said_at) if replies else None
    if reply == "confirms":
        return None
    sentences = split_sentences(text)
    if any(withdraws(each) or _TAG.match(each) or _retracts_by_name(each, before) for each in sentences):
        return "retract"
    if reply == "denies" or any(_doubts_change(each, before, speaker) for each in sentences):
        return "doubt"
    if WITHDRAWAL.search(text) is not None or not all(_is_new(each, asked=reply) for each in sentences):
        return "remark"
    return None


def names_several(text: str) -> bool:
    """Return whether words doubt several things that were said: "Two of these are lies."."""
    return len(text) <= LONGEST and any(
        _SEVERAL.search(each) is not None and (withdraws(each) or _UNTRUE.search(each) is not None)
        for each in split_sentences(restore_apostrophes(expand(text).text))
    )


def _retracts_by_name(sentence: str, before: str) -> bool:
    """Return whether a sentence retracts a thing by name, and the words before it name the same: "the Cardiff thing"."""
    named = terms_of_retracted(sentence)
    return bool(named) and named.issubset(query_terms(before[:LONGEST]))


def names_what_is_retracted(text: str) -> bool:
    return any(map(terms_of_retracted, split_sentences(restore_apostrophes(expand(text[:LONGEST]).text))))


def find_retracted_message(text: str, own: Sequence[str]) -> int | None:
    """Return the position of the earlier message of the speaker (the newest first) that a message may retract; or None.

    It is the last one that is not small talk; or, where the message names a change, the one that shares the name.
    """
    named = names_what_is_retracted(text)
    for position, earlier in enumerate(own):
        if read_retraction(text, earlier) == "retract" if named else not says_nothing(earlier):
            return position
    return None


def _doubts_change(sentence: str, before: str, speaker: str) -> bool:
    """Return whether a sentence turns the change before it into another person's, a text, or one that did not happen."""
    if is_small_talk(sentence):
        return False
    if (
        _contradicts(sentence, before)
        or is_another_persons(sentence, speaker)
        or _attributes_to_another(sentence, before)
        or is_about_words(sentence, before)
    ):
        return True
    off = _CALLED_OFF.match(sentence)
    if (_STILL.search(sentence) or _WAS_RIGHT.search(sentence)) and not is_question(sentence):
        return True
    if off is not None:
        named = set(query_terms(off["what"].partition(" ")[2]))
        return (
            not named or not named.isdisjoint(query_terms(before)) or off["what"].casefold().endswith(("deal", "plan"))
        )
    return is_undone(sentence) and not is_question(sentence)


def _attributes_to_another(sentence: str, before: str) -> bool:
    """Return whether a sentence attributes the previous change to another person: "I mean my sister moved"."""
    found = terms_of_other_action(sentence)
    return bool(found) and not found.isdisjoint(query_terms(before))


def states_no_change(sentence: str, before: str) -> bool:
    """Return whether a sentence says that something is unchanged, and names something that the words before it do not."""
    others = "here" in sentence or any(name not in before for name in _NAME.findall(sentence))
    return _STAYED.search(sentence) is not None and others


def _contradicts(sentence: str, before: str) -> bool:
    """Return whether a statement of the speaker contradicts the previous one: it denies, admits, or states no change."""
    if is_question(sentence):
        return False
    if _STAYED.search(sentence):
        return is_statement(sentence) and OWN.match(sentence) is not None and states_no_change(sentence, before)
    denied = _NEGATED.match(sentence)
    if denied is None:
        return _ADMITS.match(sentence) is not None
    rest = sentence[denied.start("verb") :].rstrip(" .!?,)")
    return (
        _ELLIPTIC.fullmatch(rest) is not None
        or _OF_CHANGE.search(denied["verb"]) is not None
        or not set(query_terms(denied["verb"])).isdisjoint(query_terms(before))
    )


def _is_new(sentence: str, *, asked: Reply | None) -> bool:
    """Return whether a sentence is small talk, or a statement or question that does not depend on earlier words.

    After a question that is not understood anything but a question may be the answer.
    """
    if asked is None and (is_small_talk(sentence) or _CHATTER.fullmatch(sentence)):
        return True
    if not has_content(sentence, ()) or ABOUT_TEXTS.search(sentence) or REFERS_BACK.search(sentence):
        return False
    if _WITHDRAWS.match(sentence):
        return False
    if is_question(sentence):
        return is_complete_question(sentence) and ABOUT_WORDS.search(sentence) is None
    if asked is not None:
        return False
    if is_statement(sentence):
        # "The sale fell through", "Then the alarm rang": it may be about the change.
        own = OWN.match(sentence) is not None and not is_undone(sentence)
        unsure = HAPPENED.match(sentence) or _CUT_SHORT.search(sentence) or _MAY_ADMIT.search(sentence)
        return own and not unsure
    return _ORDERS.match(sentence) is not None
