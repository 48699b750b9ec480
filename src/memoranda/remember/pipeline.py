"""The remember pipeline: stores texts and messages in one commit and returns outcomes.

Read `RememberPipeline.remember` from top to bottom: validate → find known texts → gate and extract → ask the model, if
there is one → plan the changes → embed → write. One call is one commit: it holds the messages for the log, the
memories, and the ends of the claims that they replace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from memoranda.embedding.vectors import Vectors
from memoranda.errors import ExtractionFailed, InvalidType, Unavailable
from memoranda.index.partitions import Partitions
from memoranda.llm.base import LLM, MeteredLLM
from memoranda.messages.message import Message, as_message
from memoranda.remember.base import Candidate, KnownTexts, NoKnownTexts, Utterance, Verdict
from memoranda.remember.duplicates import KnownTextIndex
from memoranda.remember.extraction import extract_candidate, extract_each, only_candidates, rate_importance, to_notes
from memoranda.remember.gate import DialogueContext, check_duplicate, mask_secrets, reject
from memoranda.remember.llm_extraction import extract_facts
from memoranda.remember.new_memory import (
    DEFAULT_IMPORTANCE,
    EXPIRING,
    WriteOptions,
    from_message,
    from_text,
    spoken_text,
    to_stored_message,
)
from memoranda.storage.add import to_memory
from memoranda.storage.base import PartitionKey, Store
from memoranda.storage.changes import AppendMessage, Change, MarkExtracted, NewMemory, StoredTurn
from memoranda.storage.message_log import read_unextracted
from memoranda.storage.write import Duplicates, MemoryWrite, Recheck
from memoranda.text import clean_text, query_terms
from memoranda.types import JSON, Memory, Outcome, Outcomes, Progress, Scope, Usage

Content: TypeAlias = str | Message | Mapping[str, Any]
Extracted: TypeAlias = list[Candidate | Verdict]
"""What was found in one utterance, in order."""
_RETRIED: Final = 20
"""How many messages that a model failed to read are given to it again with each call."""
_NEIGHBOURS: Final = 8
"""How many memories that share most terms with a text are compared with it."""
_KNOWN_SHARE: Final = 0.7
"""The share of a text's terms that must be known for it to repeat something; the others are a lead-in."""
_MAX_TERMS: Final = 64
_NO_DIALOGUE: Final = DialogueContext()


@dataclass(frozen=True, slots=True)
class _Known:
    """The memories of the scope, up to the change `seq`, that could say the same as the texts of this call."""

    texts: KnownTexts = field(default_factory=NoKnownTexts)
    memories: dict[int, Memory] = field(default_factory=dict)
    seq: int | None = None
    """None when nothing was compared."""


@dataclass(frozen=True, slots=True)
class _ModelAnswer:
    """What a model found in the messages that it was given."""

    found: tuple[Candidate | Verdict, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failure: Unavailable | ExtractionFailed | None = None
    turns: tuple[StoredTurn, ...] = ()
    """The messages it was given."""


class RememberPipeline:
    """Turns texts and messages into memories and writes them."""

    def __init__(
        self, store: Store, vectors: Vectors, partitions: Partitions, llm: LLM | None, *, use_gate: bool
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions
        self._llm = llm
        self._use_gate = use_gate

    def remember(
        self,
        content: Content | Sequence[Content],
        options: WriteOptions,
        idempotency_key: str | None,
        progress: Progress | None = None,
    ) -> Outcomes:
        """Remember texts and messages; return one outcome for each piece, in order.

        Args:
            content: A text, a message, or a list of them.
            options: What holds for the whole call: scope, time, type, source.
            idempotency_key: Makes a repeated call a duplicate.
            progress: Called with (done, total) while texts are embedded.
        """
        utterances = _parse_content(content, options, idempotency_key)
        known = self._find_known(utterances, options)
        extracted = self._extract(utterances, known, options)
        utterances = self._mask_secrets(utterances, options)
        answer = self._ask_model(utterances, extracted, known, options)
        plan = [_plan(utterance, found, options) for utterance, found in zip(utterances, extracted, strict=True)]
        plan.append(_plan_model_facts(answer, options))
        unremembered = _unremembered_messages(utterances, plan, options)
        recheck = None if known.seq is None else Recheck(options.scope, known.seq, _DuplicateFinder(options))
        written = self._write(plan, unremembered, answer, recheck, progress)
        return _report(plan, written, known, answer)

    def retry_extraction(self, scope: Scope, options: WriteOptions, llm: LLM) -> Outcomes | None:
        """Ask a model about some of the messages it failed to read before; return None when there are none left."""
        turns = self.unextracted(scope)
        if not turns:
            return None
        answer = _query_model(llm, [], turns, NoKnownTexts(), options)
        plan = [_plan_model_facts(answer, options)]
        return _report(plan, self._write(plan, [], answer), _Known(), answer)

    def unextracted(self, scope: Scope, limit: int = _RETRIED) -> list[StoredTurn]:
        """Return the oldest messages that a model failed to read."""
        return self._store.read(lambda tx: read_unextracted(tx, scope, limit))

    def _find_known(self, utterances: Sequence[Utterance], options: WriteOptions) -> _Known:
        """Return the current memories of the scope that share most terms with the utterances."""
        judged = [utterance for utterance in utterances if self._is_judged(utterance, options)]
        if not judged:
            return _Known()
        scope = options.scope
        partition = self._partitions.get_for_terms(PartitionKey(scope.tenant, scope.user), self._vectors.generation())
        known_terms, ids = set[str](), set[int]()
        queries = [query_terms(utterance.text) for utterance in judged]
        with partition.lock:
            seq, postings = partition.seq, partition.postings
            among = partition.eligible(scope.agent, scope.session, options.now.timestamp())
            for terms in queries:
                indexed = list(filter(postings.contains, terms))
                known_terms.update(indexed)
                if len(indexed) >= _KNOWN_SHARE * len(terms):
                    ids.update(postings.search(indexed[:_MAX_TERMS], _NEIGHBOURS, among=among)[0].tolist())
        found = self._store.get(scope, sorted(ids)) if ids else []
        memories = [memory for memory in found if memory is not None]
        texts = KnownTextIndex(((memory.id, _utterance_of_memory(memory, scope)) for memory in memories), known_terms)
        return _Known(texts, {memory.id: memory for memory in memories}, seq)

    def _extract(self, utterances: Sequence[Utterance], known: _Known, options: WriteOptions) -> list[Extracted]:
        """Return the candidates and verdicts of each utterance. A plain text does not go through the gate."""
        judged = [utterance for utterance in utterances if self._is_judged(utterance, options)]
        found = iter(extract_each(judged, known.texts, importance=options.importance))
        return [next(found) if self._is_judged(each, options) else _keep(each, options) for each in utterances]

    def _is_judged(self, utterance: Utterance, options: WriteOptions) -> bool:
        """Return whether an utterance goes through the gate; short-term memory, which expires, does not."""
        keeps_all = options.keep_all or options.type in EXPIRING
        return self._use_gate and utterance.message is not None and utterance.text != "" and not keeps_all

    def _mask_secrets(self, utterances: Sequence[Utterance], options: WriteOptions) -> list[Utterance]:
        """Return the utterances, with secrets masked in each message that goes through the gate."""
        return [
            replace(each, message=_mask_message(each.message))
            if each.message is not None and self._is_judged(each, options)
            else each
            for each in utterances
        ]

    def _ask_model(
        self,
        utterances: Sequence[Utterance],
        extracted: Sequence[Extracted],
        known: _Known,
        options: WriteOptions,
    ) -> _ModelAnswer:
        """Ask the model, if there is one, about what passed the gate, and about messages it failed to read before."""
        if self._llm is None:
            return _ModelAnswer()
        passed: list[Candidate] = []
        turns: list[StoredTurn] = []
        for utterance, found in zip(utterances, extracted, strict=True):
            candidates = only_candidates(found)
            if utterance.message is not None and candidates and self._is_judged(utterance, options):
                passed += candidates
                turns.append((options.scope, to_stored_message(utterance.message)))
        before = self.unextracted(Scope(options.scope.tenant, options.scope.agent, options.scope.user))
        if not passed and not before:
            return _ModelAnswer()
        return _query_model(self._llm, passed, before, known.texts, options, turns)

    def _write(
        self,
        plan: Sequence[Sequence[NewMemory | Verdict]],
        messages: Sequence[AppendMessage],
        answer: _ModelAnswer,
        recheck: Recheck | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Outcome]:
        """Embed and write; return the outcomes of the new memories, in order."""
        new = [piece for pieces in plan for piece in pieces if isinstance(piece, NewMemory)]
        self._vectors.attach(new, progress)
        changes: list[Change] = [*new, *messages]  # new memories first, so that they are written together
        if answer.turns:
            changes.append(MarkExtracted(answer.turns, None if answer.failure is None else str(answer.failure)))
        if not changes:
            return iter(())
        return iter(self._store.write(MemoryWrite(changes, recheck if new else None))[: len(new)])


class ExtractionRules:
    """The `ContentRules` by which memories are written without the pipeline."""

    def importance(self, text: str) -> float:
        return max(DEFAULT_IMPORTANCE, rate_importance(text)[0])

    def notes(self, text: str, memory: Memory) -> dict[str, JSON]:
        utterance = _utterance_of_memory(replace(memory, content=text), Scope(memory.tenant, user=memory.user))
        return _notes_without_evidence(extract_candidate(utterance, _NO_DIALOGUE, 1.0))


def _parse_content(
    content: Content | Sequence[Content], options: WriteOptions, idempotency_key: str | None = None
) -> list[Utterance]:
    """Check what a call passes and return it as utterances."""
    untyped: object = content
    if isinstance(content, str | Message | Mapping):
        contents: list[Content] = [content]
    elif isinstance(untyped, bytes | bytearray) or not isinstance(content, Sequence):
        raise InvalidType(f"content must be a text, a message or a list of them, not {type(content).__name__}")
    else:
        contents = list(content)
    keys: list[str | None] = [None] * len(contents)
    if idempotency_key is not None:
        key = clean_text(idempotency_key, "idempotency_key")
        keys = [key] if len(contents) == 1 else [f"{key}#{n}" for n in range(len(contents))]
    return [_parse(item, options, item_key) for item, item_key in zip(contents, keys, strict=True)]


def _parse(content: Content, options: WriteOptions, key: str | None) -> Utterance:
    """Return one text or message as an utterance; a plain text counts as said by the user."""
    if isinstance(content, str):
        text = clean_text(content)
        speaker = _speaker(None, "user", options.scope)
        return Utterance("", "user", speaker, options.at or options.now, text, (0, len(text)), None, key)
    message = as_message(content)
    speaker = _speaker(message.name, message.role, options.scope)
    spoken = spoken_text(message)
    text = "" if spoken is None else clean_text(spoken)
    return Utterance(message.message_id, message.role, speaker, message.timestamp, text, (0, len(text)), message, key)


def _utterance_of_memory(memory: Memory, scope: Scope) -> Utterance:
    """Return a stored memory as an utterance."""
    name = None if memory.speaker == memory.trust else memory.speaker
    speaker = _speaker(name, memory.trust, scope)
    return Utterance("", memory.trust, speaker, memory.valid_from, memory.content, (0, len(memory.content)))


def _utterance_of_turn(turn: StoredTurn) -> Utterance:
    scope, message = turn
    name = None if message.speaker == message.role else message.speaker
    text, speaker = message.content or "", _speaker(name, message.role, scope)
    return Utterance(message.message_id, message.role, speaker, message.said_at, text, (0, len(text)))


def _speaker(name: str | None, role: str, scope: Scope) -> str:
    """Return who speaks: by name, else the user of the scope where a user speaks, else the role."""
    if name:
        return name
    return scope.user if role == "user" and isinstance(scope.user, str) else role


def _mask_message(message: Message) -> Message:
    """Return the message with its secrets masked, everything else unchanged; itself when it has none."""
    content: Any = message.content
    if isinstance(content, str):
        content = mask_secrets(content)
    elif isinstance(content, list):
        content = [
            {**part, "text": mask_secrets(part["text"])}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    return message if content == message.content else Message.from_dict({**message.to_dict(), "content": content})


def _keep(utterance: Utterance, options: WriteOptions) -> Extracted:
    """Return what becomes of an utterance that does not go through the gate."""
    if utterance.text == "":
        return [reject(utterance, "empty", f"the {utterance.role} message has no text")]
    candidate = extract_candidate(utterance, _NO_DIALOGUE, 1.0, options.importance)
    if utterance.message is None:
        candidate = replace(candidate, importance=max(DEFAULT_IMPORTANCE, candidate.importance))
    # A memory that expires makes no claims, and neither does a message that did not go through the gate.
    makes_claims = utterance.message is None and options.type not in EXPIRING
    return [candidate if makes_claims else replace(candidate, claims=())]


def _query_model(
    llm: LLM,
    passed: Sequence[Candidate],
    before: Sequence[StoredTurn],
    known: KnownTexts,
    options: WriteOptions,
    turns: Sequence[StoredTurn] = (),
) -> _ModelAnswer:
    meter = MeteredLLM(llm)
    # Of messages with the same id, the model reads one; the others wait for the next call.
    asked = tuple({turn[1].message_id: turn for turn in (*before, *turns)}.values())
    again = [_utterance_of_turn(turn) for turn in before if turn in asked]
    candidates = [*passed, *only_candidates([piece for found in extract_each(again) for piece in found])]
    try:
        found = extract_facts(candidates, meter, known, importance=options.importance)
    except (Unavailable, ExtractionFailed) as error:
        return _ModelAnswer(usage=meter.usage, failure=error, turns=asked)
    return _ModelAnswer(tuple(found), meter.usage, turns=asked)


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
            new.deduplicate, new.notes = True, _notes_without_evidence(piece)
        else:
            new = from_message(piece.content, utterance.message, options, piece.type)
            new.importance, new.notes = piece.importance, to_notes(piece)
        new.idempotency_key = key
        plan.append(new)
    return plan


def _plan_model_facts(answer: _ModelAnswer, options: WriteOptions) -> list[NewMemory | Verdict]:
    """Return a new memory for each fact that a model found, with the message that holds it."""
    turns = {turn[1].message_id: turn for turn in answer.turns}
    plan: list[NewMemory | Verdict] = []
    for piece in answer.found:
        if isinstance(piece, Verdict):
            plan.append(piece)
            continue
        scope, stored = turns[piece.message_id]
        message = Message.from_dict(stored.payload)
        new = from_message(piece.content, message, replace(options, scope=scope, type=None), piece.type)
        new.importance, new.notes = piece.importance, to_notes(piece)
        plan.append(new)
    return plan


def _unremembered_messages(
    utterances: Sequence[Utterance], plan: Sequence[Sequence[NewMemory | Verdict]], options: WriteOptions
) -> list[AppendMessage]:
    """Return the messages that make no memory: they are only logged."""
    return [
        AppendMessage(options.scope, to_stored_message(utterance.message), options.now)
        for utterance, pieces in zip(utterances, plan, strict=False)
        if utterance.message is not None and not any(isinstance(piece, NewMemory) for piece in pieces)
    ]


@dataclass(frozen=True, slots=True)
class _DuplicateFinder:
    """Finds new memories that another writer has stored in the meantime. Pure; `Recheck` calls it."""

    options: WriteOptions

    def __call__(self, changes: Sequence[Change], stored: Sequence[Memory]) -> Duplicates:
        current = {memory.id: memory for memory in stored if _is_current(memory, self.options.now)}
        scope = self.options.scope
        texts = KnownTextIndex((memory.id, _utterance_of_memory(memory, scope)) for memory in current.values())
        duplicates: Duplicates = {}
        for position, change in enumerate(changes):
            if not isinstance(change, NewMemory) or change.message is None:
                continue
            verdict = check_duplicate(_utterance_of_memory(to_memory(change, 0), change.scope), texts)
            if verdict is not None and isinstance(verdict.duplicate_of, int):
                memory, message_id = current[verdict.duplicate_of], change.message.message_id
                duplicates[position] = Outcome(verdict.status, memory, verdict.reason, message_id, verdict.rule)
        return duplicates


def _is_current(memory: Memory, now: datetime) -> bool:
    ends = (memory.valid_to, memory.expires_at)
    return memory.archived_at is None and all(end is None or end > now for end in ends)


def _notes_without_evidence(candidate: Candidate) -> dict[str, JSON]:
    """Return the notes for a text that is not part of a message."""
    return {name: note for name, note in to_notes(candidate).items() if name != "evidence"}


def _report(
    plan: Iterable[Sequence[NewMemory | Verdict]], written: Iterator[Outcome], known: _Known, answer: _ModelAnswer
) -> Outcomes:
    """Return one outcome for each piece of the plan; raise `ExtractionFailed` with them when the model failed."""
    outcomes: list[Outcome] = []
    by_message: dict[str, Memory] = {}
    for piece in (piece for pieces in plan for piece in pieces):
        if isinstance(piece, Verdict):
            other = piece.duplicate_of
            memory = known.memories.get(other) if isinstance(other, int) else by_message.get(other or "")
            outcomes.append(Outcome(piece.status, memory, piece.reason, piece.message_id, piece.rule))
            continue
        outcome = next(written)
        outcomes.append(outcome)
        if outcome.message_id is not None and outcome.memory is not None:
            by_message.setdefault(outcome.message_id, outcome.memory)
    result = Outcomes(outcomes, answer.usage)
    if answer.failure is None:
        return result
    raise ExtractionFailed(
        "the messages and what the rules extracted from them are stored; the model gave nothing usable "
        f"({answer.failure}). The next remember() and upkeep() ask it again",
        text=getattr(answer.failure, "text", ""),
        outcomes=result,
    ) from answer.failure
