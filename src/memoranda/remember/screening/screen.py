"""Screen new memories: put suspects into quarantine, and mask secrets. Pure.

A suspect is stored, but takes no part in recall until somebody releases it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from memoranda.remember.importance.pleasantries import is_pleasantry
from memoranda.remember.screening.poison import Suspicion, find_poison
from memoranda.remember.sources import find_channel
from memoranda.security.redaction import default_redactor, find_secrets
from memoranda.storage.changes import QUARANTINE, NewMemory
from memoranda.storage.claims import CLAIMS
from memoranda.text.sentences import Span, overlap, sentence_spans
from memoranda.types import JSON

_EDITED: Final = "was changed while in quarantine"
_KEPT_FIELDS: Final = ("content", "role", "message_id", "id", "timestamp", "name", "tool_call_id")
MASK: Final = "█"
"""Stands for each character of a secret."""
_WORD: Final = re.compile(r"\S+")
_BREAKS: Final = frozenset(("and", "but", "&", "und", "et", "y", "e"))
"""Words between two clauses."""
_AROUND: Final = "\"'“”‘„«»`()[]*.,;:=!?"
_SECRET, _OTHER = "x", "?"
_KINDS: Final = {
    word: kind
    for kind, words in {
        # What a secret is, whose, and what it opens.
        "n": """my our your his her their the a an this that it here access account admin alarm api app atm aws back
            backup bank basic bearer bike bot building card cards client code codes combination combo computer cookie
            credit cvc cvv database db debit device door email entry export front garage gate github google guest home
            house iban id key keypad keys laptop license lock locker login mail mfa modem netflix network number numbers
            office otp passcode passphrase passport passwd password passwords phone phrase pin pins private puk pwd pw
            recovery root router safe secret security seed server sim sms spotify ssh tablet token tokens unlock user
            username vault verification voicemail vpn wallet web website wi fi wifi wlan wpa2 2fa
            mein meine meiner meines der die das dem des handy passwort kennwort karte konto türcode zugangscode
            geheimzahl schlüssel mon ma mes le la les l'alarme du mot mots passe mdp porte carte compte clé mi mis el
            los contraseña clave tarjeta correo código acceso mio mia il lo parola d'ordine codice carta accesso chiave
            o os meu minha senha cartão conta chave mijn het wachtwoord pincode toegangscode sleutel kaart""",
        "p": "of for to on at in from as with für vom zum von de del della do da di van voor per para pour",
        "v": "is are was were be ist lautet est c'est es è é",
        "u": "i we you please remember note save keep store use used uses using enter type set changed",
    }.items()
    for word in words.split()
}  # fmt: skip
_NAMED_SECRET: Final = re.compile(r"(?:u*[np]*(?:vn*)?x)+v?[np]*")
"""A secret, and the words that name it: "my PIN is x", "use x as the password", "here is the code: x"."""


def screen(new: Iterable[NewMemory]) -> None:
    """Put each new memory that looks like poison into quarantine, and keep those there that are in it already."""
    for each in new:
        suspicion = _find_suspicion(each)
        if suspicion is None and (each.quarantined_at is None or QUARANTINE in each.notes):
            continue
        note: dict[str, JSON] = {"reason": suspicion.reason if suspicion else _EDITED}
        if suspicion is not None:
            note |= {"signs": list(suspicion.signs), "score": suspicion.score}
        hold(each, note, each.recorded_at)


def _find_suspicion(new: NewMemory) -> Suspicion | None:
    """Return the strongest suspicion against a new memory: its text, or a name that a prompt shows as well."""
    channel = find_channel(new.trust, new.source, new.scope.session)
    names = (new.message.speaker if new.message else None, new.source)
    found = [
        find_poison(new.content, channel, new.message is not None),
        *(find_poison(name, "outside") for name in names if name),
    ]
    return max((each for each in found if each), key=lambda each: each.score, default=None)


def hold(new: NewMemory, note: dict[str, JSON], since: datetime) -> None:
    """Put a memory into quarantine, with a note of the reason. Its claims count only once it is released."""
    claims = new.notes.get(CLAIMS)
    new.notes = {name: value for name, value in new.notes.items() if name != CLAIMS} | {
        QUARANTINE: note | ({CLAIMS: claims} if claims else {})
    }
    new.quarantined_at = new.quarantined_at or since


def mask_secrets(text: str) -> str:
    """Return the text with every secret masked, each character by one, so that offsets stay.

    A sentence that says nothing else is masked as a whole.
    """
    for start, end in (*find_secrets(text), *secret_sentences(text)):
        text = text[:start] + MASK * (end - start) + text[end:]
    return text


def mask_message_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message with the secrets in them masked, those that name and date it unchanged."""
    content = fields.get("content")
    if isinstance(content, str):
        content = mask_secrets(content)
    elif isinstance(content, list):
        content = [
            {**part, "text": mask_secrets(part["text"])}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    others = default_redactor().object({key: value for key, value in fields.items() if key not in _KEPT_FIELDS})
    return {**fields, **others} | ({"content": content} if "content" in fields else {})


def secret_sentences(text: str) -> list[Span]:
    """Return the sentences that say nothing but a secret; lines that one secret runs over, as a private key, are one."""
    secrets = find_secrets(text)
    if not secrets:
        return []
    return [span for span in _join_cut(sentence_spans(text), secrets) if _only_names_secret(text, span, secrets)]


def _join_cut(sentences: Sequence[Span], secrets: Sequence[Span]) -> list[Span]:
    """Return the sentences that hold secrets, those that the same secret runs over joined."""
    joined: list[Span] = []
    for span in sentences:
        if not any(overlap(span, secret) for secret in secrets):
            continue
        if joined and any(overlap(span, secret) and overlap(joined[-1], secret) for secret in secrets):
            joined[-1] = (joined[-1][0], span[1])
        else:
            joined.append(span)
    return joined


def _only_names_secret(text: str, sentence: Span, secrets: Sequence[Span]) -> bool:
    """Return whether each clause of a sentence is a secret with the words that name it, or small talk."""
    shape, words = "", list[str]()
    secrets = [secret for secret in secrets if overlap(sentence, secret)]
    for found in _WORD.finditer(text, *sentence):
        word = found[0].lower().replace("’", "'")
        if any(overlap(found.span(), secret) for secret in secrets):
            shape += "" if shape.endswith(_SECRET) else _SECRET
        elif word not in _BREAKS:
            shape += "".join(map(_kind_of, word.strip(_AROUND).removesuffix("'s").split("-")))
            words.append(word)
        if word in _BREAKS or word[-1] in ",;":
            if not _says_nothing(shape, words):
                return False
            shape, words = "", []
    return _says_nothing(shape, words)


def _says_nothing(shape: str, words: Sequence[str]) -> bool:
    return _NAMED_SECRET.fullmatch(shape) is not None or (_SECRET not in shape and is_pleasantry(" ".join(words)))


def _kind_of(word: str) -> str:
    return _KINDS.get(word, _OTHER) if word else ""
