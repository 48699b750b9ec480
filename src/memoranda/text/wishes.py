"""What a person asks for once and for all: "always answer in French", "never call me before nine".

A standing wish has two signs: it is addressed to somebody ("please …", "you should …", a verb at the start), and it
says that it holds from now on ("always", "whenever I ask", "in your answers"). A request for now has only the first.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.text.sentences import split_sentences
from memoranda.text.word_filter import WordHints

_VERB: Final = (
    r"(?:answer|reply|respond|speak|talk|write|type|use|call|address|include|give|show|tell|send|ask|"
    r"explain|keep|make|add|put|avoid|"
    r"mention|cite|list|format|start|begin|end|finish|say|refer|translate|convert|remind|book|order|"
    r"schedule|suggest|recommend|offer|"
    r"propose|assume|check|share|contact|e-?mail|text|phone|ring|wake|disturb|interrupt|bother|let|"
    r"do(?! you)|be|skip|round|sign|treat|"
    r"provide|return|present|describe|summari[sz]e|quote|state|follow|stick|leave|set|choose|pick|buy|cook|"
    r"wait|confirm|consider|take|"
    r"bring|store|save|delete|print|read|spell|pronounce|count|measure|prefer|stop|remember|forget|shorten|"
    r"highlight|assign|plan|"
    r"reserve|deliver|play|turn|open|close|lock|repeat|greet|apologi[sz]e|define|number|label|name|notify|"
    r"alert|warn)\b"
)
_ADDRESS: Final = (
    r"(?:(?:please|pls|kindly|also|and|but|so|ok|okay|oh|hey|remember to|make sure (?:to|that you|you)|"
    r"be sure to|"
    r"i (?:want|need|expect|would like|['’]d like|ask|wish)(?: for)? you to|you (?:should|must|need to|"
    r"have to|are to)|"
    r"(?:could|can|would|will) you(?: please)?)[, ]+)"
)
_ONLY: Final = r"(?:please |always |never |only |just |(?:do not|don['’]?t) |you (?:should|must) )*"
_ALWAYS: Final = r"(?:always|never(?! (?:give up|say never|mind))|under no circumstances|by default)"
_FROM_NOW: Final = (
    r"(?:from (?:now|today|here) on|going forward|in (?:the )?future|as a (?:general )?rule|at all times|by default)"
)
_ANSWERS: Final = r"(?:answers?|reply|replies|responses?|explanations?|messages?|summaries)"
_ASKING: Final = rf"(?:i (?:ask|say|tell|mention|send|write|request|order|talk|am|['’]m)\b|you {_VERB})"
_EACH_TIME: Final = rf"(?:(?:whenever|every ?time|each time|any ?time) (?:i|you|we)\b|(?:if|when) {_ASKING})"
_REPEATED: Final = (
    rf"(?:whenever|every ?time|each time|any ?more|ever again|in the future|all the time|(?:if|"
    rf"when) {_ASKING}|unless i|without asking|"
    rf"in (?:your|all|any|every) (?:\w+ )?{_ANSWERS}|(?:with|to|in) (?:every|each) {_ANSWERS}|(?:before|"
    rf"after|between|past|on) "
    r"(?:\d|nine|ten|eight|seven|six|noon|midnight|lunch|dinner|work|(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)days?|weekends?))"
)
_WISH: Final = re.compile(
    rf"{_ADDRESS}{{0,3}}(?:{_ALWAYS} {_ONLY}{_VERB}"
    rf"|{_FROM_NOW}[, ]+{_ONLY}{_VERB}"
    rf"|(?:only |just )?{_VERB} [^.!?]*\b{_FROM_NOW}"
    rf"|{_EACH_TIME}[^.!?]{{3,80}}, ?(?:then )?{_ADDRESS}{{0,3}}{_ONLY}{_VERB}"
    rf"|(?:only |just )?{_VERB} [^.!?]*\b(?:whenever|every ?time|each time) (?:i|you|we)\b"
    rf"|(?:do not|don['’]?t|stop|quit|avoid) (?!forget|be\b)\w+ [^.!?]*\b{_REPEATED}"
    rf"|(?:do not|don['’]?t) ever {_VERB}|no \w+ in (?:your|any) {_ANSWERS}"
    r"|(?:keep|make|write|give|format|start|end|sign) (?:all |every |each )?(?:of )?your (?:\w+ )?"
    r"(?:answers|replies|responses|explanations|messages|summaries)\b"
    rf"|(?:only |just )?{_VERB} [^.!?]*\b(?:in|at the end of|with) (?:(?:all|every|each|"
    rf"any) (?:of )?(?:your )?{_ANSWERS}"
    r"|your (?:answers|replies|responses|explanations))\b)"
    rf"|{_ADDRESS}{{1,3}}{_ALWAYS} \w+",
    re.I,
)
_MANNER: Final = (
    rf"(?:{_ANSWERS}|units?|metric|imperial|celsius|fahrenheit|kilomet\w+|euros?|dollars?|currency|language|"
    rf"spelling|bullet\w*|emojis?|"
    r"step by step|be(?:ing)? (?:short|brief|concise|formal|informal|direct|honest|called|addressed|"
    r"contacted|emailed|texted))"
)
_PREFERS: Final = (
    r"(?:(?:i|(?:the )?user)(?: (?:always|generally|usually|normally|really|much|would|also|still))*"
    r"(?:['’]d)?(?: (?:always|much|really))* (?:prefers?|rather|always wants?|always likes?)|my preference is)"
)
_MANNER_WISH: Final = re.compile(
    rf"\b{_PREFERS}\b(?:(?: (?:that|if|for))? you\b|[^.!?]{{0,40}}\b{_MANNER}\b)|"
    r"\bmy preferred (?:language|units?|format|style|tone|name|pronouns?|currency) (?:is|are)\b",
    re.I,
)
_PREFERENCE: Final = re.compile(
    rf"\b{_PREFERS}\b|\b(?:i|user) (?:can['’]?t stand|cannot stand|(?:do not|don['’]?t|does not|"
    rf"doesn['’]?t) (?:want|like|eat|drink)|hates?)\b|"
    r"\b(?:i['’]?m|i am) (?:\w+ )?(?:allergic|vegetarian|vegan|intolerant)\b",
    re.I,
)
_CHOICE: Final = re.compile(
    r"\b(?:(?:should|shall|could|can|may|might) (?:i|we)\b|recommend\w*|suggest\w*|advi[sc]e\w*|choos\w+|pick|book|"
    r"reserv\w+|order|plan|planning|buy|cook\w*|bak(?:e|ing)|recipes?|ideas?|tips?|decid\w+|decision|inspir\w+|gifts?|"
    r"menu|dinner|lunch|breakfast|brunch|snacks?|meals?|restaurants?|serve|watch|listen|visit|"
    r"which (?:one|kind|sort|type)|what (?:to|kind|sort|type)|where to|put on|find (?:me|us|an?|some)|"
    r"(?:want|like|going|need) to (?:eat|drink|try|go|see|read)|any good)\b",
    re.I,
)
_POLITE: Final = r"(?:bitte|s['’]il (?:te|vous) pla[iî]t|por favor|per favore|per piacere|alsjeblieft|alstublieft)"
_ALWAYS_ELSEWHERE: Final = (
    r"(?:immer|nie|niemals|ab jetzt|künftig|toujours|jamais|désormais|siempre|nunca|jamás|"
    r"a partir de (?:ahora|agora)|sempre|mai|"
    r"d['’]ora in poi|altijd|nooit|voortaan)"
)
_ELSEWHERE: Final = re.compile(
    rf"(?=.*\b{_POLITE})(?=.*\b{_ALWAYS_ELSEWHERE}\b)|"
    rf"(?:ne |no |non )?(?:antwort\w*|sprich|schreib\w*|nenn\w*|ruf\w*|benutz\w*|verwend\w*|gib|r[ée]pon\w+|"
    rf"parle\w*|[ée]cri\w+|appel\w+|"
    rf"utilis\w+|donne\w*|respond\w*|contest\w+|habl\w+|escrib\w+|ll[aá]m\w+|us[ae]\w*|rispond\w+|parl\w+|"
    rf"scriv\w+|chiam\w+|fala\w*|"
    rf"escrev\w+|antwoord\w*|spreek|schrijf|gebruik|bel)\b[^.!?]*\b{_ALWAYS_ELSEWHERE}\b|"
    r"(?:请|請)?(?:以后|今后|始终|总是|永远|不要再|别再)|(?:今後|これから|いつも|常に|必ず).*(?:て|で|ください)",
    re.I,
)
_REQUEST: Final = re.compile(
    rf"(?:could|can|would|will) you (?:(?:please |kindly )?{_ALWAYS}\b|[^.!?]*\b{_FROM_NOW}\b)", re.I
)
"""A question that asks for something once and for all."""
_HINTS: Final = (
    "always", "never", "ever ", "from now", "from today", "from here", "forward", "future", "a rule",
    "default", "time i", "time you", "time we", "the time", "all times", "don't", "don’t", "dont ",
    "do not", "stop ", "avoid ", "answer", "repl", "respon", "prefer", "rather", "your mess", "if i ",
    "if you ", "when i ", "when you ", "your summ", "your expl", "immer", " nie", "jetzt", "künftig",
    "toujours", "jamais", "désormais", "siempre", "nunca", "jamás", "partir de", "sempre", " mai ",
    "ora in poi", "altijd", "nooit", "voortaan", "以后", "今后", "始终", "总是", "永远", "不要再", "别再",
    "今後", "これから", "いつも", "常に", "必ず", "no circ",
)  # fmt: skip
"""Words in lower case, of which every wish holds one."""
_MAY_WISH: Final = WordHints(_HINTS)
_SPOKEN: Final = re.compile(
    rf"\b(?:{_MANNER}|answer\w*|repl(?:y|ies|ying)|respond\w*|speak\w*|talk\w*|writ(?:e|ing)|use|using|"
    r"call me (?!before|after|at|on|in|by|when|if|unless|later|back|again|tomorrow)|address me|cite|sources?|"
    r"apologi[sz]\w+|explain\w*|antwort\w*|sprich|schreib\w*|nenn\w*|r[ée]pon\w+|parle\w*|[ée]cri\w+|contest\w+|respond\w+|habl\w+|"
    r"rispond\w+|parl\w+|fala\w*|escrev\w+|antwoord\w*|spreek|schrijf)\b|回答|答え",
    re.I,
)
_ON_CONDITION: Final = re.compile(r"\b(?:whenever|every ?time|each time|any ?time|if|when|unless) i\b", re.I)
WISH_KEY: Final = "!"
"""The lexical key of a text that holds a standing wish."""
_LONGEST: Final = 500
"""Characters of a text that is read: a longer one is a document, or describes a task."""
_MAX_WISH: Final = 240
"""Characters of a wish: a longer sentence describes a task."""


def standing_wishes(text: str) -> list[str]:
    """Return the sentences of a text that ask for something once and for all."""
    if len(text) > _LONGEST or not _may_hold_wish(text):
        return []
    return [sentence for sentence in split_sentences(text) if len(sentence) <= _MAX_WISH and _is_wish(sentence)]


def _may_hold_wish(text: str) -> bool:
    lowered = text.lower()
    return _MAY_WISH.may_be_in(lowered) and any(map(lowered.__contains__, _HINTS))


def _is_wish(sentence: str) -> bool:
    plain = sentence.lstrip("-*• \"'“")
    if plain.endswith("?") and _REQUEST.match(plain) is None:
        return False
    return bool(_WISH.match(plain) or _ELSEWHERE.match(plain) or _MANNER_WISH.search(plain))


_ASKED: Final = re.compile(
    r"\b(?:(?:could|can|would|will) (?:you|we|somebody|someone)|please|pls|kindly|let['’]s)\b", re.I
)
_LASTS: Final = re.compile(
    rf"\b(?:{_ALWAYS}|{_FROM_NOW}|any ?more|ever again|every ?time|each time|whenever|stop \w+ing"
    r"|every (?:day|week|morning|evening|night))\b",
    re.I,
)


def asks_for_good(text: str) -> bool:
    """Return whether a text may ask for something once and for all; in doubt, it does."""
    return bool(standing_wishes(text)) or (_ASKED.search(text) is not None and _LASTS.search(text) is not None)


def is_about_every_answer(wish: str) -> bool:
    """Return whether a wish is about how to answer, whatever the question: its language, length, units, names."""
    return _SPOKEN.search(wish) is not None and _ON_CONDITION.search(wish) is None


def states_preference(text: str) -> bool:
    """Return whether a text says what its speaker prefers, or will not have."""
    return _PREFERENCE.search(text[:_LONGEST]) is not None


def asks_for_choice(question: str) -> bool:
    """Return whether a question asks for advice, or for something to be chosen: what its asker prefers counts then."""
    return _CHOICE.search(question[:_LONGEST]) is not None
