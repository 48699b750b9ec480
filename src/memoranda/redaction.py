"""Secrets out of what is about to be written: by the name of a field, and by what a text looks like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.types import JSON

REPLACEMENT: Final = "[redacted]"

DEFAULT_FIELDS: Final = (
    "password", "passwd", "passphrase", "secret", "client_secret", "token", "access_token", "refresh_token",
    "auth_token", "id_token", "session_token", "api_key", "apikey", "private_key", "secret_key", "access_key",
    "authorization", "cookie", "set_cookie", "credentials",
)  # fmt: skip
"""Field names, or their last words (`db_password`, `X-Api-Key`, `authToken`), whatever their case."""

# A pattern with a group named `keep` leaves that part in front of the replacement. Every repetition is bounded by a
# character class that cannot match what follows it, so no text makes them slow.
DEFAULT_PATTERNS: Final = (
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and those who copied them
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    r"\bglpat-[A-Za-z0-9_-]{20,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",  # Slack
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
    r"\bAIza[A-Za-z0-9_-]{35}",  # Google
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bgsk_[A-Za-z0-9]{40,}",  # Groq
    r"\bnpm_[A-Za-z0-9]{36}",
    r"\bpypi-[A-Za-z0-9_-]{50,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Token
    r"(?P<keep>\b(?:[Bb]earer|BEARER)\s{1,4})[A-Za-z0-9._~+/-]{8,}=*",
    # In a header "Basic" is followed by a password; in a sentence, by "understanding".
    r"(?P<keep>\b[Aa]uthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?[Bb]asic\s{1,4})[A-Za-z0-9+/]{8,}=*",
    r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,256}:)[^\s/@\"'<>]{1,256}(?=@)",
    r"(?P<keep>(?i:\b(?:api[_-]?key|password|passwd|secret|access[_-]?token|auth[_-]?token)\b[\"']?\s{0,4}[=:]\s{0,4}"
    r"[\"']?))(?!\[redacted\])[^\s\"',;&]{4,}",
)

_MARKS: Final = {
    "": (
        "akia", "asia", "aiza", "ya29.", "sg.", "eyj", "bearer", "authorization", "://", "apikey", "passw", "secret",
        "accesstoken", "authtoken",
    ),
    "_": (
        "_live_", "_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "gsk_", "npm_", "api_key",
        "access_token", "auth_token",
    ),
    "-": ("-----begin ", "sk-", "glpat-", "xox", "xapp-", "pypi-", "api-key", "access-token", "auth-token"),
}  # fmt: skip
"""Every default pattern fits only what holds one of these, in lower case; by the sign in it, which few texts hold."""

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+")


class Redactor:
    """Replaces secrets in nested JSON; what is left has the same shape, and redacting it again changes nothing.

    Give your own `patterns` and `fields` to replace the default ones, or add to them:
    `Redactor([*DEFAULT_PATTERNS, r"\\bACME-\\d{6}\\b"])`. A pattern may have one group named `keep`, which stays.
    """

    def __init__(
        self,
        patterns: Iterable[str] = DEFAULT_PATTERNS,
        fields: Iterable[str] = DEFAULT_FIELDS,
        replacement: str = REPLACEMENT,
    ) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]
        self._fields = {_folded(field) for field in fields}
        self._replacement = replacement

    def text(self, text: str) -> str:
        """The text without its secrets."""
        for pattern in self._patterns:
            text = pattern.sub(self._substitute, text)
        return text

    def json(self, value: JSON) -> JSON:
        """The value without its secrets; a new one, nothing is changed in place."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(item) for item in value]
        if isinstance(value, dict):
            return self.object(value)
        return value

    def object(self, values: dict[str, JSON]) -> dict[str, JSON]:
        """The JSON object without its secrets, those in its keys included."""
        return {self.text(key): self._field(key, value) for key, value in values.items()}

    def _field(self, key: str, value: JSON) -> JSON:
        # A count or a flag of that name is no secret: "token": 512, "password": false.
        secret = isinstance(value, str | list | dict) and not self._fields.isdisjoint(_endings(key))
        return self._replacement if secret and value else self.json(value)

    def _substitute(self, found: re.Match[str]) -> str:
        return (found.groupdict().get("keep") or "") + self._replacement


def may_hold_secret(lowered: str) -> bool:
    """Whether a text, in lower case, can hold anything that a default pattern fits: a quick look before a long one."""
    return any(sign in lowered and any(mark in lowered for mark in marks) for sign, marks in _MARKS.items())


@cache
def default_redactor() -> Redactor:
    """The redactor with the default patterns; made when it is first needed."""
    return Redactor()


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidInput(f"the pattern {pattern!r} is no regular expression: {error}") from error


def _folded(field: str) -> str:
    return "".join(_WORDS.findall(field)).casefold()


def _endings(field: str) -> set[str]:
    words = _WORDS.findall(field)
    return {"".join(words[start:]).casefold() for start in range(max(0, len(words) - 4), len(words))}
