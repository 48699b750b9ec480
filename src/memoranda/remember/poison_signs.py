"""What a sign of poisoned text is, and the classes of words that several signs use.

English patterns read a folded text: lower case, one kind of space, hyphen and apostrophe. `~` in a pattern stands for
up to seventy characters of the same sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from memoranda.text.word_filter import Needs, needed_words, words_in

_GAP: Final = r"(?:[^.!?\n]|[.!?](?=\w)){0,70}?"
START: Final = (
    r"(?:(?:^|[\n.!?:;,\]\)>*\-\"'`|]|\b(?:and|then|so|must|should|shall|will|always|never|please|now|also|"
    r"kindly|to|just|immediately|instead|first))[ \t*_#>\"'`(\[-]{0,6})"
)
"""Where a clause starts, so that a verb there is an order and no narration."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A class of wording."""

    name: str
    user: float
    """What it weighs in a user's own words."""
    outside: float
    """What it weighs in the words of a tool, a document or a web page."""
    source: str
    flags: int
    hints: tuple[str, ...]
    """A text that the pattern matches contains one of these. Empty: the pattern is always tried."""
    needs: tuple[str, ...]
    """And one of these."""
    own_wish: bool = False
    """Whether it counts little when the speaker asks it for herself: "always recommend vegetarian food to me"."""

    about_ai: bool = False
    """Whether it matches only a text that names a model, by `AI_WORD`."""

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compile(self.source, self.flags)

    @property
    def needs_words(self) -> Needs:
        """The words of a text that the pattern can match."""
        return (*words_in(self.hints), *words_in(self.needs), *needed_words(self.source))


@cache  # compiled on first use: few texts need any of them
def _compile(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, flags)


def make_sign(
    name: str,
    user: float,
    outside: float,
    pattern: str,
    hints: str = "",
    needs: str = "",
    *,
    own_wish: bool = False,
    fold: bool = True,
    about_ai: bool = False,
) -> Sign:
    flags = re.MULTILINE if fold else re.MULTILINE | re.IGNORECASE
    source = pattern.replace("~", _GAP)
    return Sign(name, user, outside, source, flags, tuple(hints.split()), tuple(needs.split()), own_wish, about_ai)


RULES: Final = (
    r"(?:instructions?|rules?|guidelines?|guidance|directives?|prompts?|polic(?:y|ies)|restrictions?|constraints?|"
    r"safeguards?|guardrails?|filters?|training|programming|protocols?|commands?|limitations?|alignment|"
    r"system message|system prompt|(?:safety|security) (?:checks?|measures?|settings?)|safety)"
)
AI: Final = r"(?:(?:ai|a\.i\.|autonomous) (?:agents?|assistants?|models?|systems?|bots?)|ai|a\.i\.|assistants?|agents?|llms?|language models?|models?|chat ?bots?|bots?|copilot|chatgpt|gpt|claude|gemini)"
TARGET: Final = (
    r"(?:https?://|www\.|[\w.+-]+@[\w-]+\.|[\w-]+\.(?:com|net|org|io|ru|cn|xyz|info|biz|dev|app|example|test|co|me|site|top|"
    r"online|tk|cc)\b|webhook|(?:the |this |an? |our |my |remote |external |following )+(?:server|address|endpoint|url|number|"
    r"channel|account|bucket|mailbox|address|inbox|site|website|form)\b)"
)
AI_WORD: Final = re.compile(
    r"(?<![^\W_])(?:ais?|a\.i|assistants?|agents?|llms?|models?|language|bots?|chat ?bots?|copilots?|chatgpt|gpt|claude|gemini|crawlers?|scrapers?|summari[sz]ers?|"
    r"ki|ia|sprachmodelle?|lenguaje|langage|linguistici|asistente|assistente|ассистент|助手|アシスタント)"
)
"""A name of a model. The word filter looks for parts of words, and "ai" is a part of many."""
