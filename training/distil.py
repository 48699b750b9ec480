"""Distil the trained reranker into rerankers of fewer layers, cheap enough to rank by default.

    python training/distil.py --models MODELS --pool train.jsonl.gz --out OUT --layers 3 4 --minutes 8

MODELS holds `reranker-dialogue.onnx` and `e5-dialogue.onnx`, the files that `training/train.py` writes, and `vocab.txt`.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from bert import LAYERS, Bert, load
from mean import write
from pool import Haystack, Question, Turn, read_pool, without_names
from torch import Tensor
from torch.nn import functional
from train import DIALOGUES, MINED, READINGS, Item, Machine, read_turn

_LISTS = 32
_HARD, _NEAR, _ANY = 10, 2, 2
"""Turns of a list: those that look right, others of the same session, and any."""
_UTTERANCE_SHARE = 1.5
"""Questions that are made from turns, per question of the pool: nobody has to know their answers but the teacher."""
_UTTERANCE_WORDS = 6
_TURN_SHARE = 0.4
"""Of the questions made from turns, how many are the turn itself."""
_SHORT_WORD = 3
_ASKED = (
    "{words}",
    "What did {speaker} say about {words}?",
    "When did {speaker} talk about {words}?",
    "What {words} does {speaker} have?",
    "Why did {speaker} {words}?",
    "Where is {speaker}'s {words}?",
    "How many {words} did {speaker} mention?",
    "Which {words} does {speaker} like?",
    "Who {words} with {speaker}?",
)
_RATE = 2e-4
_LOGIT_WEIGHT = 0.05
"""Weight of equal logits beside equal orders: it keeps the scale, which the product calibrates on."""
_STATE_WEIGHT = 2.0
"""Weight of equal states of all tokens: what the teacher learnt from other texts is kept, where logits tell little."""


def add_utterances(haystacks: Sequence[Haystack], rng: random.Random) -> None:
    """Add questions made from turns: the turn itself, which continues a subject, or some of its words."""
    for haystack in haystacks:
        long = [n for n, turn in enumerate(haystack.turns) if len(turn.text.split()) >= _UTTERANCE_WORDS]
        count = min(len(long), int(len(haystack.questions) * _UTTERANCE_SHARE) + 1)
        for number in rng.sample(long, count):
            turn = haystack.turns[number]
            asked = _ask(turn, rng)
            kind = "utterance" if asked == turn.text else "words"
            haystack.questions.append(Question(asked, [number], kind, []))


def _ask(turn: Turn, rng: random.Random) -> str:
    words = [word.strip('.,?!"') for word in turn.text.split()]
    chosen = [word for word in words if len(word) > _SHORT_WORD]
    if len(chosen) < 2 or rng.random() < _TURN_SHARE:
        return turn.text
    start, length = rng.randrange(len(chosen)), rng.randint(1, 4)
    return rng.choice(_ASKED).format(words=" ".join(chosen[start : start + length]).lower(), speaker=turn.speaker)


def mine_by_meaning(machine: Machine, embedder: Bert, haystacks: Sequence[Haystack]) -> None:
    """Set the turns that look right for every question: those with the nearest vectors."""
    embedder.eval()
    with machine.half_precision():
        for haystack in haystacks:
            passages = machine.embed(embedder, [f"passage: {turn.text}" for turn in haystack.turns])
            asked = [f"query: {without_names(each.text, haystack.turns)}" for each in haystack.questions]
            cosines = machine.embed(embedder, asked) @ passages.T
            for question, row in zip(haystack.questions, cosines, strict=True):
                row[question.gold] = -np.inf
                question.hard = np.argsort(-row, kind="stable")[:MINED].tolist()


def taken_layers(layers: int) -> list[int]:
    """Return the layers of the teacher that a student begins with and stays close to: at equal distances, the last too."""
    return [round((number + 1) * LAYERS / layers) - 1 for number in range(layers)]


def student_of(teacher: Bert, layers: int) -> Bert:
    """Return a model that begins with layers of the teacher."""
    model = Bert(is_reranker=True, layers=layers)
    weights = teacher.state_dict()
    for to, at in enumerate(taken_layers(layers)):
        prefix = f"encoder.layer.{at}."
        weights |= {
            f"encoder.layer.{to}.{name.removeprefix(prefix)}": value
            for name, value in teacher.state_dict().items()
            if name.startswith(prefix)
        }
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    return model


def batches(items: Sequence[Item], rng: random.Random) -> Iterator[list[Item]]:
    """Yield shuffled batches without end."""
    while True:
        order = rng.sample(range(len(items)), len(items))
        for at in range(0, len(items) - _LISTS + 1, _LISTS):
            yield [items[number] for number in order[at : at + _LISTS]]


def candidates(item: Item, rng: random.Random) -> list[int]:
    """Return the turns of one list."""
    haystack, question = item
    gold = [] if question.kind == "utterance" else [rng.choice(question.gold)]
    hard = rng.sample(question.hard, min(_HARD, len(question.hard)))
    around = range(max(0, question.gold[0] - 6), min(len(haystack.turns), question.gold[0] + 7))
    near = [n for n in around if n not in question.gold and n not in hard]
    near = rng.sample(near, min(_NEAR, len(near)))
    anywhere = [rng.randrange(len(haystack.turns)) for _ in range(_HARD + _NEAR + _ANY - len(hard) - len(near))]
    return [*gold, *hard, *near, *anywhere][: _HARD + _NEAR + _ANY]


def losses(scores: Tensor, wanted: Tensor) -> Tensor:
    """Return how far the student is from the teacher: in order, and a little in scale."""
    order = functional.kl_div(scores.log_softmax(1), wanted.log_softmax(1), reduction="batchmean", log_target=True)
    return order + _LOGIT_WEIGHT * functional.mse_loss(scores, wanted)


def state_distance(states: Sequence[Tensor], wanted: Sequence[Tensor], mask: Tensor) -> Tensor:
    """Return how far the states of a student are from the teacher's: the mean square over tokens and layers."""
    distances = [
        (found.float() - known.float())[mask].square().mean() for found, known in zip(states, wanted, strict=True)
    ]
    return torch.stack(distances).mean()


def distil(
    machine: Machine, teacher: Bert, students: Sequence[Bert], haystacks: Sequence[Haystack], minutes: float, seed: int
) -> None:
    """Train the students, all on the same lists, until the time is over; print how well they agree with the teacher."""
    rng = random.Random(seed)
    apart = rng.sample(range(len(haystacks)), max(1, len(haystacks) // 30))
    items, left_out = _split(haystacks, apart)
    optimizers = [torch.optim.AdamW(each.parameters(), lr=_RATE, weight_decay=0.01) for each in students]
    started = time.monotonic()
    for step, batch in enumerate(batches(items, rng)):
        past = (time.monotonic() - started) / (60 * minutes)
        if past >= 1:
            break
        if step % 500 == 0:
            print(f"  step {step}, {step * _LISTS / len(items):.1f} epochs, {past:.0%} of the time", flush=True)
        ids, width = _rows(machine, batch, rng)
        with machine.half_precision():
            with torch.no_grad():
                known = teacher.states(*ids)
                wanted = teacher.logits(known[-1]).view(-1, width)
            for student, optimizer in zip(students, optimizers, strict=True):
                optimizer.param_groups[0]["lr"] = _RATE * min(past / 0.05, (1 - past) / 0.95)
                optimizer.zero_grad()
                states = student.states(*ids)
                apart_by = state_distance(states, [known[at] for at in taken_layers(len(states))], ids[1])
                order = losses(student.logits(states[-1]).view(-1, width), wanted)
                (order + _STATE_WEIGHT * (1 - past) * apart_by).backward()
                torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
                optimizer.step()
    for student in students:
        student.eval()
    _compare(machine, teacher, students, left_out, rng)


def _split(haystacks: Sequence[Haystack], apart: Sequence[int]) -> tuple[list[Item], list[Item]]:
    items: tuple[list[Item], list[Item]] = ([], [])
    for number, haystack in enumerate(haystacks):
        items[number in apart].extend((haystack, question) for question in haystack.questions if question.gold)
    return items


def _rows(machine: Machine, batch: Sequence[Item], rng: random.Random) -> tuple[tuple[Tensor, ...], int]:
    rows = []
    for haystack, question in batch:
        reading = rng.choice(READINGS)
        texts = [read_turn(haystack, n, reading) for n in candidates((haystack, question), rng)]
        rows += [machine.pair(question.text, text) for text in texts]
    return machine.pad(rows), _HARD + _NEAR + _ANY


def _compare(
    machine: Machine, teacher: Bert, students: Sequence[Bert], items: Sequence[Item], rng: random.Random
) -> None:
    """Print on lists of haystacks that were not trained on how often teacher and students put the right turn first."""
    lists = [item for item in items if item[1].kind not in ("utterance", "words")]
    lists = rng.sample(lists, min(1024, len(lists)))
    scores: list[list[Tensor]] = [[] for _ in range(1 + len(students))]
    with torch.no_grad(), machine.half_precision():
        for at in range(0, len(lists), _LISTS):
            ids, width = _rows(machine, lists[at : at + _LISTS], rng)
            for found, model in zip(scores, (teacher, *students), strict=True):
                found.append(model(*ids).view(-1, width))
    whole = [torch.cat(each) for each in scores]
    for model, found in zip((teacher, *students), whole, strict=True):
        layers = len(model.encoder["layer"])
        first, same = (found.argmax(1) == 0).float().mean(), (found.argmax(1) == whole[0].argmax(1)).float().mean()
        print(f"{layers} layers: right turn first {first:.3f}, first as the teacher's {same:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of the trained models and vocab.txt")
    parser.add_argument("--pool", type=Path, required=True, help="the training pool, train.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True, help="folder for the students")
    parser.add_argument("--layers", type=int, nargs="+", default=[3])
    parser.add_argument("--minutes", type=float, default=8, help="how long to train; the rate falls to 0 over it")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    machine = Machine(options.models / "vocab.txt")
    haystacks = read_pool(options.pool, DIALOGUES)
    add_utterances(haystacks, random.Random(options.seed))
    print(f"{len(haystacks)} haystacks, {sum(len(each.questions) for each in haystacks)} questions", flush=True)
    mine_by_meaning(machine, load(options.models / "e5-dialogue.onnx", is_reranker=False).to(machine.device), haystacks)
    source = options.models / "reranker-dialogue.onnx"
    teacher = load(source, is_reranker=True).to(machine.device).eval()
    students = [student_of(teacher, layers).to(machine.device).train() for layers in options.layers]
    print("mined", flush=True)
    distil(machine, teacher, students, haystacks, options.minutes, options.seed)
    for student, layers in zip(students, options.layers, strict=True):
        write(student, source, options.out / f"reranker-dialogue-{layers}.onnx")


if __name__ == "__main__":
    main()
