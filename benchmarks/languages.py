"""First places by language: 20 facts and 20 paraphrased questions each, in a store per language and in one for all.

PYTHONPATH=src:benchmarks python benchmarks/languages.py [--half 1|2] [--model NAME] [--misses] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memoranda import MemoryManager
from memoranda.settings import MemoryConfig

DATA = Path(__file__).parent / "data" / "languages.tsv"
HALF = 10
"""Lines of a language in each half: the rules were chosen on the first and are judged on the second."""


@dataclass(frozen=True, slots=True)
class Case:
    """A fact, and a question that it answers."""

    language: str
    fact: str
    question: str
    half: int


def read_cases() -> list[Case]:
    """Return the cases in the order of the file."""
    counts: dict[str, int] = {}
    cases = []
    for line in DATA.read_text("utf-8").splitlines():
        language, fact, question = line.split("\t")
        counts[language] = counts.get(language, 0) + 1
        cases.append(Case(language, fact, question, 1 if counts[language] <= HALF else 2))
    return cases


def _open(database: Path, model: str | None) -> MemoryManager:
    return MemoryManager(
        MemoryConfig(
            db_url=f"sqlite:///{database}",
            embedding_model=None if model == "none" else model,
            enable_vector_search=model != "none",
            recall_ledger=False,
        )
    )


def judge(cases: Sequence[Case], stored: Sequence[Case], model: str | None) -> list[tuple[Case, int, str]]:
    """Return the rank of each case's fact among all stored facts, 0 when it is not in the first ten, and the first."""
    with TemporaryDirectory() as folder:
        with _open(Path(folder) / "languages.db", model) as manager:
            manager.remember([{"role": "user", "content": case.fact} for case in stored], user="u")
            found = []
            for case in cases:
                hits = [hit.content for hit in manager.recall(case.question, user="u", limit=10)]
                rank = hits.index(case.fact) + 1 if case.fact in hits else 0
                found.append((case, rank, hits[0] if hits else ""))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", type=int, choices=(1, 2), help="judge the questions of one half only")
    parser.add_argument("--model", help="an embedding model instead of the default, or `none`")
    parser.add_argument("--misses", action="store_true", help="print each question whose fact is not first")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    cases = read_cases()
    figures = {}
    print(f"{'':10} {'':>9} {'own store':>17} {'':>8} {'all in one':>18}")
    print(f"{'language':10} {'questions':>9} {'first':>17} {'in five':>8} {'first':>18} {'in five':>8}")
    in_one = judge([case for case in cases if options.half in (None, case.half)], cases, options.model)
    for language in dict.fromkeys(case.language for case in cases):
        own = [case for case in cases if case.language == language]
        asked = [case for case in own if options.half in (None, case.half)]
        alone = judge(asked, own, options.model)
        pooled = [found for found in in_one if found[0].language == language]
        counts = [sum(1 for _, rank, _ in found if 0 < rank <= last) for found in (alone, pooled) for last in (1, 5)]
        figures[language] = [len(asked), *counts]
        print(f"{language:10} {len(asked):9} {counts[0]:17} {counts[1]:8} {counts[2]:18} {counts[3]:8}")
        if options.misses:
            for case, rank, first in alone:
                if rank != 1:
                    print(f"    {rank or '-':>2}  {case.question}  |  {case.fact}  |  {first}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    main()
