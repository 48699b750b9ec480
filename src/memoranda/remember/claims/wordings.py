"""The words with which somebody makes a text of what they said: "in French please", "from a movie". Pure.

Such a sentence asks for a job on the words before it, asks about them, or says where they are from. It names nothing of
its own: "tell me a joke" and "translate 'landlord'" are about something else.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.claims.withdrawals import LEAD, words_in
from memoranda.remember.reading.statements import is_statement
from memoranda.text.cache import text_cache
from memoranda.text.terms import query_terms

_JOB_WORDS = """
    translate translated translation proofread proofreading rephrase rephrased paraphrase reword rewrite rewritten shorten lengthen spellcheck spell
    spelled spelt spelling correct corrected correction grammar grammatical grammatically punctuation punctuate typos typo mistakes errors comma
    commas tense tenses simple continuous progressive perfect passive participle verb verbs noun adjective adverb conjugate conjugated polish edit
    improve summarise summarize summary pronounce pronunciation transcribe wording phrasing idiomatic fluent fluently sentence sentences phrase phrases
    quote unquote quotes recite caption rhyme rhymes capitalise capitalize synonym synonyms emojis affirmative negative indirect reported direct clause
    accent tone style formal informal politer shorter longer bullet bullets exercise worksheet homework practice practise practicing practising drill dictation
    sample example examples formally politely casually repeat plural singular syntax
"""
_FICTION_WORDS = """
    game movie film song book novel story play script scene character role dream dreams imagination fantasy backstory plot twist lyric lyrics poem verse
    roleplay rp larp cosplay fanfic fanfiction improv theatre theater stage sitcom series episode show drama monologue dialogue dialog minecraft
    sims stardew roblox skyrim gta fortnite pokemon zelda title chapter memoir diary letter postcard email text script ad advert tweet meme headline
    film movie pal avatar persona hero heroine villain saga comic manga anime musical opera ballad haiku tale fable skit npc
"""
_EMPTY = """
    i me my we us our you your he she it its that this these those them the a an what which who how where is are was were be been am did do does can
    could would will should have has had not no yes ok okay please pls plz thanks thx in into to of for from with as by on or and but so now same again
    also back at least only just all mean meant said say saying write written wrote make put turn use fix check give read name guess count rate grade
    add mark sound sounds sounded better best native speaker way more less bit little right good proper natural clear any some one first second third last
    next line lines word words number many out end ending start called there here then lol haha oh well ok tag too like english class school lesson
    course need want exact sample turn question statement not form version voice past present future using used s t m re d his her their own quick quickly actually really
    everything myself thats into whose about through 10 ten five points point style
"""
_LANGUAGES_BY_NAME = """
    french german spanish italian portuguese dutch welsh irish polish russian ukrainian swedish norwegian danish finnish greek turkish arabic hebrew
    hindi urdu chinese mandarin cantonese japanese korean thai vietnamese latin czech hungarian romanian catalan basque esperanto
"""
_LANGUAGES: Final = frozenset(_LANGUAGES_BY_NAME.split())
_JOBS: Final = frozenset(_JOB_WORDS.split()) | _LANGUAGES
_FICTION: Final = frozenset(_FICTION_WORDS.split())
_FILLERS: Final = frozenset(_EMPTY.split())
_POINTS: Final = re.compile(
    r"\b(?:it|that|this|these|those|them)\b|^\W*(?:(?:is|was|from|in|as|for|end|only|at least|just|a|the)\b|and\W)",
    re.I,
)
# A new text that somebody asks for: "write a haiku about it", "another quote please", "give me a synonym".
_NEW_TEXT: Final = re.compile(
    r"\b(?:write|give|make|tell|sing|send|show|find|need|want|read|recommend|suggest|play)\b (?:me |us )?(?:up )?(?:an?|another|one|some|any|more|the)\b"
    r"|^\W*(?:an?|another|one more|some)\b.{0,40}\b(?:please|pls)\b|\bof the (?:day|week)\b",
    re.I,
)
_I_READ: Final = re.compile(
    rf"{LEAD}(?:i (?:am|was|have been) )?(?:just |only |merely )*(?:quoting|practi[sc]ing|translating|rehearsing|reciting|dictating|typing out|copying|pasting|role ?playing|pretending|acting|imagining|dreaming)\b",
    re.I,
)
_TEXT = (
    r"(?:sentences?|lines?|phrases?|quotes?|quotation|lyrics?|example|exercise|captions?|script|dialogue|dialog|dream|scene|novel|story|song|poem|movie|film|book|game|play"
    r"|letter|postcard|diary|e-?mail|text|tweet|headline|textbook|flashcards?|blog|article|post|website|magazine|textbook|avatar|persona|character|alter ego|homework|worksheet|essay|chapter|role ?play|advert?|commercial|series|show|role)"
)
_PART = r"(?:sentences?|lines?|phrases?|quotes?|part|scene|example|exercise|bit|words?|lyrics?|excerpt|passage)"
_FROM_TEXT: Final = re.compile(
    rf"{LEAD}(?:(?:it|that|this|they|those|these)(?:['’]?s| is| was| are| were| comes| came)? )?"
    rf"(?:(?:just|only|all|actually|really|straight|taken|something|part|out|what|how|not real|(?:an?|the|my) (?:[\w-]+ ){{0,2}}?{_PART}|{_PART}) ){{0,3}}"
    rf"(?:from|for|in|of|how) (?:an? |the |my |our |his |her |this |that |some )?(?:[\w'’-]+ ){{0,3}}?{_TEXT}\b[^.!?]{{0,40}}\W*$",
    re.I,
)
_IS_TEXT: Final = re.compile(
    rf"{LEAD}(?:it|that|this)(?:['’]?s| is| was)(?: just| only| all)*(?: an?| the| one of the| my| his| her)(?: [\w-]+)? {_PART}\b(?! of (?:an?|the) (?:day|week|year|film|job|place))",
    re.I,
)
_ASKED: Final = re.compile(
    rf"{LEAD}(?:"
    r"(?:did|do|have|can) i (?:just )?(?:say|said|put|write|written|spell|phrase|pronounce|use)\b.{0,40}|how (?:does|did|do) (?:that|it|this|i) (?:sound|read)\b.{0,30}"
    r"|would (?:an?|any|the) (?:native|english|british|american)\b.{0,50}|(?:does|did|do) (?:that|it|this) (?:sound|read|make|look)\b.{0,40}"
    r"|(?:is|was) (?:that|this|it) (?:\w+ )?(?:right|correct|grammatical|proper|natural|understandable|clear|idiomatic|accurate)(?: (?:english|now|like (?:that|this)|grammatically|or not))?"
    r"|(?:any|are there|see any|spot any|find any)? ?(?:any )?(?:mistakes|errors|typos|corrections)|correct|how (?:would|do|can|could|should) (?:you|i|we|one|a native(?: speaker)?) (?:say|write|put|phrase|spell|translate|pronounce|improve|reword)\b.{0,40}"
    r"|what (?:should|can|do|shall|would) (?:i|you|we) (?:answer|reply|respond|say|write)(?: back)?(?: to)? ?(?:him|her|them|there)?|how should i (?:answer|reply|respond)\b.{0,30}"
    rf"|(?:name|guess) (?:that|the|this) {_TEXT}|what(?:['’]s| is) (?:that|this|it) from|(?:what|which) {_TEXT} is (?:that|this|it)(?: from)?|(?:what|which) \w+ is (?:that|this|it) from|what \w+ did i (?:use|make))\W*\?*\W*$",
    re.I,
)
_LANGUAGE: Final = rf"(?:{'|'.join(sorted(_LANGUAGES))}|english)"
_WORDED: Final = re.compile(
    rf"{LEAD}(?:"
    rf"(?:now |and |same |the same |but |again |then |say (?:it|that) |put (?:it|that) |try )*(?:in|into|to) (?:\w+ )?{_LANGUAGE}|(?:and |now |same )?{_LANGUAGE}(?= ?(?:please|pls|version|translation|\?))(?: (?:version|translation))?"
    r"|(?:make|turn|write|put|say|phrase) (?:it|that|this|them)(?: sound)?(?: a (?:bit|little|lot))? (?:more \w+|less \w+|(?!later|earlier|other|over)\w+er|rhyme|polite|formal|informal|casual|friendly|nice|funny|short|simple|fluent|natural|plural|passive|past tense|again|into an? (?:question|statement|poem|song|list))"
    r"|(?:a (?:bit|little|lot) )?(?:more|less) (?:formal|informal|polite|casual|friendly|concise|natural|fluent|simple|detailed|serious|dramatic)(?:ly)?"
    r"|(?:a (?:bit|little) )?(?:shorter|longer|simpler|politer|friendlier|funnier)|(?:reply|respond) (?:to (?:it|that|this|him|her|them)|for me)(?: for me)?(?: \w+ly)?|answer (?:him|her|them|it|that)(?: for me)?(?: \w+ly)?"
    r"|(?:read|say|repeat|spell) (?:it|that|this) (?:back|out|aloud|again|slowly)(?: (?:to me|loud))?|in (?:one|three|two|five|\d+|your own|fewer|simple|other) words?"
    r"|(?:what|which) (?:tense|person|form|case|mood)\b.{0,30}|end (?:of )?(?:quote|dream|scene|story|joke|sarcasm)|(?:rate|grade|mark|score|count|check|fix) (?:my|the|this|that|it)\b(?: (?:english|grammar|spelling|sentence|words|text|wording|mistakes|typos|letters|tense|it|out|of|\d+))*"
    r"|(?:and )?then (?:i|we) woke up|(?:and )?then (?:my|the) alarm (?:clock )?(?:rang|went off))"
    r"(?:\W+(?:please|pls|plz|thanks|thx|for me|now|instead|too|again|version))*\W*$",
    re.I,
)


@text_cache(256)
def is_about_words(sentence: str, before: str = "") -> bool:
    """Return whether a sentence is about the words before it as a text: a job on them, a question, where they are from."""
    if _I_READ.match(sentence) or _WORDED.match(sentence):
        return True
    if _NEW_TEXT.search(sentence) or _quotes_other(sentence, before):
        return False
    if _ASKED.match(sentence) or _FROM_TEXT.match(sentence) or _IS_TEXT.match(sentence):
        return True
    if _offers_words(sentence, before):
        return True
    words = words_in(sentence)
    own = is_statement(sentence) and words[:1] in (["i"], ["we"], ["my"], ["our"])
    if own or not words or not _FILLERS.union(_JOBS, _FICTION).issuperset(words):
        return False
    return not _JOBS.isdisjoint(words) or (not _FICTION.isdisjoint(words) and _POINTS.search(sentence) is not None)


_QUOTED: Final = re.compile(r"(?<!\w)[\"“«„'‘](?P<words>[^\"”»“'’]{2,60})[\"”»“'’]")


def _quotes_other(sentence: str, before: str) -> bool:
    """Return whether a sentence quotes words that were not said before it: "translate 'good morning'"."""
    found = _QUOTED.search(sentence)
    return found is not None and set(query_terms(found["words"])).isdisjoint(query_terms(before))


_CHOICE: Final = re.compile(r"\W*(?:is|was|should) (?:it|that|i) (?P<words>[^?]{2,60} or [^?]{2,60})\?", re.I)


def _offers_words(sentence: str, before: str) -> bool:
    """Return whether a question offers the words before in another form: "is it moved or have moved?"."""
    found = _CHOICE.match(sentence)
    return found is not None and not set(query_terms(found["words"])).isdisjoint(query_terms(before))
