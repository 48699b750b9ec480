"""The classes of words by which importance is scored: what a text is about, and how small talk sounds.

Words are given as stems, without -s, -ed and -ing, so that each stands for all its forms.
"""

from __future__ import annotations

import re
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


_FIRST_WORDS: Final = re.compile(r"[a-z]+")
_IS: Final = frozenset(("am", "m", "is", "are", "re"))
_VERB_WITHIN: Final = 4
"""Words from the beginning within which the verb of an event is looked for."""
_NO_EVENTS_WORDS = """
    was were had knew thought meant felt lived worked liked loved hated wanted preferred moved married studied graduated
    retired named used put read cut set hit shut lay bit built indeed hundred exceed succeed proceed breed speed
    allergic divorced widowed engaged interested tired excited scared bored
"""
_NO_EVENTS: Final = frozenset(_NO_EVENTS_WORDS.split())
"""Verbs of states and of what happens once, verbs with the same form in the present, and words in -ed that are none."""


def describes_recurring_event(text: str) -> bool:
    """Return whether a text tells of something that may happen again: "I paid rent", not "I was born in Rome"."""
    words = _FIRST_WORDS.findall(text.lower())[:_VERB_WITHIN]
    # "My cat is called Miso" tells how things are.
    verbs = [word for word, before in zip(words, ["", *words], strict=False) if before not in _IS]
    return any(word not in _NO_EVENTS and _is_past(word) for word in verbs)


def _is_past(word: str) -> bool:
    return (len(word) > 4 and word.endswith("ed")) or "past" in classes_of(word)
