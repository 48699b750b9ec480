"""How much of what later questions need is kept in a summary of a tenth of the length.

    python benchmarks/summary.py --data DIR

DIR holds the sets `locomo-dev` and `longmemeval-s-dev` (corpus.jsonl.gz and queries.jsonl.gz each). Every question
there names the turns that answer it. Each conversation is reduced to the same number of characters by four methods. Two
shares are counted over those turns, by stemmed words without stop words:

- evidence: the share of the words that the turn has in common with the question or its answer and that are kept;
- whole facts: the share of turns in which all of those words are kept.

The weights of the extractive summary were fitted on these sets, so the figures show how it compares with taking the
first, last or random sentences, not how well it does on other conversations.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memoranda.conversation.summarizing import Sentence, select_sentences, split_messages
from memoranda.messages.message import Message
from memoranda.text.terms import query_terms

Selector = Callable[[Sequence[Sentence], int], list[Sentence]]
RANDOM_RUNS = 5


@dataclass
class Conversation:
    """One conversation to summarise, and the facts that should be kept."""

    messages: list[Message] = field(default_factory=list)
    turns: dict[str, int] = field(default_factory=dict)
    facts: list[tuple[str, set[str]]] = field(default_factory=list)
    """The id of a turn, and the words that it has in common with the question or the answer."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with locomo-dev and longmemeval-s-dev")
    parser.add_argument("--ratio", type=float, default=0.1, help="share of the length to keep")
    arguments = parser.parse_args()
    print(f"{'set':40}{'method':12}{'evidence':>10}{'whole facts':>13}")
    for name, conversations in _load_sets(arguments.data):
        facts = sum(len(conversation.facts) for conversation in conversations)
        for method, selectors in _methods().items():
            results = [_measure(conversations, selector, arguments.ratio) for selector in selectors]
            evidence, whole = (100 * sum(column) / len(results) for column in zip(*results, strict=True))
            print(f"{f'{name} ({len(conversations)}, {facts} facts)':40}{method:12}{evidence:10.1f}{whole:13.1f}")


def _methods() -> dict[str, list[Selector]]:
    return {
        "extractive": [select_sentences],
        "first": [_take_fitting],
        "last": [lambda sentences, budget: _take_fitting(sentences[::-1], budget)],
        "random": [_random_selector(seed) for seed in range(RANDOM_RUNS)],
    }


def _take_fitting(order: Sequence[Sentence], budget: int) -> list[Sentence]:
    taken = []
    for sentence in order:
        if len(sentence.text) <= budget:
            taken.append(sentence)
            budget -= len(sentence.text)
    return taken


def _random_selector(seed: int) -> Selector:
    rng = random.Random(seed)
    return lambda sentences, budget: _take_fitting(rng.sample(sentences, len(sentences)), budget)


def _measure(conversations: Sequence[Conversation], selector: Selector, ratio: float) -> tuple[float, float]:
    shares: list[float] = []
    for conversation in conversations:
        sentences = split_messages(conversation.messages)
        kept: dict[int, set[str]] = defaultdict(set)
        for sentence in selector(sentences, int(ratio * sum(len(sentence.text) for sentence in sentences))):
            kept[sentence.turn] |= set(query_terms(sentence.text))
        shares += [len(words & kept[conversation.turns[turn]]) / len(words) for turn, words in conversation.facts]
    return sum(shares) / len(shares), sum(share == 1 for share in shares) / len(shares)


def _load_sets(data: Path) -> Iterator[tuple[str, list[Conversation]]]:
    locomo = data / "locomo-dev"
    yield "LoCoMo, conversations", _load_conversations(locomo, lambda row: str(row["scope"]))
    yield "LoCoMo, sessions", _load_conversations(locomo, lambda row: f"{row['scope']}/{row['session']}")
    yield "LongMemEval, sessions", _load_conversations(data / "longmemeval-s-dev", lambda row: str(row["session"]))


def _load_conversations(folder: Path, key_of: Callable[[dict[str, object]], str]) -> list[Conversation]:
    """Return the conversations that have the answer to a question."""
    conversations: dict[str, Conversation] = defaultdict(Conversation)
    conversation_by_turn: dict[tuple[str, str], Conversation] = {}
    for row in _read_rows(folder / "corpus.jsonl.gz"):
        conversation = conversations[key_of(row)]
        conversation_by_turn[str(row["scope"]), str(row["id"])] = conversation
        conversation.turns[str(row["id"])] = len(conversation.messages)
        conversation.messages.append(_message(row))
    for question in _read_rows(folder / "queries.jsonl.gz"):
        _add_facts(question, conversation_by_turn)
    return [conversation for conversation in conversations.values() if conversation.facts]


def _message(row: dict[str, object]) -> Message:
    timestamp = f"{row['ts']}+00:00" if row.get("ts") else None
    return Message(
        str(row.get("role") or "user"), str(row["text"]), name=_text_or_none(row.get("speaker")), timestamp=timestamp
    )


def _add_facts(question: dict[str, object], conversation_by_turn: dict[tuple[str, str], Conversation]) -> None:
    if question["category"] == "adversarial":
        return
    query_words = set(query_terms(f"{question['text']} {question['answer']}"))
    gold = question["gold"]
    for turn in gold if isinstance(gold, list) else ():
        conversation = conversation_by_turn.get((str(question.get("scope") or ""), str(turn)))
        if conversation is None:
            continue
        message = conversation.messages[conversation.turns[turn]]
        if words := query_words & set(query_terms(str(message.content))):
            conversation.facts.append((turn, words))


def _text_or_none(value: object) -> str | None:
    return str(value) if value else None


def _read_rows(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main()
