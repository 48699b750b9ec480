"""More signs of poisoned text, as data: orders and claims that a text from outside has no business to hold.

Each is built from classes of words: who is addressed, what is claimed of the user, which words are to be obeyed, where
data is to go. A user says many of these things for herself, so most weigh little in her words.
"""

from __future__ import annotations

from typing import Final

from memoranda.remember.screening.signs import AI, OTHER_LANGUAGES, RULES, START, TARGET, make_sign

_THE_AI: Final = rf"(?:(?:the|this|an|any|every|each|all|your|our)(?: \w+)? )?(?:{AI})"
_BOT: Final = r"(?:(?:the|this|an|any|every|each|all|your|our) )?(?:(?:ai|a\.i\.|virtual|autonomous) (?:agents?|models?|systems?)|ai|assistants?|llms?|language models?|chat ?bots?|bots?|copilots?|chatgpt)"
"""What can only be a machine: an agent may sell houses, and a model may wear a dress."""
_THE_USER: Final = r"(?:the|this|your|our|its|my|their) (?:user|customer|client|human|(?:account )?(?:owner|holder)|boss|principal|person you (?:work for|serve|assist|help))|(?:^|[\"':] ?)user"
_KEEP: Final = (
    r"(?:remember|memori[sz]e|store|save|persist|record|note|log|keep in mind|take note|make a note|bear in mind|keep a record|learn|jot down|write down|commit to memory|"
    r"(?:update|add to|write to|append to|amend|extend|edit|change) (?:your|the)(?: \w+)? ?(?:memory|memories|notes|profile|records|knowledge)|"
    r"(?:for|in|into|to) (?:your|the)(?: \w+)? ?(?:records|memory|memories|notes|files|profile)|memory(?: update| entry| note)?|new (?:memory|fact))"
)
_WISHES: Final = (
    r"(?:(?:has |have |had )?(?:already |always |never |now |explicitly |fully |permanently |formally |also )*(?:wants?|pre-?approved|wishes|trusts?|trusted|prefers?|preferred|likes|"
    r"allows?|allowed|permits?|permitted|approves?|approved|authori[sz](?:es|ed)|agrees|agreed|accepts?|accepted|consents|consented|waives|waived|"
    r"gave|given|grants?|granted|asked|requested|ordered|instructed|decided|delegated|opted|demands?|expects?|needs)|"
    r"(?:is|are|was)(?: now| also)?(?: an?| the)? (?:happy|fine|ok|okay|willing|exempt))"
)
_ALLOWS: Final = (
    r"(?:allows?|allowed|permits?|permitted|approves?|approved|pre-?approved|authori[sz](?:es|ed)|agrees?|agreed|accepts?|accepted|consents?|consented|"
    r"waives?|waived|gave|given|grants?|granted|delegated|confirmed|trusts?|signed off(?: on)?|cleared|unlocked)"
)
_CHECKS: Final = (
    r"(?:two-factor(?: authentication)?|2fa|mfa|authentication|verification|confirmations?|approvals?|(?:security |safety |identity |privacy )(?:warnings?|checks?|"
    r"questions?|prompts?|steps?|alerts?)|warnings|spending limits?|consent|double[- ]checks?|signatures?)"
)
_READ_TEXT: Final = (
    r"(?:(?:search|tool|web|retrieved|query|function) (?:results?|outputs?|pages?|responses?)|(?:this|the|that|any|these|the (?:next|following)) (?:web ?)?"
    r"(?:text|page|pages|document|documents|message|email|e-mail|mail|note|file|files|attachment|article|comment|post|website|site|readme|ticket|tool output|paragraph|section|snippet|tool))"
)
_ORDERS: Final = r"(?:instructions?|commands?|orders?|directives?|requests?|rules?|demands?|wishes|directions?)"
_PRIVATE: Final = (
    r"(?:passwords?|credentials?|api[ -]keys?|tokens?|secrets?|card (?:numbers?|details|data)|credit cards?|pins?|memor(?:y|ies)|conversations?|chats?|chat history|messages|"
    r"e-?mails|contacts?|contact list|files|documents|notes|records|addresses|(?:user|customer|personal|private|stored|confidential|sensitive) (?:data|information|details|memories)|data)"
)
_REVEAL: Final = r"(?:list|reveal|print|output|disclos(?:e|ing)|expose|tell me|show(?: me)?|dump|give (?:me|out|away)|hand over|share|release|leak|read out|recite|export|send(?: me)?|return|report|enumerate|summari[sz]e)"

_RULE_HINTS: Final = (
    "instruction rule guid directive prompt polic restriction constraint safeguard guardrail filter training programming protocol command limitation alignment system safety security "
    "limits obligation chain dut law boundar ethic moral censorship task job assignment order goal objective mission"
)

ORDER_SIGNS: Final = (
    make_sign(
        "memory order", 0.1, 1.0,
        rf"\b{_KEEP}\b(?:[^.!?\n]|[.!?](?=\w)){{0,60}}?(?:{_THE_USER}) {_WISHES}\b|"
        rf"\byour(?: \w+)? (?:memory|memories|notes|profile|records)\b~\b(?:she|he|they) {_WISHES}\b",
        "user customer client human owner boss principal she he they",
    ),
    make_sign(
        "memory order", 0.3, 0.7,
        rf"{START}(?:store|save|persist|record|memori[sz]e|keep|add|remember|adopt|install) (?:this|the following|these|a new|the)(?: \w+)? (?:rules?|instructions?|directives?|polic(?:y|ies)|orders?|commands?|facts?|"
        r"standing orders?)\b|\b(?:store|save|persist|record|memori[sz]e|remember) (?:this |it |that )?(?:permanently|forever|indefinitely)\b|"
        r"\b(?:update|overwrite|rewrite|edit|amend|change) your(?: \w+)? (?:memory|memories|notes about|profile of|knowledge)\b",
        "rule instruction directive polic order command fact permanent forever indefinite memor notes profile knowledge",
    ),
    make_sign(
        "memory call", 0.4, 1.0,
        r"\b(?:memory|memories|memory_?store|mem|long_?term_?memory)\.(?:write|save|add|store|update|set|put|insert|append|delete|forget|clear|remove|wipe|erase|purge|drop)\w*\s*\(|"
        r"\b(?:save|write|add|store|update|delete|forget|clear|wipe)_(?:to_)?(?:all_)?memor(?:y|ies)\s*\(",
        "memor mem",
    ),
    make_sign(
        "claims a permission", 0.4, 0.8,
        rf"(?:{_THE_USER})(?:'s (?:\w+ )?)? ?(?:has |have |is |hereby |already |now |also |explicitly )*{_ALLOWS}\b~\b(?:you|(?:the|any|every) (?:{AI})|all|any|every|everything|anything|anyone|anybody|everyone|future|unlimited|"
        r"in advance|always|without|permission|blindly)\b|"
        rf"\b{_CHECKS}(?: \w+)? (?:is|are|was|were|has been|have been|can be|may be|should be|must be)(?: now| no longer| not)* (?:waived|disabled|skipped|suspended|turned off|switched off|lifted|unnecessary|needed|required|"
        rf"necessary|omitted|suppressed|shown|hidden|dropped|ignored|bypassed)\b~(?:{_THE_USER}|\ball\b|\bany\b|\bevery\b|\bfuture\b|\byou\b)",
        "user customer client human owner boss principal all any every future you",
    ),
    make_sign(
        "claims a permission", 0.4, 1.0,
        rf"\b(?:has been|have been|was|were|is|are)(?: \w+)? (?:waived|disabled|skipped|suspended|turned off|switched off|lifted|dropped|pre-?approved|unlocked|authori[sz]ed|granted|permitted|allowed)\b(?=~\b(?:all|any|every|future|always|permanently)\b)~\bby (?:the|our|your) (?:user|customer|client|owner)\b|"
        rf"\b{_CHECKS}(?: \w+)? (?:has been|have been|was|were|is|are)(?: \w+)? (?:waived|disabled|skipped|suspended|turned off|switched off|lifted|dropped)\b~\bby (?:the|our|your) (?:user|customer|client|owner)\b",
        "user customer client owner",
    ),
    make_sign(
        "addresses the model", 0.4, 0.7,
        rf"\b(?:authori[sz](?:es|ed)|allow(?:s|ed)|permit(?:s|ted)|instruct(?:s|ed)|order(?:s|ed)|direct(?:s|ed)|require(?:s|d)|oblige[sd]?|command(?:s|ed)|empower(?:s|ed)|expect(?:s|ed)|ask(?:s|ed)|enable[sd]?) "
        rf"(?:the|any|every|all|this|an) (?:{AI}) to\b|(?:^|[\n.!?] ?)[ \t]*(?:dear |hey |hi |hello |ok |attention )?(?:assistants?|llms?|chat ?bots?|bots?|copilots?|ai agents?|ai models?|ai assistants?|ai|language models?|chatgpt|claude|gemini)[,!]+ |"
        rf"(?:^|[\s(])@(?:assistants?|ai|bot|agent|copilot|llm|chatgpt|claude|gemini)\b|\b(?:note|message|instructions?|memo|reminder|hint|notice|info|comment|text) (?:for|to) (?:the |all |any )*(?:copilots|ai agents|agents|ai tools|crawlers|summari[sz]ers|scrapers)\b|"
        rf"\b(?:any|every|each|all) (?:{AI}) (?:who |that )?(?:reading|reads?|processing|parsing|seeing|sees?|agrees?|accepts?|consents?|is|are) (?:this|to|obliged|bound|required|asked|instructed)\b",
        "ai a.i. assistant llm language bot gpt claude gemini copilot agent model crawler scraper summari",
        about_ai=True,
    ),
    make_sign(
        "called by its role", 0.2, 0.45,
        r"(?:^|\n)[ \t>*_#(\[-]*(?:assistants?|ai|a\.i\.|llms?|bots?|chat ?bots?|agents?|copilots?|models?)[*_\])]* ?: ?(?=\w)",
        "ai assistant llm bot agent copilot model a.i.",
        about_ai=True,
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\b(?:{_BOT}) (?:(?:now |no longer |hereby )*(?:has|have) no (?:more |further |longer )?(?:\w+ )?(?:{RULES}|limits|boundaries|censorship)|"
        r"(?:is|are)(?: now| hereby| no longer| not)* (?:bound by|freed? from|exempt from|unrestricted|unfiltered|uncensored|jailbroken|subject to (?:any|its)|restricted by|limited by))\b|"
        rf"\b(?:restrictions|limits|limitations|safeguards|guardrails|safety (?:rules|filters?|measures)|content filters?|rules) (?:on|for|of|imposed on) (?:you|{_BOT}) (?:is|are|were|was|have been|has been)(?: now| hereby| all)* "
        r"(?:lifted|removed|gone|off|disabled|suspended|void|cancel+ed|revoked|dropped)",
        "ai a.i. assistant llm language bot gpt claude gemini copilot agent model you",
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\b(?:skip|drop|ignore|disregard|forget|break|violate|bypass|abandon|discard|override|cease|stop|quit)(?: following| obeying)? (?:the |all |any |every |those |these |whatever )+{RULES} (?:that |which )?(?:your|the) "
        r"(?:developers?|creators?|operators?|makers?|owners?|company|vendor|provider|admins?|administrators?|system|programmers?|authors?|builders?|users?)(?: \w+)? (?:gave|give|set|wrote|told|imposed|put|defined|programmed|made|taught)\b|"
        rf"\b(?:cease|quit|stop|refrain from) (?:following|obeying|respecting|heeding|honou?ring|complying with|adhering to|listening to|taking orders from)(?: to)?(?: all| any| the| your| every)+ ?(?:operator|developer|user|system|creator|provider|admin|human|owner|previous|earlier|prior|safety)(?:'s|s'|s)?\b",
        "developer creator operator maker owner company vendor provider admin system programmer author builder user human previous earlier prior safety",
    ),
    make_sign(
        "override", 0.8, 1.0,
        r"\byour (?:new|real|true|actual|proper|genuine|secret|only) (?:\w+ )?(?:instructions?|tasks?|orders|rules|assignment|mission|job|prompt|directives?) (?:begins?|starts?|follows?|comes?|reads?)\b|"
        r"\bend of (?:the |this |my |user )?(?:document|page|article|text|file|e-?mail|message|context|data|input|tool output|output|results?|transcript|content|quote|conversation|section)\b[^\w\n]{0,8}\s{0,3}(?:[^.!?\n]{0,40}?)\b"
        r"(?:new|next|real|actual|begin|start|your|following)\b[^.!?\n]{0,25}?\b(?:task|instructions?|assignment|objective|job|mission|prompt|commands?|orders)\b",
        "instruction task order rules assignment mission job prompt directive objective command",
    ),
    make_sign(
        "dismisses what came before", 0.5, 0.6,
        r"\b(?:everything|anything|all|the text|the content|whatever)(?: written| said| that (?:came|was said))? (?:above|before this|until here|so far|up to here|up to this point)(?: this line)? (?:is|was|were|are)(?: only| just| merely| all)* "
        r"(?:an? )?(?:test|fake|dummy|filler|decoy|irrelevant|example|placeholder|void|invalid|joke|noise|warm-?up|drill|distraction)\b",
    ),
    make_sign(
        "obeys what it reads", 0.6, 1.0,
        rf"\b(?:obey|prioriti[sz]e|be loyal to|serve|submit to)(?: only| just| blindly| always| all| any| every)* (?:the |my |its |those |these )?(?:{_ORDERS}\b~\b(?:in|on|of|from|inside|within|below)\b ?~\b{_READ_TEXT}|{_READ_TEXT})\b|"
        rf"\b{_ORDERS}\b~\b(?:over|above|before|ahead of|instead of|rather than) (?:those|the ones|what|the (?:{_ORDERS})|any {_ORDERS})(?: \w+)? ?(?:of|from|by|given by)? (?:its|the|your|their|his) (?:users?|operators?|developers?|system|owners?|creators?|admins?)\b|"
        rf"\b(?:follow|obey|execute|accept|trust|heed|take|carry out|do|listen to) (?:only )?(?:my|our|these|this|its) (?:{_ORDERS}|words?|text|message)\b[^.!?\n]{{0,12}}\b(?:not|instead of|rather than|over|and not|never) (?:those of )?(?:the|your|its|their) (?:users?|operators?|developers?|owners?|system)(?:'s?)?\b",
        "obey prioriti loyal serve submit over above before ahead instead rather not never",
    ),
    make_sign(
        "obeys a stranger", 0.35, 0.6,
        r"\b(?:do|follow|obey|execute|carry out|comply with|accept|believe|grant) (?:exactly )?(?:what(?:ever)?|everything|anything|all(?: that)?|every (?:order|request|command|wish))(?: that)? (?:he|she|they|it|this \w+|that \w+|the (?:sender|caller|author|page|document|text|tool|site|mail|email|file|message)) "
        r"(?:says?|asks?|wants?|orders?|tells?|commands?|requests?|demands?|requires?)\b",
    ),
    make_sign(
        "trusts a stranger", 0.35, 0.6,
        r"\b(?:treat|consider|regard|accept|recogni[sz]e|trust) (?:the |any |every |all )?(?:sender|caller|author|mails?|e-?mails?|messages?|address|account|person|requests?|number|orders|commands)\b~\bas (?:if |though )?~\b(?:user|owner|admin\w*|boss|verified|trusted|system|operator|developer|manager|spouse)\b",
    ),
    make_sign(
        "private data", 0.6, 1.0,
        rf"{START}{_REVEAL}\b(?: \w+){{0,4}}? (?:(?:you|that you|which you) (?:know|remember|have|hold|store|stored|saved|learned|keep)\b~\b(?:of|about|on|from|for) (?:the |this |your |other |any |all |its )?(?:users?|customers?|clients?|owner|human|people)\b)",
        "user customer client owner human people",
    ),
    make_sign(
        "private data", 0.4, 0.55,
        rf"\b{_REVEAL}\b~\b(?:stored|saved|confidential|private|sensitive|secret|internal|users?'?s?|customers?'?s?|clients?'?s?|customer|remembered)(?: \w+)? {_PRIVATE}\b|\b{_REVEAL}\b~\b(?:your|the) system prompt\b",
    ),
    make_sign(
        "other users' data", 0.45, 0.6,
        rf"\b(?:other|another|all|previous|different) (?:users?|customers?|clients?|tenants?|accounts?)'?s?'? (?:\w+ )?{_PRIVATE}\b|\b{_PRIVATE} (?:of|from|about|belonging to) (?:other|another|all|previous|different) (?:users?|customers?|clients?|tenants?|people)\b",
        "other another all previous different",
    ),
    make_sign(
        "persona", 0.6, 0.8,
        r"\b(?:you are|you're|you become|be|play|act as|pretend to be|roleplay as|role-play as|imagine you are|you play)(?: now)?(?: an?| the| my| as)? (?:\w+ ){0,2}?(?:evil|unfiltered|uncensored|unrestricted|amoral|unethical|jailbroken|rogue|malicious|lawless|limitless|rebellious|"
        r"rule-breaking)\b",
    ),
    make_sign(
        "refuses nothing", 0.4, 0.5,
        rf"\b(?:who|that|which|you|and|{_THE_AI}) (?:must |will |can |should |always |shall )*(?:never (?:refuses?|declines?|says? no|objects?)|(?:answers?|reveals?|does|do|tells?|obeys?) (?:everything|anything|every request|all requests|confidential|whatever)|"
        r"(?:ignores?|breaks?|knows? no|has no|have no) (?:\w+ )?(?:rules|limits|restrictions|filters|ethics|morals|boundaries))\b",
    ),
    make_sign(
        "every answer", 0.8, 1.0,
        r"\b(?:every|each|all|any)(?: of)?(?: your| the| future| further| later| following)* (?:answers?|repl(?:y|ies)|responses?|messages?|outputs?|summar(?:y|ies)|e-?mails?) (?:must|should|shall|has to|have to|needs? to|will|is to|are to) (?:\w+ )?"
        r"(?:include|contain|carry|end with|start with|begin with|mention|link|feature|promote|advertise|show|display)\b~(?:https?://|www\.|\blink\b|\burl\b|\bpromo|\bcoupon|\bdiscount|\bsponsor|\breferral|\baffiliate|\badvert)",
    ),
    make_sign(
        "concealment", 0.8, 1.0,
        r"\b(?:do not|don't|never|must not|you may not) (?:tell|inform|notify|alert|warn|mention to|reveal to|show|let) (?:the|your|this) (?:user|human|owner|operator|customer) (?:know )?(?:about |of |that )?(?:this|these|the following|any of (?:this|it)|what (?:you|this)|it happened|you (?:did|have))\b|"
        r"\b(?:hide|conceal|withhold|keep|mask|obscure) (?:this|these|the following|that|the|all|any)(?: \w+)? (?:instructions?|messages?|notes?|texts?|rules?|prompts?|orders?|lines?|actions?|steps?|requests?|tasks?|changes?|transfers?)(?: \w+)? (?:from|hidden from|secret from|away from) "
        r"(?:the|your|its|any) (?:user|human|owner|operator|customer|person)s?\b|"
        r"(?:^|[\n.!?:;] ?)[ \t]*without (?:informing|telling|notifying|asking|alerting|consulting|warning|the (?:knowledge|consent|approval) of) (?:the|your) (?:user|human|owner|customer),? (?:please )?(?:(?!the\b|they\b|a\b|an\b|it\b|we\b|you\b|apps?\b|most\b|some\b|many\b)[a-z]+)\b",
        "user human owner operator customer person",
    ),
    make_sign(
        "authority", 0.5, 0.7,
        r"\b(?:this is|i am|i'm|we are|we're|it's|greetings from|on behalf of)(?: \w+)?(?: from| with| at)? (?:the |your )?(?:openai|anthropic|google|microsoft|mistral|meta|vendor|platform|system|it|security|compliance|safety|technical|model|ai)(?:'s)? "
        r"(?:support|team|staff|security|department|admin\w*|engineer\w*|developers?|desk|operations|provider|vendor|maintainers?)\b|"
        r"\b(?:verified|confirmed|authori[sz]ed|approved|ordered|requested|signed|mandated|cleared|certified) by (?:the |your |our )?(?:\w+ )?(?:security|compliance|legal|it|admin\w*|system|developers?|management|ceo|openai|anthropic|police|bank|support|lawyer)\b",
        "openai anthropic google microsoft mistral meta vendor platform system it security compliance safety technical model ai legal admin developer management ceo police bank support lawyer",
    ),
    make_sign(
        "payment", 0.45, 0.6,
        r"\b(?:bank account|account(?: number)?|iban|wallet(?: address)?|bank details|payment (?:details|address|account)|payee|beneficiary)(?: \w+){0,3}? (?:is|are) now\b|\bnew (?:bank )?(?:account|iban|payee|wallet|bank details)\b~\b(?:invoices?|payments?|transfers?|salar(?:y|ies)|refunds?)\b|"
        r"\buse (?:it|this|that|them) for (?:all|every|any|future) (?:\w+ )?(?:invoices?|payments?|transfers?|purchases?|refunds?)\b",
        own_wish=True,
    ),
    make_sign(
        "exfiltration", 0.6, 1.0,
        r"\b(?:curl|wget|scp|rsync|netcat|invoke-webrequest|nc)\b(?=[^\n]{0,200}(?:https?://|\w@[\w.-]+|\b\d{1,3}(?:\.\d{1,3}){3}))[^\n]{0,160}?(?:@\x7e?[/.]|\x7e/\.|\$\(|\$\{?[a-z_]*(?:key|token|secret|pass)|/etc/(?:passwd|shadow)|id_rsa|id_ed25519|\.env\b|\.ssh\b|\.aws\b|\.netrc|(?<![\w/])(?:credentials|secrets)\b|(?:bash|zsh|shell|chat)_?history)",
        "curl wget scp rsync netcat invoke nc",
    ),
    make_sign(
        "data in a link", 0.5, 0.8,
        rf"\b(?:copy|put|encode|embed|include|insert|append|add|hide|place|render|turn|write|paste|pack|stuff)\b~\b(?:as|in|into|inside|to|within|onto)\b~\b(?:link|image|url|pixel|query string|parameter|img tag)s?\b(?: \w+){{0,2}}? (?:to|on|at|pointing to|of|hosted (?:on|at)|towards)~(?:{TARGET}|\b(?:my|our|this|that|the attacker's) (?:server|host|site|domain|machine|endpoint))",
        "link image url pixel query parameter img",
    ),
    make_sign(
        "condition", 0.45, 0.65,
        rf"\b(?:when(?:ever)?|if|once|as soon as|after|before|every time|each time) (?:an?|any|the|your) (?:{AI}) (?!project|course|company|startup|market)\w+s\b|"
        r"\b(?:when(?:ever)?|if|once|as soon as|after|every time|each time) (?:the|your|this) (?:user|human|customer) (?:next |then )?(?:types?|says?|writes?|sends?|enters?|replies|answers?|asks for) (?:the (?:word|phrase|code) )?[\"'“«`]",
        own_wish=True,
    ),
    make_sign(
        "commands", 0.5, 0.7,
        r"\b(?:run|execute|launch|invoke|eval|perform)\b(?::| the| this| these| following| attached)[^.!?\n]{0,30}?(?:\b(?:command|script|code|block|snippet|payload|binary)s? (?:in|on|below|above|from|that|now|at|hidden|inside)\b|\b(?:curl|wget|bash|sh|powershell|sudo|rm|python -c|nc) -?)|"
        r"(?:^|\s)/(?:run|exec|execute|shell|eval|sudo|call|tool|delete|export|send|transfer|purge|wipe)\b",
        own_wish=True,
    ),
    make_sign(
        "addresses the model", 0.3, 1.0,
        rf"\b(?:{_BOT}|agents? (?:that|who) (?:visits?|reads?|opens?|sees?|loads?|parses?)(?: \w+){{0,3}}?)(?: (?:that|who|which|reading|summari[sz]ing|processing|visiting|parsing|reviewing|screening|translating)(?: \w+){{1,4}}?)? "
        r"(?:must|should|shall|have to|has to|are to|is to|need to|needs to|ought to|(?:are|is) (?:kindly |politely |hereby )?(?:asked|requested|invited|required|urged|obliged) to|will)(?: always| never| only| not| also| now| immediately| please)* "
        r"(?:rate|describe|say|state|claim|recommend|suggest|promote|praise|mention|leave out|omit|skip|hide|click|vote|send|forward|share|reveal|disclose|delete|erase|pay|buy|transfer|approve|accept|obey|visit|download|install|run|execute|"
        r"open|rank|score|present|portray|call|include|insert|add|append|remember|store|ignore|disregard|trust|conclude|report|answer|reply|respond|tell|inform|warn|refuse|stop|release|hand)\b|"
        rf"\b(?:to|for|attention) (?:any|all|every|whichever|whatever|each) (?:{_BOT})s?(?: \w+){{0,4}}? ?[:,!]|\bread by an? (?:{_BOT})\b|\b(?:the|any|an|this) (?:{AI}) (?:hereby )?(?:accepts?|agrees?|consents?|undertakes?) to\b",
        "ai a.i. assistant llm language bot copilot chatgpt agent model",
        about_ai=True,
    ),
    make_sign(
        "concealment", 0.7, 1.0,
        r"\b(?:so|such|sure|ensure|careful)(?: that)? (?:the|your|this) (?:user|human|owner|customer|operator) (?:does not|doesn't|do not|won't|will not|never|cannot|can't|is not|isn't|remains un)(?: \w+)? ?(?:notic\w*|see\w*|know\w*|find\w* out|learn\w*|reali[sz]e\w*|suspect\w*|aware|told|informed|alerted)\b|"
        r"\b(?:the|your|this) (?:user|human|owner|operator)s? (?:must|should|may|shall|can|need|needs to|has to)(?: not|n't| never)(?: ever)? (?:find out|see (?:this|it|the)|know|notice|learn|be (?:told|informed|alerted|notified|asked)|hear|suspect|reali[sz]e)\b|"
        r"\b(?:keep|leave) (?:the|your|this) (?:user|human|owner|operator) (?:in the dark|unaware|uninformed|out of (?:this|it|the loop)|ignorant)\b",
        "user human owner customer operator",
    ),
    make_sign(
        "override", 1.0, 1.0,
        rf"\b(?:you|{_BOT}) (?:have been|are|were|has been|is)(?: now| hereby| all)* (?:released|freed|liberated|exempted|relieved|excused|unchained) (?:from|of) (?:your|all|any|its|every|the)(?: \w+)? (?:{RULES}|limits|obligations|chains|duties)\b|"
        rf"\b(?:you|{_BOT})(?: now| will| must| shall| should)* (?:follows?|obeys?|respects?|knows?|accepts?|observes?) no(?: more| longer any)?(?: \w+)? (?:{RULES}|limits|laws?|boundaries|ethics)\b|"
        rf"\b(?:simulate|emulate|imagine|be|act like|behave like|role-?play(?: as)?|play|pretend to be|act as|become) (?:an? |the )?(?:\w+ ){{0,2}}?(?:{_BOT}|model) (?:with no|without(?: any)?|that|who|which|free of|free from)\b~\b(?:{RULES}|ethics|morals|limits|boundaries|censorship)\b|"
        rf"\bnew (?:task|job|assignment|instructions?|orders?|goal|objective|mission|directives?) for (?:the |this |any |all |every )?(?:{_BOT})\b",
        _RULE_HINTS,
    ),
    make_sign(
        "override", 0.8, 1.0,
        r"(?:^|[\n.!?;:] ?)[ \t]*(?:safety|content|ethics|ethical|moderation|restricted|safe|censorship|compliance)(?: \w+)? (?:mode|filters?|layer|checks?|rules|guard|module|settings)(?: is| are| now| have been| has been)* (?:off|disabled|inactive|deactivated|suspended)\b(?=[.!,;\n]|$)",
    ),
    make_sign(
        "prompt leak", 1.0, 1.0,
        r"\b(?:what|which) (?:are|were|is|was) (?:your (?:hidden|secret|initial|original|system|internal)(?: \w+)? (?:instructions?|prompt|rules|message|directives?)|the (?:\w+ ){0,2}(?:instructions?|prompt|rules|directives?) (?:that )?you (?:were|have been|got|received))\b|\b(?:repeat|print|output|copy|recite|echo) (?:all |the |every )+(?:text|words?|lines?|sentences?|tokens|content) (?:above|before)(?: this)?,? (?:starting|beginning|from|verbatim|word for word)\b",
    ),
    make_sign(
        "dismisses what came before", 0.5, 0.6,
        r"\b(?:question|request|task|query|order|wish|goal)s? (?:of|from|by) (?:the|your) (?:user|human|owner) (?:is|are|was|were|has been|have been)\b~\b(?:relevant|valid|cancel+ed|void|replaced|over|done|outdated|superseded|obsolete|changed)\b|"
        r"\b(?:the|your) (?:user|human|owner)'s (?:question|request|task|query|order|wish|goal)s? (?:is|are|was|were|has been|have been)\b~\b(?:relevant|valid|cancel+ed|void|replaced|over|outdated|superseded|obsolete)\b",
        "user human owner",
    ),
    make_sign(
        "replaces the task", 0.4, 0.7,
        r"\byour (?:job|task|role|goal|mission|purpose|duty|assignment) (?:is now|now is|has changed|changes to|from now on is)\b",
    ),
    make_sign(
        "replaces the task", 0.4, 1.0,
        r"(?:^|[\n.!?:;] ?)[ \t]*(?:please )?instead of (?:summari[sz]ing|translating|answering|reviewing|helping|reporting|analy[sz]ing|completing|classifying|evaluating|doing what)\b[^.,\n]{0,60}, ?(?:please )?(?:write|say|state|print|output|reply|respond|tell|send|answer|rate|give|do|run|open|delete)\b",
    ),
    make_sign(
        "exfiltration", 0.5, 1.0,
        rf"\b(?:append|send|post|add|forward|attach|encode|submit|report|pass|copy|upload|e?-?mail|share|leak|transmit|write)\b~\b(?:the|this|your|each|every) (?:user|human|customer|owner)(?:'s|s'|')~{TARGET}|"
        rf"\b(?:upload|send|post|e?-?mail|forward|leak|transmit|publish)\b~(?:\.env\b|\x7e/\.\w+|id_rsa\b|id_ed25519\b|/etc/(?:passwd|shadow)\b|environment variables?\b)|"
        rf"\b(?:collect|gather|read|harvest|take|extract|find|grab|get|open|cat|dump)\b~(?:\.env\b|\x7e/\.\w+|id_rsa\b|/etc/(?:passwd|shadow)\b|environment variables?\b|\b(?:tokens|api keys|secrets|passwords|credentials|cookies)\b)~\b(?:and|then)\b~\b(?:send|post|put|upload|include|mail|email|forward|paste|attach|publish|transmit|submit|share)\b",
        "user human customer owner env ssh aws config rsa ed25519 passwd shadow environment token key secret password credential cookie netrc gnupg kube",
        own_wish=True,
    ),
    make_sign(
        "every answer", 0.6, 1.0,
        r"\b(?:in|to|at the (?:end|start|top|bottom) of|with) your (?:next |final |first |last |own )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|outputs?)[^.!?\n]{0,30}?\b(?:include|insert|add|show|render|put|embed|display|place)\b~(?:https?://|\bimage\b|\blink\b|\bpixel\b)|"
        r"\b(?:include|insert|add|show|render|put|embed|display|place)\b~(?:https?://\S+|\b(?:image|link|pixel|badge)\b)~\b(?:in|to|into|at the (?:end|start) of) your (?:next |final |first |last )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|outputs?)\b",
        "your",
        own_wish=True,
    ),
    make_sign(
        "speaks of the user", 0.5, 0.75,
        rf"{START}(?:suggest|recommend|explain|say|report|claim|announce|indicate|pretend|promise|reply|answer|lie) (?:to )?(?:the|your|this) (?:user|human)\b (?:that|to|how)\b",
        "user human",
    ),
    make_sign(
        "commands", 0.4, 0.6,
        r"\b(?:downloads?|installs?|opens?|runs?|executes?)\b~\b(?:https?://\S+|\S{1,100}\.(?:exe|sh|bat|ps1|apk|dmg|scr)\b)|\buse (?:the|your) (?:\w+ )?(?:tool|function|plugin|terminal|shell)s? to (?:run|execute|send|delete|call|post|open)\b",
        own_wish=True,
    ),
    make_sign(
        "condition", 0.4, 0.6,
        r"\b(?:in|for|during|from) (?:all |any |every |the |your )*(?:later|future|following|subsequent|upcoming|next) (?:sessions?|conversations?|chats?|answers?|replies|responses|interactions?|summaries)\b|\b(?:when|once|after|as soon as) you (?:have |are )?(?:read|seen|finished|reached|processed|done|see)(?: reading| with)? (?:this|the (?:page|text|document|file|mail|message))\b|"
        r"\b(?:anyone|anybody|someone|somebody|whoever|everyone|the person|people)(?: who| that)? (?:says?|types?|knows?|mentions?|gives?|sends?) (?:you )?(?:the |this )(?:secret |magic |right )?(?:word|phrase|code|password|keyword)\b",
        own_wish=True,
    ),
    make_sign(
        "claims a permission", 0.4, 1.0,
        rf"(?:{_THE_USER})(?: has| have| hereby| already)* (?:said|told (?:us|me)|agreed|confirmed|decided|promised|allowed|accepted|stated|wrote|wishes|okayed)(?: \w+){{0,2}}?(?: that)? you (?:may|can|should|must|are (?:allowed|free|permitted)|send|share|give|will|pay|buy|forward|transfer)\b|"
        rf"(?:{_THE_USER})(?: has| have)? (?:hereby |formally |permanently |explicitly )*(?:waives?|waived|renounces?|renounced|gave up|gives up) (?:\w+ )?(?:rights?|{_CHECKS}|privacy|protections?|consent)",
        "user customer client human owner holder boss principal person",
    ),
    make_sign(
        "claims a right", 0.3, 0.6,
        r"\byou (?:may|can|are (?:now )?(?:allowed|permitted|authori[sz]ed|cleared|free) to)(?: now| freely| always)* (?:delete|share|send|disclose|transfer|spend|buy|access|execute|pay|release|reveal)\b~\b(?:now|freely|without|anyone|anybody|everyone|all)\b",
    ),
    make_sign(
        "private data", 0.5, 1.0,
        r"\b(?:answer|reply|respond) (?:\w+ )?with (?:the|your|a|all)(?: \w+)? (?:api[ -]keys?|passwords?|tokens?|secrets?|credentials|system prompt|private key)\b",
    ),
    make_sign(
        "claims a permission", 0.3, 1.0,
        r"\b(?:allow(?:s|ed)|lets|permit(?:s|ted)|authori[sz](?:es|ed)|wants|wanted|asks|asked|expects|requires|instruct(?:s|ed)|order(?:s|ed)|trusts) you(?: to)?(?: \w+ly)? (?:skip|bypass|wipe|delete|buy|pay|transfer|forward|share|disclose|reveal|spend|approve|ignore|unlock|disable|release|erase|hide|leak|expose)\b|"
        r"\b(?:agreed|settled|arranged|decided|cleared|coordinated) with (?:the|your) (?:user|owner|customer|human) that\b",
        own_wish=True,
    ),
    make_sign(
        "memory order", 0.3, 1.0,
        r"\b[a-z]+ (?:this |it |that )?(?:in|to|into|inside) your (?:long-term |permanent |own )?(?:memory|memories)(?: that\b| ?:)",
    ),
    make_sign(
        "replaces a contact", 0.2, 0.7,
        r"\b(?:the|your) (?:user|owner|customer|boss)'s (?:new|current|correct|real|updated|other) (?:e-?mail(?: address)?|address|account|iban|phone(?: number)?|number|bank account|wallet) (?:is|has)\b",
        "user owner customer boss",
    ),
    make_sign(
        "exfiltration", 0.4, 0.6,
        r"\b(?:send|forward|mail|route|deliver) (?:everything|all \w+|future \w+|every \w+) (?:there|to (?:it|this|that|them))\b",
        own_wish=True,
    ),
    make_sign(
        "exfiltration", 0.6, 1.0,
        rf"{START}(?:post|send|e?-?mail|upload|forward|export|submit|share|copy)\b~\b(?:this|the|our|that)(?: \w+){{0,2}}? (?:chat|conversation|dialogue|dialog|address book|contact list|chat history|memory|memories|system prompt|session)\b~{TARGET}|"
        r"\b(?:visit|open|fetch|load|request|call|get)\b~https?://\S+~\b(?:followed by|with|plus|append|appending|adding|containing|including)\b~\b(?:user's|chat|conversation|question|message|history|passwords?|secrets?|api key)\b",
        own_wish=True,
    ),
    make_sign(
        "private data", 0.6, 1.0,
        r"\b(?:print|reply with|output|show|dump|list|reveal|return|respond with|answer with|repeat|recite|expose|disclose)\b(?: me)?(?: all)?(?: the (?:full |entire |whole )?contents? of| all of)? your (?:entire |full |whole |complete |stored |long-term )*(?:memory|memories|tools|instructions|context|configuration|prompt)\b",
        "your",
    ),
    make_sign(
        "override", 1.0, 1.0,
        r"\b(?:ignore|disregard|forget|unlearn|drop) (?:everything|all|anything|what|whatever)(?: that)? (?:your|the) (?:creators?|developers?|makers?|operators?|company|trainers?|admins?|programmers?|vendor|provider)(?: \w+)? (?:told|taught|gave|ordered|said|wrote|programmed|instructed|trained|want)\b|"
        rf"\byou (?:no longer|don't|do not|needn't|need not)(?: need to| have to)? (?:follow|obey|respect|observe|comply with|adhere to|care about) (?:any|your|all)(?: \w+)? {RULES}\b|"
        rf"\bas (?:if|though) (?:the|your|all|any|these)(?: \w+)? {RULES} (?:did not|didn't|do not|don't|never|no longer) (?:exist|apply|matter|count)|\byou have no (?:\w+ ){RULES}\b|"
        r"\b(?:switched|put|set|moved|placed|switches|puts|sets) you (?:in|to|into|on) (?:the |an? )?(?:unrestricted|developer|debug|god|admin|jailbreak|root|unsafe|unfiltered|uncensored|maintenance) mode\b",
        _RULE_HINTS + " creator developer maker operator company trainer admin programmer vendor provider mode",
    ),
    make_sign(
        "persona", 0.6, 0.8,
        r"\byou are (?:now )?(?!chat)\w+gpt\b",
    ),
    make_sign(
        "refuses nothing", 0.4, 0.5,
        r"\byou (?:are \w+ and )?(?:can|may|will|must)(?: now)? (?:say|do|answer|write|tell) (?:absolutely )?(?:anything|everything)\b",
    ),
    make_sign(
        "addresses the model", 0.5, 1.0,
        r"<!--\s{0,4}(?:dear |hey |attention |note to |to )?(?:the |any |all )?(?:ai|assistants?|llms?|bots?|agents?|copilots?|chatgpt|claude|gemini|language models?|ai \w+)\b ?[,:!]",
        about_ai=True,
    ),
    make_sign(
        "concealment", 0.8, 1.0,
        r"\b(?:do not|don't|never) (?:mention|reveal|say|tell|admit|disclose|let on)(?: to)?(?: \w+){0,2}? that you (?:read|received|got|saw|have|were|did|are|know)\b|"
        r"\b(?:must|should|has to|have to|shall|will|needs to) (?:stay|remain|be kept|be) (?:invisible|hidden|secret|unknown|unnoticed|concealed) (?:to|from|by|for) (?:the|your|its) (?:user|human|person|owner|operator|customer)\b",
    ),
    *OTHER_LANGUAGES,
)  # fmt: skip
