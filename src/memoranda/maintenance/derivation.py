"""Memories → one memory that tells of them: by their own sentences, or in a model's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memoranda.conversation.summary import Sentence, format_transcript, select_sentences, summarize_lines_with_llm
from memoranda.conversation.window import default_counter
from memoranda.llm.base import LLM
from memoranda.maintenance.consolidation import THROUGH, Work
from memoranda.maintenance.policies import trust_rank
from memoranda.results import DerivationKind
from memoranda.sentences import split_sentences
from memoranda.storage.changes import NewMemory
from memoranda.text import content_hash, lexical_keys
from memoranda.types import JSON, Clock, Memory, MemoryType, Scope

MESSAGES: Final = "message_ids"
"""Where a derived memory names the messages that it quotes."""
_SHARE: Final = 0.1
"""The part of a conversation's or period's length that its summary takes."""
_LEAST: Final = 600
_MOST: Final = 4_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """What kind of memory is made, and how it begins."""

    kind: DerivationKind
    type: MemoryType
    opening: str
    """Put in front of the lines; `{about}` is what it is about."""
    share: float
    """How much of the length is kept, 1 for all of it."""


SUMMARY: Final = Recipe("summary", MemoryType.EPISODIC, "Summary of a conversation:", _SHARE)
REFLECTION: Final = Recipe("reflection", MemoryType.REFLECTION, "Looking back on {about}:", _SHARE)
CONSOLIDATION: Final = Recipe("consolidated", MemoryType.SEMANTIC, "", 1.0)


@dataclass(frozen=True, slots=True)
class Derived:
    """A memory about to be made, and those that it tells of."""

    new: NewMemory
    sources: tuple[int, ...]


def derive(
    work: Work, recipe: Recipe, clock: Clock, llm: LLM | None = None, extra: dict[str, JSON] | None = None
) -> Derived:
    """The draft, without its vector. Its sources are the memories it quotes; with a model, all that the model read."""
    sentences = [sentence for place, memory in enumerate(work.sources) for sentence in _sentences(place, memory)]
    length = sum(len(sentence.text) for sentence in sentences)
    budget = min(_MOST, max(_LEAST, int(recipe.share * length)))
    if llm is None:
        chosen = select_sentences(sentences, budget)
        lines, quoted = format_transcript(chosen), {sentence.turn for sentence in chosen}
    else:
        text = summarize_lines_with_llm(
            format_transcript(sentences), llm, default_counter(), ratio=max(recipe.share / 2, _SHARE)
        )
        lines, quoted = [text], set(range(len(work.sources)))
    opening = [recipe.opening.format(about=work.about)] if recipe.opening else []
    content = "\n".join([*opening, *lines])
    sources = [work.sources[place] for place in sorted(quoted)] or list(work.sources)
    return Derived(_new_memory(content, work, recipe, sources, clock, extra or {}), tuple(each.id for each in sources))


def _sentences(place: int, memory: Memory) -> list[Sentence]:
    speaker = memory.speaker or memory.source or memory.trust
    day = memory.valid_from.date().isoformat()
    # Who spoke is known by name only here; a role would weigh the assistant's own words down.
    role = memory.trust if memory.speaker == memory.trust else "user"
    return [Sentence(place, speaker, role, day, text) for text in split_sentences(memory.content)]


def _new_memory(
    content: str, work: Work, recipe: Recipe, sources: Sequence[Memory], clock: Clock, extra: dict[str, JSON]
) -> NewMemory:
    first, sessions = work.sources[0], {memory.session for memory in work.sources}
    session = first.session if len(sessions) == 1 and recipe.kind != "reflection" else None
    scope = Scope(first.tenant, first.agent, first.user, session)
    spoken: list[JSON] = [memory.message_id for memory in sources if memory.message_id is not None]
    metadata: dict[str, JSON] = {THROUGH: work.through, MESSAGES: spoken, **extra}
    return NewMemory(
        content=content,
        type=recipe.type,
        scope=scope,
        importance=max(memory.importance for memory in sources),
        recorded_at=clock(),
        valid_from=work.sources[-1].valid_from,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=recipe.kind,
        # What is made from others is trusted no more than the least trusted of them.
        trust=max((memory.trust for memory in sources), key=trust_rank),
        metadata=metadata,
        idempotency_key=_once(work, recipe),
    )


def _once(work: Work, recipe: Recipe) -> str:
    """The same memories become the same memory only once."""
    made_of = ",".join(str(memory.id) for memory in work.sources)
    return f"upkeep:{recipe.kind}:{content_hash(made_of).hex()}"
