from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder

TURNS = [
    {"role": "user", "name": "James", "content": "I stayed in Rome with my brother.", "timestamp": "2022-07-04T10:00Z"},
    {"role": "user", "name": "Mary", "content": "I planted tomatoes in the garden.", "timestamp": "2022-07-05T10:00Z"},
    {"role": "user", "name": "Mary", "content": "I visited Oslo on 3 May 2019.", "timestamp": "2022-07-06T10:00Z"},
]


@pytest.fixture(params=["words", "vectors"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryManager]:
    vectors = request.param == "vectors"
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path / 'a.db'}", enable_vector_search=vectors)
    with MemoryManager(config, embedder=HashEmbedder() if vectors else None) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Where was James in July 2022?", "every memory lies in"),
        ("Where was James in July 2021?", "no memory lies in"),
        ("2020-01-08", "no memory lies in"),
    ],
)
def test_time_that_tells_no_memories_apart_gives_hits_and_a_note(
    manager: MemoryManager, question: str, note: str
) -> None:
    manager.remember(TURNS, user="u")
    answer = manager.recall(question, user="u", explain=True)
    assert len(answer) > 0
    assert answer.explanation is not None
    assert note in answer.explanation.notes[0]
    if "James" in question:
        assert any(hit.memory.speaker == "James" for hit in answer)


@pytest.mark.parametrize(
    "question",
    [
        "Where was James then?",
        "When was James there?",
        "Where has James been since 2021?",
        "James?",
        "Who is James?",
        "Tell me about James",
        "What did James say?",
        "Was James ever here?",
        "Any news from James lately?",
    ],
)
def test_question_that_names_only_a_person_gives_what_that_person_said(manager: MemoryManager, question: str) -> None:
    manager.remember(TURNS, user="u")
    assert any(hit.memory.speaker == "James" for hit in manager.recall(question, user="u"))


def test_question_with_a_word_that_nobody_said_finds_nothing_by_words_alone(tmp_path: Path) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path / 'a.db'}", enable_vector_search=False)
    with MemoryManager(config) as memory:
        memory.remember(TURNS, user="u")
        assert len(memory.recall("Which telescope does James own?", user="u")) == 0


def test_words_that_nothing_matches_do_not_empty_a_window_around_everything(manager: MemoryManager) -> None:
    manager.remember(TURNS, user="u")
    assert len(manager.recall("What happened in July 2022?", user="u")) == 3


def test_memory_that_mentions_a_time_is_found_by_it_whenever_it_was_said(manager: MemoryManager) -> None:
    manager.remember(TURNS, user="u")
    first = manager.recall("What happened in May 2019?", user="u")[0]
    assert "Oslo" in first.content
    assert any(score.arm == "time" and score.gain > 0 for score in first.why)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Please call me Kate.", "Kate"),
        ("I'm Katherine, but everyone calls me Kate.", "Kate"),
        ("My friends call me Kit.", "Kit"),
        ("My nickname is Kitty.", "Kitty"),
        ("My email is kate.miller@example.com", "Miller"),
        ("You can reach me at @kmiller", "kmiller"),
        ("I usually go by Kate these days.", "Kate"),
        ("I'd rather be called Kate.", "Kate"),
        ("Hi, I'm Kate!", "Kate"),
        ("My gamertag is ShadowFox", "ShadowFox"),
        ("My Slack handle is kmiller", "kmiller"),
    ],
)
def test_name_that_a_speaker_said_stands_for_the_speaker(manager: MemoryManager, said: str, name: str) -> None:
    manager.remember(
        [
            {"role": "user", "name": "Katherine", "content": said},
            {"role": "user", "name": "Katherine", "content": "I love sailing on the lake."},
            {"role": "user", "name": "Tom", "content": "I love sailing on the sea."},
        ],
        user="u",
    )
    answer = manager.recall(f"Which sailing does {name} love?", user="u", explain=True)
    assert answer.explanation is not None
    assert answer.explanation.speakers == ("Katherine",)
    assert answer.explanation.notes == (f"{name!r} is another name of 'Katherine'",)
    contents = [hit.content for hit in answer]
    assert contents.index("I love sailing on the lake.") < contents.index("I love sailing on the sea.")


def test_learnt_name_is_a_fact_and_belongs_to_its_user_only(manager: MemoryManager) -> None:
    manager.remember([{"role": "user", "content": "Everyone calls me Kate. I collect stamps."}], user="a")
    manager.remember([{"role": "user", "content": "I collect coins and stamps."}], user="b")
    assert [fact.value for fact in manager.facts(user="a") if fact.attribute == "nickname"] == ["Kate"]
    own, other = (manager.recall("What does Kate collect?", user=user, explain=True).explanation for user in "ab")
    assert own is not None
    assert other is not None
    assert (own.speakers, other.speakers) == (("user",), ())


def test_name_of_somebody_else_or_of_two_speakers_stands_for_nobody(manager: MemoryManager) -> None:
    turns = [("Ada Byron", "My sister's name is Anna."), ("Ada King", "I sing."), ("Tom Baker", "I bake bread daily.")]
    manager.remember([{"role": "user", "name": name, "content": text} for name, text in turns], user="u")

    def speakers(question: str) -> tuple[str, ...]:
        explanation = manager.recall(question, user="u", explain=True).explanation
        assert explanation is not None
        return explanation.speakers

    assert speakers("What does Anna do?") == ()
    assert speakers("What does Ada do?") == ()
    assert speakers("What does Baker do?") == ("Tom Baker",)
    assert speakers("Who is a baker?") == ()


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Kate Miller", "Miller"),
        ("kate.miller@example.com", "Kate"),
        ("kate_miller", "Kate"),
        ("KateMiller", "Miller"),
        ("kate92", "Kate"),
        ("K. Miller", "Miller"),
        ("Kate M.", "Kate"),
        ("Dr. Kate Miller", "Miller"),
        ("José García", "Jose"),
    ],
)
def test_part_of_a_label_stands_for_its_speaker(manager: MemoryManager, label: str, name: str) -> None:
    turns = [(label, "I love sailing on the lake."), ("Tom", "I love sailing on the sea.")]
    manager.remember([{"role": "user", "name": each, "content": text} for each, text in turns], user="u")
    answer = manager.recall(f"Which sailing does {name} love?", user="u", explain=True)
    assert answer.explanation is not None
    assert answer.explanation.speakers == (label,)


def test_call_on_a_weekday_is_no_name(manager: MemoryManager) -> None:
    manager.remember([{"role": "user", "name": "Kate", "content": "Call me Friday about the boat."}], user="u")
    answer = manager.recall("What is on Friday?", user="u", explain=True)
    assert answer.explanation is not None
    assert answer.explanation.speakers == ()


def test_closer_words_elsewhere_are_no_sign_of_the_wrong_person(manager: MemoryManager) -> None:
    talks = {
        "one": [
            ("Ann", "How was your week?"),
            ("Ben", "I repaired the old boat."),
            ("Ann", "Well done."),
            ("Ben", "Yes."),
        ],
        "two": [("Cem", "Did you sail the fast red boat?"), ("Dee", "I sailed the fast red boat."), ("Cem", "Nice.")],
    }
    for session, turns in talks.items():
        messages = [{"role": "user", "name": name, "content": text} for name, text in turns]
        manager.remember(messages, user="u", session=session, keep_all=True)

    def lead(question: str) -> float:
        explanation = manager.recall(question, user="u", explain=True).explanation
        assert explanation is not None
        return explanation.signals["other_speaker"]

    assert lead("Which fast red boat did Cem sail?") > 0
    assert lead("Which fast red boat did Ben repair?") == 0


@pytest.mark.parametrize(("user", "known"), [("olga", True), ("olga.berg", True), ("u7", False)])
def test_question_that_names_the_user_by_id_is_about_the_unnamed_speaker(
    manager: MemoryManager, user: str, known: bool
) -> None:
    manager.remember({"role": "user", "content": "I live in Ghent."}, user=user)
    answer = manager.recall("Where does Olga live?", user=user, explain=True)
    assert answer.explanation is not None
    assert any("another name of 'user'" in note for note in answer.explanation.notes) is known
