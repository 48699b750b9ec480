"""Decides whether what somebody joined or moved to may be used, visited or followed: no employer and no home. Pure."""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.claims.values import is_known_home

# Places where people train, learn or are treated more often than they work.
_TAKES_PART: Final = re.compile(
    r"\b(?:gym|fitness|crossfit|yoga|pilates|dojo|boxing|club|studio|choir|orchestra|academy|school|college|university|uni"
    r"|kindergarten|nursery|day ?care|classes|course|bootcamp|pool|spa|clinic|church|league|team)\b",
    re.I,
)
# Words next to a name which show that somebody uses, visits or follows it: it is not an employer or a home.
_USES: Final = re.compile(
    r"\b(?:coverage|signal|reception|roaming|tariffs?|broadband|internet|wi-?fi|mobile data|provider|sim|classes|lessons|workouts?|training plan"
    r"|dating|dates?(?! (?:of|is|was))|matches|swip\w+|profile|followers|streaming|episodes?|shows|series|movies|loyalty|discounts?|newsletter"
    r"|forum|free trial|trial|subscri\w+|member(?:s|ship)?|premium|cheaper|deals|meetups?|instructors?|bulk|vouchers?|points|playlists?|projects?"
    r"|squad|sprint|backlog|platform|app|server|tickets?|trains?|fares|miles|lounge|candidate|vote|voting|election|activis\w+)\b",
    re.I,
)
_NO_EMPLOYER: Final = re.compile(
    r"\b(?:party|greens|union|tinder|hinge|bumble|okcupid|grindr|mensa|reddit|discord|parkrun|weight watchers|slimming world|scouts|rotary)\b",
    re.I,
)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|\n")
_STREET: Final = re.compile(
    r"(?-i:[A-Z]).*\b(?:street|st\.?|road|rd\.?|lane|avenue|ave\.?|drive|close|crescent|terrace|way|court|row|mews|boulevard|square"
    r"|place|gardens|grove|hill|walk|alley)",
    re.I,
)
_WORKS: Final = re.compile(r"\b(?:work\w*|job|position|role|internship|hired|promoted|as an?)\b", re.I)


def may_be_club(name: str, clause: str) -> bool:
    """Return whether one trains, learns or is treated there more often than one works: "I started at Gold's Gym"."""
    return _TAKES_PART.search(name) is not None and _WORKS.search(clause) is None


def may_be_no_employer(name: str, said: str) -> bool:
    """Return whether somebody may have joined it to use it: "I joined Sky, cheaper broadband"."""
    sentence = _SENTENCE_END.split(said)[0]
    return _WORKS.search(sentence) is None and bool(_USES.search(sentence) or _NO_EMPLOYER.search(name))


def may_be_no_home(name: str, said: str) -> bool:
    """Return whether somebody may have moved to a street, or to what they use: "I moved to Orange, better coverage"."""
    sentence = _SENTENCE_END.split(said)[0]
    uses = _USES.search(sentence) is not None and not is_known_home("", sentence, None)
    return uses or _STREET.fullmatch(name.rstrip(" .")) is not None
