"""The kinds of clauses that make a claim. Data, and how it is compiled.

In a template a space matches any spaces, ' matches either apostrophe, and ~name stands for that entry of `PARTS`. Every
template is matched at the start of a clause. `who` or `whose` is the subject, `value` what is said of it, `old` what it
replaces, `what` a part of the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from memoranda.remember.reading.lexicon import ACQUAINTANCES, CHILDREN, PARTNERS, PETS, RELATIVES, SUPERIORS, USER
from memoranda.storage.claims import ANY_ATTRIBUTE, Operation
from memoranda.text.word_filter import Needs, WordFilter, needed_words

_NAME = r"[A-Z\u00c0-\u00de][\w\u00c0-\u024f'’&.-]*(?: (?:of |the |de |and |& )?[A-Z\u00c0-\u00de\d][\w\u00c0-\u024f'’&.-]*)*"
_PERSON = r"(?!(?:The|My|Our|This|That|These|Those|It|He|She|They|You|We|In|On|At|For|Not|No|Yes|And|But|So|If|When|What|Who|Contact|Note|Noted)\b)[A-Z\u00c0-\u00de][\w\u00c0-\u024f-]+(?: [A-Z\u00c0-\u00de][\w\u00c0-\u024f-]+)*"
PARTS: Final = {
    "adv": (
        r"(?:(?:now|currently|still|just|recently|finally|actually|also|really|officially|already|always|usually|mostly|only"
        r"|generally|absolutely|totally|primarily|temporarily|permanently|used to|have|has|'ve|'s|'m|am|is|are|'re|been) )*"
    ),
    "user": rf"(?:(?:the )?(?:{USER})|(?:he|she|they)(?= / ))",
    "who": rf"(?P<who>i|we|~user|~kin|(?-i:{_PERSON}))(?: both)?(?:(?='(?:m|ve|re|s|d) )| )",
    "whose": rf"(?P<whose>~user's|~kin's|(?-i:{_PERSON})'s|my|our|the|this)",
    "kin": r"(?:my|our) (?:(?:older|younger|little|big|best|twin|late) )?~relation(?: (?-i:[A-Z][\w-]+),?)?",
    "relation": rf"(?:{RELATIVES}|{PARTNERS}|{CHILDREN}|{SUPERIORS}|{ACQUAINTANCES}|{PETS}|team|company)",
    "name": rf"(?P<value>(?-i:(?:the )?{_NAME}))",
    "place": rf"(?P<value>(?-i:(?:the )?(?:\d+\w? )?{_NAME}(?:, {_NAME})*))",
    "old": r"(?P<old>(?:[^.!?;,\n]|[.,](?=\d))+?)",
    "value": r"(?P<value>(?:[^.!?;\n]|\.(?=\S)|(?<=\b(?:Mr|Ms|Dr|St))\.|(?<=\bMrs)\.)+)",
    "short": r"(?P<value>(?:[^.!?;,\n]|\.(?=\S))+?)",
    "end": r"(?=[\s.!;,]*$)",
    "stop": r"(?=\s*(?:[.,;!](?!\d)|$)| (?:as|last|this|in|on|yesterday|today|now|recently|from|since|(?:an?|one|two|three|four|five|six|\d+|several) (?:\w+ )?(?:days?|weeks?|months?|years?|decades?|while|few|couple)|earlier|instead|with|to|these days|nowadays|currently|again|at the moment|right now)\b)",
    # Nouns that look like a verb: "the meeting is on Monday".
    "ing_noun": (
        r"(?:meeting|building|wedding|training|morning|evening|painting|booking|rating|hearing|screening|briefing|opening|closing|heating"
        r"|housing|pricing|billing|hosting|logging|testing|monitoring|mailing|ring|wing|spring|string|setting|seating|catering|lighting"
        r"|flooring|fencing|crossing|landing|parking|boarding|viewing|recording|reading|filing|listing|posting|outing|gathering)"
    ),
    "noun": r"(?P<what>(?!(?:i|we|he|she|they|you|it|there|who|what|this|that|these|those|your|his|her|their|its|not|much|everything|something|nothing|all|(?!~ing_noun\b)\w+ing|name is|best part|point|thing|problem|idea|question|reason|only|truth|fact)\b)[\w'’-]+(?: (?!(?:is|are|has|was)\b)[\w'’/&-]+){0,4}?)",
    "change": (
        r"(?:(?:was|were|been|got) )?(?:just |recently )?(?:changed|moved|switched|rescheduled|postponed|pushed(?: back| out)?|brought forward|renamed|raised|lowered"
        r"|cut|bumped(?: up)?|increased|decreased|dropped|reduced|went (?:up|down)|gone (?:up|down)|upgraded|downgraded|updated"
        r"|extended|shifted|reassigned|handed over|transferred|migrated|set|delayed|relocated|reset|revised|corrected|risen|rose|fallen|fell|grown|grew|replaced)"
    ),
    "use": (
        r"(?P<what>drinks?|eats?|smokes?|drives?|owns?|rides?|wears?|plays?|teach(?:es)?|practi[cs]es?|collects?|runs?|studies|study|reads?"
        r"|watch(?:es)?|uses?|rents?|supports?|follows?|takes?|keeps?|attends?|dates?|vapes?|fasts?|swims?|meditates?|gambles?"
        r"|volunteers? at|banks? with|commutes? (?:by|on|with)|subscribes? to|goes to|go to|trains? at|belongs? to|listens? to)"
    ),
    # Of these verbs some say enough without an object: "Theo smokes".
    "alone": r"(?P<what>drinks?|smokes?|drives?|rides?|runs?|vapes?|fasts?|swims?|meditates?|gambles?)",
    "using": (
        r"(?P<what>drinking|eating|smoking|driving|owning|riding|wearing|playing|teaching|practi[cs]ing|collecting|running|studying"
        r"|reading|watching|using|renting|supporting|following|taking|keeping|attending|dating|vaping|fasting|swimming|meditating|gambling"
        r"|volunteering at|banking with|commuting (?:by|on|with)|subscribing to|going to|training at|listening to)"
    ),
    "weekday": r"(?-i:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b)",
    "no_more": r"(?:no longer|do not|does not)",
    "stopped": r"(?:(?:have |has |'ve )?(?:stopped|quit|gave up|given up|ceased|am done|'m done|is done))",
    "status": r"(?P<value>married|single|engaged|divorced|widowed|separated)",
    "diet": (
        r"(?P<value>vegan|vegetarian|pescatarian|flexitarian|diabetic|coeliac|celiac|teetotal|sober|halal|kosher|keto|paleo"
        r"|(?:lactose|gluten)\W(?:intolerant|free))"
    ),
    "role": (
        r"(?:engineer|developer|dev|teacher|nurse|doctor|lawyer|designer|student|manager|accountant|chef|writer|artist|musician"
        r"|scientist|researcher|consultant|analyst|architect|electrician|plumber|pilot|journalist|photographer|therapist"
        r"|counsell?or|pharmacist|dentist|vet|veterinarian|professor|librarian|mechanic|carpenter|farmer|paramedic|firefighter"
        r"|banker|director|lead|intern|freelancer|founder|ceo|cto|cfo|head of \w+|vp(?: of \w+)?|president|partner|associate"
        r"|officer|programmer|editor|translator|producer|recruiter|owner|administrator|assistant|barista|waiter|waitress|driver"
        r"|trainer|coach|instructor|surgeon|physiotherapist|psychologist|technician|supervisor|principal|apprentice|trainee)"
    ),
    "illness": (
        r"(?:(?:type [12] )?diabetes|asthma|epilepsy|arthritis|migraines?|insomnia|anxiety|depression|adhd|ibs|eczema"
        r"|(?:high |low )?blood pressure|hypertension|hypotension|anaemia|anemia|cancer|celiac disease|coeliac disease|psoriasis)"
    ),
    # What can be dropped, closed or lost only for good, unlike a phone or a laptop.
    "contract": r"(?:subscription|membership|account|course|class|major|plan|contract|policy|business|company|practice|job|lease|licen[cs]e)",
    "like": r"(?:love|like|enjoy|adore|prefer|am into|'m into|am a (?:big |huge )?fan of|'m a (?:big |huge )?fan of)s?",
    "dislike": r"(?:hate|dislike|loathe|cannot stand|detest|despise)s?",
    "liked": (
        r"(?P<value>(?!(?:your|his|her|their|how|when|what|that|this|these|those|where|it|them|to see|the way|the idea"
        r"|the thought|the fact|being able|seeing|hearing|you|him|me|us)\b)[^.!?;\n]+)"
    ),
}  # fmt: skip

PREVIOUS: Final = "^"
"""The attribute of a change of "it": that of the last claim in the text."""
_LABEL: Final = r"(?:~whose )?~noun: (?:now )?~value"
_PART: Final = re.compile("~(" + "|".join(sorted(PARTS, key=len, reverse=True)) + ")")


@dataclass(frozen=True, slots=True)
class ClaimPattern:
    """A kind of clause that makes a claim."""

    attribute: str
    """May contain `{what}`, which is filled from the group of that name."""
    template: str
    single: bool = False
    """Whether a subject has one value at a time."""
    holds: bool = True
    operation: Operation = "state"
    past: bool = False
    """Whether it describes a state that is over."""

    @property
    def is_label(self) -> bool:
        """Whether a label and a colon stand before the value, as in a note: "Employer: Acme"."""
        return self.template == _LABEL

    @property
    def regex(self) -> re.Pattern[str]:
        return _compile(self.template)


@cache  # compiled on first use, so that importing this module is fast
def _compile(template: str) -> re.Pattern[str]:
    while _PART.search(template):
        template = _PART.sub(lambda part: PARTS[part[1]], template)
    both_apostrophes = re.sub(r"'(?!’)", "['’]", template)
    return re.compile(both_apostrophes.replace(" ", r"[ \t]{1,3}"), re.I)


def _one(attribute: str, template: str, operation: Operation = "state", *, holds: bool = True) -> ClaimPattern:
    return ClaimPattern(attribute, template, single=True, holds=holds, operation=operation)


def _many(attribute: str, template: str, operation: Operation = "state", *, holds: bool = True) -> ClaimPattern:
    return ClaimPattern(attribute, template, holds=holds, operation=operation)


def _was(template: str) -> ClaimPattern:
    """Return a pattern about the past: it ends nothing, and is a fact of its own time."""
    return ClaimPattern("{what}", template, single=True, past=True)


_PEOPLE = (
    _one("name", r"(?P<whose>~user's|~kin's|my) (?:full |legal )?name(?: is|'s) (?:now )?~name"),
    # What somebody wants to be called leaves their name as it is; "call me Friday" is no name.
    _one("preferred name", r"(?:(?:please|just|kindly|simply|(?:you|everyone|everybody) (?:can|may|could|should)|feel free to) )*call (?P<who>me) (?!~weekday)~name~stop"),
    _one("preferred name", r"~who~adv(?:go|goes|going) by (?:the name (?:of )?)?~name~stop"),
    _one("preferred name", r"~who(?:~adv(?:prefers?|wants?|likes?|wishes|asked|asks)|'d (?:rather|prefer|like)) (?:to )?be (?:called|addressed as) ~name~stop"),
    _one("preferred name", r"(?:please )?(?:do not call|stop calling) (?P<who>me) (?!~weekday)~name(?: any ?more)?~end", "end", holds=False),
    _one("preferred name", r"~who~adv(?:~no_more (?:go|goes)|stopped going) by ~name(?: any ?more)?~end", "end", holds=False),
    _one("name", r"~who(?:(?:legally|officially|recently) )*changed (?:my|his|her|their) (?:last |first |sur)?name (?:from ~old )?to ~name", "update"),
    _many("nickname", r"(?:everyone|everybody|people|they|friends|(?:(?:most|all|some) (?:of )?)?(?:my|our) \w+|(?:most|some) people)(?: else)?(?: (?:just|usually|always|still|mostly|all))? (?:calls? (?P<who>me)|says?) ~name~stop"),
    _many("nickname", r"~who~adv(?:known as|nicknamed|better known as) ~name~stop"),
    _many("nickname", r"(?P<who>i|we|~user)(?:(?='(?:m|re|s) )| )~advcalled ~name~stop"),
    _many("handle", r"(?:(?:you can|please|just) )*(?:reach|find|message|tag|ping|follow|contact|email|dm) (?P<who>me) (?:at|on|under|as|via) (?P<value>@[\w.-]*\w|[\w.+-]+@[\w-]+\.[\w.-]*\w)"),
    _one("name", r"(?P<who>i)(?: am|'m) (?P<value>(?-i:[A-Z][a-z\u00c0-\u024f'’-]+(?: [A-Z][a-z\u00c0-\u024f'’-]+)?))(?=[\s.!]*$|, (?-i:[a-z\d])| and (?:i|we|my)\b)"),
    _one("height", r"~who~adv(?P<value>\d[\d.,]* ?(?:cm|m|feet|ft|inches)(?: \d+)?) tall\b"),
    _one("weight", r"~who~adv(?:weighs?|weighed) (?P<value>\d[\d.,]* ?(?:kg|kilos?|pounds|lbs?|stone))\b"),
    _one("age", r"~who~adv(?P<value>\d{1,3}) years? old\b"),
    _one("age", r"(?P<who>i|we|~user|~kin)(?:(?='(?:m|s) )| )~adv(?:am|is|'m|'s|now) (?P<value>\d{1,3})(?: now)?(?=[\s.!;,]*$|,| and )"),
    _one("age", r"~who~advturned (?P<value>\d{1,3})\b(?!°| (?:degrees?|pages?|percent|times?|rounds?)\b)", "update"),
    _one("birth year", r"~who(?:was )?born in (?P<value>(?:19|20)\d\d)\b"),
    _one("birthplace", r"~who(?:was )?born (?:and raised )?in ~name"),
    _one("home town", r"~who~adv(?:originally )?(?:from|grew up in) ~name"),
    _one("relationship status", r"~who~adv(?:happily |newly )?~status(?! (?:to|from) (?:my|the|our|an?|this) (?!~relation))~stop"),
    _one("relationship status", r"~who~adv(?:got|gotten) (?:re)?~status", "update"),
    _one("relationship status", r"~who~adv(?P<value>married|divorced|engaged)(?: to| from)? (?-i:[A-Z]\w+)"),
    _one("partner", r"~who~adv(?:(?:dating|seeing|engaged to|married to)) ~name(?! (?:about|for|at|regarding)\b)"),
    _one("partner", r"(?:~who(?:and \w+ )?|(?P<value2>(?-i:[A-Z]\w+)) and i )~adv(?:broke up|split up|separated|got divorced)(?: with (?P<value>(?-i:[A-Z]\w+)))?", "end", holds=False),
)  # fmt: skip
_HOME = (
    _one("city", r"~who~adv(?:lives?|resides?|living|based|settled|located|lived) (?:in|at|near|on|with \w+ in) (?:(?:a|an|the|my|our)(?: [\w-]+){1,3}? (?:in|called|named) |the (?:\w+ )?(?:village|town|city|hamlet) of )?~place"),
    _one("city", r"~who~adv(?:moved?|relocated|moving|relocating) (?:(?:back|here|over|out|up|down|again|house|in|away|permanently|together) )*(?:from ~old )?to ~place(?: from (?P<old2>[^.!?;,\n]+))?", "update"),
    _one("city", r"~who~adv(?:settled(?: down)?|(?:got|found|bought|rented|own|owns)(?: \w+){1,3}(?:flat|apartment|house|place|home|condo)) in ~place", "update"),
    _one("city", r"~who~advmoved into (?:an?|the|my|our)(?: new)? (?:\w+ )?(?:flat|apartment|house|place|home|condo|cottage|studio) in ~place", "update"),
    _one("city", r"~place is (?:(?:my|our) )?(?:new )?home(?: now| these days| sweet home)?~end", "update"),
    _one("city", r"(?:my |our )?home is (?:now )?(?:in |near )?~place"),
    # Written without capitals: only a known place counts.
    _one("city", r"~who~adv(?:lives?|living|based) in (?P<value>(?-i:[a-z]+(?: [a-z]+)?))~stop"),
    _one("city", r"~who~adv(?:moved|relocated) (?:back )?to (?P<value>(?-i:[a-z]+(?: [a-z]+)?))~stop", "update"),
    _one("city", r"~who~adv(?:lives?|living|based|settled) (?P<value>here)~stop"),
    _one("city", r"~who~adv~no_more (?:live|reside|stay)s? (?:in|at) ~place", "end", holds=False),
    _one("city", r"~who~adv(?:moved out of|moved away from) ~place~stop", "end", holds=False),
)  # fmt: skip
_WORK = (
    _one("employer", r"~who~adv(?:works?|working|worked|employed|interning|interns?) (?:\w+ )?(?:at|for|by|with) ~name"),
    _one("employer", r"~who~advat ~name (?=(?:since|for (?:an?|several|a few|\w+) (?:weeks?|months?|years?))\b)"),
    _one("employer", r"~who~adv(?:joined|joins) ~name~stop"),
    _one("employer", r"~who~adv(?:started|starting|starts|begun|began) (?:work(?:ing)? |(?:a|the|my) (?:new )?(?:job|position|role|internship) )?(?:at|with|for) ~name", "update"),
    # Who has a new job may still have the old one for some months: these are only linked.
    _one("employer", r"~who~adv(?:got|took|accepted|landed|have|has) (?:an?|the|my) (?:new )?(?:job|position|role|internship) (?:at|with|from) ~name"),
    _one("employer", r"~who~adv(?:took|accepted) (?:an?|the|my|their) (?:new )?(?:job )?offer (?:at|with|from) ~name"),
    _one("employer", r"(?:(?:yesterday|today|monday|tuesday|wednesday|thursday|friday|this week) )?(?:was|is|marks|had) (?P<whose>my) (?:very )?(?:first|1st) (?:day|week|shift) (?:at|with|for) ~name", "update"),
    _one("employer", r"(?P<whose>my) (?:very )?(?:first|1st) (?:day|week|shift) (?:at|with|for) ~name", "update"),
    _one("employer", r"~who~adv(?:got )?hired (?:by|at) ~name"),
    _one("employer", r"~who~adv~no_more (?:work|employed)s? (?:at|for|with|by) ~name", "end", holds=False),
    _one("employer", r"~who~adv(?:left|quit|resigned from|retired from) ~name~stop", "end", holds=False),
    # Who gave notice works there for some months more: that is only linked.
    _one("employer", r"~who~adv(?:quit|left|lost|gave up|resigned from)(?: (?:my|his|her|their|the) (?:current )?(?:job|position|role))?(?: (?:at|with) ~name)~stop", "end", holds=False),
    _one("employer", r"~who~adv(?:quit|left|lost) (?:my|his|her|their) (?:current )?job~stop(?P<value>)", "end", holds=False),
    _one("employer", r"~name (?:(?:has|have|just|finally) )*(?=let me go|laid me off|made me redundant|(?:fired|sacked|dismissed) me\b)\w+ (?P<who>me)(?: go| off| redundant)?~stop", "end", holds=False),
    _one("employer", r"~who(?:was |~adv)(?:got )?(?:fired|laid off|let go)(?! (?:up|of|early|home|first)\b)(?: (?:from|by|at) ~name)?", "end", holds=False),
    _one("occupation", r"~who~adv(?:works?|working|employed) (?:\w+ ){0,2}as (?:an? |the )?~short~stop"),
    _one("occupation", r"~who~adv(?:'m|'re|'s|am|is|are|been|now) (?:a|an|the|our) (?P<value>(?:[\w-]+ ){0,2}~role)\b"),
    _one("occupation", r"~who~adv(?:(?-i:[A-Z][a-z]+), )?(?!no |not |was |were )(?P<value>(?:[\w-]+ ){0,2}~role)(?= (?:at|for|with) (?-i:[A-Z]))"),
    _one("employer", r"~who~adv(?:'m|'s|am|is|been|now)? ?(?:(?-i:[A-Z][a-z]+), )?(?!no |not |never |n't)(?:(?:an?|the|their|our) )?(?:(?!no |not )[\w-]+ ){0,2}~role (?:at|for|with) ~name~stop"),
    _one("occupation", r"~who~adv(?:got |been |was )?(?:promoted to|became|become) (?:a |an |the )?(?P<value>(?:[\w-]+ ){0,3}~role)\b", "update"),
    _many("studies", r"~who~adv(?:studying|studies|study|majoring in) ~value"),
)  # fmt: skip
_LIKES = (
    _one("favourite {what}", r"(?P<value>[^,.!?;]{2,50}?) (?:is|are) (?:now )?(?P<whose>my|our|~user's) (?:new |current |all\Wtime |absolute )*favou?rite (?P<what>[\w-]+(?: [\w-]+)?)~end"),
    _one("{what}", r"(?P<value>[^,.!?;]{2,50}?) is (?:now )?(?P<whose>my|our|~user's) (?:new|current) (?P<what>(?!favou?rite)[\w-]+(?: [\w-]+)?)~end", "update"),
    _one("{what}", r"(?P<value>(?-i:[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3})) is (?P<whose>my|our|~user's) (?P<what>(?!favou?rite)[\w-]+(?: [\w-]+)?) (?:now|these days|nowadays)~end", "update"),
    _one("{what}", r"(?P<value>(?-i:[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3})) is (?P<whose>my|our|~user's) (?P<what>(?!favou?rite)[\w-]+(?: [\w-]+)?)~end"),
    _one("preferred {what}", r"~who~advprefers? (?P<value>[^,.;]+?) (?:over|rather than|instead of) (?P<old>[^,.;]+?)~end"),
    _many("likes", r"~who~adv~no_more (?:really |even )?(?:like|enjoy|love|prefer)s? ~liked", holds=False),
    _one("{what}", r"(?P<value>(?-i:[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3})) is (?:no longer|not) (?P<whose>my|our|~user's) (?P<what>(?!favou?rite)[\w-]+(?: [\w-]+)?)(?: any ?more)?~end", "end", holds=False),
    _many("likes", r"~who~adv~dislike ~liked", holds=False),
    _many("likes", r"~who~adv~like ~liked"),
    _many("speaks", r"~who~advspeaks? (?:a little |some |fluent )?(?P<value>(?-i:[A-Z]\w+(?:(?:,| and|, and) [A-Z]\w+)*))"),
)  # fmt: skip
_HEALTH = (
    _many("allergic to", r"~who~adv(?:no longer|not) (?:actually |really )?allergic to ~value", "end", holds=False),
    _many("allergic to", r"~who~adv(?:very |severely |deathly )?allergic to ~value"),
    _many("allergic to", r"~who~adv(?:have|has) (?:an? )?(?:severe |bad )?(?:allergy to ~value|(?P<value2>\w+) allergy)"),
    _many("allergic to", r"~who~advoutgr(?:ew|own) (?:my|his|her|their|the) (?P<value>\w+) allergy", "end", holds=False),
    _many("diet", r"~who~adv(?:no longer|not)(?: an?)? ~diet(?! (?!(?:any|anymore|now|since|and|but|because|so|today|these|either|or|as of)\b)\w)", "end", holds=False),
    _many("diet", r"~who~adv~stopped being (?:an? )?~diet\b", "end", holds=False),
    _many("diet", r"~who~adv(?:an? |a strict |gone |went |became |turned |become )?~diet\b"),
    _many("condition", r"~who(?:was |got |~adv)(?:just |recently )?diagnosed with ~value"),
    _many("condition", r"~who~adv(?:have|has|suffers? from) (?P<value>~illness)\b"),
)  # fmt: skip
_CHANGES = (
    _one(PREVIOUS, r"(?:it|that|this)(?: has|'s| was| is)?(?: now| just| been)* ~change (?:from ~old )?(?:back |up |down |over |out |by \S+ )?(?:to|till|until) ~value", "update"),
    _one(PREVIOUS, r"(?:they|i|we|he|she|someone|somebody)(?: have| has|'ve|'s)?(?: now| just)* ~change (?:it|that|this) (?:from ~old )?(?:back |up |down |over |out |forward )?(?:to|till|until) ~value", "update"),
    _one("{what}", r"(?:~whose )?~noun ~adv~change (?:from ~old )?(?:back |up |down |over |out |by \S+ )?(?:to|till|until|for) ~value", "update"),
)  # fmt: skip
_HABITS = (
    _many("{what}", r"~who~adv~no_more (?:even )?~use(?: ~value)?", holds=False),
    _many("{what}", r"~who~adv~stopped ~using(?: ~value)?", "end", holds=False),
    _many("{what}", r"~who~adv(?:started|began|begun|resumed|went back to|took up) ~using(?: again)?(?: ~value)?", "update"),
    _many(ANY_ATTRIBUTE, r"~who~adv(?:gave|given) up (?:on )?(?P<value>(?!(?:the|my|our|his|her|their|hope|trying)\b)[a-z]+)~end", "end", holds=False),
    _many(ANY_ATTRIBUTE, r"~who~adv~stopped (?P<value>\w+ing(?: [^.!?;\n]+)?|coffee|alcohol|sugar|meat|gluten|dairy|caffeine|cigarettes)", "end", holds=False),
    _many(ANY_ATTRIBUTE, r"~who~adv(?:sold|cancell?ed|got rid of|gave away|gave up|donated|scrapped|traded in|dropped out of|deleted|ended|terminated|dumped|threw out|threw away|ditched) (?P<value>(?:my|our|the|his|her|their) [^.!?;,\n]+|(?-i:[A-Z]\w+)[^.!?;,\n]*)", "end", holds=False),
    _many(ANY_ATTRIBUTE, r"~who~adv(?:returned|dropped|closed|lost) (?P<value>(?:my|our|the|his|her|their) (?:[\w-]+ ){0,3}?~contract)~stop", "end", holds=False),
    _many(ANY_ATTRIBUTE, r"~who~adv(?:returned|dropped|closed|lost) (?P<value>(?:my|our|the|his|her|their) [^.!?;,\n]+|(?-i:[A-Z]\w+)[^.!?;,\n]*)", holds=False),
    _many(ANY_ATTRIBUTE, r"~who~adv(?:switched|moved|changed|migrated|converted|upgraded|swapped|gone|went|transitioned) (?:over )?(?:away )?from ~old (?:over )?to ~short~stop", "update"),
    # It names no slot, and so changes nothing; but as an understood clause it lets another change count.
    _many(ANY_ATTRIBUTE, r"~who~adv(?:switched|changed|converted|upgraded) (?:over )?to (?!from\b)~short~stop", "update"),
    _many(ANY_ATTRIBUTE, r"~who~adv(?:replaced|swapped|traded(?: in)?|exchanged) ~old (?:with|for|by) ~short~end", "update"),
    _many("owns", r"~who~adv(?:owns?|bought|purchased|adopted|got|have|has) (?P<value>(?:an?|two|three|four|five|\d+|some|my (?:first|own)|no) (?:[\w-]+ ){0,4}[\w-]+)~stop"),
    _many("owns", r"~who~adv(?:no longer (?:have|has|own|owns)|(?:do|does) not (?:have|own)) (?P<value>(?:an?|the|my|our|any) (?:[\w-]+ ){0,3}?[\w-]+)(?: any ?more)?~end", "end", holds=False),
    _many("subscription", r"~who~advsubscribed to ~value"),
    _many("subscription", r"~who~advunsubscribed from ~value", "end", holds=False),
    _many("{what}", r"~who~adv~use ~value"),
    _many("{what}", r"~who~adv~alone~end(?P<value>)"),
)  # fmt: skip
_PLANS = (
    _many("decided", r"~who~adv(?:decided|chose|chosen|agreed|settled) (?P<value>(?:to|on|not to|that|against) [^.!?;\n]+)"),
    _many("decided", r"(?:let's|we'?(?:ll| will)|i'?(?:ll| will)) go with ~value"),
)  # fmt: skip
_THINGS = (
    _one("{what} name", r"~who~adv(?:renamed|rebranded) (?:(?P<whose>my|our|the|his|her|their) )~noun (?:from ~old )?(?:to|as|into) ~name", "update"),
    _one("{what} name", r"~whose ~noun (?:is|are|was|got|has been) (?:now )?(?:renamed|rebranded) (?:from ~old )?(?:to|as|into) ~name", "update"),
    _one("{what} name", r"~whose ~noun (?:is|'s|goes) (?:now )?(?:called|named|by) ~name~stop"),
    _one("{what}", r"(?:my|our|the) [\w-]+ ~adv(?:changed|raised|lowered|cut|increased|reduced|extended|upgraded|moved|pushed) (?P<whose>my|our|the) ~noun (?:from ~old )?(?:up |down |back )?to ~value", "update"),
    _one("{what}", r"(?:~who|they |somebody |someone )~adv(?:pushed|moved|shifted|bumped|rescheduled|postponed|delayed|brought forward|changed|extended)(?: back| out| up| forward)? (?P<whose>my|our|the|his|her|their) ~noun (?:from ~old )?(?:back |up |forward |out )?(?:to|till|until) ~value", "update"),
    _one("{what}", r"~who~adv(?:changed|switched|moved|migrated|ported|converted|transferred|renamed|updated|rescheduled|postponed|raised|lowered|cut|upgraded|bumped|increased|reduced|set|pushed|extended|shifted|reset|corrected) (?:(?P<whose>my|our|the|his|her|their) )~noun (?:from ~old )?(?:back |up |down |over |out )?to ~value", "update"),
    _one("{what}", r"~who~adv(?:changed|updated|switched|got|have|has) (?:an? |my |our |the )?(?:new )?~noun: (?:now )?(?:at |with )?~value", "update"),
    _one("{what}", r"~who~adv(?:got|have|has|using|use|uses) (?:a|an|my|our) (?:new) ~noun(?:, |: | called | named |, it's )~value", "update"),
    _one("{what}", r"~whose ~noun (?:is|are|'s) (?:no longer|not) ~value", "end", holds=False),
    _one("{what}", r"(?:~whose )?~noun (?:(?:is|are|'s|has|have|was|were)(?: been)? )?(?:now )?(?P<value>cancell?ed|over|called off|discontinued|gone|closed down|shut down|deprecated|decommissioned|dead|retired)~end", "update"),
    _one("{what}", r"(?:~whose )?~noun (?:is|are|'s|has to be|equals|runs on|runs|uses|costs|starts at|starts on|weighs|lives in|works at|works for|takes place on|takes place in|belongs to|goes to|reports to|sits in|points to) ~value"),
    _one("{what}", r"(?:~whose )?~noun (?:has been|have been|'s been) ~value"),
    _was(r"(?:~whose )?~noun ~adv(?:was|were|used to be) (?:called )?~value"),
    _was(r"(?P<value>(?-i:[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3})) (?:was|used to be) (?P<whose>my|our|~user's) (?P<what>(?!favou?rite)[\w-]+(?: [\w-]+)?)(?:~stop|(?= (?:at|until|when|before|for)\b))"),
    _one("{what}", _LABEL),
)  # fmt: skip
ABOUT_PEOPLE: Final = frozenset(each.attribute for each in (*_PEOPLE, *_HOME, *_WORK, *_HEALTH)) - {"studies"}
"""Attributes that only a person has, and whose values have one shape."""
PATTERNS: Final = (*_PEOPLE, *_HOME, *_WORK, *_LIKES, *_HEALTH, *_CHANGES, *_HABITS, *_PLANS, *_THINGS)


def possible_patterns(clause: str) -> Iterator[ClaimPattern]:
    """Yield the patterns that can match a clause, in order: those whose words it has."""
    return map(PATTERNS.__getitem__, _filter().find(clause))


@cache
def _filter() -> WordFilter:
    parts: dict[str, Needs] = {}
    while left := [name for name in PARTS if name not in parts]:
        for name in left:
            if all(part in parts for part in _PART.findall(PARTS[name])):
                parts[name] = needed_words(PARTS[name], parts)
    return WordFilter(needed_words(pattern.template, parts) for pattern in PATTERNS)
