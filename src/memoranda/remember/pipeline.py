"""The remember pipeline: stores texts and messages in one commit and returns outcomes.

Read `RememberPipeline._remember` from top to bottom: validate → find known texts → gate and extract → plan the changes
→ embed → write, then ask the model, if there is one, and write its facts. One call is one commit: it holds the messages
for the log, the memories, and the ends of the claims that they replace. The facts of a model are a second commit. With
a commit size, a long call is several commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from time import perf_counter
from typing import Any, Final, TypeAlias

from memoranda.embedding.vectors import Vectors
from memoranda.errors import ExtractionFailed, InvalidInput, InvalidType
from memoranda.index.partitions import Partitions
from memoranda.llm.base import LLM
from memoranda.llm.structured import CallPause
from memoranda.messages.message import CONVERTERS, Message, VendorMessage, is_message
from memoranda.messages.parsing import as_message
from memoranda.remember.base import Candidate, NoKnownTexts, Utterance, Verdict
from memoranda.remember.dialogue import DialogueContext, follow_dialogue, read_before
from memoranda.remember.duplicates import Known, KnownFinder, KnownTextIndex, utterance_of_memory
from memoranda.remember.echoes import merge_spans
from memoranda.remember.extraction import (
    extract_candidate,
    extract_each,
    only_candidates,
    rate_importance,
    to_notes,
)
from memoranda.remember.gate import (
    check_duplicate,
    reject,
)
from memoranda.remember.importance.words import describes_recurring_event
from memoranda.remember.model.reader import RETRIED, ModelAnswer, ModelReader, read_queued
from memoranda.remember.new_memory import (
    DEFAULT_IMPORTANCE,
    EXPIRING,
    WriteOptions,
    from_message,
    from_text,
    speaker_name,
    spoken_text,
    to_stored_message,
    trust_of_message,
    trust_of_text,
)
from memoranda.remember.screening.screen import mask_message_fields, mask_secrets, screen
from memoranda.remember.updates.find import UpdateFinder
from memoranda.security.fence import find_recalled_spans
from memoranda.security.redaction import redact_secrets
from memoranda.storage.add import to_memory
from memoranda.storage.base import Store
from memoranda.storage.changes import AppendMessage, Change, NewMemory, StoredTurn
from memoranda.storage.database_key import DatabaseKey
from memoranda.storage.forgotten_keys import set_digests
from memoranda.storage.write import Duplicates, MemoryWrite, Recheck
from memoranda.text.cache import clear_text_caches
from memoranda.text.checks import clean_text, storable_text
from memoranda.text.sentences import Span, first_words
from memoranda.types import JSON, Memory, Outcome, Outcomes, Progress, Scope

Content: TypeAlias = str | Message | Mapping[str, Any] | VendorMessage
Extracted: TypeAlias = list[Candidate | Verdict]
"""What was found in one utterance, in order."""
_COMMIT_SECONDS: Final = 0.05
_SMALLEST_COMMIT: Final = 2
_NO_DIALOGUE: Final = DialogueContext()
_NOT_ANSWERED: Final = "the model has not answered yet"
_CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""The time by which a message may be dated after it was stored without a note: clocks differ."""
DATED_IN_FUTURE: Final = "dated in the future"
"""The key in the notes for the time that a message was dated with, when that lies after the time it was stored."""
_MAX_CONTENTS: Final = 1_000_000
"""Texts and messages of one call: the rest of a longer or endless sequence is not read."""


class RememberPipeline:
    """Turns texts and messages into memories and writes them."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        partitions: Partitions,
        llm: LLM | None,
        key: DatabaseKey,
        *,
        use_gate: bool,
        commit_size: int = 0,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._reader = None if llm is None else ModelReader(store, llm)
        self._key = key
        self._use_gate = use_gate
        self._known = KnownFinder(store, vectors, partitions)
        self._updates = UpdateFinder(store, vectors, partitions)
        self._commit_size = commit_size

    def remember(
        self,
        content: Content | Sequence[Content],
        options: WriteOptions,
        idempotency_key: str | None,
        progress: Progress | None = None,
        *,
        strict: bool = False,
    ) -> Outcomes:
        """Remember texts and messages; return one outcome for each piece, in order.

        Args:
            content: A text, a message, or a list of them.
            options: What holds for the whole call: scope, time, type, source.
            idempotency_key: Makes a repeated call a duplicate.
            progress: Called with (done, total) while texts are embedded.
            strict: Raise `ExtractionFailed` when the model fails. Everything is stored all the same.
        """
        try:
            return self._remember(content, options, idempotency_key, progress, strict=strict)
        finally:
            clear_text_caches()

    def _remember(
        self,
        content: Content | Sequence[Content],
        options: WriteOptions,
        idempotency_key: str | None,
        progress: Progress | None,
        *,
        strict: bool,
    ) -> Outcomes:
        utterances = _parse_content(content, options, idempotency_key)
        compared = [utterance for utterance in utterances if self._is_compared(utterance, options)]
        utterances, known = self._known.find(utterances, compared, options)
        extracted = self._extract(utterances, known, options)
        utterances = self._mask_secrets(utterances)
        plan = [_plan(utterance, found, options) for utterance, found in zip(utterances, extracted, strict=True)]
        last = _log_in_order(utterances, plan, options)
        recheck = None if known.seq is None else Recheck(options.scope, known.seq, _DuplicateFinder(options))
        passed, turns = self._list_unread(utterances, extracted, options)
        # Stored and queued before the model is asked: it may never answer, and the program may end while it waits.
        waiting = ModelAnswer(waiting=turns, failure=_NOT_ANSWERED if turns else None)
        written = self._write(plan, last, waiting, options.now, recheck, progress)
        answer = ModelAnswer()
        if self._reader is not None:
            answer = self._reader.read(passed, turns, known.texts, options)
            plan.append(_plan_model_facts(answer, options))
            own = frozenset(outcome.memory.id for outcome in written if outcome.memory is not None)
            recheck = None if recheck is None else replace(recheck, own=own)
            written = [*written, *self._write(plan[-1:], [], answer, options.now, recheck)]
        outcomes = _report(plan, iter(written), known, answer)
        if strict and outcomes.failure is not None:
            raise _extraction_failed(answer, outcomes)
        return outcomes

    def retry_extraction(
        self, scope: Scope, options: WriteOptions, llm: LLM, pause: CallPause | None = None
    ) -> Outcomes | None:
        """Ask a model about some of the messages it failed to read before; return None when there are none left."""
        turns = self.unextracted(scope, RETRIED)
        if not turns:
            return None
        answer = ModelReader(self._store, llm, pause).read_again(turns, NoKnownTexts(), options)
        plan = [_plan_model_facts(answer, options)]
        return _report(plan, iter(self._write(plan, [], answer, options.now)), Known(), answer)

    def unextracted(self, scope: Scope, limit: int) -> list[StoredTurn]:
        """Return the oldest messages that a model failed to read."""
        return read_queued(self._store, scope, limit)

    def _extract(self, utterances: Sequence[Utterance], known: Known, options: WriteOptions) -> list[Extracted]:
        """Return the candidates and verdicts of each utterance. A plain text does not go through the gate."""
        judged = [utterance for utterance in utterances if self._is_judged(utterance, options)]
        in_dialogue = utterances if options.keep_all else judged
        before = read_before(self._store, in_dialogue[0], options.scope) if in_dialogue else _NO_DIALOGUE
        if options.keep_all:
            utterances = [utterance for utterance, _ in follow_dialogue(utterances, before)]
        found = iter(extract_each(judged, known.texts, importance=options.importance, before=before))
        return [
            next(found) if self._is_judged(each, options) else self._store_unjudged(each, known, options)
            for each in utterances
        ]

    def _store_unjudged(self, utterance: Utterance, known: Known, options: WriteOptions) -> Extracted:
        """Return the candidate or verdict of an utterance without the gate; a text may be a duplicate."""
        if utterance.message is None and self._is_compared(utterance, options):
            verdict = check_duplicate(utterance, known.texts)
            if verdict is not None and verdict.rule == "duplicate":
                return [verdict]
            known.texts.add(replace(utterance, message_id=_reference_to(utterance.text)))
        # A memory that expires makes no claims, and neither does a message where nothing is extracted, or a prompt.
        spoken = self._use_gate and options.keep_all and utterance.role != "system"
        makes_claims = (utterance.message is None or spoken) and options.type not in EXPIRING
        return _candidate_without_gate(utterance, options, makes_claims=makes_claims)

    def _is_compared(self, utterance: Utterance, options: WriteOptions) -> bool:
        """Return whether an utterance is compared with what is known."""
        is_text = utterance.message is None and not options.keep_all and options.type not in EXPIRING
        return self._is_judged(utterance, options) or (self._use_gate and is_text)

    def _is_judged(self, utterance: Utterance, options: WriteOptions) -> bool:
        """Return whether an utterance goes through the gate; short-term memory, which expires, does not."""
        keeps_all = options.keep_all or options.type in EXPIRING
        return self._use_gate and utterance.message is not None and utterance.text != "" and not keeps_all

    def _mask_secrets(self, utterances: Sequence[Utterance]) -> list[Utterance]:
        """Return the utterances, with the secrets in each message masked."""
        return [
            replace(each, message=_mask_message(each.message)) if each.message is not None else each
            for each in utterances
        ]

    def _list_unread(
        self, utterances: Sequence[Utterance], extracted: Sequence[Extracted], options: WriteOptions
    ) -> tuple[list[Candidate], list[StoredTurn]]:
        """Return what passed the gate and the messages that it is from, for the model to read; none without a model."""
        passed: list[Candidate] = []
        turns: list[StoredTurn] = []
        if self._reader is None:
            return passed, turns
        for utterance, found in zip(utterances, extracted, strict=True):
            candidates = only_candidates(found)
            if utterance.message is not None and candidates and self._is_judged(utterance, options):
                passed += candidates
                turns.append((options.scope, to_stored_message(utterance.message)))
        return passed, turns

    def _write(
        self,
        plan: Sequence[Sequence[NewMemory | Verdict]],
        messages: Sequence[AppendMessage],
        answer: ModelAnswer,
        now: datetime,
        recheck: Recheck | None = None,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """Embed, find what the new memories may change, and write; return their outcomes, in order."""
        new = [piece for pieces in plan for piece in pieces if isinstance(piece, NewMemory)]
        screen(new)
        set_digests(self._store, self._key, new)
        self._vectors.attach(new, progress)
        self._updates.attach(new, now)
        # New memories first, so that they are written together.
        changes: list[Change] = [*new, *messages, *answer.marks()]
        return self._commit(changes, recheck if new else None)[: len(new)] if changes else []

    def _commit(self, changes: Sequence[Change], recheck: Recheck | None) -> list[Outcome]:
        """Write the changes in one commit, or with a commit size in several, so that others can write in between.

        Commits that take long get smaller: others wait about as long on a slow machine as on a fast one.
        """
        size = limit = self._commit_size or len(changes)
        outcomes: list[Outcome] = []
        while len(outcomes) < len(changes):
            started = perf_counter()
            outcomes += self._store.write(MemoryWrite(changes[len(outcomes) : len(outcomes) + size], recheck))
            if self._commit_size:
                size = int(size * _COMMIT_SECONDS / max(perf_counter() - started, 1e-9))
                size = min(limit, max(_SMALLEST_COMMIT, size))
            if recheck is not None:
                own = frozenset(outcome.memory.id for outcome in outcomes if outcome.memory is not None)
                recheck = replace(recheck, own=own)
        return outcomes


class ExtractionRules:
    """The `ContentRules` by which memories are written without the pipeline."""

    def importance(self, text: str) -> float:
        return max(DEFAULT_IMPORTANCE, rate_importance(text)[0])

    def notes(self, text: str, memory: Memory) -> dict[str, JSON]:
        utterance = utterance_of_memory(replace(memory, content=text), Scope(memory.tenant, user=memory.user))
        return _notes_without_evidence(extract_candidate(utterance, _NO_DIALOGUE, 1.0))


def _parse_content(
    content: Content | Sequence[Content], options: WriteOptions, idempotency_key: str | None = None
) -> list[Utterance]:
    """Check what a call passes and return it as utterances."""
    untyped: object = content
    if isinstance(content, str) or is_message(content):
        contents: list[Content] = [content]  # type: ignore[list-item]
    elif isinstance(untyped, bytes | bytearray) or not isinstance(content, Sequence):
        raise InvalidType(
            f"content must be a text, a message or a list of them, not {type(content).__name__}; {CONVERTERS}"
        )
    else:
        contents = list(islice(content, _MAX_CONTENTS + 1))
        if len(contents) > _MAX_CONTENTS:
            raise InvalidInput(f"more than {_MAX_CONTENTS:,} texts and messages in one call: make several calls")
    keys: list[str | None] = [None] * len(contents)
    if idempotency_key is not None:
        base = clean_text(idempotency_key, "idempotency_key")
        keys = [base] if len(contents) == 1 else [f"{base}#{n}" for n in range(len(contents))]
    names = ["content"] if len(contents) == 1 else [f"content[{n}]" for n in range(len(contents))]
    return [_parse(item, options, key, name) for item, key, name in zip(contents, keys, names, strict=True)]


def _parse(content: Content, options: WriteOptions, key: str | None, name: str) -> Utterance:
    """Return one text or message as an utterance; a plain text counts as said by the user if it has no other source."""
    owner = speaker_name(None, "user", options.scope)
    if isinstance(content, str):
        text = storable_text(redact_secrets(storable_text(content, name)), name)
        role = trust_of_text(text, options)
        said_at = min(options.at or options.now, options.now)
        speaker = speaker_name(None, role, options.scope)
        return Utterance("", role, speaker, said_at, text, (0, len(text)), None, key, owner)
    message = as_message(content)
    role = trust_of_message(message, options)
    speaker = speaker_name(message.name, role, options.scope)
    spoken = spoken_text(message)
    text = "" if spoken is None else storable_text(spoken, name)
    # What is said cannot be newer than now: a wrong clock would keep every true update from counting.
    said_at = min(message.timestamp, options.now)
    owner = speaker if role == "user" else owner  # what Ana says about "the user" is about Ana
    return Utterance(message.message_id, role, speaker, said_at, text, (0, len(text)), message, key, owner)


def _mask_message(message: Message) -> Message:
    """Return the message with its secrets masked, everything else unchanged; itself when it has none."""
    known = message.to_dict()
    masked = mask_message_fields(known)
    return message if masked == known else Message.from_dict(masked)


def _candidate_without_gate(utterance: Utterance, options: WriteOptions, *, makes_claims: bool) -> Extracted:
    """Return the candidate of an utterance that does not go through the gate, without its recalled parts."""
    if utterance.message is not None:
        utterance = replace(utterance, text=mask_secrets(utterance.text))
    if utterance.message is None and (found := find_recalled_spans(utterance.text) or utterance.echoes):
        return _without_recalled_parts(
            utterance, merge_spans([*found, *utterance.echoes]), options, makes_claims=makes_claims
        )
    if utterance.text == "":
        return [reject(utterance, "empty", f"the {utterance.role} message has no text")]
    candidate = extract_candidate(utterance, _NO_DIALOGUE, 1.0, options.importance)
    if utterance.message is None:
        candidate = replace(candidate, importance=max(DEFAULT_IMPORTANCE, candidate.importance))
    return [candidate if makes_claims else replace(candidate, claims=())]


def _without_recalled_parts(
    utterance: Utterance, recalled: Sequence[Span], options: WriteOptions, *, makes_claims: bool
) -> Extracted:
    """Return the candidate of a plain text without its recalled parts; a verdict when nothing else is left."""
    text, position = "", 0
    for start, end in recalled:
        text += utterance.text[position:start]
        position = end
    left = (text + utterance.text[position:]).strip()
    verdict = reject(utterance, "echo", "recalled text coming back")
    if not first_words(left, 1):
        return [verdict]
    return _candidate_without_gate(
        replace(utterance, text=left, span=(0, len(left)), echoes=()), options, makes_claims=makes_claims
    )


def _plan(utterance: Utterance, found: Extracted, options: WriteOptions) -> list[NewMemory | Verdict]:
    """Return a new memory for each candidate, and the verdicts unchanged."""
    plan: list[NewMemory | Verdict] = []
    for position, piece in enumerate(found):
        if isinstance(piece, Verdict):
            plan.append(piece)
            continue
        key = utterance.idempotency_key
        key = f"{key}.{position}" if key is not None and position else key
        if utterance.message is None:
            new = from_text(piece.content, options, importance=piece.importance)
            new.trust, new.deduplicate, new.notes = utterance.role, True, _notes_without_evidence(piece)
            new.recurs = describes_recurring_event(piece.content)
        else:
            new = from_message(piece.content, utterance.message, options, piece.type)
            new.importance, new.notes = piece.importance, to_notes(piece)
        if new.valid_from > utterance.said_at:
            if new.valid_from - utterance.said_at > _CLOCKS_DIFFER:
                new.notes[DATED_IN_FUTURE] = new.valid_from.isoformat()
            new.valid_from = utterance.said_at
        new.idempotency_key = key
        plan.append(new)
    return plan


def _plan_model_facts(answer: ModelAnswer, options: WriteOptions) -> list[NewMemory | Verdict]:
    """Return a new memory for each fact that a model found, with the message that holds it."""
    plan: list[NewMemory | Verdict] = []
    for (scope, stored), piece in answer.found:
        if isinstance(piece, Verdict):
            plan.append(piece)
            continue
        message = Message.from_dict(stored.payload)
        new = from_message(piece.content, message, replace(options, scope=scope, type=None), piece.type)
        new.importance, new.notes, new.trust = piece.importance, to_notes(piece), piece.trust or new.trust
        plan.append(new)
    return plan


def _log_in_order(
    utterances: Sequence[Utterance], plan: Sequence[Sequence[NewMemory | Verdict]], options: WriteOptions
) -> list[AppendMessage]:
    """Give each memory the messages before it that make none, so that the log has them in order; return the last."""
    waiting: list[StoredTurn] = []
    for utterance, pieces in zip(utterances, plan, strict=True):
        first = next((piece for piece in pieces if isinstance(piece, NewMemory)), None)
        if first is not None:
            first.before, waiting = tuple(waiting), []
        elif utterance.message is not None:
            waiting.append((options.scope, to_stored_message(utterance.message)))
    return [AppendMessage(scope, message, options.now) for scope, message in waiting]


@dataclass(frozen=True, slots=True)
class _DuplicateFinder:
    """Finds new memories that another writer has stored in the meantime. Pure; `Recheck` calls it."""

    options: WriteOptions

    def __call__(self, changes: Sequence[Change], stored: Sequence[Memory]) -> Duplicates:
        options = self.options
        current = {each.id: each for each in stored if _is_current(each, options.now) and options.may_repeat(each)}
        scope = options.scope
        texts = KnownTextIndex((memory.id, utterance_of_memory(memory, scope)) for memory in current.values())
        duplicates: Duplicates = {}
        for position, change in enumerate(changes):
            if not isinstance(change, NewMemory) or change.message is None:
                continue
            verdict = check_duplicate(utterance_of_memory(to_memory(change, 0), change.scope), texts)
            if verdict is not None and isinstance(verdict.duplicate_of, int):
                memory, message_id = current[verdict.duplicate_of], change.message.message_id
                duplicates[position] = Outcome(verdict.status, memory, verdict.reason, message_id, verdict.rule)
        return duplicates


def _reference_to(text: str) -> str:
    """Return by what another text of the same call refers to a plain text, which has no message id."""
    return f'"{text}"'


def _is_current(memory: Memory, now: datetime) -> bool:
    ends = (memory.valid_to, memory.expires_at)
    return (
        memory.archived_at is None and memory.quarantined_at is None and all(end is None or end > now for end in ends)
    )


def _notes_without_evidence(candidate: Candidate) -> dict[str, JSON]:
    """Return the notes for a text that is not part of a message."""
    return {name: note for name, note in to_notes(candidate).items() if name != "evidence"}


def _report(
    plan: Iterable[Sequence[NewMemory | Verdict]], written: Iterator[Outcome], known: Known, answer: ModelAnswer
) -> Outcomes:
    """Return one outcome for each piece of the plan, and why the model failed, if it did."""
    outcomes: list[Outcome] = []
    by_message: dict[str, Memory] = {}
    for piece in (piece for pieces in plan for piece in pieces):
        if isinstance(piece, Verdict):
            other = piece.duplicate_of
            memory = known.memories.get(other) if isinstance(other, int) else by_message.get(other or "")
            outcomes.append(Outcome(piece.status, memory, piece.reason, piece.message_id or None, piece.rule))
            continue
        outcome = next(written)
        outcomes.append(outcome)
        if outcome.memory is not None:
            by_message.setdefault(outcome.message_id or _reference_to(piece.content), outcome.memory)
    if answer.failure is not None:
        queued = answer.queued_ids()
        outcomes = [replace(each, queued=answer.failure) if each.message_id in queued else each for each in outcomes]
    return Outcomes(outcomes, answer.usage, answer.failure)


def _extraction_failed(answer: ModelAnswer, outcomes: Outcomes) -> ExtractionFailed:
    error = ExtractionFailed(
        "the messages and what the rules extracted from them are stored; the model gave nothing usable "
        f"({answer.failure}). The next remember() and upkeep() ask it again",
        text=getattr(answer.error, "text", ""),
        outcomes=outcomes,
    )
    error.__cause__ = answer.error
    return error
