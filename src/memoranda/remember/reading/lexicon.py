"""The words that several rules share: for relatives, for the present, for a change, and for what a sentence is about.

A topic is a part of somebody's life, such as home, work or diet. Two statements that share one may be about the same
thing though they have no word in common: "I have a flat in Porto", "we got the keys to the Braga house". Data, and how
it is looked up.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from memoranda.text.places import known_places

USER: Final = "user|customer|client|patient"
"""By which words an agent's notes call the person that they are about."""
POSSESSIVES: Final = "my|our|his|her|their"
TITLES: Final = "Dr|Mr|Mrs|Ms|Prof"
SOMEBODY: Final = "he|she|they|him|her|them|(?:every|some|any|no)(?:one|body)"
WEEKDAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
PARTNERS: Final = "wife|husband|girlfriend|boyfriend|partner|fianc[eé]e?|spouse"
CHILDREN: Final = "sons?|daughters?|kids?|child(?:ren)?|bab(?:y|ies)|boys?|girls?|twins"
SUPERIORS: Final = "boss|manager|supervisor"
LANGUAGE: Final = (
    r"(?-i:(?:[A-Z][a-z]+(?:ish|ese|ian)|French|German|Dutch|Greek|Arabic|Hindi|Hebrew|Latin|Czech|Thai|Welsh|Korean|Swiss"
    r"|Deutsch|[Ee]spañol|[Ff]rançais|[Ii]taliano|[Pp]ortuguês|[Pp]olski|Nederlands|[Ss]venska|[Dd]ansk|[Tt]ürkçe)\b)"
)
"""A language or the adjective of a country, in English or as its speakers call it."""
PETS: Final = "dog|cat|puppy|kitten|horse|parrot|rabbit|hamster"
RELATIVES: Final = (
    "sister|brother|mother|father|mom|mum|dad|cousin|aunt|uncle|grandma|grandpa|grandmother|grandfather|nephew|niece"
    "|parents|in-laws|siblings?"
)
ACQUAINTANCES: Final = "friend|colleague|coworker|roommate|flatmate|housemate|neighbou?r"
PEOPLE: Final = f"{RELATIVES}|{PARTNERS}|{CHILDREN}|{SUPERIORS}|{ACQUAINTANCES}"
"""Words for people other than the speaker."""

ANYBODY: Final = re.compile(
    rf"\W*(?:an?|some|one|someone|somebody|(?:my|our) (?:\w+ )?(?:{ACQUAINTANCES}|cousin|aunt|uncle|nephew|niece|patient|client"
    r"|customer|student))(?:['’]s)?\b(?! (?-i:[A-Z]))",
    re.I,
)
"""Begins a sentence about somebody who need not be the same person the next time: "a friend", "my colleague"."""
NOW: Final = (
    r"now(?! and (?:then|again)\b)|nowadays|these days|as of|from now on|any ?more|any longer|no longer|instead"
)
"""Says that something holds from the moment of speaking on."""
CORRECTION: Final = r"correction|i meant|i mean|i misspoke|my mistake|mixed (?:that|it) up|typo|scratch that|make (?:that|it)|oops|wait,? no|i was wrong"
CHANGE: Final = re.compile(
    rf"\b(?:{NOW}|{CORRECTION}|new|newly|officially|switch(?:ed|ing)?|moved|relocated|changed|migrated|left|quit|sold|joined|stopped"
    r"|ended|broke up|split up|cancell?ed|upgraded|replaced|promoted|retired|became|actually|mistake|reschedul\w+|postpon\w+|pushed"
    r"|renam\w+|dropped|traded|swapped|gave up|given up|settled|updat\w+|raised|lowered|increas\w+|decreas\w+|reduc\w+|hired|fired"
    r"|laid off|let go|divorc\w+|got (?:married|engaged)|from here on|ditch\w*|died|passed away|goodbye|expired?|closed|delay\w*"
    r"|extend\w*|bump\w*|convert\w*|no more|turns out|turned out|after all|down to|up to|rolled out|shifted|revis\w+|pulled the plug"
    r"|going by|take it back|decided (?:against|to)|scrap\w*|resolved|completed|finished|discontinued|fully|unlimited|since"
    r"|back (?:at|in|to)|done with|over with|been fine|treating me|rather|dropped out|started|began|took over|stepped down|signed up"
    r"|handed|finally|at last|fell through|gave|picked up|took off|ran out)\b",
    re.I,
)
"""A description of any change."""
EVENT: Final = re.compile(
    r"\b(?!(?:need|feed|speed|bed|red|indeed|hundred|based|supposed|interested|allergic)\b|(?:called|named)\s+(?-i:[A-Z]))\w{2,}ed\b"
    r"|\b(?:became|begun|began|bit|bitten|blew|born|bought|broke|brought|built|came|caught|chose|chosen|cut|did|died|dropped|drove"
    r"|fell|felt|flew|found|gave|given|gone|got|gotten|grew|grown|had|hit|kept|knocked|laid|landed|left|let|lost|made|met|paid|put"
    r"|quit|ran|rose|said|sent|set|shut|sold|spent|split|stood|says|was|were|wasn|weren|swore|taken|threw|told|took|went|withdrew|won|wrote)\b"
    r"|\b(?:just|finally|at last|today|yesterday|tonight|recently|lately|already|again|now|nowadays|currently|soon|going forward"
    r"|from (?:now|here|next|this)|since|new|official(?:ly)?|first|instead|please|too|as of|the one|at the moment|going down|going up"
    r"|(?:last|this|these|next) (?:night|week|weekend|month|year|summer|winter|spring|fall|morning|afternoon|evening|days|\w+day))\b"
    r"|\b(?:no|not|never|isn|aren|don|doesn|can|won|hasn|haven|didn|couldn)['’]?t?\b(?! (?:problem|worries))"
    r"|\b(?:off|over|back|done|behind (?:me|us)|in the (?:clear|bin)|goodbye|farewell|rip|dead|gone|free|out of|on hold|goes by)\b",
    re.I,
)
"""An event, a time or a denial: with a shared topic, a change may follow from it."""
HAPPENED: Final = re.compile(
    r"\b(?!(?:need|feed|speed|bed|red|indeed|hundred|based|supposed|interested|married|engaged|divorced|retired|tired|used|called|named"
    r"|located|employed|unemployed|subscribed|scheduled|diagnosed|excited|addicted|obsessed)\b)\w{2,}ed\b"
    r"|\b(?:ate|became|began|bit|blew|bought|broke|brought|built|came|caught|chose|did|died|drank|drove|fell|felt|flew|fought|found|gave|got"
    r"|grew|had|heard|held|hit|kept|knew|left|lent|lost|made|met|paid|quit|ran|rode|rose|said|sang|sat|saw|sent|shut|slept|sold|spent|split|spoke"
    r"|stood|swam|swore|taught|thought|threw|told|took|tore|was|went|were|woke|won|wore|wrote)\b",
    re.I,
)
"""A past event: the past tense of a verb."""
QUESTION: Final = re.compile(
    r"^\W*(?:(?:and|but|so|then|also)\s+)?(?:if|imagine|suppose|pretend|what if)\b|\bif (?:i|we)\b|(?<!\w)(?!.*\bguess wh)[^?]*\?\W*$",
    re.I,
)
"""A sentence that asks something or names a condition."""
WISH: Final = re.compile(
    r"\b(?:would|might|maybe|perhaps|possibly|wish|dream(?:ed|t|ing)?|thinking (?:of|about)|considering|unless|i['’]d|we['’]d"
    r"|plan(?:ning)? to|hope to|hoping to|want to|wants to|should|evaluating|kidding|joking|feel like|will (?:quit|stop|start|move))\b",
    re.I,
)
"""A part of a sentence that describes a wish, a plan or a possibility: it changes nothing."""
PRONOUN: Final = r"(?:i|we|he|she|it|they|there|this|that|these|those|every(?:one|body|thing)|some(?:one|body|thing)|no(?:body|thing)|both)"
AUXILIARY: Final = (
    r"(?:is|are|was|were|am|has|have|had|does|do|did|can|could|will|would|may|might|must|should|\w+n['’]t)"
)
DETERMINER: Final = r"(?:i|me|my|we|us|our|the|an?|some|any|no|(?:your|his|her|their)|\d+|two|three)"
TIMES: Final = (
    r"(?:second|minute|hour|day|night|morning|afternoon|evening|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter|time|once"
    rf"|semester|term|season|{WEEKDAY}|{MONTHS})"
)
"""Names of times, in the singular."""
FORMER: Final = re.compile(r"\b(?:my|our|user['’]s)\s+(?:old|former|previous|ex)\b|\bused\s+to\s+be\b", re.I)
"""A possession or state that is over."""
RECENT: Final = re.compile(
    rf"\b(?:today|yesterday|tonight|just now|{WEEKDAY}|(?:last|this|over the|on) {TIMES}(?<!year))\b", re.I
)
SAYING: Final = (
    r"sa(?:y|ys|id|ying)|t(?:ell|ells|old|elling)|ask(?:s|ed|ing)?|repl(?:y|ies|ied)|answer(?:s|ed)?|claim(?:s|ed)?|hear(?:d|ing)?|overh(?:ear|eard)"
    r"|writ(?:e|es|ing|ten)|wrote|read(?:s|ing)?|text(?:s|ed|ing)?|post(?:s|ed)?|sent|sends?"
    r"|sang|whisper\w*|talk(?:s|ed|ing)?|speak(?:s|ing)?|spoke|call(?:s|ed)? me|phoned"
    r"|record(?:s|ed)|repeat\w*|saw|seen|notic(?:e|ed)|found|receiv\w+|watch(?:ed|ing)|listen\w*|lent|borrow\w*|like,"
)
"""What people do with words."""
TEXTS: Final = (
    r"words?|sentences?|phrases?|lines?|paragraphs?|passages?|excerpts?|texts?|wordings?|captions?|headlines?|titles?|lyrics|verses?|rhymes?|poems?"
    r"|poetry|haikus?|limericks?|songs?|stor(?:y|ies)|novel\w*|tales?|fables?|scripts?|scenes?|monologues?|dialogues?|chapters?|essays?|articles?"
    r"|blogs?|tweets?|letters?|e-?mails?|messages?|memos?|voice ?(?:mails?|memos?|notes?)|diar(?:y|ies)|journals?|bio|statements?|speech|eulogy|toast"
    r"|testimony|witness|confession|(?:an?|the|my|your|this) book|books|films?|movies?|headers?|drafts?|summary|example|samples?|utterances?|excerpt|page|postcards?|form"
    r"|exercises?|flashcards?|quiz|exam|homework|lesson|course|corpus|grammar|spelling|tense|participle|adverbs?|adjectives?|verbs?|nouns?|passive"
    r"|synonyms?|accent|tone|style|mistakes?|typos?|commas?|emojis?|translat\w+|proofread\w*|rephras\w*|paraphras\w*|rewrit\w*|summari[sz]\w*"
    r"|dictat\w+|transcri\w+|narrat\w+|quot\w+|recit\w+|typ(?:e|es|ed|ing)|past(?:e|ed|ing)|cop(?:y|ied)|language|news|secret|background|affirmations?|reads|verbatim|autocorrect|autocomplete"
)
"""Texts, their parts, and what is done with a text."""
FICTION: Final = (
    r"fiction\w*|character|personas?|protagonists?|hero(?:es|ine)?|narrator|roles?|role[ -]?play\w*|improv\w*|skit|drama|(?:an?|the|our|my|this|school) plays?|game|stage|acting|playing"
    r"|pretend\w*|make[ -]believe|imagin\w*|suppos\w+|hypothetic\w*|theor(?:y|etically)|jok(?:e|es|ing)|kidding|prank\w*|lies?|lying|dreams?|dreamt"
    r"|opposite|alter ego|simulat\w+|scenario|rehears\w+|practi[sc]\w+|interview|adventure|campaign|dare|testing"
)
"""Plays, jokes, dreams and suppositions."""
BROAD_TOPICS: Final = frozenset(
    ("work", "home", "study", "ownership", "likes", "name", "headcount", "club", "place", "habit")
)
"""Topics of so many sentences that two of them can be about different things."""

_TOPICS: Final = {
    "home": """
        rent|renting|live|reside|home|house|flat|apartment|studio|condo|bungalow|cottage|cabin|houseboat|dorm|suburb|countryside|neighbourhood
        |neighborhood|landlord|landlady|lease|mortgage|tenant|flatmate|roommate|housemate|relocate|unpack|unpacked|boxes|housewarming
        |the keys|new place|our place|my place|parents' place|move in|moved in|moved out|moved to|moved back|moving truck|movers
        |address|street|avenue|mail at|post to|deliver it|based in|settle|settled in|resident|empty nest|deposit|kitchen|downtown
        |neighbour|neighbor|city|town|village|block|attic|basement|garden|hometown|the suburbs|row house|place of my own|squat|studio
        """,
    "work": """
        work|job|employer|employee|employed|unemployed|company|boss|manager|office|career|position|role|colleague|coworker|clinic|firm
        |agency|intern|internship|freelance|freelancer|freelancing|self-employed|salary|promote|promotion|hire|fire|layoff|laid off
        |let go|resign|resignation|notice|badge|retire|retirement|contractor|onboarding|first day at|first day|last day|day one|joined|quit|offer
        |applications|job hunting|nonprofit|startup|bakery|shop|business|garage|plant|factory|shift|shifts|team lead|lead|department
        |reorg|probation|colleagues|studio|bar exam|passed the bar|for a living|side hustle|gig|interview|recruiter|took me on
        |in charge|ceo|cto|cfo|report to|my holidays|stepped down|took over|council|shift manager|workplace
        |engineer|developer|teacher|teach|nurse|doctor|lawyer|designer|accountant|chef|barista|writer|consultant|analyst|architect
        |electrician|plumber|pilot|journalist|photographer|paralegal|receptionist|waiter|waitress|cashier|driver|mechanic|paramedic
        |firefighter|banker|director|head of|founder|apprentice|trainee|graders|hairdresser|carpenter|programmer
        |sabbatical|parental leave|maternity leave|paternity leave|on leave|part-time|full-time|remote|hybrid|wfh
        |from home|to the office|in the office
        """,
    "income": "earn|salary|raise|pay|wage|income|bonus|paycheck|payslip|make|gross|net|k a year|per hour",
    "price": """
        price|cost|rent|fee|charge|expensive|cheap|asking|quote|budget|put up|went up|raised|hiked|premium|tier|rate|bill|worth
        |landlord|discount|tariff|set aside|spend|afford|trim
        """,
    "debt": "owe|debt|loan|mortgage|paid back|pay back|payment|instalment|installment|paid off|all square|lend|lent|borrow|repaid",
    "relation": """
        single|date|dating|boyfriend|girlfriend|partner|wife|husband|fiance|fiancee|fiancé|fiancée|married|marry|wedding|engaged
        |engagement|ring|divorce|separated|split|split up|broke up|break up|breakup|called it quits|propose|proposal|elope|honeymoon
        |anniversary|relationship|in love|seeing|together|crush|made it official|said yes|ex|widow|widowed|someone|city hall|on and off
        |moved in together|tied the knot|vows|spouse|dumped|over between us|tinder|hinge|met someone|there's a someone|taken
        """,
    "friendship": "friend|best friend|bestie|buddy|mate|don't talk|falling out|fell out|no contact|drifted|made up",
    "children": """
        child|children|kid|baby|son|daughter|boy|girl|twins|born|birth|gave birth|pregnant|pregnancy|expecting|toddler|newborn
        |little one|due in|labour|labor|diapers|healthy|father of|mother of|parent of|dad of|mum of|mom of|first-born|adopted
        """,
    "relatives": """
        grandmother|grandma|grandfather|grandpa|nana|granny|mother|mom|mum|father|dad|parents|aunt|uncle|cousin|sister|brother
        |passed away|died|funeral|hospice|care home|nursing home
        """,
    "pets": """
        pet|dog|cat|puppy|kitten|horse|parrot|rabbit|hamster|guinea pig|goldfish|fish|tortoise|turtle|snake|bird|budgie|chickens|beagle
        |labrador|poodle|terrier|retriever|vet|shelter|rescue|leash|litter|paw|paws|rainbow bridge|put to sleep|put down|foster
        """,
    "vehicle": """
        car|drive|drove|van|truck|motorbike|motorcycle|scooter|bike|bicycle|e-bike|vehicle|suv|wheels|driveway|electric|hybrid|lease
        |garage|dealer|dealership|totalled|totaled|mileage|cycle|cycling|toyota|corolla|honda|civic|ford|fiesta|mazda|fiat|volvo|kia
        |hyundai|tesla|bmw|audi|mercedes|vw|volkswagen|golf|polo|skoda|seat|renault|clio|peugeot|citroen|nissan|leaf|opel|vauxhall
        |corsa|mini|jeep|subaru|lexus|porsche|triumph|yamaha|ducati|vespa|dacia|suzuki|chevy|prius|camry
        """,
    "commute": """
        commute|train|bus|tram|metro|subway|underground|tube|ferry|carpool|cycle to|walk to|drive in|driving in|drive to|bike to|cycle|ride
        """,
    "phone": """
        phone|mobile|cell|number|sim|iphone|android|galaxy|pixel|samsung|nokia|oneplus|xiaomi|call me|reach me|text me|ios|handset
        |smartphone|whatsapp|voicemail|extension
        """,
    "email": "email|e-mail|mail|inbox|gmail|outlook|address|write to me|mailbox",
    "computer": """
        laptop|macbook|thinkpad|pc|computer|dell|windows|mac|linux|ubuntu|fedora|desktop|tablet|ipad|chromebook|surface|imac|framework
        |monitor|keyboard|machine
        """,
    "diet": """
        vegetarian|vegan|veggie|pescatarian|plant-based|meat|chicken|steak|beef|pork|bacon|burger|fish|eat|ate|eaten|diet|gluten|dairy
        |lactose|keto|paleo|carbs|low-carb|bread|pasta|sugar|sweets|breakfast|fasting|fast|porridge|oatmeal|snack|food|meal|halal|kosher
        |calories|wagon|cheese|eggs|milk|oat milk|tofu|cheat day|intermittent|omelette|salad|appetite|dessert|chocolate|menu
        """,
    "drink": """
        coffee|coffees|tea|caffeine|espresso|decaf|alcohol|wine|beer|drink|drank|drinking|sober|sobriety|booze|teetotal|soda|cola
        |energy drink|latte|matcha|cocktail|whisky|dry january|bottle
        """,
    "smoking": "smoke|smoker|cigarette|vape|vaping|nicotine|tobacco|pack a day|cigar|patches|smoke-free",
    "body": """
        knee|back|ankle|wrist|shoulder|elbow|hip|leg|arm|foot|neck|pain|pain free|ache|sore|injury|injured|crutches|cast|boot|sling
        |wheelchair|physio|surgery|operation|op|operate|stitches|hospital|recover|healed|braces|retainer|dentures|glasses|lenses
        |contacts|contact lenses|eyes|lasered|eyesight|hearing aid|walk|impact|limp|scar|brace|injections|discharged|fracture|broken
        """,
    "illness": """
        doctor|doc|diagnosed|diagnosis|blood pressure|cholesterol|asthma|diabetes|migraine|headache|anxiety|depression|cancer|remission
        |therapy|therapist|symptoms|sick|ill|flu|covid|infection|condition|chronic|treatment|test results|all clear|thyroid|anaemia
        |anemia|insomnia|burnout|blood sugar|heart|iron levels|specialist|checkup|salt
        """,
    "allergy": """
        allergic|allergy|allergies|allergist|intolerant|intolerance|reaction|rash|hives|epipen|nuts|peanut|peanuts|shellfish|prawns|pollen
        |hay fever|shots|can't have|off the menu|eggs|egg|kiwi|lactose|gluten|egg test|sneezing|cats are|dander|bee stings
        """,
    "medication": """
        pill|pills|take my|taking|tablet|tablets|mg|mcg|dose|dosage|prescription|prescribed|med|meds|medication|medicine|inhaler|insulin|statin
        |beta blocker|antidepressant|antibiotic|antibiotics|painkiller|painkillers|ibuprofen|paracetamol|aspirin|metformin|ozempic
        |sertraline|lisinopril|thyroxine|taper|tapered|weaned|off the|come off|supplement|vitamin|patch|refill|the pill|blocker
        """,
    "study": """
        study|studies|student|university|uni|college|school|degree|thesis|dissertation|phd|doctorate|master|master's|bachelor|semester
        |major|majoring|minor|course|class|classes|exam|exams|finals|graduate|graduated|graduation|drop out|dropped out|transfer
        |faculty|kindergarten|preschool|nursery|primary|high school|grade|year of|first year|second year|third year|final year|dr
        |defended|biology|medicine|law|physics|chemistry|economics|engineering|history|philosophy|psychology|enrol|enroll|term|campus
        |scholarship|diploma|certificate|bootcamp|apprenticeship|tuition|homeschool|high|handed in|evening course|lecture
        """,
    "sport": """
        tennis|football|soccer|basketball|volleyball|badminton|squash|golf|rugby|hockey|cricket|run|ran|running|runner|jog|jogging
        |marathon|half marathon|triathlon|5k|10k|swim|swimming|gym|workout|work out|lift|lifting|crossfit|climb|climbing|bouldering
        |yoga|pilates|cycling|rowing|row|ski|skiing|snowboard|surf|surfing|boxing|karate|judo|martial arts|dance|dancing|ballet|hike
        |hiking|skating|pb|personal best|record|race|league|training|train|trains|fitness|exercise|sport|coach|padel|spinning
        """,
    "music": """
        guitar|violin|piano|drums|bass|cello|flute|saxophone|trumpet|ukulele|sing|singing|choir|band|orchestra|instrument|lessons|gig
        |rehearsal|compose|dj|vinyl|records|concert|play the
        """,
    "reading": "read|reading|book|novel|finished|chapter|author|audiobook|kindle|book club|library|onto|series|page",
    "games": """
        chess|poker|board games|quiz|pub quiz|game|games|gaming|level|rank|rating|elo|playthrough|xbox|playstation|switch|steam|boss fight
        |dungeons|campaign|puzzle|season|main
        """,
    "crafts": "paint|painting|draw|drawing|knit|knitting|crochet|sew|sewing|pottery|ceramics|woodwork|photography|gardening|garden|bake|baking|lego",
    "stack": """
        backend|frontend|database|db|server|servers|deploy|deployment|hosting|host|hosted|cloud|framework|repo|codebase|code|pipeline
        |ci|editor|ide|postgres|postgresql|mysql|mongodb|mongo|sqlite|redis|kafka|rabbitmq|react|angular|vue|svelte|jquery|python
        |java|kotlin|rust|golang|typescript|javascript|php|ruby|rails|django|flask|fastapi|node|jenkins|github|gitlab|actions|circleci
        |heroku|aws|azure|gcp|fly|vercel|netlify|kubernetes|docker|terraform|vim|neovim|emacs|vs code|vscode|intellij|pycharm|sublime
        |upgrade|version|rewrite|migrate|migration|api|graphql|rest|monolith|microservices|oracle|elastic|elasticsearch|webpack|vite
        |prod|production|staging|ported|rewrote
        """,
    "apps": """
        app|apps|notes|evernote|obsidian|notion|onenote|trello|jira|linear|asana|slack|teams|discord|zoom|bugs|tickets|track|tracker
        |todoist|calendar|browser|chrome|firefox|safari|dropbox|drive|password manager|figma|sketch|photoshop|excel|sheets|whatsapp
        |signal|telegram|instagram|facebook|twitter|tiktok|account|exported|imported|read-only
        """,
    "subscription": """
        subscribe|subscriber|subscription|plan|membership|member|cancel|netflix|spotify|hulu|disney|prime|youtube music|tidal|apple music
        |premium|renew|trial|free plan|data plan|unlimited data|gb|the plug|streaming|tier|newsletter|patreon
        """,
    "club": """
        club|member|membership|union|association|society|choir|team|group|volunteer|committee|board|renew|joined|sign up|signed up|gym
        |fitness|party|left the|church|parish|league|guild|scouts
        """,
    "flight": "flight|fly|flying|airline|plane|airport|take off|takes off|gate|boarding|layover|depart|departure|landed|landing|seat",
    "travel": """
        trip|travel|travelling|traveling|flew|been to|holiday|vacation|flying to|countries|country|visit|hotel|airbnb|landed|abroad|cruise|itinerary
        |backpacking|passport|staying|stay|rest of the trip|tour|getaway|country number|road trip|honeymoon|tickets
        """,
    "wedding": "wedding|getting married|venue|reception|ceremony|guests|bridesmaid|best man|garden|registry",
    "meeting": "meeting|standup|stand-up|sync|call|catch-up|one-on-one|1:1|retro|all-hands|workshop|review|book club|conference",
    "visit": "dentist|doctor|appointment|checkup|hairdresser|haircut|vet|therapist|physio|booked|slot|optician|interview|parents' evening",
    "deadline": """
        due|deadline|submit|hand in|handed in|turn in|launch|release|ship|extension|extended|application|report|essay|paper|closes
        |close|until|till|milestone|sprint|go live|blocker|delivery|proposal
        """,
    "renovation": "renovation|remodel|kitchen|bathroom|tiles|roof|permits|builders|contractor|plaster|extension|building site|floor",
    "weight": "weigh|weight|scale|scales|kilos|kilo|kg|lbs|pounds|stone|lost|gained|slimmer|heavier|lighter",
    "age": "age|old|years old|birthday|turn|turned|turning|born|the big",
    "followers": "subscribers|followers|users|customers|members|downloads|views|signups|stars|subscriber",
    "headcount": "team|people|of us|headcount|employees|staff|members|hired|left|joined|crew",
    "name": """
        name|named|called|call|call me|rename|renamed|nickname|surname|maiden name|goes by|go by|going by|rebrand|rebranded|known as
        |pronouns|brand|title|mr|mrs|ms
        """,
    "language": """
        speak|language|languages|fluent|conversational|english|german|french|spanish|italian|portuguese|dutch|russian|chinese|mandarin
        |japanese|korean|arabic|turkish|polish|swedish|norwegian|danish|finnish|greek|hebrew|hindi|latin|duolingo|address me
        """,
    "papers": """
        citizen|citizenship|passport|visa|permit|work permit|license|licence|driving test|driver's license|driving licence|green card
        |residency|oath|naturalized|naturalised|nationality|embassy|asylum|test|learner|theory test
        """,
    "faith": "catholic|protestant|christian|muslim|islam|jewish|buddhist|hindu|atheist|agnostic|church|mosque|temple|faith|religion|religious|baptised|baptized|believe|god|confirmation|converted",
    "fandom": "support|fan|fan of|team|season|club|arsenal|chelsea|liverpool|united|barcelona|bayern|dortmund|lakers|yankees|root for|brentford",
    "hair": "hair|haircut|bob|pixie|dye|dyed|blonde|bald|shaved|beard|moustache|mustache|bangs|fringe|curly|perm|buzz cut|ponytail",
    "sleep": "sleep|slept|asleep|insomnia|mattress|nap|bedtime|awake|wake|get up|hours a night|night shift|alarm|solid eight|snore|my day starts|early bird|night owl",
    "bank": "bank|account|accounts|banking|ing|n26|monzo|revolut|barclays|hsbc|lloyds|santander|chase|credit card|broker|wells fargo|citi",
    "provider": "internet|broadband|wifi|provider|vodafone|telekom|o2|comcast|verizon|at&t|fibre|fiber|electricity|energy|insurance|insurer|insured|router|contract|hooked",
    "style": """
        answers|answer|replies|reply|responses|respond|detailed|concise|short|long|brief|bullet points|emoji|emojis|tone|formal|casual
        |dark mode|light mode|dark theme|light theme|theme|metric|units|too much text|address me|markdown|verbose
        """,
    "likes": """
        favourite|favorite|prefer|like|love|hate|can't stand|enjoy|into|fan|fond|taste|changed my mind|come around|where it's at
        |gone downhill|overrated|queasy|sick of|tired of|can't get enough|obsessed|rather
        """,
    "seat": "seat|seats|aisle|window|legroom",
    "ownership": "own|owner|have a|sold|bought|gave away|got rid|collection|notary|belongs|ebay|donated|treated myself|threw out|second-hand|flea market|stolen",
    "habit": "every morning|every day|every week|every evening|daily|weekly|bite|nails|bitten|meditate|journal|routine|on sundays|on mondays|on tuesdays|on wednesdays|on thursdays|on fridays|on saturdays|sundays|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays",
    "ticket": "ticket|task|assigned|assignee|handed|owner|owns|reviewer|issue|case|handed over|took over",
}  # fmt: skip
_TOKEN: Final = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")
_LONGEST: Final = 3
"""How many words a phrase has at most."""


def topics_in(text: str) -> frozenset[str]:
    """Return what a text is about, by its words."""
    known, found = _topics_by_word(), set[str]()
    words = [word.replace("’", "'") for word in _TOKEN.findall(text.casefold())]
    for start in range(len(words)):
        phrase = ""
        for word in words[start : start + _LONGEST]:
            phrase = f"{phrase} {word}" if phrase else word
            found.update(known.get(phrase, ()))
        found.update(known.get(words[start].removesuffix("'s"), ()))
    return frozenset(found)


@cache
def _topics_by_word() -> dict[str, tuple[str, ...]]:
    """Return the topics of each word and phrase, in every form that a word may have."""
    found: dict[str, set[str]] = {}
    for topic, words in _TOPICS.items():
        for word in (" ".join(each.split()) for each in words.split("|")):
            for form in _forms(word):
                found.setdefault(form, set()).add(topic)
    for place in known_places():
        found.setdefault(place, set()).add("place")
    return {form: tuple(sorted(topics)) for form, topics in found.items()}


def _forms(word: str) -> set[str]:
    """Return the plural and the verb forms of a word, with some that no word has."""
    if " " in word or len(word) < 3:
        return {word}
    stem = word[:-1] if word.endswith("e") else word
    doubled = word + word[-1] if re.search(r"[^aeiou][aeiou][bdgklmnprt]$", word) else stem
    forms = {word, word + "s", word + "es", stem + "ed", stem + "ing", doubled + "ed", doubled + "ing"}
    if word.endswith("y"):
        forms |= {word[:-1] + "ies", word[:-1] + "ied"}
    return forms
