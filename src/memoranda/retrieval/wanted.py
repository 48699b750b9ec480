"""What kind of answer a question asks for: a time, a number, a name. Pure."""

from __future__ import annotations

import re
from typing import Final

from memoranda.text import A_NAME, A_NUMBER, A_TIME

_QUESTION_WORD: Final = re.compile(
    r"\b(?:(?P<time>when|how\s+long|(?:what|which)\s+(?:year|month|day|date|time|week|season))"
    r"|(?P<number>how\s+(?:many|much|old|often|far|big|tall|large|fast|heavy)|what\s+(?:age|number|amount|price|percentage))"
    r"|(?P<name>who|whom|whose|where|what|which))\b",
    re.I,
)
_KEYS: Final = {"time": A_TIME, "number": A_NUMBER, "name": A_NAME}


def wanted_kind(question: str) -> str | None:
    """The lexical key of the texts that can answer; the first question word decides, and without one nothing does."""
    asked = _QUESTION_WORD.search(question)
    return _KEYS[str(asked.lastgroup)] if asked else None
