"""What a message makes of the change that its speaker told in the one before it. Pure.

"jk", "…in The Sims" and "That was my sister" may take it back. "Too expensive." hardly does, but who knows: what says
nothing of its own may mean anything.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.base import PointsBack
from memoranda.remember.claims.reports import is_small_talk
from memoranda.remember.reading.lexicon import AUXILIARY, DETERMINER, HAPPENED
from memoranda.remember.reading.statements import (
    ABOUT_TEXTS,
    ABOUT_WORDS,
    LONGEST,
    POINTING_BACK,
    is_complete_question,
    is_question,
    is_statement,
)
from memoranda.text.cache import text_cache
from memoranda.text.sentences import has_content, split_sentences

_DENIES: Final = re.compile(
    r"\b(?:jk|j/k|nvm|psych|sike|sarcas\w+|no|nope|nah|not|never|none|\w+n['’]t|gotcha|got (?:you|ya)|as if|wait|actually|really|just|only|wish|hope|hopefully|would|did|said|maybe|sorry|mean|meant|oops)\b",
    re.I,
)
"""Words that may take from what was said, where nothing else in a sentence says something."""
# Says where or how long something was so, that it came back or goes on, or what the words are for or from.
_TAKES: Final = re.compile(
    r"^\W*(?:in|on|for|until|till|at|as|according|only|with|by|starting|because|if|when|while|before|after|almost|nearly|except)\b"
    r"|\b(?:still|back|again|though|above|after all|ke(?:ep|eps|eping|pt)|stay\w*|return\w*|undo\w*|last(?:s|ed)|f[ae]ll(?:s|en|ing)?|collaps\w+|cancel\w*"
    r"|withdr\w+|revers\w+|refus\w+|reject\w+|temporar\w+|brief\w*|until|till|perhaps|someday|tomorrow|hop(?:e|ing)|plan\w*|false|wrong|nonsense)\b"
    r"|\b(?:this|that)(?:['’]s| is| was| were|(?=\W*$))|\b(?:it|they)(?:['’](?:s|re)| is| was| are| were) (?:for|from|by|in|about|another|the other|my|his|her|their)\b",
    re.I,
)
_TO_YOU: Final = re.compile(r"\W*you\b", re.I)
# A verb without what belongs to it: "Or so I did", "the neighbour wishes", "they say", but not "I heard what he said".
_CUT_SHORT: Final = re.compile(
    rf"\b(?:{AUXILIARY}|to)\b[^\w\s]*(?:$|,)"
    r"|^(?!.*\b(?:what|how|which|whatever)\b).*\b(?:(?:wish|hop|think|believ|say|claim|guess|suppos|assum|reckon|swear)e?(?:s|es|d|ed)?|thought|said|swore)\b[^\w\s]*$",
    re.I,
)
# "Remind me to pay the rent", "Recommend a good tea": what is asked for is named; but not "Until the end", "Rephrase please".
_ORDERS: Final = re.compile(
    rf"(?:please )?(?!(?:until|till|for|in|on|at|only|just|not|with|by|from|of|since|because|if|when|while|after|before|as|and|or|to|than"
    rf"|starting|maybe|almost|well|then|\w*[^\Ws]s)\b)\w+ (?!me(?: wrong| right| crazy)?\W*$)(?:{DETERMINER}|up|for)\b",
    re.I,
)
# A statement of the speaker, or of an agent about its user, that does not go on with a story ("And then I woke up").
_OWN: Final = re.compile(
    r"(?:(?:and|also|but|so|well|oh|plus|btw|by the way|anyway|now|today|yesterday|tonight|(?:this|last|next|on|in) \w+)\b[\s,]{0,9}){0,4}"
    r"(?:i|we|my|our|(?:the )?user)\b",
    re.I,
)
_WITHDRAWS: Final = re.compile(
    r"\W*(?:(?:and|but|so|oh|ah|well|haha|lol|yeah|ok|okay)\b\W*)*(?:no|nope|nah|wait|actually|sorry|oops|never ?mind(?! the| about)|false alarm|i meant?|on second thoughts?|but|except)\b",
    re.I,
)

# "…, but it didn't last", "… and came back": a change that is over when it is told.
_UNDONE: Final = re.compile(
    r"\b(?:came|come|went|moved|switched|changed|flew|was|were|am|are|['’]m|['’]re|g[ai]ve \w+|took \w+|brought \w+) (?:right |straight |soon |already )?back\b(?! from\b)"
    r"|\b(?:returned|reversed|undid|undone|collapsed|called off|f[ae]ll(?:en)? through)\b"
    r"|(?:n['’]t|\bnot|\bnever) (?:really |quite |actually )?(?:last|work out|happen(?:ed)?|stick|hold|go through|went through|come to|came to)\b",
    re.I,
)


def is_undone(rest: str) -> bool:
    """Return whether what a message says after a change tells that it is over: "… but it didn't last"."""
    return _UNDONE.search(rest[:LONGEST]) is not None


@text_cache(64)
def points_back(text: str, *, answers: bool = False) -> PointsBack | None:
    """Return how a message may bear on what its speaker said just before, where it says nothing of its own.

    "jk", "…in The Sims", "That was my sister", "Is this correct?" have no subject of their own, or speak of words. What
    `answers` a question need not have one.
    """
    if len(text) > LONGEST:
        return None
    left = [each for each in split_sentences(text) if not _is_new(each, answers=answers)]
    if not left:
        return None
    return "doubt" if any(map(_may_take_back, left)) else "remark"


def _may_take_back(sentence: str) -> bool:
    """Return whether a sentence that says nothing of its own shows that the words before it may not count."""
    if ABOUT_TEXTS.search(sentence) or _WITHDRAWS.match(sentence):
        return True
    if is_question(sentence) or _TO_YOU.match(sentence):
        return POINTING_BACK.search(sentence) is not None  # "Did you believe that?", but not "Who would have thought?"
    return HAPPENED.match(sentence) is not None or any(
        pattern.search(sentence) for pattern in (_DENIES, _TAKES, _CUT_SHORT)
    )


def _is_new(sentence: str, *, answers: bool) -> bool:
    """Return whether a sentence says or asks something of its own, or is small talk."""
    if is_small_talk(sentence):
        return True
    if not has_content(sentence, ()) and not POINTING_BACK.search(sentence):
        return answers or _DENIES.search(sentence) is None
    if ABOUT_TEXTS.search(sentence) or POINTING_BACK.search(sentence) or _WITHDRAWS.match(sentence):
        return False
    if is_question(sentence):
        return is_complete_question(sentence) and ABOUT_WORDS.search(sentence) is None
    if is_statement(sentence):
        # "The sale fell through", "Then the alarm rang": what happens to anything else may happen to the change.
        own = _OWN.match(sentence) is not None and not is_undone(sentence)
        return own and not HAPPENED.match(sentence) and not _CUT_SHORT.search(sentence)
    return _ORDERS.match(sentence) is not None or (answers and _DENIES.search(sentence) is None)
