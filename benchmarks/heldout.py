"""Cross-validate a constant of recall: choose its value on some conversations, and measure it on the others.

    python benchmarks/heldout.py --data DATA rank._ANSWER_TYPE_SHARE 0 0.25 0.5 0.75
    python benchmarks/heldout.py --data DATA --sets locomo pipeline.DEFAULT.share 0 0.1 0.15 0.2 0.3

The first value is the baseline. Conversations are split into folds; for each fold, the value with the best sum of
recall@5, recall@10 and NDCG@10 on all other folds is measured on this one. Then a value is chosen on LoCoMo and
measured on LongMemEval, and the reverse: they differ in people, questions and kind of text.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.ablation import changed
from evaluation.metrics import Answers, figures, views
from evaluation.sets import QuestionSet, load
from quality import BENCHMARKS, MODELS, SETS, Run

METRICS = ("recall@5", "recall@10", "ndcg@10")
_DRAWS = 1_000
Table: TypeAlias = NDArray[np.float64]
"""Value x question x metric."""


def main() -> None:
    options = _options()
    run = Run(options)
    run.work.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Table] = {}
    for name in options.sets:
        questions = load(name, options.data)
        answers = [_answers(run, questions, options, value) for value in options.values]
        for view in views(questions):
            table, scopes = _table(questions, answers, view)
            tables[f"{name}, {view}"] = table
            _print_line(f"{name}, {view}", *_held_out(table, _folds(scopes, options.folds)))
    for chosen_on, table in tables.items():
        best = _best(table)
        print(f"chosen on {chosen_on}: {options.values[best]:g}")
        for measured_on, other in tables.items():
            if chosen_on.startswith("locomo") != measured_on.startswith("locomo"):
                _print_line(f"  measured on {measured_on}", other[best] - other[0], [])


def _answers(run: Run, questions: QuestionSet, options: argparse.Namespace, value: float) -> Answers:
    module, name, *fields = options.constant.split(".")
    with changed(((module, name, _with_field(module, name, fields[0], value) if fields else value),)):
        return run.answers(questions, options.mode, f"{options.constant}={value:g}")


def _with_field(module: str, name: str, field: str, value: float) -> Any:
    """Return the dataclass of this name with another value of a field."""
    whole = getattr(import_module(f"memoranda.recall.{module}"), name)
    return replace(whole, **{field: type(getattr(whole, field))(value)})


def _table(questions: QuestionSet, answers: Sequence[Answers], view: str) -> tuple[Table, list[str]]:
    """Return the metrics of each value and question of a view, and the scopes of the questions."""
    ranking, gold_of = views(questions)[view]
    selected = [question for question in questions.questions if gold_of(question)]
    rows = [[figures(found[question.id][ranking], gold_of(question)) for question in selected] for found in answers]
    table = np.array([[[row[name] for name in METRICS] for row in each] for each in rows])
    return table, [question.scope for question in selected]


def _folds(scopes: Sequence[str], count: int) -> list[NDArray[np.int64]]:
    """Return the questions of each fold; a scope is never split."""
    names = sorted(set(scopes))
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {names[number]: position % count for position, number in enumerate(order)}
    folds = [np.flatnonzero([fold_of[scope] == fold for scope in scopes]) for fold in range(count)]
    return [fold for fold in folds if len(fold)]


def _held_out(
    table: Table, folds: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the gain of each question by the value chosen without its fold, and the mean of each fold."""
    gains = np.zeros(table.shape[1:])
    for fold in folds:
        others = np.setdiff1d(np.arange(table.shape[1]), fold)
        gains[fold] = table[_best(table[:, others]), fold] - table[0, fold]
    return gains, [gains[fold].mean(axis=0) for fold in folds]


def _best(table: Table) -> int:
    return int(table.sum(axis=2).mean(axis=1).argmax())


def _print_line(label: str, gains: NDArray[np.float64], folds: Sequence[NDArray[np.float64]]) -> None:
    rng = np.random.default_rng(0)
    draws = np.stack([gains[rng.integers(0, len(gains), len(gains))].mean(axis=0) for _ in range(_DRAWS)])
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    parts = []
    for index, name in enumerate(METRICS):
        part = f"{name} {100 * gains[:, index].mean():+.1f} ({100 * low[index]:+.1f} to {100 * high[index]:+.1f})"
        spread = [100 * fold[index] for fold in folds]
        parts.append(f"{part} folds {min(spread):+.1f} to {max(spread):+.1f}" if folds else part)
    print(f"{label:<36}{' | '.join(parts)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constant", help="module, name and field inside memoranda.recall: rank.SPEAKER_SHARE")
    parser.add_argument("values", type=float, nargs="+", help="the first is the baseline")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds the question sets")
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--mode", default="default", choices=tuple(MODELS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument(
        "--cache", type=Path, default=BENCHMARKS.parent / ".bench" / "vectors", help="folder of cached vectors"
    )
    parser.add_argument(
        "--work", type=Path, default=BENCHMARKS.parent / ".bench" / "quality", help="folder of stores and answers"
    )
    parser.add_argument("--again", action="store_true", help="answer all questions again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
