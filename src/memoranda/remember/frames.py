"""Whether the sentences around a change make it a text to work on, somebody else's words or a supposition. Pure.

"Shorten this. I moved to Ghent." and "I moved to Ghent. That's what Ben wrote." say nothing about the speaker. A
sentence does that by pointing at words ("this", "the next line"), by naming a kind of text, or by standing above the
others as a title does. Other requests ("Please update my address") leave a change as it is.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.clauses import ANNOUNCED, OPENING
from memoranda.remember.lexicon import LANGUAGE
from memoranda.text.cache import text_cache
from memoranda.text.sentences import Span, has_content, sentence_spans
from memoranda.text.terms import languages_of

_TEXT = (
    r"(?:words?|statements?|mistakes?|errors?|(?:ad)?verbs?|nouns?|adjectives?|commas?|syllables?|blanks?|sentences?|phrases?|clauses?|lines?|verses?|stanzas?|rhymes?|texts?|paragraphs?|passages?|message|e-?mail|letter"
    r"|diary|quot(?:e|es|ation)|proverb|motto|slogan|headline|caption|lyrics?|song|poem|haiku|limerick|sonnet|story|tale|fable|novel|novella"
    r"|chapter|script|screenplay|scene|dialog(?:ue)?|monologue|speech|essay|article|abstract|summary|draft|excerpt|extract|transcript"
    r"|transcription|dictation|translation|paraphrase|example|sample|template|exercises?|drill|homework|quiz|prompt|input|scenario"
    r"|hypothesis|hypothetical|thought experiment|premise|role|role-?play|character|persona|narrator|protagonist|hero|heroine|villain"
    r"|fiction|fantasy|fan-?fic\w*|improv|sketch|riddle|spelling|grammar|punctuation|tense|wording|writing|style|tone|syntax|vocabulary|pronunciation|synonyms?|antonyms?|emojis?|hashtags?|variants?|jokes?|punch ?line|typos?)"
)
_TIMES = (
    r"(?:(?:early |late |whole |past |coming )?(?:second|minute|hour|day|night|morning|afternoon|evening|noon|week|weekend|month|quarter"
    r"|year|decade|spring|summer|autumn|fall|winter|time|once|semester|term|season|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january"
    r"|february|march|april|may|june|july|august|september|october|november|december)s?)\b"
)
_SPEAKS = (
    r"(?:says?|said|reads?|wrote|writes|written|told|tells|texted|posted|tweeted|sang|sings|replied|answered|asked|goes|begins|starts"
    r"|shouted|whispered|mumbled|dictated|quoted|claims?|claimed|sent|typed)"
)
_POLITE: Final = re.compile(
    r"\W*(?:(?:please|kindly|now|just|then|also|next|and|so|hey|hi|(?:can|could|will|would) (?:you|someone)|i(?:['’]d like| want| need) you to"
    r"|help me(?: to)?|let['’]s|let us|let me|try to)\b[\s,]*)*",
    re.I,
)
# Points ahead at words that are yet to come.
_AHEAD: Final = re.compile(
    rf"\bthe following\b(?! {_TIMES})|\bas follows\b|\bwhat follows\b|\bnext (?:\w+ ){{0,2}}{_TEXT}\b|\brole-? ?play"
    r"|\b(?:what|whatever|everything|anything|all) i(?:['’]ll| will|['’]m (?:going|about) to)? (?:say|write|type|send|paste|tell)\b"
    rf"|\b(?:i['’]ll|i will|i['’]m (?:going to|about to)|let me) (?:now )?(?:send|paste|give|show|share|read|type|write|dictate|quote|recite)\b[^.!?]*\b{_TEXT}\b"
    r"|^\W*(?:now,? |please,? |so,? |ok(?:ay)?,? )*(?:let['’]s |let us )?(?:imagine|pretend|suppose|assume|picture|hypothesi[sz]e|act as|act out)\b"
    r"|^\W*(?:now,? |so,? |ok(?:ay)?,? )*let['’]s (?:say|play)\b|\byou(?:['’]re| are) (?:an?|the|my) [\w ]+(?: and|,) i(?:['’]m| am) (?:an?|the|your)\b",
    re.I,
)
# Points at words, before or after it, and says whose or what they are.
_ABOUT_WORDS: Final = re.compile(
    rf"\b(?:this|that|these|those|it|here|there)(?:['’]s|\s(?:is|are|was|were|comes|goes|follows))\b[^.!?]*\b{_TEXT}\b"
    rf"|\b(?:this|that|these|it)(?:['’]s| is| are| was| were) (?:exactly |literally |basically )?(?:what|how) (?!i\b|we\b)[^.!?]*\b{_SPEAKS}\b"
    r"|^\W*(?:this|that|these|it)(?:['’]s| is| are| was| were) (?:taken |copied |quoted |translated )?(?:from|by) "
    r"|^\W*(?:this|that|these|it)(?:['’]s| is| are) for (?:my|an?|the) "
    rf"|^(?!\W*(?:i|we)\b)[^.!?]*\b(?<!\bi )(?<!\bwe ){_SPEAKS}\b(?: (?:to )?(?:me|us|him|her|them|this|that|so|it)| in (?:his|her|their) [\w -]+)?\W*$"
    rf"|\b{_TEXT} (?:above|below|before|after)\b|\b(?:above|below)\W*$|\b(?:end|close) (?:of )?quote\b|\bunquote\b"
    rf"|^\W*(?:i['’]m|i am|we['’]re|we are) (?:writing|translating|editing|drafting|rehearsing|quoting|reciting|practi[sc]ing|reading|typing|copying)\b[^.!?]*\b(?:{_TEXT}\b|{LANGUAGE})"
    rf"|^\W*{_TEXT} (?:wanted|needed|requested|please)\b"
    r"|^\W*(?:consider|think of|take) (?:this|that|these|a|an|the)\b|^\W*hypothetical",
    re.I,
)
# Asks for the same in another voice, style or language, or says that somebody else speaks.
_IN_ANOTHER_VOICE: Final = re.compile(
    r"^\W*(?:repeat|answer|respond|reply|speak|talk|write|act|react|behave|sound) (?:after|as|like|more|less)\b|\bas if (?:you|i|we)\b"
    rf"|^\W*(?:(?:please|now|then|and|or|same|again|this|that|the same|once more|but)\b[\s,]*)*(?:in|into|to|auf|ins|en|em|na|po|op|på) (?:\w+ )?{LANGUAGE}[\s,]*(?:please|bitte|por favor|per favore|s['’]il (?:te|vous) pla[iî]t)?\W*$"
    rf"|\bmy {LANGUAGE}(?! (?:course|class|teacher|lesson|passport|exam|friend))[^.!]*\?$"
    r"|\b(?:true or false|right or wrong|fact or fiction)\b|^\W*(?:says|said|writes|wrote|sings) \w+\W*$"
    r"|^\W*(?:i['’]m|i am) (?:just |only )?(?:quoting|reciting|citing|paraphrasing)\b|^\W*(?:that|this)(?:['’]s| is| was) (?:not me|[\w ]+) (?:speaking|talking|writing)\W*$"
    r"|^\W*(?-i:You are|You['’]re) (?:now )?(?-i:[A-Z]\w+)\W*$"
    r"|^\W*(?!(?:i|we|my|our|it|he|she|they)\b)(?:(?!\b(?:is|are|was|were|has|have)\b|['’]s\b)[^.!?])*\b(?:shorter|longer|simpler|friendlier|politer|more (?:formal|polite|casual|natural)|(?:in)?formal|rhyming)[\s,]*(?:please)?\W*$",
    re.I,
)
_OWNED_TEXT: Final = re.compile(
    rf"\W*(?:(?:my|our|his|her|their|an?|the|some|just|only|not|\w+['’]s)\s+)+(?:[\w-]+ ){{0,2}}{_TEXT}\W*$", re.I
)
_HERE: Final = re.compile(
    r"\W*here(?:['’]s| is| are| comes?) (?:an?|the|my|our|his|her|their|one|some|two|three|what)\b", re.I
)
_THIS: Final = re.compile(rf"\b(?:this|these)\b(?! {_TIMES})", re.I)
# "That" as the thing itself, not as in "a school that takes dogs" or "check that I paid".
_THAT: Final = re.compile(
    r"\b(?:that|those)(?=\s*(?:[.,!?;:]|$)|\s(?:in|into|to|for|as|with|from|on|by|at|like|aloud|out|up|more|less|again|back|please|sound|sounds"
    r"|mean|means|better|shorter|longer|simpler|correct|correctly|right|past|present|or|and)\b)"
    r"|^\W*(?:is|was|are|were|does|did|do|would|could|should|can|what['’]s|what is) (?:that|those)\b",
    re.I,
)
_IT: Final = re.compile(r"\bit\b", re.I)
_ITS_WORDING: Final = re.compile(
    r"\b(?:say|said|put|phrase|phrased|word|spell|write|pronounce|express|translate) (?:it|this|that)\b", re.I
)
# "What do I need for that?" is about what happened.
_FOR_ONESELF: Final = re.compile(r"\b(?:do|should|can|must|could|will|would|did|have) (?:i|we)\b", re.I)
_NAMED_TEXT: Final = re.compile(
    rf"\b(?:the|this|that|these|those|my|your|its|each|every|which|what|any) (?:[\w'’-]+ ){{0,2}}?{_TEXT}\b", re.I
)
# What is asked of a memory: it works on what the words say, not on the words.
_KEEP: Final = re.compile(
    r"(?:don['’]?t forget|remember|remind|note|memori[sz]e|save|store|keep|record|log|update|register|know|bear|tell (?!me\b)[\w ]+ about|let (?!me\b)|thank|thanks|take note"
    r"|congratulate|forget|delete|cancel|book|order|call|buy)\b|write (?:this|that|it) down\b",
    re.I,
)
_RECORDS: Final = re.compile(
    r"\b(?:my|your|our|the) (?:[\w'’-]+ ){0,2}(?:profile|memory|notes?|records?|files?|data|contacts?|calendar|list|address|details|account"
    r"|database|settings|information|info)\b",
    re.I,
)
_STATES: Final = re.compile(
    r"\W*(?:i|we|he|she|it|they|you|my|our|his|her|their|your|the|an?|this|that|these|those|there|here|everyone|everybody|nobody|no one"
    r"|someone|people|all|both|some|many|most|not|no|yes)(?:['’]\w+)?\b",
    re.I,
)
_EDITS: Final = re.compile(
    r"\W*(?:translat|re-?(?:write|phrase|word)|paraphras|proof-?read|spell-?check|summari[sz]|shorten|lengthen|transcri|punctuat|pars|classif"
    r"|edit|polish|condens|simplif|formali[sz]|capitali[sz]|conjugat|analy[sz]|correct|improve|continu|complet|repeat|quot|dictat)\w*\b"
    r"(?:[\s,]+(?:please|to|into|in|again|for me|me|us|thanks|(?-i:[A-Z]\w+)))*\W*$",
    re.I,
)
# What a request without a subject of its own asks to be done with words: "Fix my Italian", "Check for mistakes".
_OF_WORDS: Final = re.compile(rf"\b{LANGUAGE}|(?<!\ba )(?<!\ban )\b{_TEXT}\b", re.I)
# An order that names nothing of the speaker's may be about their words: "Guess the emotion", "Convert to third person".
_ORDER: Final = re.compile(
    r"\w+ (?:the|an?|some|to|into|all|each|every|any|out|with|for)\b(?!.*\b(?:i|me|my|mine|we|us|our)\b)", re.I
)
_HAS_VERB: Final = re.compile(r"\w\W+(?:\w+\W+)*?(?:is|are|was|were|has|have|had|will|can)\b|\w['’](?:s|re)\s", re.I)
# Words by which a few words are a sentence of their own, or tell that the speaker's own news follow.
_SENTENCE: Final = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|you|your|he|him|his|she|her|it|they|them|their|am|is|are|was|were|be|been|has|have|had|do|does|did|will"
    r"|would|can|could|should|may|might|must|let|came|went|got|took|made|saw|gave|left|felt|ran|began|met|lost|won|broke|fell|found"
    r"|bought|sold|quit|\w+['’](?:s|m|re|ve|ll|d|t)|\w{3,}ed|update[sd]?|news|announcement|changes?|facts?|correction|info|information|status|fyi"
    r"|reminder|background|decision|confession|says|notes?|memo|minutes)\b|^\W*\w+ (?:an?|the|some|to|for|up|off)\b|^\s*[-*•]",
    re.I,
)
_TITLE: Final = 6
"""How many words a title has at most."""
_SHORT_QUESTION: Final = 2
_FOREIGN_WORDS: Final = 3
_LONGEST: Final = 300
"""How many characters of a sentence are read: some patterns take the square of its length."""
_OWN_WORDS: Final = re.compile(r"[:\"“«„\n]\s*\S")


@text_cache(64)  # each claim of a text asks
def _presenting(text: str) -> tuple[Span, ...]:
    """Return the sentences that make what stands beside them a text, or what comes after them."""
    spans = sentence_spans(text)
    return tuple(
        span for span in spans if _presents(words := text[slice(*span)]) or _is_title(words, is_last=span == spans[-1])
    )


def is_presented(text: str, span: Span) -> bool:
    """Return whether another sentence of a text makes what is said at a place no words of the speaker's own."""
    return any(not (first <= span[0] < end) for first, end in _presenting(text))


def announces_text(message: str) -> bool:
    """Return whether a message only says what the next one is: "Translate my next message", "Shorten this, please"."""
    if len(message) > _LONGEST or _OWN_WORDS.search(
        message.replace("role play:", "role play").replace("role-play:", "role-play")
    ):
        return False
    sentences = [message[slice(*span)] for span in sentence_spans(message)]
    if any(_AHEAD.search(sentence) and _presents(sentence) for sentence in sentences):
        return True
    told = [sentence for sentence in sentences if has_content(sentence, ())]
    return bool(told) and all(_presents(each) and (_THIS.search(each) or _HERE.match(each)) for each in told)


def _presents(sentence: str) -> bool:
    """Return whether a sentence says that the others are a text, a quotation or a supposition."""
    sentence = sentence[:_LONGEST]
    if len(sentence.split()) >= _FOREIGN_WORDS and languages_of(sentence):
        return True  # what stands beside it is read in English only
    polite = _POLITE.match(sentence)
    rest = sentence[polite.end() :] if polite else sentence
    if _KEEP.match(rest) and not _NAMED_TEXT.search(rest):
        return False
    if _AHEAD.search(sentence) or _ABOUT_WORDS.search(sentence) or _IN_ANOTHER_VOICE.search(sentence):
        return True
    if _HERE.match(sentence):
        return not re.search(r"\b(?:update|news|changes?|facts?|info|plan|thing)\b", sentence, re.I)
    if _EDITS.match(rest):
        return True
    asks = sentence.rstrip(" \t\"'”’)").endswith("?")
    if _RECORDS.search(rest) or (_STATES.match(rest) and not asks):
        return False
    if asks and _FOR_ONESELF.search(rest) and not _ITS_WORDING.search(rest):
        return False
    orders = not asks or rest != sentence
    first = len(rest.split(" ", 1)[0])
    if orders and not _HAS_VERB.match(rest) and (_OF_WORDS.search(rest, first) or _ORDER.match(rest)):
        return True
    short = len(rest.split()) <= _SHORT_QUESTION and not _SENTENCE.search(rest)  # "Better?", "Sound natural?"
    if asks and (short or re.search(rf"\b{_TEXT}\b", rest, re.I)):
        return True
    pointing = (_THIS, _THAT, _ITS_WORDING, _NAMED_TEXT, *((_IT,) if orders else ()))
    return any(pattern.search(rest) for pattern in pointing)


def _is_title(words: str, *, is_last: bool) -> bool:
    """Return whether a few words without a verb stand above or below a text: "Opening line.", "Quote of the day"."""
    if len(words) > _LONGEST or words.endswith(("!", "?", ",", "…", "..")) or len(words.split()) > _TITLE:
        return False
    if _OWNED_TEXT.match(words):
        return True
    if _SENTENCE.search(words):
        return False
    if _KEEP.match(words):
        return False
    if re.search(rf"\b{_TEXT}\b|^(?:e\.g|i\.e)\b", words, re.I):
        return True
    if is_last or OPENING.match(words) or ANNOUNCED.fullmatch(words.rstrip(" .")):
        return False
    return re.search(_TIMES, words, re.I) is None and has_content(words, ())
