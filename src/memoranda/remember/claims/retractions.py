"""Sentences that retract what was said: "jk", "scrap the Cardiff thing", "it was my sister", "in French please". Pure.

A sentence retracts something when it consists only of such words, or applies them to what it names. With any other word
("cancel my gym membership", "no regrets") it is about something else. So is a request that does not refer to the words
before it: "tell me a joke", "translate 'landlord'".
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.reading.lexicon import PEOPLE, PETS, POSSESSIVES
from memoranda.remember.reading.statements import is_question, is_statement
from memoranda.text.cache import text_cache
from memoranda.text.places import is_place
from memoranda.text.terms import query_terms

# References to the speaker's own words: "that", "what I just said", "my last message".
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
WITHDRAWAL: Final = re.compile(
    rf"{_ORDERED}(?P<order>{_DISCARD} {_SAID}{_CLAUSE_END}|forget (?:that )?i (?:ever )?(?:said|told you|mentioned|wrote)\b)"
    rf"|\b(?:that|this|what i (?:just )?said) was (?:just |only |all )?{_FALSE}"
    r"|\b(?:that|this|what i (?:just )?said)(?:['’]s| is| was|) ?(?:not|isn['’]t|wasn['’]t) true"
    rf"|\b(?:none|nothing) of {_SAID} (?:is|was) true|^\W{{0,9}}(?:(?:sorry|no|ok|okay)\b\W{{0,5}})?not true\b"
    r"|\bi (?:was|am) (?:just |only )*(?:joking|kidding|lying|testing you|messing with you|pulling your leg)|\b(?:just|only) (?:kidding|joking)"
    r"|\bi take (?:that|it|this) back(?! about)|\bi made (?:that|it|this) up"
    # The message was for somebody else, or by somebody else.
    rf"|(?P<elsewhere>(?:^|[.!?,;:–—-]|\b(?:sorry|oops|ups|whoops|ah|oh|no|that was|(?:sent|typed|posted|wrote) (?:\w+ )?(?:in|to) the)\b)\W{{0,5}}wrong {_ELSEWHERE}\b"
    rf"|\b{_SAID} (?:was(?:n['’]t| not)|is(?:n['’]t| not)) (?:meant |intended )?for you\b"
    rf"|\b{_SAID} (?:was|is) (?:meant|intended|supposed to (?:be|go)) (?:for|to) {_ANOTHER}\b"
    rf"|\b{_SAID} (?:was|is) (?:from |by )?(?:my|our) [\w-]+(?: (?:typing|writing|texting)|,? (?:\w+ )?{_AT_KEYS})"
    r"|\b(?:my|our) [\w-]+ (?:was typing|typed (?:that|this|it)|(?:wrote|sent) that(?: message)?)\b)"
    r"|(?:[.!?]\s{1,3}|^\W{0,3})(?P<joke>(?:kidding|joking|april fools?['’]?s?(?: day)?)(?=\s*(?:[.,!–-]|$)))"
    # "Never mind, I'm staying": it continues with the present state.
    r"|(?P<goes_on>\b(?:never ?mind|false alarm|on second thoughts?|actually,? no)\b[\s,.!–-]*"
    r"(?:(?:i|we) (?:did(?:n['’]t| not)|won['’]t|will not|am not|are not)|(?:i['’]m|we['’]re|i am|we are) (?:not|staying|keeping|sticking|still)\b"
    r"|it['’]s not))",
    re.I,
)
"""Withdraws what the speaker said before: in the same message, or else in the one before it."""


# Words without content that may precede a withdrawal.
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
"""Nouns for somebody's words: "the Cardiff thing"."""

_FILLER_WORDS = """
    i we you me us it that this these those my your the a an all of some any just only really totally actually completely obviously clearly so and
    but or well ok okay oh ah haha hahaha hehe lol lmao rofl omg xd no nah nope yeah yes sorry guys man mate dude btw course little bit again here
    there now thing things message messages last previous part about with for to on at what was were is are am be been being im said say got ya
    please pls plz thanks thx big silly stupid bad ever everything anything did do does not fell fall believed believe i'd by up out hi hey s t m
    re d 1 2 3 123 then sure too over total lot complete pure one nothing very mean meant had have has got ha
"""
_FILLERS: Final = frozenset(_FILLER_WORDS.split())
_WITHDRAWING_WORDS = """
    jk psych psyche sike kidding kid joking joke jokes joked prank pranked pranking lie lies lied lying liar bluff bluffing fib sarcasm sarcastic
    irony ironic ironically hypothetical hypothetically theoretically trolling teasing test testing tested gotcha fooled fake untrue false nonsense
    rubbish bollocks autocorrect misclick mistype mistyped misheard invented nvm nevermind wrong incorrect mistaken hoax fiction fictional
    checking april oops whoops typo wishful
"""
_WITHDRAWING: Final = frozenset(_WITHDRAWING_WORDS.split())
_CONTEXT_FILLER_WORDS = """
    leg pulling making made news fools fool day thinking siri alexa phone chat window tab person thread
    channel group app conversation recipient number messing around alarm voice text fingers keyboard sake
    argument speaking checking if listen remember
"""
_CONTEXT_FILLERS: Final = frozenset(_CONTEXT_FILLER_WORDS.split())
_PHRASES: Final = re.compile(
    r"\bmade (?:(?:it|that|this|all|everything)(?: of (?:it|that))? )?up\b(?! my)|\bpull(?:ing|ed) your leg\b|\b(?:fell|fall) for (?:it|that)\b|\b(?:you|u|did you) (?:really )?believed? (?:that|it|me)\b"
    r"|\bdo not (?:you )?believe me\b|\bmess(?:ing|ed) with you\b|\bfor the sake of argument\b|^\W*(?:oh |ah |sorry,? )?my (?:bad|mistake)\W*$|\bvoice to text\b",
    re.I,
)
# "No joke", "I'm not kidding": the speaker confirms the statement.
_MEANT: Final = re.compile(
    r"\b(?:no|not|never|is it|are you|were you|without)(?: (?:even|a|any|an|just|all|you|your))* (?:jok\w+|kid\w*|l(?:ie|ies|ying|ied|iar)|prank\w*|fake|test\w*|bluff\w*|sarcas\w+|wrong|mistaken|false|untrue|nonsense)\b",
    re.I,
)
# "Not really", "almost", "I wish": the statement is not true.
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
_ANOTHER_PERSON: Final = tuple(
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
# "I mean my sister moved", "typo: she moved": the action is the last word.
_DID_INSTEAD: Final = re.compile(
    rf"^\W{{0,9}}(?:(?:well|no|sorry|actually|i mean|i meant|correction|typo|oops|wait|it was)[\s,:]+){{1,3}}(?:{_ONE}|{_NAME}) (?:who |that )?(?P<action>\w+)\b.{{0,30}}$",
    re.I,
)
_ASKS: Final = re.compile(r"\W{0,9}(?:did|do|does|why|how|what|should|shall)\b", re.I)
_WORD: Final = re.compile(r"[^\W_]+")
_NO_APOSTROPHE: Final = re.compile(
    r"\b(?P<verb>do|did|was|is|does|have|has|had|would|should|could|are|were)nt\b|\b(?P<it>that|what|it(?= (?:a|the|my|from|just|only)\b))s\b",
    re.I,
)


def restore_apostrophes(sentence: str) -> str:
    """Return a sentence with "did not" for "didnt" and "that's" for "thats"."""
    return _NO_APOSTROPHE.sub(lambda found: f"{found['verb']} not" if found["verb"] else f"{found['it']}'s", sentence)


def words_in(sentence: str) -> list[str]:
    return [word for word in _WORD.findall(sentence.casefold()) if word not in ("s", "m", "re", "d")]


@text_cache(256)
def withdraws(sentence: str) -> bool:
    """Return whether a sentence consists of words that withdraw the previous statement: "jk lol", "pls ignore that"."""
    if _MEANT.search(sentence):
        return False
    if (_DROPPED.match(sentence) and not _PHRASES.search(sentence)) or _NOT_SO.match(sentence):
        return not (is_question(sentence) and _ASKS.match(sentence))
    words = words_in(sentence)
    core = _PHRASES.search(sentence) is not None
    if is_question(sentence) and not core:
        return False
    core = core or not _WITHDRAWING.isdisjoint(words)
    return core and _FILLERS.union(_WITHDRAWING, _CONTEXT_FILLERS).issuperset(words)


@text_cache(256)
def is_another_persons(sentence: str, speaker: str = "") -> bool:
    """Return whether a sentence attributes the words before it to another person: "it was my sister", "- Lena"."""
    if is_question(sentence):
        return False
    signed = _SIGNED.match(sentence)
    if signed is not None:
        name = signed["name"]
        return name.casefold() not in speaker.casefold().split() and not is_place(name)
    return any(pattern.search(sentence) for pattern in _ANOTHER_PERSON)


def terms_of_other_action(sentence: str) -> frozenset[str]:
    """Return the terms of an action that a sentence attributes to another person; empty where it names none."""
    found = _DID_INSTEAD.match(sentence)
    return frozenset(query_terms(found["action"])) if found else frozenset()


@text_cache(256)
def terms_of_retracted(sentence: str) -> frozenset[str]:
    """Return the terms of the thing that a sentence retracts by name: "scrap the Cardiff thing"; empty for none."""
    found = (
        None
        if is_question(sentence) or _MEANT.search(sentence) or _DROPPED.match(sentence)
        else _WAS_JOKING.match(sentence) or _DROPPED_THING.match(sentence)
    )
    if found is None:
        return frozenset()
    named = next(words for words in found.groupdict().values() if words is not None)
    return frozenset(query_terms(named)) - _GENERIC


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
_WORDING_FILLER_WORDS = """
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
_WORDING_FILLERS: Final = frozenset(_WORDING_FILLER_WORDS.split())
_POINTS: Final = re.compile(
    r"\b(?:it|that|this|these|those|them)\b|^\W*(?:(?:is|was|from|in|as|for|end|only|at least|just|a|the)\b|and\W)",
    re.I,
)
# A request for a new text: "write a haiku about it", "another quote please", "give me a synonym".
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
    """Return whether a sentence treats the words before it as a text: a request to edit them, a question, their origin."""
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
    if own or not words or not _WORDING_FILLERS.union(_JOBS, _FICTION).issuperset(words):
        return False
    return not _JOBS.isdisjoint(words) or (not _FICTION.isdisjoint(words) and _POINTS.search(sentence) is not None)


_QUOTED: Final = re.compile(r"(?<!\w)[\"“«„'‘](?P<words>[^\"”»“'’]{2,60})[\"”»“'’]")


def _quotes_other(sentence: str, before: str) -> bool:
    """Return whether a sentence quotes words that do not occur before it: "translate 'good morning'"."""
    found = _QUOTED.search(sentence)
    return found is not None and set(query_terms(found["words"])).isdisjoint(query_terms(before))


_CHOICE: Final = re.compile(r"\W*(?:is|was|should) (?:it|that|i) (?P<words>[^?]{2,60} or [^?]{2,60})\?", re.I)


def _offers_words(sentence: str, before: str) -> bool:
    """Return whether a question offers the previous words in another form: "is it moved or have moved?"."""
    found = _CHOICE.match(sentence)
    return found is not None and not set(query_terms(found["words"])).isdisjoint(query_terms(before))
