"""Train one of the models further on questions about dialogues, on one GPU in minutes.

    python training/train.py MODEL --start START --pool train.jsonl.gz --out OUT --seed 1

MODEL is one of

reranker  ranks a question's turns; learns the order of lists, and turn by turn what a score means
embedder  learns from the questions, and from the order that the reranker gives
second    a cross-encoder that begins with the embedder: it is wrong about other turns than the reranker
small     the reranker with few layers: learns the mean of the reranker and, if there is one, the second teacher

START holds the models to begin with: those of a release, or those that `stock.py` downloads. A run writes
OUT/MODEL-SEED.onnx; `mean.py` makes the model to ship from several. `--smoke` trains on a few questions, to test a
machine.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from bert import Bert, load, save
from pool import HUMAN_KINDS, Haystack, Question, choose_questions, hard_turns, pick_list, read_pool, without_names
from tokenizers import BertWordPieceTokenizer
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

MINED = 30
_SMOKE_TURNS, _SMOKE_QUESTIONS = 200, 4
_WARM = 0.1
"""The share of the steps in which the rate rises; then it falls to 0."""
_TEMPERATURE = 0.02
_TEACHER_TEMPERATURE = 2.0
_LEFT_OUT = -1e4
"""The score of a turn that does not count."""
_MASK_MARGIN = 0.5
"""Wrong turns of made-up questions that the teacher puts this close to the right one may be right."""
READINGS = ("alone", "alone", "alone", "questions", "questions", "questions", "turn", "turn", "turn", "turn")
"""How often a turn is read alone, after the questions of the turn before it, and after that whole turn."""
_RUNS_OF_A_BATCH = 4
"""A batch is read in as many runs of rows of similar length: one run would be padded to its longest row."""
DIALOGUES = Path(__file__).resolve().parent / "dialogues.jsonl"
"""Conversations and questions written for this."""
_FILES = {
    "reranker": ("reranker-dialogue.onnx", "reranker.onnx"),
    "embedder": ("e5-dialogue.onnx", "embedder.onnx"),
    "small": ("reranker-small.onnx",),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is trained, and what each part of its loss weighs."""

    batch: int
    rate: float
    hard: int
    same_session: int
    epochs: float = 1.0
    repeat: int = 3
    """How often an epoch has each question of our own dialogues."""
    order: float = 1.0
    """A right turn above the wrong ones of its list."""
    absolute: float = 0.0
    """Right and wrong turn by turn: so that a score means the same for every question, also where no turn is right."""
    apart: float = 0.0
    """Right turns above the best wrong turns of other questions: a score of any question should tell what answers."""
    agreement: float = 0.0
    """The order of the teachers."""
    scale: float = 0.0
    """The scores of the teachers."""


RECIPES = {
    "reranker": Recipe(batch=32, rate=4e-5, hard=10, same_session=2, absolute=0.2),
    "embedder": Recipe(batch=128, rate=5e-5, hard=6, same_session=0),
    "second": Recipe(batch=32, rate=8e-5, hard=12, same_session=2, absolute=0.2, apart=0.5, agreement=0.5),
    "small": Recipe(batch=32, rate=1e-4, hard=12, same_session=2, order=0.3, apart=0.5, agreement=1.0, scale=0.05),
}
Item = tuple[Haystack, Question]


class List(NamedTuple):
    """A question and turns as the models read them, the right one first where there is one."""

    question: str
    texts: list[str]
    has_right: bool
    is_made_up: bool


class Machine:
    """The device and the tokenizer: turns texts into tensors and runs models over many of them."""

    def __init__(self, vocabulary: Path) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        # A turn is read again and again: with other questions, in other epochs, by the teacher.
        self.ids = lru_cache(maxsize=1_000_000)(self._ids)

    def half_precision(self) -> torch.autocast:
        """Return the context that computes in bf16 on a GPU; most processors only imitate it, slowly."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def texts(self, texts: Sequence[str], window: int = 128) -> tuple[Tensor, Tensor, Tensor]:
        return self.pad([(self.ids(text, window), []) for text in texts])

    def pair(self, question: str, text: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a question and a text, as the reranker reads them."""
        return self.ids(question, 64), self.ids(text, 160)[1:]

    def embed(self, model: Bert, texts: Sequence[str], size: int = 512) -> np.ndarray:
        with torch.no_grad():
            parts = [model(*self.texts(texts[at : at + size])).cpu() for at in range(0, len(texts), size)]
        return torch.cat(parts).numpy()

    def rank_lists(self, model: Bert, lists: Sequence[tuple[str, Sequence[str]]]) -> list[Tensor]:
        """Return the logits of each list of a question and its texts, in one run."""
        rows = [self.pair(question, text) for question, texts in lists for text in texts]
        order = sorted(range(len(rows)), key=lambda number: len(rows[number][0]) + len(rows[number][1]))
        size = -(-len(rows) // _RUNS_OF_A_BATCH)
        runs = [order[at : at + size] for at in range(0, len(order), size)]
        logits = torch.cat([model(*self.pad([rows[number] for number in run])) for run in runs])
        positions = torch.tensor(order, device=self.device).argsort()
        return list(logits[positions].split([len(texts) for _, texts in lists]))

    def score(self, model: Bert, lists: Sequence[List]) -> Tensor:
        """Return a row of scores for each list, with that of the right turn first; `_LEFT_OUT` where there is none."""
        with self.half_precision():
            logits = self.rank_lists(model, [(each.question, each.texts) for each in lists])
        none = torch.full((1,), _LEFT_OUT, device=self.device)
        rows = [row if each.has_right else torch.cat([none, row]) for each, row in zip(lists, logits, strict=True)]
        return pad_sequence(rows, batch_first=True, padding_value=_LEFT_OUT)

    def _ids(self, text: str, window: int) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids if len(ids) <= window else [*ids[: window - 1], ids[-1]]

    def pad(self, rows: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor, Tensor]:
        longest = max(len(first) + len(second) for first, second in rows)
        ids, types = np.zeros((2, len(rows), longest), np.int64)
        mask = np.zeros((len(rows), longest), bool)
        for number, (first, second) in enumerate(rows):
            end = len(first) + len(second)
            ids[number, :end], mask[number, :end] = first + second, True
            types[number, len(first) : end] = 1
        tensors = [torch.from_numpy(each).to(self.device) for each in (ids, mask, types)]
        return tensors[0], tensors[1], tensors[2]


def mine(machine: Machine, embedder: Bert, haystacks: Sequence[Haystack]) -> None:
    """Set the hard turns of every question."""
    embedder.eval()
    cosines = []
    for haystack in haystacks:
        passages = machine.embed(embedder, [f"passage: {turn.text}" for turn in haystack.turns])
        asked = [f"query: {without_names(each.text, haystack.turns)}" for each in haystack.questions]
        cosines.append(machine.embed(embedder, asked) @ passages.T)
    with ProcessPoolExecutor() as processes:  # counting words takes longer than the vectors
        found = processes.map(hard_turns, haystacks, cosines, repeat(MINED))
        for haystack, turns in zip(haystacks, found, strict=True):
            for question, hard in zip(haystack.questions, turns, strict=True):
                question.hard = hard


def train_cross_encoder(
    machine: Machine, model: Bert, teachers: Sequence[Bert], batches: Iterator[Sequence[Item]], recipe: Recipe
) -> Iterator[Tensor]:
    """Yield the loss of each batch of lists; the teachers also tell which turns of made-up questions may be right."""
    rng = random.Random(0)
    for batch in batches:
        lists = [_list(item, recipe, rng) for item in batch]
        scores = machine.score(model, lists)
        with torch.no_grad():
            known = torch.stack([machine.score(teacher, lists) for teacher in teachers]).mean(0)
        doubtful = known > known[:, :1] - _MASK_MARGIN
        doubtful[:, 0] = False
        doubtful &= torch.tensor([each.is_made_up for each in lists], device=machine.device)[:, None]
        kept = scores.masked_fill(doubtful, _LEFT_OUT)
        right = kept[:, 0] > _LEFT_OUT
        loss = -recipe.order * functional.log_softmax(kept[right], 1)[:, 0].mean()
        loss = loss + recipe.absolute * _loss_of_each(kept, right) + recipe.apart * _not_apart(kept, right)
        if recipe.agreement:
            orders = (scores.log_softmax(1), known.log_softmax(1))
            loss = loss + recipe.agreement * functional.kl_div(*orders, reduction="batchmean", log_target=True)
        if recipe.scale:
            loss = loss + recipe.scale * (scores - known)[known > _LEFT_OUT].square().mean()
        yield loss


def _loss_of_each(scores: Tensor, right: Tensor) -> Tensor:
    """Return how far right turns are from yes, and the mean of the wrong ones of each list from no."""
    wrong = scores[:, 1:]
    read = wrong > _LEFT_OUT
    no = (functional.softplus(wrong) * read).sum(1) / read.sum(1).clamp(min=1)
    return functional.softplus(-scores[right, 0]).mean() + no.mean()


def _not_apart(scores: Tensor, right: Tensor) -> Tensor:
    """Return how far the best wrong turn of each list comes up to the right turns of all."""
    return functional.softplus(scores[:, 1:].max(1).values[None, :] - scores[right, :1]).mean()


def train_embedder(
    machine: Machine, model: Bert, teachers: Sequence[Bert], batches: Iterator[Sequence[Item]], recipe: Recipe
) -> Iterator[Tensor]:
    """Yield the loss of each batch: in-batch and hard wrong turns, and agreement with the reranker on the latter."""
    rng = random.Random(0)
    # In bf16 one step in eight has gradients that are not finite.
    torch.backends.cuda.matmul.allow_tf32 = True
    width = 1 + recipe.hard
    for batch in batches:
        picked = [(item, pick_list(*item, rng, recipe.hard, recipe.same_session)) for item in batch if item[1].gold]
        whole = [(item, turns) for item, turns in picked if len(turns) == width]
        questions = [f"query: {without_names(question.text, haystack.turns)}" for (haystack, question), _ in whole]
        passages = [f"passage: {haystack.turns[n].text}" for (haystack, _), turns in whole for n in turns]
        asked, found = model(*machine.texts(questions)), model(*machine.texts(passages))
        with torch.no_grad(), machine.half_precision():
            lists = [(question.text, [haystack.turns[n].said for n in turns]) for (haystack, question), turns in whole]
            wanted = torch.stack(machine.rank_lists(teachers[0], lists)) / _TEACHER_TEMPERATURE
        cosines = asked @ found.T / _TEMPERATURE
        right = torch.arange(len(whole), device=machine.device) * width
        own = cosines.gather(1, right[:, None] + torch.arange(width, device=machine.device))
        agreement = functional.kl_div(own.log_softmax(1), wanted.log_softmax(1), reduction="batchmean", log_target=True)
        yield functional.cross_entropy(cosines, right) + agreement


def _list(item: Item, recipe: Recipe, rng: random.Random) -> List:
    haystack, question = item
    reading = rng.choice(READINGS)
    turns = pick_list(haystack, question, rng, recipe.hard, recipe.same_session)
    texts = [read_turn(haystack, n, reading) for n in turns]
    return List(question.text, texts, bool(question.gold), question.kind not in HUMAN_KINDS)


def read_turn(haystack: Haystack, number: int, reading: str) -> str:
    """Return a turn as one of the readings gives it to the reranker."""
    if reading == "alone":
        return haystack.turns[number].said
    return haystack.after_previous(number, only_questions=reading == "questions")


Losses = Callable[[Machine, Bert, Sequence[Bert], Iterator[Sequence[Item]], Recipe], Iterator[Tensor]]


def train(
    losses: Losses,
    machine: Machine,
    model: Bert,
    teachers: Sequence[Bert],
    items: Sequence[Item],
    recipe: Recipe,
    *,
    seconds: float,
    seed: int,
) -> None:
    """Train a model for the epochs of its recipe; where that takes longer than `seconds`, it gets fewer steps."""
    total = int(recipe.epochs * (len(items) // recipe.batch))
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=0.01)
    batches = _batches(items, recipe.batch, random.Random(seed))
    started, step = time.monotonic(), 0
    model.train()
    for loss in losses(machine, model, teachers, batches, recipe):
        past = max(step / total, (time.monotonic() - started) / seconds)
        if past >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * min((past + 1 / total) / _WARM, (1 - past) / (1 - _WARM))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if norm.isfinite():  # in bf16 some are not, and one such step would make every weight NaN
            optimizer.step()
        step += 1
        if step % 100 == 0:
            print(f"  step {step} of {total}, {time.monotonic() - started:.0f} s, loss {loss.item():.3f}", flush=True)
    print(f"{step} of {total} steps, {time.monotonic() - started:.0f} s")
    model.eval()


def _batches(items: Sequence[Item], size: int, rng: random.Random) -> Iterator[list[Item]]:
    """Yield shuffled batches without end."""
    while True:
        order = rng.sample(range(len(items)), len(items))
        for at in range(0, len(items) - size + 1, size):
            yield [items[number] for number in order[at : at + size]]


def _find(name: str, *folders: Path) -> Path:
    """Return the file of a model in the first folder that has it."""
    for file in (folder / each for folder in folders for each in _FILES[name]):
        if file.exists():
            return file
    raise SystemExit(f"none of {', '.join(map(str, folders))} has a file {' or '.join(_FILES[name])}")


def _read_haystacks(machine: Machine, options: argparse.Namespace) -> list[Haystack]:
    """Return the haystacks with the hard turns of all questions, which are kept in OUT for the next run."""
    haystacks = read_pool(options.pool, DIALOGUES)
    if options.smoke:
        haystacks = [_cut(haystacks[-1])]
    kept: Path = options.out / "hard-turns.json"
    questions = [question for haystack in haystacks for question in haystack.questions]
    if kept.exists():
        for question, hard in zip(questions, json.loads(kept.read_text()), strict=True):
            question.hard = hard
    else:
        mine(machine, load(_find("embedder", options.start), is_reranker=False).to(machine.device), haystacks)
        kept.write_text(json.dumps([question.hard for question in questions]))
    print(f"{len(haystacks)} haystacks, {len(questions)} questions", flush=True)
    return haystacks


def _cut(haystack: Haystack) -> Haystack:
    """Return the beginning of a haystack, with the questions that it answers."""
    turns = haystack.turns[:_SMOKE_TURNS]
    questions = [each for each in haystack.questions if max(each.gold, default=0) < len(turns)]
    return Haystack(turns, questions[:_SMOKE_QUESTIONS])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["mine", *RECIPES], help='"mine" only finds the hard turns, for later runs')
    parser.add_argument("--start", type=Path, required=True, help="folder of the models to begin with, and vocab.txt")
    parser.add_argument("--pool", type=Path, required=True, help="the training pool, train.jsonl.gz")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the runs; teachers are looked for here first"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, help="highest learning rate, in place of the recipe's")
    parser.add_argument("--seconds", type=float, default=3600, help="the longest time to train")
    parser.add_argument("--smoke", action="store_true", help="a few steps on a small part of the pool")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    machine = Machine(options.start / "vocab.txt")
    haystacks = _read_haystacks(machine, options)
    if options.model == "mine":
        return
    recipe = RECIPES[options.model]
    recipe = replace(recipe, rate=options.rate or recipe.rate, batch=4 if options.smoke else recipe.batch)
    embeds = options.model == "embedder"
    begin = _find("embedder" if options.model == "second" else options.model, options.start)
    model = load(begin, is_reranker=not embeds).to(machine.device)
    reranker = _find("reranker", options.out, options.start)
    files = [reranker, *(options.out.glob("second-*.onnx") if options.model == "small" else ())]
    teachers = [load(file, is_reranker=True).to(machine.device).eval() for file in files]
    items = choose_questions(haystacks, random.Random(options.seed), recipe.repeat)
    losses = train_embedder if embeds else train_cross_encoder
    train(losses, machine, model, teachers, items, recipe, seconds=options.seconds, seed=options.seed)
    save(model, begin if embeds else reranker, options.out / f"{options.model}-{options.seed}.onnx")


if __name__ == "__main__":
    main()
