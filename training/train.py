"""Train the embedder and the reranker further on questions about dialogues, on one GPU in minutes.

    python training/train.py --stock STOCK --pool train.jsonl.gz --out OUT

STOCK is the folder that `training/stock.py` fills. Each model is trained once per seed, and the weights of these runs
are averaged, with `--with-earlier` also with trained files of before. `--smoke` trains on a few questions, to test a
machine.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from bert import Bert, load, save
from pool import (
    HUMAN_KINDS,
    Haystack,
    Question,
    add_hard_turns,
    choose_questions,
    pick_list,
    read_pool,
    without_names,
)
from tokenizers import BertWordPieceTokenizer
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

MINED = 30
_SMOKE_TURNS, _SMOKE_QUESTIONS = 200, 4
_TEMPERATURE = 0.02
_TEACHER_TEMPERATURE = 2.0
LEFT_OUT = -1e4
"""The score of a turn that does not count."""
MASK_MARGIN = 0.5
"""Wrong turns of made-up questions that the stock reranker puts this close to the right one may be right."""
READINGS = ("alone", "alone", "alone", "questions", "questions", "questions", "turn", "turn", "turn", "turn")
"""How often a turn is read alone, after the questions of the turn before it, and after that whole turn."""
_RUNS_OF_A_BATCH = 4
"""A batch is read in as many runs of rows of similar length: one run would be padded to its longest row."""
DIALOGUES = Path(__file__).resolve().parent / "dialogues.jsonl"
"""Conversations and questions written for this."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is trained."""

    batch: int
    rate: float
    epochs: int
    hard: int
    same_session: int
    repeat: int
    """How often an epoch has each question of our own dialogues."""
    absolute: float = 0.0
    """Weight of telling right from wrong turn by turn, beside the order of a list: so that a score means the same
    for every question, also where no turn is right."""


RERANKER = Recipe(batch=32, rate=4e-5, epochs=1, hard=10, same_session=2, repeat=3, absolute=0.2)
EMBEDDER = Recipe(batch=128, rate=5e-5, epochs=1, hard=6, same_session=0, repeat=3)
Item = tuple[Haystack, Question]


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


def mine(machine: Machine, embedder: Bert, haystacks: Iterable[Haystack]) -> None:
    """Set the hard turns of every question."""
    embedder.eval()
    for haystack in haystacks:
        passages = machine.embed(embedder, [f"passage: {turn.text}" for turn in haystack.turns])
        asked = [f"query: {without_names(each.text, haystack.turns)}" for each in haystack.questions]
        add_hard_turns(haystack, machine.embed(embedder, asked) @ passages.T, MINED)


def train_reranker(machine: Machine, stock: Path, items: Sequence[Item], recipe: Recipe, seed: int) -> Bert:
    """Return the reranker trained with a softmax over each list."""
    model, teacher = (load(stock, is_reranker=True).to(machine.device) for _ in range(2))
    teacher.eval()
    rng = random.Random(seed)
    for batch, optimizer, schedule in _steps(model, items, recipe, rng):
        lists, made_up = _lists(batch, recipe, rng)
        with machine.half_precision():
            logits = machine.rank_lists(model, lists)
            with torch.no_grad():
                known = machine.rank_lists(teacher, lists)
        scores, stock_scores = (
            pad_sequence(each, batch_first=True, padding_value=LEFT_OUT) for each in (logits, known)
        )
        doubtful = stock_scores > stock_scores[:, :1] - MASK_MARGIN
        doubtful[:, 0] = False
        doubtful &= torch.tensor(made_up, device=machine.device)[:, None]
        scores = scores.masked_fill(doubtful, LEFT_OUT)
        loss = -functional.log_softmax(scores, 1)[:, 0].mean()
        if recipe.absolute:
            loss = loss + recipe.absolute * loss_of_each(scores)
        _update(model, loss, optimizer, schedule)
    return model.eval()


def loss_of_each(scores: Tensor) -> Tensor:
    """Return how far the right turn of each list is from yes, and the mean of its wrong ones from no."""
    wrong = scores[:, 1:]
    read = wrong > LEFT_OUT
    no = (functional.softplus(wrong) * read).sum(1) / read.sum(1).clamp(min=1)
    return (functional.softplus(-scores[:, 0]) + no).mean()


def train_embedder(
    machine: Machine, stock: Path, teacher: Bert, items: Sequence[Item], recipe: Recipe, seed: int
) -> Bert:
    """Return the embedder trained with in-batch and hard wrong turns, and to agree with the reranker on the latter."""
    model = load(stock, is_reranker=False).to(machine.device)
    rng = random.Random(seed)
    # In bf16 one step in eight has gradients that are not finite.
    torch.backends.cuda.matmul.allow_tf32 = True
    width = 1 + recipe.hard
    for batch, optimizer, schedule in _steps(model, items, recipe, rng):
        picked = [pick_list(haystack, question, rng, recipe.hard, recipe.same_session) for haystack, question in batch]
        whole = [(item, turns) for item, turns in zip(batch, picked, strict=True) if len(turns) == width]
        questions = [f"query: {without_names(question.text, haystack.turns)}" for (haystack, question), _ in whole]
        passages = [f"passage: {haystack.turns[n].text}" for (haystack, _), turns in whole for n in turns]
        asked, found = model(*machine.texts(questions)), model(*machine.texts(passages))
        with torch.no_grad(), machine.half_precision():
            lists = [(question.text, [haystack.turns[n].said for n in turns]) for (haystack, question), turns in whole]
            wanted = torch.stack(machine.rank_lists(teacher, lists)) / _TEACHER_TEMPERATURE
        cosines = asked @ found.T / _TEMPERATURE
        right = torch.arange(len(whole), device=machine.device) * width
        own = cosines.gather(1, right[:, None] + torch.arange(width, device=machine.device))
        agreement = functional.kl_div(own.log_softmax(1), wanted.log_softmax(1), reduction="batchmean", log_target=True)
        _update(model, functional.cross_entropy(cosines, right) + agreement, optimizer, schedule)
    return model.eval()


def _lists(batch: Sequence[Item], recipe: Recipe, rng: random.Random) -> tuple[list[tuple[str, list[str]]], list[bool]]:
    lists, made_up = [], []
    for haystack, question in batch:
        turns = pick_list(haystack, question, rng, recipe.hard, recipe.same_session)
        lists.append(
            (question.text, [read_turn(haystack, n, reading) for reading in [rng.choice(READINGS)] for n in turns])
        )
        made_up.append(question.kind not in HUMAN_KINDS)
    return lists, made_up


def read_turn(haystack: Haystack, number: int, reading: str) -> str:
    """Return a turn as one of the readings gives it to the reranker."""
    if reading == "alone":
        return haystack.turns[number].said
    return haystack.after_previous(number, only_questions=reading == "questions")


def average(models: Sequence[Bert]) -> Bert:
    """Return the first model with the mean of the weights of all: runs from one start that differ in their order."""
    states = [model.state_dict() for model in models]
    models[0].load_state_dict({name: torch.stack([each[name] for each in states]).mean(0) for name in states[0]})
    return models[0]


def _steps(
    model: Bert, items: Sequence[Item], recipe: Recipe, rng: random.Random
) -> Iterator[tuple[list[Item], torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]]:
    """Yield shuffled batches, with an optimizer whose rate rises for a tenth of the steps and then falls to 0."""
    total = recipe.epochs * (len(items) // recipe.batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=0.01)
    warm = max(1, total // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))
    )
    model.train()
    started, step = time.monotonic(), 0
    for _ in range(recipe.epochs):
        order = rng.sample(range(len(items)), len(items))
        for at in range(0, len(items) - recipe.batch + 1, recipe.batch):
            yield [items[number] for number in order[at : at + recipe.batch]], optimizer, schedule
            step += 1
            if step % 100 == 0 or step == total:
                print(f"  step {step} of {total}, {time.monotonic() - started:.0f} s", flush=True)


def _update(
    model: Bert,
    loss: Tensor,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()


def write(model: Bert, stock: Path, file: Path) -> None:
    save(model, stock, file)
    content = file.read_bytes()
    file.with_name(f"{file.name}.xz").write_bytes(lzma.compress(content, preset=9))
    print(f"{file.name}: {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


def _ship(model: Bert, stock: Path, file: Path, earlier: Path | None) -> None:
    """Write the model, or its mean with the file of the same name that was trained before."""
    if earlier is not None:
        before = load(earlier / file.name, is_reranker=model.is_reranker).to(next(model.parameters()).device)
        model = average([before, model])
    write(model, stock, file)


def _cut(haystack: Haystack) -> Haystack:
    """Return the beginning of a haystack, with the questions that it answers."""
    turns = haystack.turns[:_SMOKE_TURNS]
    questions = [each for each in haystack.questions if max(each.gold) < len(turns)]
    return Haystack(turns, questions[:_SMOKE_QUESTIONS])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stock", type=Path, required=True, help="folder of embedder.onnx, reranker.onnx, vocab.txt")
    parser.add_argument("--pool", type=Path, required=True, help="the training pool, train.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained files")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="one run each, averaged")
    parser.add_argument("--with-earlier", type=Path, help="folder of files trained before, averaged with the new ones")
    parser.add_argument("--smoke", action="store_true", help="one short epoch on a small part of the pool")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    machine = Machine(options.stock / "vocab.txt")
    haystacks = read_pool(options.pool, DIALOGUES)
    recipes = [RERANKER, EMBEDDER]
    if options.smoke:
        haystacks, recipes = [_cut(haystacks[-1])], [replace(each, batch=4, repeat=1) for each in recipes]
    print(f"{len(haystacks)} haystacks, {sum(len(each.questions) for each in haystacks)} questions")
    mine(machine, load(options.stock / "embedder.onnx", is_reranker=False).to(machine.device), haystacks)
    rerankers, embedders = [], []
    for seed in options.seeds:
        torch.manual_seed(seed)
        items = choose_questions(haystacks, random.Random(seed), recipes[0].repeat)
        rerankers.append(train_reranker(machine, options.stock / "reranker.onnx", items, recipes[0], seed))
    reranker = average(rerankers)
    _ship(reranker, options.stock / "reranker.onnx", options.out / "reranker-dialogue.onnx", options.with_earlier)
    for seed in options.seeds:
        torch.manual_seed(seed)
        items = choose_questions(haystacks, random.Random(seed), recipes[1].repeat)
        embedders.append(train_embedder(machine, options.stock / "embedder.onnx", reranker, items, recipes[1], seed))
    _ship(average(embedders), options.stock / "embedder.onnx", options.out / "e5-dialogue.onnx", options.with_earlier)


if __name__ == "__main__":
    main()
