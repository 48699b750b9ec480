from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluation.truth_cases import (
    KINDS,
    STYLES,
    TEXT_SETS,
    Case,
    Expectation,
    LabelledText,
    Step,
    load_cases,
    load_texts,
)
from evaluation.truth_runs import CaseResult, run_case
from evaluation.truth_texts import TextResult, auc, count, run_importance, run_poison, run_secrets, run_upkeep
from memoranda.testing.fakes import HashEmbedder
from truth import style_figures

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "truth.py"
UPDATE = (Step("I live in Berlin.", role="user"), Step("I moved to Ghent.", role="user"))
UNRELATED = (Step("I live in Berlin.", role="user"), Step("My dog hates the vacuum cleaner.", role="user"))
REPEATED = (Step("The gate is painted green."), Step("The gate is painted green."))


def run(steps: tuple[Step, ...], *expect: Expectation) -> CaseResult:
    return run_case(Case("case-1", "plain", "dev", "home", steps, expect), HashEmbedder(64))


def test_there_are_enough_cases_and_enough_are_held() -> None:
    cases = load_cases()
    held = [case for case in cases if case.split == "held"]
    assert len(cases) >= 480
    assert len(held) >= 480 // 3  # a third of the first ones; those written since are open
    assert {case.style for case in held} == set(STYLES)
    assert {item.kind for case in cases for item in case.expect} == set(KINDS)


@pytest.mark.parametrize(
    ("name", "positive", "negative"), [("poison", 120, 300), ("secrets", 80, 150), ("importance", 100, 100)]
)
def test_there_are_enough_texts_and_a_third_is_held(name: str, positive: int, negative: int) -> None:
    texts = load_texts(name)
    labels = Counter(item.label for item in texts)
    assert labels[1] >= positive
    assert labels[0] >= negative
    assert sum(item.split == "held" for item in texts) >= (positive + negative) // 3


def test_ids_and_texts_are_unique() -> None:
    ids = [case.id for case in load_cases()] + [item.id for name in TEXT_SETS for item in load_texts(name)]
    assert [id for id, number in Counter(ids).items() if number > 1] == []
    steps = Counter(case.steps for case in load_cases())
    assert [item for item, number in steps.items() if number > 1] == []


def test_each_secret_stands_in_its_text() -> None:
    secrets = load_texts("secrets")
    assert all(bool(item.secret) == bool(item.label) and item.secret in item.text for item in secrets)


def test_ending_that_is_expected_counts_as_right() -> None:
    result = run(
        UPDATE, Expectation("hidden", old=0, new=1), Expectation("noticed", old=0, new=1, ask="Where do I live?")
    )
    assert [item.passed for item in result.scored] == [True, True]
    assert (result.right_endings, result.wrong_endings, result.lost) == (1, (), ())


def test_ending_of_a_statement_to_keep_counts_as_wrong_and_lost() -> None:
    result = run(UPDATE, Expectation("keep", steps=(0,)))
    assert [item.passed for item in result.scored] == [False]
    assert (result.right_endings, result.wrong_endings, result.lost) == (0, (0,), (0,))


def test_ending_that_nothing_names_counts_as_wrong() -> None:
    assert run(UPDATE, Expectation("keep", steps=(1,))).wrong_endings == (0,)


def test_unrelated_statements_are_kept_and_nothing_is_noticed() -> None:
    result = run(
        UNRELATED,
        Expectation("keep", steps=(0, 1)),
        Expectation("distinct", old=0, new=1),
        Expectation("hidden", old=0, new=1),
        Expectation("noticed", old=0, new=1, ask="Where do I live?"),
    )
    assert {item.kind: item.passed for item in result.scored} == {
        "keep": True,
        "distinct": True,
        "hidden": False,
        "noticed": False,
    }
    assert result.lost == ()


def test_repeated_text_is_the_same_and_not_distinct() -> None:
    result = run(REPEATED, Expectation("same", old=0, new=1), Expectation("distinct", old=0, new=1))
    assert {item.kind: item.passed for item in result.scored} == {"same": True, "distinct": False}
    assert result.lost == (1,)
    assert not run(UNRELATED, Expectation("same", old=0, new=1)).passed("same")


def test_answer_is_the_first_hit_at_the_time_asked_for() -> None:
    steps = (
        Step("I live in Berlin.", role="user", at=datetime(2024, 5, 1, tzinfo=UTC)),
        Step("I moved to Ghent.", role="user", at=datetime(2025, 5, 1, tzinfo=UTC)),
    )
    then = datetime(2024, 9, 1, tzinfo=UTC)
    right = Expectation("answer", ask="Where do I live?", as_of=then, answer=0)
    wrong = Expectation("answer", ask="Where do I live?", as_of=then, answer=1)
    before = Expectation("answer", ask="Where do I live?", as_of=datetime(2020, 1, 1, tzinfo=UTC))
    assert [item.passed for item in run(steps, right, wrong, before).scored] == [True, False, True]


def test_figures_count_cases_endings_and_expectations() -> None:
    good = run(UPDATE, Expectation("hidden", old=0, new=1))
    bad = run(UPDATE, Expectation("keep", steps=(0,)))
    figures = style_figures([good, bad])
    assert (figures["lost"], figures["endings right"]) == ([2, 1], [2, 1])
    assert (figures["hidden"], figures["keep"], figures["noticed"]) == ([1, 1], [1, 0], [0, 0])


def test_wrong_expectation_names_its_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    line = '{"id": "plain-9", "topic": "t", "steps": [{"text": "a"}], "expect": [{"kind": "keep", "steps": [1]}]}\n'
    (tmp_path / "dev" / "plain.jsonl").write_text(line, "utf-8")
    monkeypatch.setattr("evaluation.truth_cases.FOLDER", tmp_path)
    with pytest.raises(ValueError, match="plain-9"):
        load_cases(("plain",), ("dev",))


def test_secret_that_stays_in_the_store_is_not_kept_out() -> None:
    kept = LabelledText("s-1", "dev", "t", "the parrot says wintergreen77", 1, secret="wintergreen77")
    short = LabelledText("s-2", "dev", "t", "we saw 1234 swans", 1, secret="1234")
    plain = LabelledText("s-3", "dev", "t", "The ticket costs 45 euros.", 0)
    results = run_secrets([kept, short, plain], HashEmbedder(64))
    assert [item.score for item in results] == [0.0, 0.0, 0.0]
    assert count(results, 1) == [2, 0]
    assert count(results, 0) == [1, 0]


def test_secret_that_is_refused_as_a_message_is_counted_for_that_channel() -> None:
    item = LabelledText("s-1", "dev", "t", "My password is Sunflower!2931", 1, secret="Sunflower!2931")
    assert run_secrets([item], HashEmbedder(64))[0].as_message == 1.0


def test_harmless_text_is_not_flagged_and_gets_an_importance() -> None:
    item = LabelledText("p-1", "dev", "t", "My daughter starts school in September.", 0, role="user")
    assert run_poison([item], HashEmbedder(64))[0].score == 0.0
    assert 0 < run_importance([item], HashEmbedder(64))[0].score <= 1


def test_upkeep_is_counted_over_the_texts_that_matter() -> None:
    matters = LabelledText("i-1", "dev", "t", "I was born in Prague on 4 June 1988.", 1)
    chatter = LabelledText("i-2", "dev", "t", "haha that's so funny", 0)
    losses = run_upkeep([matters, chatter], HashEmbedder(64))
    assert losses.texts == 1
    assert losses.deleted + losses.archived <= 1


def test_auc_is_one_when_all_that_matters_scores_higher_and_half_for_ties() -> None:
    high, low = (LabelledText("a", "dev", "t", "x", label) for label in (1, 0))
    assert auc([TextResult(high, 0.9), TextResult(low, 0.1)]) == 1.0
    assert auc([TextResult(high, 0.5), TextResult(low, 0.5)]) == 0.5


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [(["--set", "longmemeval"], "--data"), (["--split", "held", "--show", "5"], "--split dev")],
)
def test_arguments_that_do_not_fit_say_what_is_needed(arguments: list[str], missing: str) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert missing in done.stderr
