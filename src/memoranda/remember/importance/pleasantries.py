"""Recognises pleasantries: greetings, thanks, praise, agreement and good wishes, each as a whole formula. Pure.

"I can't see well", "He is my best friend" and "She said yes!" are made of the words that pleasantries are made of. So no
words are counted: a sentence is a pleasantry only if all of it is one formula after another. Whatever has a negation,
somebody else, or something that the speaker does, can or wants beside the formulas below is a statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Final

from memoranda.text.sentences import EMPTY_WORDS, is_name_of, split_sentences

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ADDRESSED: Final = "@"
"""Stands for the name of somebody who takes part in the conversation."""
_SO = r"(?:(?:so|really|very|truly|too|just|always|all|pretty|quite|super|absolutely|definitely|totally|still|also|even|much|such|an?|the|some|something|my dear) )*"
_FINE = (
    r"(?:good|great|awesome|amazing|cool|nice|lovely|fantastic|wonderful|excellent|perfect|brilliant|terrific|super|neat|sweet|beautiful|gorgeous"
    r"|adorable|cute|incredible|impressive|inspiring|interesting|exciting|fun|funny|best|helpful|supportive|special|true|right|correct|worth it"
    r"|appreciated|motivating|encouraging|alright|fine|okay|ok)"
)
# What may follow a formula: no negation, and nobody but the listener and "me".
_REST = (
    r"(?: (?!(?:i|we|my|our|he|she|they|him|her|them|his|their|not|no|never|nobody|nothing|none|cannot|without|but|because)\b"
    r"|i'|we'|he'|she'|they'|\w+n't\b|(?:dont|cant|wont|didnt|doesnt|isnt|wasnt|arent|havent)\b)[\w'@]+)*"
)
_GLAD = r"(?:glad|happy|excited|thrilled|proud|sorry|grateful|thankful|curious|sure|inspired|motivated|lucky)"
_FEEL = r"(?:i'm|im|i am|i was|i feel|we're|we are) "
_FORMULA: Final = re.compile(
    # Interjections, greetings, agreement.
    r"(?:@|hi|hello|hey|heya|hiya|yo|howdy|greetings|(?:good )?(?:morning|afternoon|evening|night)|welcome|bye|goodbye|cya|farewell|laters?|cheers"
    r"|wow|who?ah?|woah|o+h|a+h+|a+w+|y+ay|woohoo|hooray|h?mm+|hm+|mhm|uh|um|er|(?:ha){2,}h?|lol|lmao|rofl|omg|oh my|k+|ok|okay|okey|alright"
    r"|y+e+s+|yeah|yep|yup|yea|yah|sure|sure thing|no|nope|nah|right|exactly|indeed|absolutely|definitely|totally|certainly|of course|agreed|true"
    r"|correct|acknowledged|understood|noted|roger|got it|gotcha|got you|anytime|always|maybe|probably|honestly|actually|anyways?|and|so|well|now|then"
    r"|really|please|again|too|also|there|everyone|all|guys|dude|man|bro|buddy|girl|(?:my )?friends?|you too|me too|same here|so do i|same to you"
    r"|done|ready|next|continue|proceed|go ahead|go on|soon|ever|you know|i mean|though|been a while|for now"
    r"|not (?:any ?more|yet|really|sure|always|now|you)|never|sometimes|both|neither|none|nothing|once|twice|often|rarely|everything"
    r"|no (?:problem|worries|way|worry)|not at all|my pleasure|long time no see|(?:i )?can(?:'?t|not) wait(?: too)?|don't worry(?: about (?:it|that))?"
    # Thanks and good wishes.
    rf"|(?:many |so many )?(?:thanks|thank you|thx|ty|sorry|pardon|congrats|congratulations|kudos|bravo|good on|way to go|best of luck){_REST}"
    rf"|(?:i )?(?:really |truly |also |just )*(?:appreciate|hope) (?:it|that|this|you|your|everything|so){_REST}"
    rf"|(?:(?:it|that|this|you|your \w+|your \w+ \w+)(?: (?:really|all|just|always))* )?(?:means?|meant) (?:a lot|so much|everything|much)(?: to (?:me|us|hear))?"
    rf"|you(?:'re|'ve|'ll|'d|r| all)?{_REST}|yourself"
    rf"|(?:please |always |do )*(?:keep|take|have(?! (?:to|had|been)\b)(?= )|enjoy|stay|believe|look|go|come|continue|proceed|catch|talk|chat|speak|see|hear|be|tell me|let me know|let's|let us|say|try){_REST}"
    # Praise.
    rf"|(?:it|that|this|everything|things?|these|those|life)(?:'s|'re|s| is| are| was| were| sounds?| looks?| seems?| feels?| must (?:be|feel|have been)|'ll be| will be| has been|'s been| makes)"
    rf"(?: (?:been|gonna be|going to be|to be|like))* {_SO}{_FINE}{_REST}"
    rf"|(?:what|how|sounds?|looks?|seems?|feels?|been)?(?: like)?(?: to be)? ?{_SO}{_FINE}{_REST}|(?:sounds?|looks?|seems?) like you{_REST}"
    rf"|(?:the|that|this|your) \w+(?:'s| is| are| was| were) {_SO}{_FINE}{_REST}|everyone is {_SO}{_FINE}|that's (?:the spirit|it|the way)|what an? (?:day|idea|time|way)"
    # What the speaker feels about the listener's words, and promises to the listener.
    # "I am happy" says how somebody is.
    rf"|{_SO}{_GLAD}(?: too)?|{_FEEL}{_SO}(?:sorry|sure|{_GLAD} too)|(?:{_FEEL})?{_SO}{_GLAD}(?: too)?"
    rf"(?: (?:(?:for|of|about|to (?:hear|see|know|help|have|be|talk|chat|support)|that|when|if|by) )?(?:you|your|it|that|this|everything|everyone|there|here|part|all|us)\b{_REST}| to (?:help|hear|know|chat|talk))"
    r"|glad (?:i|we) could help|(?:i'm |i am )?(?:good|fine|great|ok|okay|alright)(?: thanks?)?"
    rf"|(?:i |we )?(?:really |do |totally |can |also |just )*(?:see(?: (?:that|it|why|what you mean))?|know(?: right)?|agree|understand|understood|hear you|think so|guess(?: so)?|get it|get that|like (?:it|that|this)|love (?:it|that|this|how you{_REST})|mean it|bet|believe in you{_REST})"
    r"|gotta go|glad"
    rf"|(?:(?:i'll|ill|i will|i'm gonna|i'm going to) (?:definitely |always |make sure to |be sure to |sure |just )*)?(?:do my best|keep (?:you|ya)|let you know|see (?:you|ya)|talk (?:to you|soon|later)|catch (?:you|ya|up)|be there for you|be here){_REST}"
    rf"|(?:i'm|i am|we're) (?:always |still |here )*(?:here|there|rooting) (?:for|to (?:help|support)|if) you{_REST}|rooting for you{_REST}"
    rf"|(?:i )?can(?:'?t|not) wait to (?:hear|see|catch|talk|chat|try|know|be){_REST}"
    r")"
)
_LAST: Final = re.compile(r"(?:i (?:do|did|will|am|was|can)|we (?:do|did|will|are))")
"""Agreement, where nothing but a name follows it."""
_QUESTION: Final = re.compile(
    r"(?:and |so |but |or )*(?:how|how's|hows|how ya|what|what's|whats|where|when|why|who|which|did|do|does|is|are|was|were|have|has|can|could"
    rf"|will|would|any|anything|something|everything|been){_REST}"
)
"""A question about the listener, or about what they spoke of: it states nothing."""
_ANSWERS_WORDS = """
    yes yeah yep yup no nope nah never always both neither none sometimes once twice nothing not do don't did
    didn't am was will won't have haven't can can't same all any most often rarely everything mine ours over
    better worse still
"""
_ANSWERS: Final = frozenset(_ANSWERS_WORDS.split())
_POLITE_WORDS = (
    "thanks thank thx hi hello hey bye goodbye sorry welcome haha hahaha lol omg wow you your problem worries"
)
_POLITE: Final = frozenset(_POLITE_WORDS.split())
_SHORT: Final = 4
_LONGEST: Final = 300
_SIGNED: Final = re.compile(r"\w[+−%°#-](?!\w)")
"""A grade, a blood group, a temperature: "A+"."""
_EMOJI_OBJECT: Final = re.compile(
    r"\b(?:i|we|he|she|they|my|our)\b(?:\s+[\w'’]+){1,4}\s*"
    r"[\U0001F32D-\U0001F37F\U0001F3A0-\U0001F3FA\U0001F400-\U0001F43F\U0001F680-\U0001F6C5\U0001F950-\U0001F96F\U0001F980-\U0001F9CB]"
    r"|\b(?:i|we|he|she|they)(?:['’]m|['’]s|\s+\w+)?\s+(?:feel|feels|felt|feeling)\s*[\U0001F300-\U0001FAFF]",
    re.I,
)


def is_pleasantry(text: str, names: Collection[str] = ()) -> bool:
    """Return whether every sentence is made of formulas alone; `names` are those of the people who talk."""
    return len(text) <= _LONGEST and all(_is_formula(sentence, names) for sentence in split_sentences(text))


def _is_formula(sentence: str, names: Collection[str]) -> bool:
    words = [_ADDRESSED if _is_name(word, names) else word for word in _words(sentence)]
    if not EMPTY_WORDS.issuperset(word.removesuffix("'s") for word in words if word != _ADDRESSED):
        return False
    return not words or _is_all_formulas(words, asked=sentence.rstrip("\"'”’) ").endswith("?"))


def _is_all_formulas(words: Sequence[str], *, asked: bool) -> bool:
    """Return whether the words are one formula after another.

    A sentence can be cut into formulas in 2ⁿ ways, so each end that a formula can have is looked for once.
    """
    text = " ".join(words)
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    last = len(text) + 1
    reached = {0}
    for start in starts:
        if start not in reached:
            continue
        if start == last or (asked and _QUESTION.fullmatch(text, start)):
            return True
        for after in starts:
            if after > start and (
                _FORMULA.fullmatch(text, start, after - 1)
                or ((after == last or text[after] == _ADDRESSED) and _LAST.fullmatch(text, start, after - 1))
            ):
                reached.add(after)
    return False


def _is_name(word: str, names: Collection[str]) -> bool:
    return word in names or (word not in EMPTY_WORDS and is_name_of(word, names))


def is_bare_answer(text: str) -> bool:
    """Return whether a short text says yes, no, how often or how much, which means something after a question."""
    words = _words(text)
    if not 0 < len(words) <= _SHORT or not _POLITE.isdisjoint(words):
        return False
    return not _ANSWERS.isdisjoint(words) or _SIGNED.search(text) is not None


def names_by_emoji(text: str) -> bool:
    """Return whether a picture stands for a word: "I like 🍕", but not "I agree 👍"."""
    return _EMOJI_OBJECT.search(text) is not None


def is_noise(word: str) -> bool:
    """Return whether a word is a single letter, or letters again and again: "VVVXV", "aaaah"."""
    return len(word) == 1 or (len(word) > 2 and len(set(word.casefold())) <= 2)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))
