"""The classes of words by which importance is scored: what a text is about, and how small talk sounds.

Words are given as stems, without -s, -ed and -ing, so that each stands for all its forms.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_HEALTH: Final = """
allergy allergic anaphylaxis epipen asthma asthmatic inhaler diabete diabetic insulin seizure epilepsy epileptic
pregnant pregnancy trimester miscarriage medication medicine tablet pill prescription prescribe dose surgery surgeon
operation hospital emergency diagnose diagnosis cancer tumour tumor chemo chemotherapy remission stroke heart kidney
liver lung thyroid cholesterol blood transfusion suicidal overdose penicillin antibiotic aspirin ibuprofen
paracetamol steroid intolerant intolerance pacemaker stent transplant amputate amputee prosthesis prosthetic scar
implant dialysis migraine headache pain ache painful nausea dizzy dizziness faint vertigo rash eczema psoriasis hive
swell infection virus hiv hepatitis covid flu fever pneumonia copd bronchitis arthritis osteoporosis lupus sclerosis
parkinson alzheimer dementia autism autistic adhd bipolar depression depress anxiety anxious panic ptsd ocd
schizophrenia trauma phobia insomnia addict addiction alcoholic sober rehab anorexia bulimia fertility ivf
contraception menopause endometriosis crohn ibs coeliac celiac lactose disability disable chronic symptom injury
injure fracture sprain concussion doctor physician gp specialist cardiologist oncologist neurologist dermatologist
dentist dental orthodontist optician midwife nurse therapist therapy psychiatrist psychologist counsellor physio
physiotherapist clinic ward vaccine vaccinate vaccination immune immunity donor sting latex mg milligram carer
caregiver hospice terminal relapse deaf blind stammer stutter lisp hearing eyesight sight vision tinnitus glaucoma
cataract dyslexic dyslexia dyspraxia paralyse paralyze paraplegic tetraplegic limp colour-blind color-blind
left-handed nearsight er ambulance bleed bleeding cigarette smoker nicotine sick vomit surgeries hives hear disc
slipped hernia herniate
"""
_BODY: Final = """
knee hip back spine shoulder arm elbow wrist hand finger leg ankle foot feet neck throat ear eye nose tooth teeth
skin stomach belly bladder bowel head chest muscle bone joint lung brain
"""
_DIET: Final = """
dairy milk gluten wheat nut peanut almond egg shellfish seafood prawn shrimp fish pork beef meat soy sesame sugar
salt carb caffeine alcohol wine beer onion garlic mushroom tomato spicy vegan vegetarian pescatarian kosher halal
diet dietary calorie fast keto paleo tuna salmon strawberry cheese butter yoghurt yogurt cream chocolate lentil bean
corn rice bread celery mustard kiwi avocado banana lupin
"""
_DIET_STRONG: Final = "vegan vegetarian pescatarian kosher halal diet dietary calorie keto paleo coeliac celiac"
_ACCESS: Final = """
wheelchair ramp step-free stairlift crutch walker cane rollator scooter braille subtitle caption sign-language
interpreter accessible accessibility large-print guide-dog hearing-aid mobility handrail ground-floor service-dog
magnifier
"""
_KIN: Final = """
mother mum mom mama father dad papa parent sister brother sibling twin wife husband spouse partner fiance fiancee
girlfriend boyfriend son daughter child children kid baby toddler newborn grandmother grandma granny gran
grandfather grandpa grandad grandparent grandson granddaughter grandchild grandchildren aunt uncle cousin niece
nephew stepson stepdaughter stepmother stepfather stepmum stepdad godmother godfather in-law sister-in-law
brother-in-law mother-in-law father-in-law ex ex-wife ex-husband widow widower orphan family guardian foster
flatmate roommate
"""
_FAMILY_EVENT: Final = """
marry wed wedding engage divorce separate adopt bear funeral custody anniversary honeymoon
"""
_WORK: Final = """
work job career profession employ employer employee unemploy boss manager colleague coworker supervise supervisor
startup shift salary wage promote promotion hire fire redundant retire retirement resign freelance freelancer
contractor consultant apprentice apprenticeship intern internship volunteer teach teacher professor lecturer study
degree thesis dissertation graduate major phd engineer developer programmer designer architect lawyer solicitor
accountant electrician plumber carpenter chef farmer journalist editor translator scientist researcher pilot soldier
police firefighter pharmacist vet librarian mechanic builder baker butcher hairdresser secretary director ceo cto
founder
"""
_PETS: Final = "dog cat puppy kitten pet horse rabbit hamster parrot tortoise"
_WORKPLACE: Final = """
company firm business office client customer student school university college team department project deploy
backend frontend database server production repository exam driver cook waiter officer owner
"""
_PROPERTY: Final = "house flat apartment home car van boat bike motorbike caravan garden farm cottage"
_DUTY: Final = """
deadline due owe must oblige obligation require requirement promise commit commitment appointment renew renewal
expire expiry rent mortgage loan debt repay instalment tax invoice bill insurance contract lease notice permit visa
passport licence license court hearing lawsuit fine subscription cancel submit apply application register
registration certificate inspection reminder remind embassy council grant policy warranty saving savings pension
inheritance bankrupt bail parole probation custody
"""
_PLAN: Final = """
plan planned intend intention decide decision goal aim hope book reserve reservation itinerary trip holiday vacation
flight move relocate emigrate immigrate save enrol enroll launch schedule arrange prepare train resolution ambition
citizenship
"""
_PREFERENCE: Final = """
prefer preference favourite favorite love hate dislike adore detest loathe enjoy rather keen fond fan pronoun always
never instead style
"""
_IDENTITY: Final = """
live born grow raise religion religious muslim christian jewish hindu buddhist catholic atheist nationality citizen
native bilingual fluent speak language address postcode zip birthday age gay lesbian trans transgender bisexual
nonbinary non-binary veteran refugee immigrant single married divorced
"""
_NUMBER: Final = """
code password pin number size address phone email account id port serial reference budget income salary weigh weight
height kilo kilos kg centimetre square metre meter
"""
_TIME: Final = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
october november december tomorrow weekly monthly yearly annual spring summer autumn winter easter christmas ramadan
"""

_SMALL: Final = """
hi hello hey hiya howdy greetings morning evening bye goodbye goodnight ciao cheers thanks thank thx ty welcome
please wow haha hahaha hehe lol lmao rofl ugh oof aww ah oh ooh hmm hm huh yay yikes whoa omg gosh geez damn yeah
yep yup nope nah ok okay alright sure cool nice great awesome amazing lovely perfect brilliant fantastic wonderful
neat sweet exactly totally absolutely indeed right true fair interesting funny hilarious congrats congratulation
sorry oops
"""
_TRIVIAL: Final = """
weather sunny cloudy rainy rain snow wind windy drizzle fog sun sunset sunrise sky moon traffic queue bus train
coffee tea latte croissant sandwich pizza soup cake cookie snack nap kettle dish laundry trash rubbish bin sofa
couch blanket playlist song radio video episode film movie show podcast meme ad app website screen photo picture
pigeon squirrel umbrella pen pencil stamp receipt sticker magazine newspaper crossword escalator elevator lift
printer stapler tape battery sock shampoo bulb game match goal score barista waiter neighbour neighbor stranger
tourist crowd joke poem slogan riddle emoji
"""
_PAST: Final = """
ate began bent bit blew bought broke brought built burnt came caught chose cut did drank drew drove dug fed fell
felt flew forgot found froze gave got grew had heard held hid hit kept knew laid lay led left lent lit lost made
meant met paid put ran rang read rode said sang sat saw sent set shook shot showed shut slept sold spent spoke spilt
stood stuck stole swam swept took taught thought threw told tore was went were woke won wore wrote overslept
"""

_LISTS: Final = {
    "health": _HEALTH, "body": _BODY, "food": _DIET, "diet": _DIET_STRONG, "access": _ACCESS, "kin": _KIN,
    "family event": _FAMILY_EVENT, "work": _WORK, "pet": _PETS, "workplace": _WORKPLACE, "property": _PROPERTY,
    "duty": _DUTY, "plan": _PLAN, "preference": _PREFERENCE, "identity": _IDENTITY, "number": _NUMBER, "time": _TIME,
    "small": _SMALL, "trivial": _TRIVIAL, "past": _PAST,
}  # fmt: skip
_MEDICAL_ENDINGS: Final = ("itis", "emia", "aemia", "osis", "ectomy", "algia", "plegia", "phobia", "oma")


def _index() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, words in _LISTS.items():
        for word in dict.fromkeys(words.split()):
            found[word] = (*found.get(word, ()), name)
    return found


_CLASSES: Final = _index()


@lru_cache(maxsize=8192)
def classes_of(word: str) -> tuple[str, ...]:
    """Return the classes of a word in lower case; none for most words."""
    for form in _stems(word):
        if form in _CLASSES:
            return _CLASSES[form]
    return ("health",) if len(word) > 6 and word.endswith(_MEDICAL_ENDINGS) else ()


def _stems(word: str) -> tuple[str, ...]:
    """Return the word and what it may be a form of: "swelling" of "swell", "carries" of "carry"."""
    bare = word.removesuffix("'s")
    forms = [word, bare]
    for ending, instead in (
        ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"),
    ):  # fmt: skip
        if bare.endswith(ending) and len(bare) - len(ending) > 2:
            stem = bare[: -len(ending)] + instead
            forms.append(stem)
            if ending in ("ed", "ing") and not instead and stem[-1] == stem[-2]:
                forms.append(stem[:-1])
    return tuple(forms)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXPLICIT_HINTS: Final = _words("remember note mind forget record important")
SELF: Final = _words(
    "i i'm i've i'd i'll my me mine we we're we've we'd we'll our ours us user user's customer client patient caller"
)
OTHERS: Final = _words("he she they he's she's they're his her their him them")
SUBJECTS: Final = _words("i we he she they user customer client patient caller member tenant")
CONTRACTED: Final = _words("i'm we're he's she's they're i've we've they've")
BE: Final = _words("am are is be was were been")
ADVERBS: Final = _words(
    "just also really still already always never often usually only sometimes currently now mostly finally "
    "recently actually both all then definitely probably totally even mainly normally generally"
)
MODALS: Final = _words("will would shall should may might can could do does did 'd i'll we'll won't")
NOT: Final = _words(
    "can't cannot don't doesn't never unable not no only avoid without couldn't won't mustn't shouldn't isn't "
    "aren't ain't didn't neither nor nothing none"
)
LIMITS: Final = _words("can't cannot don't doesn't never unable only avoid won't mustn't always nobody")
HARM: Final = _words(
    "kill upset trigger swell react makes make gives give dangerous harm limits touch trace sick ill poorly bloat free"
)
IDIOMS: Final = _words(
    "believe wait agree imagine complain resist tell say think remember help worry mind know see get even recall"
)
MENTAL: Final = _words(
    "guess see wonder think know mean hope agree suppose believe bet feel understand doubt swear wish figure "
    "notice hear say admit remember forget"
)
MOODS: Final = _words(
    "tired bored hungry thirsty sleepy happy sad sorry sure fine okay ok good well back here there glad excited "
    "curious kidding joking serious late early ready busy cold warm hot full surprised impressed confused lost "
    "stuck done just sitting scrolling lying waiting looking watching listening eating drinking reading trying "
    "having doing so a-bit pretty very really quite honestly"
)
NEEDS: Final = _words("need needs needed require requires rely relies depend depends supposed obliged")
FUTURE: Final = _words("i'll we'll will going planning want wants tomorrow next")
ASKED: Final = _words(
    "write rewrite rephrase reword translate summarise summarize explain show give tell continue make try add "
    "list generate create draft fix describe compare define suggest recommend let let's scrap go repeat shorten "
    "expand"
)
POLITE: Final = _words("please ok okay now so and then well just")
MOMENT: Final = _words("today tonight yesterday again just somehow funny bit kinda silly weird random")
WISHES: Final = _words("i'd we'd would user'd")
WISHED: Final = _words("like love prefer rather want appreciate")
ADDRESSED: Final = _words("call email answer text phone address contact reach write message")
HABIT_CHANGES: Final = _words("stop stopped quit start started begin began up keep avoid dropped resumed")
DANGERS: Final = _words("dangerous unsafe deadly fatal lethal harmful risky hurts hurt kills kill life-threatening")
OWNERS: Final = _words("my our his her their user's its have has got own owns had")
HOLDS: Final = _words("my our own owns bought buy buying sold sell selling rent renting rented have got has")
INSTRUCTIONS: Final = _words("don't never always keep use avoid bring leave ensure stick speak reply respond send")
CAUSES: Final = _words("makes make gives give sends send leaves leave")
PARTS: Final = _words("break broke breaking broken split")
UP: Final = frozenset(("up",))
TO: Final = frozenset(("to",))
ME: Final = frozenset(("me",))
HAVE: Final = _words("have has got")
AFFECTED: Final = _words("me us him her them my")
HEARSAY: Final = _words("read heard hear dreamt dreamed guess think thought wonder wondered")
ELLIPTIC: Final = _words("no never only can't cannot without avoid must don't needs")
PRONOUNS: Final = SELF | OTHERS | _words("you you're your it it's that that's this there there's who what")
