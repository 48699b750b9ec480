"""Refine the small reranker with two teachers: the reranker, and a cross-encoder that begins with the embedder.

    python training/refine.py --models MODELS --pool train.jsonl.gz --out OUT --seconds 330

MODELS holds `reranker-dialogue.onnx`, `reranker-small.onnx`, `e5-dialogue.onnx` and `vocab.txt`. Two models that began
differently are wrong about different turns: their mean ranks better than either.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from bert import Bert, load
from pool import HUMAN_KINDS, choose_questions, pick_list, read_pool
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from train import (
    DIALOGUES,
    LEFT_OUT,
    MASK_MARGIN,
    READINGS,
    RERANKER,
    Item,
    Machine,
    average,
    loss_of_each,
    mine,
    read_turn,
    write,
)

_LISTS = 32
_TEACHER_RATE, _STUDENT_RATE = 8e-5, 1e-4
_WARM = 0.08
"""The share of the time in which the rate rises."""
_AGREEMENT = 0.5
"""Weight of agreeing with the reranker while the second teacher learns: its head is new."""
_APART = 0.5
"""Weight of keeping right turns above the best wrong turns of other questions."""
_RIGHT = 0.3
"""Weight of the right turn itself beside the order of the teachers."""
_SCALE = 0.05
"""Weight of equal logits beside equal orders."""
_RECIPE = replace(RERANKER, hard=12)


class List(NamedTuple):
    """A question and turns as the models read them, the right one first."""

    question: str
    texts: list[str]
    is_made_up: bool


def lists_of(items: Sequence[Item], rng: random.Random) -> Iterator[list[List]]:
    """Yield batches of lists without end."""
    while True:
        order = rng.sample(range(len(items)), len(items))
        for at in range(0, len(items) - _LISTS + 1, _LISTS):
            yield [_list(items[number], rng) for number in order[at : at + _LISTS]]


def _list(item: Item, rng: random.Random) -> List:
    haystack, question = item
    reading = rng.choice(READINGS)
    turns = pick_list(haystack, question, rng, _RECIPE.hard, _RECIPE.same_session)
    return List(question.text, [read_turn(haystack, n, reading) for n in turns], question.kind not in HUMAN_KINDS)


def steps(model: Bert, rate: float, seconds: float) -> Iterator[torch.optim.Optimizer]:
    """Yield an optimizer until the time is over; its rate rises, then falls to 0."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    started = time.monotonic()
    model.train()
    while (past := (time.monotonic() - started) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = rate * min(past / _WARM, (1 - past) / (1 - _WARM))
        yield optimizer
    model.eval()


def second_teacher(
    machine: Machine, embedder: Path, first: Bert, items: Sequence[Item], seconds: float, rng: random.Random
) -> Bert:
    """Return a cross-encoder that began with the embedder."""
    model = load(embedder, is_reranker=True).to(machine.device)
    batches = lists_of(items, rng)
    for optimizer in steps(model, _TEACHER_RATE, seconds):
        batch = next(batches)
        scores, known = _scores(machine, model, batch), _known_scores(machine, [first], batch)
        kept = _without_doubtful(scores, known, batch)
        right = -functional.log_softmax(kept, 1)[:, 0].mean() + _RECIPE.absolute * loss_of_each(kept)
        _update(model, right + _APART * apart(kept) + _AGREEMENT * _disagreement(scores, known), optimizer)
    return model


def refine(
    machine: Machine,
    small: Bert,
    teachers: Sequence[Bert],
    items: Sequence[Item],
    seconds: float,
    rng: random.Random,
) -> None:
    """Train the small reranker to score as the mean of the teachers."""
    batches = lists_of(items, rng)
    for optimizer in steps(small, _STUDENT_RATE, seconds):
        batch = next(batches)
        scores, known = _scores(machine, small, batch), _known_scores(machine, teachers, batch)
        kept = _without_doubtful(scores, known, batch)
        right = -functional.log_softmax(kept, 1)[:, 0].mean()
        scale = (scores - known)[known > LEFT_OUT].square().mean()
        loss = _disagreement(scores, known) + _SCALE * scale + _RIGHT * right + _APART * apart(kept)
        _update(small, loss, optimizer)


def apart(scores: Tensor) -> Tensor:
    """Return how far the best wrong turn of each list comes up to the right turns of all: a score of any question
    should tell whether a turn answers."""
    return functional.softplus(scores[:, 1:].max(1).values[None, :] - scores[:, :1]).mean()


def _scores(machine: Machine, model: Bert, batch: Sequence[List]) -> Tensor:
    with machine.half_precision():
        logits = machine.rank_lists(model, [(each.question, each.texts) for each in batch])
    return pad_sequence(logits, batch_first=True, padding_value=LEFT_OUT)


def _known_scores(machine: Machine, teachers: Sequence[Bert], batch: Sequence[List]) -> Tensor:
    with torch.no_grad():
        return torch.stack([_scores(machine, teacher, batch) for teacher in teachers]).mean(0)


def _without_doubtful(scores: Tensor, known: Tensor, batch: Sequence[List]) -> Tensor:
    """Leave out wrong turns of made-up questions that the teachers put close to the right one."""
    doubtful = known > known[:, :1] - MASK_MARGIN
    doubtful[:, 0] = False
    doubtful &= torch.tensor([each.is_made_up for each in batch], device=scores.device)[:, None]
    return scores.masked_fill(doubtful, LEFT_OUT)


def _disagreement(scores: Tensor, known: Tensor) -> Tensor:
    return functional.kl_div(scores.log_softmax(1), known.log_softmax(1), reduction="batchmean", log_target=True)


def _update(model: Bert, loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of the models of before and vocab.txt")
    parser.add_argument("--pool", type=Path, required=True, help="the training pool, train.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True, help="folder for the refined reranker")
    parser.add_argument("--seconds", type=float, default=330, help="how long each of both models is trained")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    rng, machine = random.Random(options.seed), Machine(options.models / "vocab.txt")
    haystacks = read_pool(options.pool, DIALOGUES)
    embedder, large = options.models / "e5-dialogue.onnx", options.models / "reranker-dialogue.onnx"
    mine(machine, load(embedder, is_reranker=False).to(machine.device), haystacks)
    items = choose_questions(haystacks, rng, _RECIPE.repeat)
    first = load(large, is_reranker=True).to(machine.device).eval()
    second = second_teacher(machine, embedder, first, items, options.seconds, rng)
    before, small = (
        load(options.models / "reranker-small.onnx", is_reranker=True).to(machine.device) for _ in range(2)
    )
    refine(machine, small, [first, second], items, options.seconds, rng)
    write(average([before, small]), large, options.out / "reranker-small.onnx")


if __name__ == "__main__":
    main()
