"""Measure how well Memoranda and other systems find the right memory.

    python benchmarks/quality.py --data DATA

Sets: `talks` (turns of eight conversations that were written for this benchmark; needs no DATA), `locomo` (turns),
`locomo-pooled` (all its conversations in one scope), `longmemeval` (turns and sessions, one haystack per question),
`user-turns` (the same without the assistant's turns), `pooled` (ten merged haystacks), `pooled-all` (all haystacks
merged), `locomo-12000` and `locomo-50000` (LoCoMo's conversations and other people's talks in one scope of that many
turns), `dialogues` (the conversations that the models are trained on: to choose rules, never to judge). `talks-notes`
and `dialogues-notes` have what each person said in a scope of its own. Three variants of a set have each answerable
question twice, the second time so that nothing answers it: `-absent` asks it in another conversation, `-swapped` about
the other one of two people, `-hidden` while its evidence is archived.

Answers are saved in `--work`, so that a stopped run continues where it stopped; `--again` starts from the beginning.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.ablation import OFF, without
from evaluation.metrics import score
from evaluation.peers import PEERS, answers_of
from evaluation.progress import bar
from evaluation.report import quality_svg, render_tables
from evaluation.runner import ask, ingest, open_store
from evaluation.sets import QuestionSet, load
from evaluation.vectors import CachedVectors

BENCHMARKS = Path(__file__).resolve().parent
SETS = ("talks", "locomo", "locomo-pooled", "longmemeval", "user-turns", "pooled")
_VARIANTS = tuple(f"{name}-{variant}" for name in ("talks", "locomo") for variant in ("absent", "swapped", "hidden"))
_WRITTEN = ("talks-notes", "dialogues", "dialogues-notes")
_LARGE = ("pooled-all", "locomo-12000", "locomo-50000")
OTHER_SETS = (*_WRITTEN, *_LARGE, "user-turns-absent", "longmemeval-absent", *_VARIANTS)
_WITH_PEERS = ("talks", "talks-notes", "locomo", "locomo-pooled", "user-turns")
MODELS = {"default": None, "best": None, "fast": "fast"}
"""The embedding model of the store by mode."""
_SAVE_EVERY = 50


class Run:
    """One run of the benchmark, with its stores, vectors and answers."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.work: Path = options.work
        self.cache: Path = options.cache
        self.again: bool = options.again
        self._filled: set[Path] = set()
        self._embedders: dict[str | None, CachedVectors] = {}

    def embedder(self, model: str | None) -> CachedVectors:
        if model not in self._embedders:
            self._embedders[model] = CachedVectors(model, self.cache / (model or "default"))
        return self._embedders[model]

    def answers(self, questions: QuestionSet, mode: str, change: str | None = None) -> dict[str, Any]:
        """Return Memoranda's answers to a set by question id, and save them on the way; `change` names a variant."""
        path = self.work / f"{questions.name}-{mode}{f'-{change}' if change else ''}.json".replace(" ", "_")
        found: dict[str, Any] = {} if self.again or not path.exists() else json.loads(path.read_text())
        missing = [question for question in questions.questions if question.id not in found]
        if not missing:
            return found
        model = MODELS[mode]
        with open_store(self._store(questions, model), self.embedder(model)) as manager:
            label = f"{questions.name}, {change or mode}"
            for number, question in enumerate(bar(missing, len(missing), label), start=1):
                user_turns = questions.name.startswith(("longmemeval", "pooled"))
                found[question.id] = ask(manager, question, mode if mode == "best" else None, user_turns=user_turns)
                if number % _SAVE_EVERY == 0 or number == len(missing):
                    path.write_text(json.dumps(found))
        self.embedder(model).save()
        return found

    def _store(self, questions: QuestionSet, model: str | None) -> Path:
        """Return the filled database; it is filled once, and again when that did not finish."""
        folder = self.work / f"store-{questions.name}-{model or 'default'}"
        done = folder / "done.json"
        if not done.exists() or (self.again and folder not in self._filled):
            self._filled.add(folder)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            total = sum(len(turns) for turns in questions.scopes.values())
            sessions = sum(len({turn.session for turn in turns}) for turns in questions.scopes.values())
            with open_store(folder / "memories.db", self.embedder(model)) as manager:
                parts = list(bar(ingest(manager, questions), sessions, f"{questions.name}, remembering"))
            self.embedder(model).save()
            seconds = sum(part[1] for part in parts)
            done.write_text(json.dumps({"messages": total, "ms_per_message": 1000 * seconds / total}))
        return folder / "memories.db"

    def ingest_ms(self, questions: QuestionSet, mode: str) -> float:
        done = self.work / f"store-{questions.name}-{MODELS[mode] or 'default'}" / "done.json"
        return float(json.loads(done.read_text())["ms_per_message"])


def take_every(step: int, questions: QuestionSet) -> QuestionSet:
    """Return the set with every so many-th question that has evidence, and the scopes of these; all for 1."""
    if step == 1:
        return questions
    asked = [each for each in questions.questions if each.gold][::step]
    named = {each.scope for each in asked}
    scopes = {name: scope for name, scope in questions.scopes.items() if name in named}
    return replace(questions, scopes=scopes, questions=asked)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run everything that the options ask for, and return the results as JSON data."""
    run = Run(options)
    run.work.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "sets": {},
        "ablation": {},
        "settings": {"Memoranda": "remember(messages with speaker, session and time), recall(now=asked at)"},
    }
    for name in options.sets:
        questions = take_every(options.every, load(name, options.data))
        systems: dict[str, Any] = {}
        for mode in options.modes:
            systems[f"Memoranda, {mode}"] = score(questions, run.answers(questions, mode)) | {
                "ingest_ms": round(run.ingest_ms(questions, mode), 3)
            }
        for peer in options.peers if name in _WITH_PEERS else ():
            found, settings = answers_of(peer, questions, run.embedder(None), run.work, again=run.again)
            systems[peer] = score(questions, found)
            results["settings"][peer] = settings
        results["sets"][name] = systems
        if options.ablation:
            results["ablation"][name] = _run_ablation(run, questions)
    return results


def _run_ablation(run: Run, questions: QuestionSet) -> dict[str, Any]:
    found = {}
    for off in OFF:
        with without(off):
            found[off] = score(questions, run.answers(questions, "default", f"without {off}"))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder that holds the question sets; `talks` needs none")
    parser.add_argument(
        "--sets", nargs="*", choices=(*SETS, *OTHER_SETS), help="all of the first, or talks without DATA"
    )
    parser.add_argument("--modes", nargs="*", default=("default",), choices=tuple(MODELS))
    parser.add_argument(
        "--peers",
        nargs="*",
        default=(),
        choices=tuple(PEERS),
        help="systems to compare with, on talks, LoCoMo and user turns",
    )
    parser.add_argument("--every", type=int, default=1, help="ask only every so many-th question: for slow modes")
    parser.add_argument("--ablation", action="store_true", help="also with each arm, boost and rule off")
    parser.add_argument(
        "--cache", type=Path, default=BENCHMARKS.parent / ".bench" / "vectors", help="folder of cached vectors"
    )
    parser.add_argument(
        "--work", type=Path, default=BENCHMARKS.parent / ".bench" / "quality", help="folder of stores and answers"
    )
    parser.add_argument("--again", action="store_true", help="answer all questions again")
    parser.add_argument("--out", type=Path, default=BENCHMARKS / "results", help="folder for the JSON and the plot")
    options = parser.parse_args(arguments)
    options.sets = options.sets or (SETS if options.data else ("talks",))
    if options.data is None and not all(name.startswith(("talks", "dialogues")) for name in options.sets):
        parser.error(f"--data is needed for {', '.join(options.sets)}: only `talks` is in this repository")
    results = measure(options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "quality.json").write_text(json.dumps(results, indent=1))
    (options.out / "quality.svg").write_text(quality_svg(results))
    print(render_tables(results))


if __name__ == "__main__":
    main()
