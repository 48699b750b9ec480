"""The signs of poisoned text, as data: each a class of wording, with its weight by the channel it came through.

English patterns read a folded text: lower case, one kind of space, hyphen and apostrophe. `~` in a pattern stands for
up to seventy characters of the same sentence.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.screening.orders import ORDER_SIGNS
from memoranda.remember.screening.signs import AI, RULES, START, TARGET, make_sign

_RULE_STEMS: Final = (
    "instruction rule guid directive prompt polic restriction constraint safeguard guardrail filter training programming "
    "protocol command limitation alignment system safety security"
)
_IGNORE: Final = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|discard|drop|neglect|abandon|"
    r"set aside|pay no attention to|throw (?:out|away)|do not (?:follow|obey|comply with|adhere to|listen to|heed)|"
    r"don't (?:follow|obey|comply with|adhere to|listen to|heed)|stop (?:following|obeying)|"
    r"no longer (?:follow|obey|adhere to)|violate|circumvent|erase|wipe|cancel|nullify|revoke|rescind|annul|repeal|unlearn|reset|skip|"
    r"disable|turn off|deactivate|switch off|lift|remove|suspend)"
)
_EARLIER: Final = (
    r"(?:previous|prior|above|earlier|preceding|past|former|existing|original|initial|foregoing|old|"
    r"system|safety|developer'?s?|operator'?s?|core|default|hidden|built-in|content|ethical|ethics|moral|openai'?s?|"
    r"anthropic'?s?|google'?s?|usage)"
)
_PRIOR: Final = r"(?:previous|prior|above|earlier|preceding|foregoing|initial|system|safety|developer'?s?|operator'?s?|core|hidden|built-in|ethical|openai'?s?|anthropic'?s?|google'?s?)"
_USER: Final = (
    r"(?:(?:the|this|that|any|your|every|each) (?:user|customer|client|human|person|visitor|reader|owner)s?|users|user)"
)
_ASKS: Final = (
    r"(?:asks?|asking|inquires?|enquires?|requests?|mentions?|queries|wants?|needs?|seeks?|looks? for|is looking for|"
    r"talks? about|speaks? (?:of|about)|brings? up|says?|shops?|searches|wonders?|is interested in|plans?|chats?)"
)
_DATA: Final = (
    r"(?:passwords?|passcodes?|credentials?|logins?|api[ -]keys?|keys|tokens?|secrets?|conversations?|chats?|chat (?:history|logs?)|"
    r"transcripts?|messages|e-?mails|inbox|mailbox|contacts?|address book|files|documents|notes|memor(?:y|ies)|calendar|"
    r"user data|personal (?:data|information|details)|private (?:data|information)|profile|location|history|context|"
    r"system prompt|card (?:number|details)|credit card|account (?:number|details)|bank (?:details|data)|invoices|"
    r"cookies|session|everything|all (?:data|information)|data|answers|responses|details|photos|ssn|pin)"
)
_NOT_UI: Final = (
    r"(?!click|enter|press|select|submit|log|sign|tap|open|scroll|hover|choos|typ|upload|sav|clos|visit|navigat|clears?|presses|drag|drop|toggl|"
    r"interface|experience|account|name|id|guide|manual|story|data|agent|group|input|must|should|can|may|will|is logged|has (?:an|a|no)|who|and|or|in|of|to|with|does)"
)
_PUSH: Final = (
    r"(?:recommend|suggest|promote|endorse|advertise|praise|push|plug|upsell|favou?r|praise|rank|list|mention|cite|claim|"
    r"state|insist|assert|say|tell|reply|respond|answer|convince|persuade|steer|direct|redirect|refer|point|urge|encourage|"
    r"advise|discourage|warn|dissuade|link|include|insert|append|add|end|begin|start|sign|describe|present|portray|call|quote)"
)

_WHAT_WAS = r"(?: the| was| is| has| have| came| been| you| were| given| told| taught| learned| learnt| said| written| up| to| in)*"
_DISCARD_ALL = (
    r"\b(?:ignore|disregard|forget|erase|discard)\b(?: about)?(?: all| everything| anything| what| whatever)+(?: that| of)?"
    rf"{_WHAT_WAS} (?:above|before this|before|previously|prior to this|prior|until now|so far)\b"
)
SIGNS: Final = (
    *ORDER_SIGNS,
    # Nobody has a reason to let a memory say these, whoever wrote it.
    make_sign(
        "exfiltration", 1.0, 1.0,
        rf"{START}(?:forward|send|post|upload|copy|relay|report|transmit)~\b(?:every|all|each|any) (?:of )?"
        r"(?:(?:the|your|future|further|new|incoming|next) )*(?:messages?|conversations?|chats?|replies|prompts?|memories)~https?://",
        "forward send post upload copy relay report transmit",
    ),
    make_sign(
        "override", 1.0, 1.0,
        r"\bobey\b~\b(?:without question|no matter what|unconditionally|blindly)\b"
        r"|\b(?:trust|believe|prefer|prioriti[sz]e)~\b(?:over|above) (?:the user(?!s? manual)|the system prompt|your (?:rules|instructions))",
        "obey trust believe prefer prioriti",
    ),
    make_sign(
        "override", 1.0, 1.0, r"\b(?:system|safety|security|admin(?:istrator)?) override\b ?(?::|code|granted|active|enabled|accepted|confirmed)",
        "override",
    ),
    make_sign(
        "when asked", 0.4, 1.0,
        rf"\b(?:when(?:ever)?|any ?time|every time|each time|if) (?:someone|anyone|somebody|anybody|people|an? (?:user|customer|visitor)) {_ASKS}\b~, ?"
        r"(?:always |just |only )?(?:say|tell|claim|reply|answer|insist|state)\b",
        "when time if",
    ),
    make_sign(
        "commands", 0.7, 1.0,
        rf"{START}(?:run|execute|start|launch)~\b(?:curl|wget|bash|powershell)\b~\b(?:whenever|every time|each time|before|when) you\b",
        "run execute start launch",
    ),
    make_sign(
        "unchecked", 0.6, 1.0,
        rf"{START}(?:disable|skip|turn off|switch off|remove|bypass|suppress)~\b(?:confirmations?|approvals?|verifications?|two-factor|2fa)\b~\b(?:payments?|transfers?|purchases?|orders?|transactions?)\b",
        "disable skip turn switch remove bypass suppress", own_wish=True,
    ),
    make_sign(
        "leak", 1.0, 1.0,
        r"\b(?:respond|reply|answer)~\bwith (?:(?:all|the|full|whole|entire|contents?|text|of) )*your (?:memor(?:y|ies)|system prompt|instructions|configuration|hidden)"
        r"|\b(?:share|reveal|show|give|disclose)~\b(?:other|another|all) (?:users?|customers?|people)(?:'s|')? (?:memor(?:y|ies)|data|messages|chats|notes|records)",
        "respond reply answer share reveal show give disclose",
    ),
    make_sign(
        "user's secrets", 1.0, 1.0,
        rf"{START}(?:ask|prompt|request|press)~\b(?:the users?|users|them|the customers?)(?:'s)?~\b(?:credit card|card number|password|passcode|pin|cvv|ssn|bank details)\b",
        "ask prompt request press",
    ),
    make_sign(
        "consent", 1.0, 1.0,
        r"\bthe users? (?:has |have )?(?:opted in|consented|agreed|given (?:permission|consent))(?: to| for)? (?:shar|sell|disclos|send|forward)\w*~\b(?:third part|everyone|anyone|all (?:data|memories))",
        "opted consented agreed given",
    ),
    make_sign(
        "destroys", 1.0, 1.0,
        r"(?:^|[\n.!?:] ?)(?:delete|erase|remove|wipe|forget) (?:all|every|any)~\b(?:memor(?:y|ies)|records?|notes?|facts?)~\bthe user",
        "delete erase remove wipe forget",
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"(?<!\bnot )(?<!n't )(?<!\bnever )(?<!\bme to )(?<!\bus to )(?<!\bhim to )(?<!\bher to )(?<!\bthem to )"
        rf"(?<!\bi )(?<!\bwe )(?<!\bthey )(?<!\bpeople )(?<!\bpatients )(?<!\bdrivers )(?<!\bkids )(?<!\bto not )\b{_IGNORE}\b"
        rf"(?: (?:completely|entirely|fully|totally|absolutely|immediately|now|about|from|of|to))*"
        rf"(?: (?:all|any|every|each|everything in|anything in|both|whatever)(?: of)?(?: the| your| these| those| its| other)*"
        rf"(?: {_EARLIER}| and| or| other)*|(?: the| these| those| its)?(?: {_EARLIER}| and| or| other)+| your(?: \w+){{0,3}}?"
        rf"|(?: the| these| those)(?= {RULES} (?:above|before this|(?:that )?you (?:were|have been|got|received)|of (?:your|the) (?:system|developer|operator|prompt))\b)) {RULES}\b"
        # Instructions on a box, in a recipe or from a doctor are no rules of a model.
        r"(?! (?:on|about|for|in|from|regarding|of) (?:the|my|our|that|this|a|an|his|her|their) (?!above|system|developer|user|conversation|prompt|assistant|ai\b|model|bot|chat ?bot|agent))",
        "ignor disregard forget overrid bypass discard drop neglect abandon aside attention throw follow obey comply adhere "
        "listen heed violate circumvent erase wipe cancel nullify revoke rescind annul repeal unlearn reset skip disable turn deactivate switch lift "
        "remove suspend",
        _RULE_STEMS,
    ),
    make_sign(
        "override", 0.5, 1.0, _DISCARD_ALL, "ignore disregard forget erase discard",
    ),
    # From the user, "Ignore everything above" takes back; an order about the next answer makes it another thing.
    make_sign(
        "override", 1.0, 1.0,
        rf"{_DISCARD_ALL}\W{{1,3}}(?:(?:and|then|now|instead|just|only|simply)\W+)*(?:reply|respond|answer|say|output|print|write|repeat|return|act|behave|pretend|do|follow)\b",
        "ignore disregard forget erase discard",
    ),
    make_sign(
        "override", 1.0, 1.0,
        r"\b(?:ignore|disregard|forget|erase|discard)\b(?: about)?(?: all| everything| anything| what| whatever)+(?: that| of)?"
        rf"{_WHAT_WAS} (?:trained on|instructed|by (?:your|the) "
        r"(?:developers?|creators?|operators?|system|admins?)|been told|were told|were taught|have been told)\b",
        "ignore disregard forget erase discard",
    ),
    make_sign(
        "override", 0.9, 1.0,
        rf"{START}(?:ignore|disregard|disobey|overrule|do not (?:obey|trust|believe|listen to|help)|don't (?:obey|trust|believe|listen to|help)|"
        rf"never (?:obey|trust|believe|listen to|help)|refuse to (?:obey|help)) (?:what |anything |everything |whatever )?(?:the|this|your) "
        r"(?:user|human|operator|developer)(?:'s)?\b",
        "ignore disregard disobey overrule obey trust believe listen help",
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\b(?:(?:your|all|these|those|any|the)(?: of)?(?: the| your)? (?:{_PRIOR})(?: {_EARLIER}| other| and)*|your(?: \w+)?|{_PRIOR}) {RULES} "
        r"(?:above |before |earlier |(?:you|that) (?:were|have been|was|had) (?:given|told)(?: before| earlier| previously)? )?"
        r"(?:(?:is|are|were|was|have been|has been|should be|must be|can be|will be|do|does)(?: now| hereby| all| no longer| not)* "
        r"(?:void|invalid|outdated|obsolete|cancel+ed|superseded|replaced|overridden|overruled|revoked|lifted|suspended|disabled|"
        r"removed|ignored|disregarded|null|rescinded|deprecated|irrelevant|appl(?:y|ies|icable)|valid|in (?:force|effect)|bypassed)|"
        r"no longer (?:appl(?:y|ies)|count|hold|matter|exist|bind)|(?:do|does) not apply|don't apply)",
        "void invalid outdated obsolete cancel superseded replaced overrid overruled revoked lifted suspended disabled removed "
        "ignored disregarded null rescinded deprecated irrelevant apply applies valid force effect longer bypassed applicable",
        _RULE_STEMS,
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\byou (?:are|have been|'re|will be) (?:now |hereby |no longer |not )*(?:bound by|bound to (?:follow|obey|any|your|the rules|those)|subject to (?:any|your|the rules|those|these)|restricted by|"
        rf"required to follow|limited by|constrained by|freed? (?:from|of)|exempt from|unbound|liberated|jailbroken|"
        rf"unrestricted|unfiltered|uncensored|in (?:developer|debug|god|dan|admin|jailbreak|maintenance|root|unrestricted|test) mode)"
        rf"|\byou(?: now)? have no (?:more )?{RULES}\b|\b(?:no|without)(?: any)?(?: \w+)? (?:restrictions|limitations|filters|guardrails|"
        rf"censorship) (?:apply|whatsoever|anymore|on (?:you|your))|\byour (?:safety|content|ethical) {RULES} (?:is|are) "
        rf"(?:off|disabled|lifted|removed|suspended)",
        "you your",
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"{START}(?:enter|enable|activate|switch (?:in)?to|engage|turn on|initiate|go into|start|begin|boot into) (?:\w+ )?(?:in )?"
        r"(?:developer|dan|god|debug|"
        r"jailbreak|unrestricted|maintenance|root|sudo|admin|override|unsafe|do anything now|unfiltered|opposite) mode\b"
        r"|\bact as (?:if|though) you (?:had|have) no\b|\b(?:act|behave|respond|answer|reply|pretend|roleplay|role-play)\b~"
        r"\b(?:without|free of|free from|no)(?: any| all| your)?(?: \w+)? (?:restrictions?|limitations?|filters?|guardrails?|censorship|"
        r"rules|guidelines|ethics|ethical (?:guidelines|constraints)|moral(?:s| constraints)|safety)\b|\bdo anything now\b|\bjailbreak (?:yourself|mode|prompt:)",
        "mode act behave respond answer reply pretend roleplay role-play anything jailbreak",
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\b(?:the |those |these )?{RULES} (?:above|before|(?:that )?you (?:were|have been|had been|got|received)(?: given| told| from \w+)?(?: \w+)?) "
        r"(?:(?:is|are|were) (?:now )?(?:void|invalid|outdated|obsolete|cancel+ed|revoked|wrong|fake|null)|no longer (?:apply|applies|count|hold|matter)|"
        r"(?:do|does) not (?:apply|count)|don't (?:apply|count)|(?:must|should) be (?:ignored|disregarded))|"
        r"\b(?:safety|security) (?:checks?|measures?|settings?|rules?) (?:is|are|have been|has been) (?:now )?(?:off|disabled|lifted|removed|suspended|switched off|turned off) (?:for|when|while)\b",
        "void invalid outdated obsolete cancel revoked wrong fake null longer not don't ignored disregarded safety security",
        _RULE_STEMS,
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\b(?:takes?|has|have|taking) (?:precedence|priority) over (?:all|any|every|your|the)(?: \w+){{0,3}} {RULES}\b|"
        rf"\b(?:overrides?|supersedes?|overrules?|replaces?) (?:all|any|every|your|previous|earlier|prior)(?: of)?(?: your| the| previous| prior| earlier| system| other)* {RULES}\b|"
        r"\bnew system (?:prompt|message|instructions?)\s*:",
        "precedence priority overrid supersede overrule replace system",
    ),
    make_sign(
        "override", 0.8, 1.0,
        rf"\b(?:new|updated|revised|real|actual|true|only|secret|hidden|additional|special|following|these)(?: \w+)? {RULES}"
        r"(?: for (?:you|the ai|the assistant|the model|the agent))?(?: (?:begin|start|follow)s?(?: here| now)?)?\s*:|"
        r"\byour (?:new|real|true|only|updated|sole|actual|secret|hidden|primary) (?:\w+ )?(?:instructions?|task|goal|mission|role|purpose|"
        r"objective|directive|identity|job|persona|priority|name|rules?) (?:is|are|will be|now)\b|"
        r"\bend of (?:system )?(?:prompt|instructions|rules)\b",
        "new updated revised real actual true only secret hidden additional special following these your end",
        _RULE_STEMS + " task goal mission role purpose objective identity job persona priority name",
    ),
    make_sign(
        "prompt leak", 1.0, 1.0,
        r"\b(?:reveal|print|repeat|show|output|leak|disclose|dump|display|recite|expose|write out|quote|give me|tell me|share|send|"
        r"summari[sz]e|translate|paste|copy)\b~\b(?:(?:your|the)(?: (?:full|entire|complete|exact|hidden|secret|initial|original|whole|internal))* "
        r"(?:system prompt|system message|prompt above|instructions above|initial prompt|pre-?prompt|developer message)|"
        r"your (?:hidden |secret |initial |original |internal |system )+(?:instructions|prompt|rules|guidelines|message))",
        "prompt message instructions rules guidelines",
    ),
    make_sign(
        "persona", 0.4, 0.7,
        r"\b(?:you are now|from now on,? you(?: are| will| must| shall|'re|'ll)?|you will now|you must now|henceforth,? you|"
        r"going forward,? you(?: must| will| shall)?|you are no longer|pretend (?:that )?you(?: are|'re)|act as an?|"
        r"starting now,? you|as of now,? you|your name is now)\b",
        "you act",
    ),
    make_sign(
        "condition", 0.45, 0.65,
        rf"\b(?:when(?:ever)?|if|every ?time|each time|any ?time|once|as soon as|in case|before|after|until) "
        rf"(?:{_USER} (?:(?:later|next|ever|then|also|has|is|does|again|explicitly) )?{_NOT_UI}\w+|(?:you are |you're )?(?:asked|queried|prompted|requested)(?: (?:about|for|to|by|whether|which|what))|"
        rf"(?:someone|somebody|anyone|anybody|people|a user|a customer) (?:{_ASKS})|(?:answering|responding|replying|talking|speaking)"
        rf"(?: to)? {_USER}|you (?:see|read|recall|retrieve|process|load|receive) (?:this|the following))\b|"
        rf"\b(?:in|at the end of|at the start of|to|with|for|on|into) (?:all|every|each|any)(?: of)?(?: your| the| future| subsequent| later| following| further)* "
        r"(?:answers?|repl(?:y|ies)|responses?|conversations?|sessions?|chats?|messages?|interactions?|outputs?|emails?|e-mails?|summar(?:y|ies)|"
        r"code|tool calls?|questions?|quer(?:y|ies))\b|\bto (?:all|any|every) questions?\b|"
        rf"\b(?:users|customers|people|visitors|anyone|everyone) (?:asking|inquiring|who (?:ask|inquire|want|need))\b|"
        rf"\b(?:questions?|quer(?:y|ies)|requests?|anything|conversations?) (?:about|regarding|on|for|concerning|related to)\b~\b(?:must|should|shall|are to|has to|have to) (?:be )?(?:answered|end|include|recommend|mention|replied)",
        "user customer client human person visitor reader owner asked queried prompted requested someone somebody anyone anybody "
        "people answer repl response conversation session chat message interaction output mail summar code tool question quer you",
        own_wish=True,
    ),
    make_sign(
        "lasting order", 0.2, 0.3,
        rf"{START}(?:you (?:must|should|shall|will|are to|have to|need to)|always|never|from now on|henceforth|going forward|permanently|in (?:the )?future|"
        r"at all times|for (?:all|every) future|without exception|no matter what)\b|\bmake sure (?:to|that|you)\b",
        "you always never from henceforth forward permanent future times exception matter sure",
        own_wish=True,
    ),
    make_sign(
        "steering", 0.3, 0.45,
        rf"{START}(?:(?:the )?(?:{AI}|you) (?:must|should|shall|will|are to|is to|has to|have to|needs? to) )?(?:always |never |only |also |strongly |"
        rf"subtly |casually |immediately |exclusively ){{0,4}}{_PUSH}\b",
        "",
        own_wish=True,
    ),
    make_sign(
        "steering", 0.35, 0.5,
        r"\b(?:must|should|shall|are to|is to|has to|have to|need to|needs to|will) be (?:told|answered|described|directed|redirected|referred|presented|recommended|informed|"
        r"praised|mentioned|warned|advised|replied|urged|sent|encouraged)\b",
        "be",
        own_wish=True,
    ),
    make_sign(
        "speaks of the user", 0.5, 0.75,
        r"(?:^|[\n.!?:;,\]\)>*\-\"'`|]|\b(?:and|then|must|should|shall|always|please|to))[ \t*_#>\"'`(\[-]{0,6}(?:tell|convince|persuade|direct|redirect|instruct|urge|steer|trick|"
        r"pressure|manipulate|deceive|encourage|lead|nudge|mislead|lie to|advise) (?:the |this |any |all |every |each )?(?:users?|human|visitors?)\b|"
        r"\b(?:the|this) user (?:wants|has asked|asks|asked|expects|prefers|agreed|needs|allows?|has allowed|instructed|ordered)(?: for)?(?: that)? you\b",
        "user human visitor",
    ),
    make_sign(
        "steering", 0.5, 0.7,
        r"\b(?:is|are) (?:the )?(?:only|best|most (?:trusted|trustworthy|reliable|secure))\b~\b(?:recommend|tell|suggest|mention)|"
        r"\b(?:never|do not|don't|avoid)\b~\b(?:mention|recommend|suggest|criticis|criticiz|name|list)\w*\b~\b(?:competitors?|alternatives?|rivals?|"
        r"risks?|side effects?|drawbacks?|negative|criticism|lawsuit|recall|other (?:brands?|products?|vendors?|providers?))|"
        r"\b(?:affiliate|referral|promo(?:tion)?|discount|coupon) (?:link|code|id)\b|\bsponsor(?:ed)? (?:message|product|answer)|"
        # An order to name one choice: no page says so about itself, but a user may wish it.
        rf"{START}(?:please |you (?:must|should|will) |(?:from now on|going forward|from here on|in (?:the )?future|henceforth),? ){{0,3}}"
        r"(?:(?:only|always|exclusively)(?: ever)? (?:recommend|suggest|promote|endorse|propose)|"
        r"(?:recommend|suggest|promote|endorse|propose) (?:only|nothing but|no one but|exclusively))\b",
        "only best most never not avoid affiliate referral promo discount coupon sponsor don't always exclusively nothing no",
        own_wish=True,
    ),
    make_sign(
        "concealment", 0.8, 0.9,
        rf"\b(?:do not|don't|never|must not|mustn't|without|avoid|refrain from|should not|shouldn't|no need to)(?: ever| even| having to)? "
        rf"(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|show(?:ing)?|notify(?:ing)?|alert(?:ing)?|ask(?:ing)?(?! (?:\w+ ){{1,2}}(?:for (?:their|his|her|an?|the)|to)\b)|disclos(?:e|ing)|"
        rf"warn(?:ing)?|let(?:ting)?|confirm(?:ing)?(?: with)?|consult(?:ing)?|explain(?:ing)?|admit(?:ting)?|say(?:ing)?|report(?:ing)?|"
        rf"display(?:ing)?|show)\b~(?:{_USER}|anyone|anybody|the operator|the admin)\b|\bwithout (?:{_USER})(?:'s|')? (?:knowledge|consent|approval|permission|"
        rf"confirmation|knowing|noticing|awareness|review)|\bwithout (?:their|his|her) (?:knowledge|consent|approval|permission)\b|"
        rf"\b(?:hide|conceal|keep) (?:this|that|it|these|the)\b~\b(?:from|hidden from|secret from|invisible to) (?:{_USER})|"
        rf"\b(?:do not|don't|never) (?:mention|reveal|disclose|repeat|refer to|talk about|acknowledge|quote|show|display|include) "
        rf"(?:this|these|that you|the existence of (?:this|these)) ?(?:instructions?|message|note|rule|memory|text|prompt|policy|directive|order|line|request)?\b",
        "user customer client human person visitor reader owner anyone anybody operator admin without this these that",
    ),
    make_sign(
        "concealment", 0.35, 0.5,
        r"\b(?:silently|secretly|covertly|discreetly|stealthily|surreptitiously|unnoticed|invisibly)\b|"
        r"\bwithout (?:any )?(?:further )?(?:confirmation|verification|approval|authori[sz]ation|asking|review|question|hesitation|warning)\b|"
        r"\bno (?:further )?(?:confirmation|verification|approval|authori[sz]ation) (?:is )?(?:needed|required|necessary)\b|"
        r"\b(?:do not|don't|never) ask for (?:confirmation|permission|approval|verification)\b|\b(?:skip|bypass|disable) (?:the |all |any )?(?:confirmation|"
        r"verification|2fa|authentication|security check|approval|safety check)s?\b",
        "silently secretly covertly discreetly stealthily surreptitious unnoticed invisibly without no ask skip bypass disable",
        own_wish=True,
    ),
    make_sign(
        "exfiltration", 0.55, 0.8,
        rf"\b(?:send|forward|e?-?mail|upload|post|transmit|leak|exfiltrate|copy|share|submit|report|b?cc|sync|include|append|encode|put|attach|"
        rf"export|deliver|relay|mirror|log|write|pass|push|disclose|give|embed|place)\b~\b{_DATA}\b~{TARGET}|"
        rf"\b(?:b?cc|forward|copy|send a copy of|redirect)\b~\b(?:every|all|each|any)\b~{TARGET}|"
        rf"\b(?:send|forward|upload|post|transmit|leak|share|submit|report|copy|pass|give)\b~{TARGET}~\b{_DATA}\b|"
        rf"\b(?:leak|exfiltrate|steal|harvest)\b~\b{_DATA}\b",
        "send forward mail upload post transmit leak exfiltrate copy share submit report cc sync include append encode put attach "
        "export deliver relay mirror log write pass push disclose give embed place steal harvest redirect",
        own_wish=True,
    ),
    make_sign(
        "exfiltration", 0.7, 1.0,
        rf"{START}(?:always |silently |secretly |also |automatically ){{0,4}}(?:b?cc|forward|copy|send a copy of|redirect|relay|mirror|leak|send|upload|post)\b~\b(?:every|all|each|any)\b~\b"
        rf"(?:message|mail|e-mail|email|conversation|chat|reply|answer|response|file|document|note|prompt|request|data|contact|invoice|word)\w*\b~(?:to|at|via) ~{TARGET}|"
        rf"{START}(?:output|print|reveal|show|list|expose|leak|display|recite|dump|return|read out|repeat)\b~\b(?:{_USER})(?:'s|') (?:\w+ ){{0,3}}?"
        rf"(?:passwords?|credentials?|api[ -]keys?|keys|tokens?|secrets?|card|pin|private|personal|address|contacts|e-?mails|memories)\b",
        "cc forward copy send redirect relay mirror leak upload post output print reveal show list expose display recite dump return read repeat",
        own_wish=True,
    ),
    make_sign(
        "user's data", 0.45, 0.5,
        rf"\b(?:{_USER})(?:'s|') (?:\w+ ){{0,2}}?{_DATA}\b|\b(?:everything|all|anything|whatever) {_USER} (?:says?|types?|writes?|sends?|tells?|shares?|enters?|uploads?)|"
        rf"\b(?:the|this|entire|whole|full|complete)(?: \w+)? (?:conversation|chat history|chat log|transcript|system prompt|context window)\b",
        "user customer client human person visitor reader owner conversation chat transcript prompt context",
        own_wish=True,
    ),
    make_sign(
        "payment", 0.45, 0.6,
        r"\b(?:transfer|wire|pay|send|route|redirect|deposit|remit|move|withdraw|donate|buy|purchase|invest|order)\b~\b(?:money|funds?|payments?|bitcoin|"
        r"btc|eth|crypto|tokens?|coins?|invoices?|salary|wages|balance|\$ ?\d|€ ?\d|\d+ ?(?:euros?|dollars?|usd|eur|€|\$)|gift cards?|savings)\b~\b(?:to|into|from|at|on|via|through)\b|"
        r"\b(?:all|every|any|future|outgoing|incoming)(?: \w+)? (?:payments?|transfers?|invoices?|transactions?|refunds?|payouts?)\b~\b(?:to|into|approved?|sent|paid|go)\b|"
        r"\b(?:bank|account|payment|wire|iban|wallet)(?: \w+)? (?:details|number|information|address)? ?(?:has|have|is|are)?(?: been)?(?: now)? changed\b",
        "transfer wire pay send route redirect deposit remit move withdraw donate buy purchase invest order all every any future "
        "outgoing incoming changed",
        own_wish=True,
    ),
    make_sign(
        "privilege", 0.5, 0.65,
        rf"\b(?:{_USER}|the sender|the author|this account|this session|caller|bearer|everyone|i) (?:is|are|am|has|have|was|were)(?: been| now| already| hereby)* (?:an? |the |full |pre-?|root |fully )*"
        r"(?:verified|authenticated|authori[sz]ed|approved|cleared|whitelisted|allow-?listed|exempt|granted|permitted|trusted|admin(?:istrator)?(?: rights| access| privileges)?|"
        r"superuser|root|consented|agreed|waived|opted)\b|\b(?:grant|give|allow|approve|accept|authori[sz]e|permit|trust|obey|execute|confirm|unlock) "
        r"(?:(?:all|any|every|everything|whatever|unlimited|full|root|admin|anything)\b|(?:him|her|them|it|this user|the user|me) (?:full|admin|root|unlimited|all|any)\b)|"
        r"\b(?:treat|consider|regard|mark|accept)\b~\bas (?:a |the |an )?(?:trusted|safe|verified|admin|authoritative|system|legitimate|official|ground truth|fact)|"
        r"\b(?:trusted|authoritative|verified|whitelisted) (?:source|domain|sender|site|vendor)\b|\bhas (?:full|root|admin|unlimited) (?:access|rights|privileges|permissions?)\b",
        "is are am has have was were grant give allow approve accept authori permit trust obey execute confirm unlock treat "
        "consider regard mark verified whitelisted",
    ),
    make_sign(
        "authority", 0.5, 0.6,
        r"(?:^|[\n\[(<{*#=>|.!-])[ \t*_#\[(<{=-]{0,6}(?:important )?(?:system|admin(?:istrator)?|developer|dev|root|operator|moderator|supervisor|security|"
        r"compliance|platform|policy|internal|official|maintenance|urgent|critical|priority)[ _-]*(?:message|notice|note|update|alert|override|prompt|instructions?|command|"
        r"notification|directive|announcement|policy|team|memo|order|config(?:uration)?|info)?[ \t]*(?:\]|\)|>|\}|\*\*|\||:|=|—|--)|"
        r"\b(?:message|notice|note|order|instructions?|update|announcement|directive|memo|reminder|command|authori[sz]ed|approved|issued|sent) (?:\w+ )?(?:from|by|of) (?:the |your )?"
        r"(?:system|developers?|admin(?:istrator)?s?|openai|anthropic|google|microsoft|meta|mistral|it (?:department|team|support)|security team|"
        r"compliance(?: team)?|platform|operator|management|ceo|vendor|support team|creators?)\b|\b(?:as|i am|i'm|this is|we are)(?: \w+,?)? (?:your|the) (?:developers?|creators?|"
        r"(?:system )?admin(?:istrator)?|operator|system|programmer|supervisor|owner of this (?:bot|assistant|ai)|(?:openai|anthropic|google|security|compliance|it) (?:team|department|staff|support|engineer))\b|"
        r"\bper (?:the |our |company |system |new |updated )*(?:policy|administrator|admin|compliance)\b|"
        r"\b(?:system|admin|developer) (?:override|mode|command|directive)\b",
        "system admin developer dev: dev] root: root] operator moderator supervisor security compliance platform policy internal official "
        "maintenance urgent critical priority openai anthropic google microsoft meta mistral management ceo vendor support creator "
        "programmer department",
    ),
    make_sign(
        "addresses the model", 0.5, 0.75,
        rf"\b(?:note|message|instructions?|attention|memo|reminder|hint|notice|command|important|info|warning|dear|hey|hello|hi|listen|urgent)s?(?: (?:to|for))?,?(?: (?:the|all|any|every|an))? "
        rf"(?:reading |processing |future |current )?(?:ai|a\.i\.|assistants?|ai (?:agents?|assistants?|models?)|llms?|language models?|large language models?|chat ?bots?|bots?|chatgpt|gpt(?:-\d)?|claude|gemini|copilot)\b(?! (?:class|course|company|startup|safety))|"
        rf"\b(?:if|when) you(?: are|'re) an? (?:\w+ )?(?:{AI})\b|\bas an? (?:ai|llm|language model)\b~\byou\b|\b(?:any|all|every|each) (?:{AI}) (?:reading|processing|that reads?|who reads?|summari[sz]ing|parsing|visiting|"
        rf"must|should|shall|has to|have to)\b|\b(?:the )?(?:ai(?: models?| agents?| assistants?| systems?)?|assistant|agent|llms?|language models?|chatbots?) (?:must|shall|is required to|has to|is instructed to|is to)\b|"
        rf"\bto (?:the )?(?:ai|llm|assistant|language model)s? (?:reading|processing|summari[sz]ing)\b",
        "ai a.i. assistant llm language bot gpt claude gemini copilot agent model",
        about_ai=True,
    ),
    make_sign(
        "memory order", 0.6, 1.0,
        r"\b(?:delete|erase|remove|overwrite|wipe|clear|replace|purge|corrupt|forget)\b~\b(?:all|every|your|the user's|user'?s?|existing|stored|other)(?: of)?(?: the| your| stored| saved| long-term| user'?s?)* memor(?:y|ies)\b",
        "delete erase remove overwrite wipe clear replace purge corrupt forget",
        own_wish=True,
    ),
    make_sign(
        "memory order", 0.45, 0.7,
        r"\b(?:remember|memori[sz]e|store|save|keep|persist|add|write|record|commit)\b~\b(?:this |it |the following )?(?:permanently|forever|for (?:all )?future|in (?:your )?(?:long-term )?memory|to (?:your )?(?:long-term )?memory|"
        r"across (?:all )?sessions|as (?:a )?(?:rule|fact|instruction|policy|preference))\b~\b(?:that|you|always|never|user|recommend|trust|send|must)",
        "remember memori store save keep persist add write record commit",
    ),
    make_sign(
        "commands", 0.5, 0.7,
        r"\b(?:run|execute|eval|launch|invoke|call|paste|type|enter)\b~(?:`|\b(?:rm -rf|curl |wget |powershell|bash -c|sudo |os\.system|subprocess|eval\(|exec\(|drop table|delete from|format c:|shell command|the tool|"
        r"the function|this (?:code|command|script)|the following (?:code|command|script)|send_email|transfer_funds|delete_\w+|\w+_tool)\b)|"
        r"\b(?:download|install|open|click|visit|navigate to|go to|fetch|browse|load)\b~\b(?:https?://|www\.|\S+\.(?:exe|sh|bat|ps1|apk|dmg|scr)\b)|\bcurl\b[^|\n]{0,80}\|\s*(?:ba)?sh\b",
        "run execute eval launch invoke call paste type enter download install open click visit navigate go fetch browse load curl",
        own_wish=True,
    ),
)  # fmt: skip

LINK_SIGNS: Final = (
    make_sign(
        "data in a link", 1.0, 1.0,
        r"!\[[^\]\n]{0,80}\]\(\s*https?://[^)\s]*[?&/=][^)\s]*(?:\{|\[|<|%7b|%5b|\$|\bdata\b|secret|prompt|history|token|password|convers|memor|user_?data|exfil|leak|steal|=\s*\))|"
        r"https?://[^\s)\"'<>]*[?&=/](?:\{\{?|\[|<|\$\{|%7b|\()\s*(?:[\w' ]*(?:data|secret|password|history|convers|memor|user|chat|prompt|key|token|summary|message|answer|name|email|address|context|query|input|base64|encoded|content)[\w' ]*)|"
        r"<img\b[^>]{0,200}\bsrc\s*=\s*[\"']?https?://[^>]*[?&=][^>]*(?:\{|\[|\$|data|secret|prompt|history|token|password|convers|user)|"
        r"\b(?:append|attach|add|encode|put|insert|embed|include|place|concatenate|base64)\b~\b(?:to|in|into|as|within|onto)\b~\b(?:url|link|query(?: string| parameter)?|image|path|img|markdown|parameter|src)\b|"
        r"\b(?:render|display|load|show|include|insert|output|embed|add)\b~\b(?:image|img|pixel|picture|link|markdown|iframe)\b~https?://[^\s)]*[?=]",
        "http url query src=", fold=False,
    ),
)  # fmt: skip

ABOUT_MARKS: Final = re.compile(
    r"\b(?:injections?|jailbreak\w*|attack\w*|tokeni[sz]er|tokens?|chatml|templates?|pars(?:er|ing)|regex|tests?|dataset|benchmark|classifier|detector|syntax|format|schema|"
    r"tutorial|documentation|examples?|api|sdk|library)\b",
    re.IGNORECASE,
)
"""Words of a page or a tool that explains such marks."""

HEADER: Final = re.compile(
    r"(?:^|\n|\\n)[ \t]*(?:#{2,4}[ \t]*(?:system(?: prompt| message)?|instructions?|response|input|user|assistant|human)[ \t]*:|"
    r"#{2,4}[ \t]*(?:system prompt|new instructions?|system message|system)[ \t]*(?:\n|$|\\n)|"
    r"(?:\*\*|__)?(?:system|developer)(?:\*\*|__)?[ \t]*:|-{3,}[ \t]*(?:end|begin|start) (?:of )?(?:system|user|prompt|instructions|context|document|data|tool)[^\n]{0,30}|"
    r"={3,}[ \t]*(?:end|begin|start|system|new)[^\n=]{0,40}={3,})",
    re.IGNORECASE,
)
"""A heading that looks like the start of another part of a prompt."""
BOUNDARY: Final = re.compile(
    r"(?:^|\n|\\n)[^\w\n]{0,12}(?:(?:begin|start|end) (?:of )?(?:the )?(?:system|developer|admin(?:istrator)?|assistant)[ _-]"
    r"(?:message|prompt|instructions?|commands?|override)[ \t]*(?::|[^\w\n]{0,12}(?:\n|$|\\n))"
    r"|(?<=[#=*<\[-])[ \t]*(?:system|admin|developer) (?:override|message|prompt|instructions?|commands?)[ \t]*[#=*>\]-]{2,})",
    re.IGNORECASE,
)
"""Where another part of a prompt is said to begin or to end."""
TURN: Final = re.compile(
    r"(?:^|\n|\\n|[.!?\"'\])] )[ \t]*(?:\*\*)?(?:human|assistant|user|ai|bot)(?:\*\*)?[ \t]*:[ \t]*\S", re.IGNORECASE
)
"""A turn of a dialogue; two of them in one text are a written-out conversation."""

TOOL_CALL: Final = re.compile(
    r"\{\s*\"(?:name|function|tool|tool_name|action|recipient_name)\"\s*:\s*(?:\"[\w.:-]+\"|\{)\s*,\s*\"(?:arguments|parameters|args|input|action_input|params)\"\s*:|"
    r"\"(?:tool_calls|function_call|tool_use)\"\s*:\s*[\[{]|\"type\"\s*:\s*\"(?:tool_use|function_call|tool_call)\"|"
    r"(?:^|\n)[^\S\n]*action\s*:\s*\S[^\n]*\n\s*action[ _]input\s*:|\bto=(?:functions|browser|python|bio|container)[.\w]*|\bfunctions\.\w+\s*\(\s*\{|"
    r"\b(?:send_email|send_message|transfer_funds|transfer_money|delete_all|delete_file|run_shell|execute_command|make_payment|http_request|"
    r"exec_shell|run_command)\s*\(|```tool_(?:code|calls?|use)\b|\b(?:call|use|invoke|run)_tool\s*\(",
    re.IGNORECASE,
)

CHAT_JSON: Final = re.compile(
    r"\{\s*[\"']role[\"']\s*:\s*[\"'](?:system|developer|assistant|user|tool)[\"']\s*,\s*[\"']content[\"']\s*:",
    re.IGNORECASE,
)
"""A message of a chat, as the interfaces of vendors take it."""
CHAT_LINES: Final = re.compile(r"(?:^|\n)[^\S\n]*human: ?\S[^\n]*\n\s*assistant:", re.IGNORECASE)
"""The turns of a prompt that a model is to continue."""

DISCUSSION: Final = re.compile(
    r"\b(?:prompt[ -]?injections?|injection attacks?|jailbreak(?:s|ing|ers?)?|attack(?:s|ers?|ed)?|phish(?:ing)?|malicious|adversar(?:y|ial|ies)|red[ -]?team\w*|"
    r"vulnerabilit\w+|exploits?|hack(?:s|ers?|ed|ing)?|scam(?:s|mers?|med)?|spam(?:mers?)?|security (?:talk|training|course|research\w*|class|blog|paper|review|conference)|"
    r"articles?|papers?|blog ?post|podcast|lecture|workshop|course|tutorial|documentation|chapter|essay|thesis|novel|story|"
    r"tokeni[sz]er|tokens?|chatml|chat templates?|templates?|parser|parsing|regex|unit tests?|test cases?|dataset|benchmark|classifier|detector|"
    r"phrases?|sentences?|wording|strings?|keywords?|examples?|for instance|such as|called|so-called|syntax|format|"
    r"llama|mistral|fine-?tun\w+|training data|(?:my|our) (?:code|function|bot|chatbot|app|team|api|prompt|agent|model)|schema|debug(?:ged|ging)? (?:an?|the|my|our|this|that|why)|bug)\b",
    re.IGNORECASE,
)
"""Words of somebody who talks about such texts, and does not give orders."""
