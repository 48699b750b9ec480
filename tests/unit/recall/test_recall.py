"""Recall through the front door, on the real index and with the real small models where meaning matters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import InvalidInput, MemoryConfig, MemoryManager, Message, NotFound
from memoranda.recall import candidates
from memoranda.testing.fakes import HashEmbedder

MONDAY = datetime(2024, 1, 8, 12, tzinfo=UTC)
ASKED = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=lambda: ASKED) as manager:
        yield manager


@pytest.fixture
def talk(memory: MemoryManager) -> MemoryManager:
    tell(memory, "one", MONDAY, ["Ann: Did the kettle arrive?", "Ben: Yes, it is red.", "Ann: Nice weather today."])
    tell(memory, "two", MONDAY + timedelta(days=20), ["Ben: I bought a boat.", "Ann: I bought a boat too."])
    tell(memory, "three", MONDAY + timedelta(days=40), ["Ben: The boat leaks.", "Ann: Call the yard."])
    return memory


def tell(memory: MemoryManager, session: str, start: datetime, lines: list[str]) -> None:
    messages = []
    for number, line in enumerate(lines):
        name, _, text = line.partition(": ")
        when = start + timedelta(minutes=number)
        messages.append(Message(role="user", name=name, content=text, timestamp=when, message_id=f"{session}-{number}"))
    memory.remember(messages, session=session)


def found(memory: MemoryManager, question: str, **options: object) -> list[str | None]:
    return [hit.message_id for hit in memory.recall(question, now=ASKED, **options)]  # type: ignore[arg-type]


class TestReading:
    def test_a_named_speaker_is_preferred_over_another_with_the_same_words(self, talk: MemoryManager) -> None:
        assert found(talk, "What did Ann buy, a boat?")[0] == "two-1"
        assert found(talk, "What did Ben buy, a boat?")[0] == "two-0"

    def test_a_reply_is_found_by_the_question_before_it(self, talk: MemoryManager) -> None:
        assert found(talk, "the kettle", limit=2) == ["one-0", "one-1"]
        assert "one-1" in found(talk, "Did Ben's kettle arrive?", limit=2)

    def test_a_window_of_time_decides_between_equals(self, talk: MemoryManager) -> None:
        tell(talk, "four", MONDAY + timedelta(days=30), ["Ben: I saw the heron.", "Ann: Oh."])
        tell(talk, "five", MONDAY + timedelta(days=2), ["Ben: I saw the heron.", "Ann: Oh."])
        assert found(talk, "Who saw the heron in January 2024?")[0] == "five-0"
        assert found(talk, "Who saw the heron in February 2024?")[0] == "four-0"
        assert found(talk, "Who saw the heron three weeks ago?")[0] == "four-0"

    def test_who_asks_when_is_told_a_time_before_anything_else(self, memory: MemoryManager) -> None:
        memory.remember(["The boat leaks again", "The boat leaks since April", "The boat leaks badly", "Rain", "Sun"])
        assert memory.recall("the boat leaks")[0].content != "The boat leaks since April"
        (hit, *_) = memory.recall("When did the boat leak?")
        assert hit.content == "The boat leaks since April"
        assert "kind" in {reason.arm for reason in hit.why}

    def test_a_date_alone_is_answered_with_that_day(self, talk: MemoryManager) -> None:
        assert set(found(talk, "2024-01-08")) == {"one-0", "one-1", "one-2"}
        assert found(talk, "on 9 September 2022?") == []

    def test_what_nobody_said_but_names_the_person_counts_for_the_person(self, talk: MemoryManager) -> None:
        talk.add_memory("Ann plays the cello")
        assert talk.recall("What does Ann play?")[0].content == "Ann plays the cello"

    def test_a_turn_without_a_name_is_said_by_its_role(self, memory: MemoryManager) -> None:
        memory.remember([Message(role="user", content="My hamster is called Bo"), Message("assistant", "Hamster!")])
        (hit, *_) = memory.recall("What is my hamster called?", explain=True)
        assert (hit.content, hit.memory.speaker) == ("My hamster is called Bo", "user")

    def test_a_name_known_only_from_another_scope_is_a_word_like_any_other(self, memory: MemoryManager) -> None:
        memory.remember(Message(role="user", name="Paris", content="I like tea"), agent="a")
        memory.remember(["The offer of Paris", "The offer of Rome"], agent="b")
        recall = memory.recall("the offer of Paris", agent="b", explain=True)
        assert recall[0].content == "The offer of Paris"
        assert recall.explanation is not None
        assert recall.explanation.speakers == ()
        assert memory.recall("What does Paris like, tea?", agent="a", explain=True).explanation.speakers == ("Paris",)  # type: ignore[union-attr]


class TestOddQuestions:
    @pytest.mark.parametrize("question", ["", "   ", "\n\t"])
    def test_an_empty_question_is_an_error_that_says_so(self, talk: MemoryManager, question: str) -> None:
        with pytest.raises(InvalidInput, match="query is empty"):
            talk.recall(question)

    @pytest.mark.parametrize(
        "question",
        [
            "?!… --- ;;",
            "the of and who is it",
            "🎉🎉",
            "مرحبا كيف حالك؟",
            "שלום עולם",
            "def f(x): return x ** 2  # {}",
            "%s \\ ' \" ; --",
        ],
    )
    def test_any_text_is_answered_with_scores_in_order(self, talk: MemoryManager, question: str) -> None:
        recall = talk.recall(question, now=ASKED)
        scores = [hit.score for hit in recall]
        assert len(recall) == 7
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in (*scores, recall.answerable))

    def test_only_stop_words_find_what_holds_them(self, memory: MemoryManager) -> None:
        memory.remember(["To be or not to be", "Cheese and wine"])
        assert memory.recall("to be or not to be")[0].content == "To be or not to be"

    def test_an_emoji_finds_itself(self, memory: MemoryManager) -> None:
        memory.remember(["we won 🎉", "we lost"])
        assert memory.recall("🎉")[0].content == "we won 🎉"

    def test_right_to_left_text_finds_itself(self, memory: MemoryManager) -> None:
        memory.remember(["أحب القهوة", "שלום עולם", "plain words"])
        assert memory.recall("القهوة")[0].content == "أحب القهوة"
        assert memory.recall("שלום")[0].content == "שלום עולם"

    def test_code_and_ids_find_themselves(self, memory: MemoryManager) -> None:
        memory.remember(["order ZX-4711-b was shipped", "call parse_config(path) first", "nothing"])
        assert memory.recall("ZX-4711-b")[0].content == "order ZX-4711-b was shipped"
        assert memory.recall("parse_config(path)")[0].content == "call parse_config(path) first"

    def test_a_hundred_thousand_words_are_answered(self, talk: MemoryManager) -> None:
        assert found(talk, "boat leaks " + "word " * 100_000)[0] == "three-0"

    def test_a_question_to_an_empty_memory_is_answered_with_nothing(self, memory: MemoryManager) -> None:
        recall = memory.recall("anything", explain=True)
        assert (recall.hits, recall.answerable) == ((), 0.0)
        assert recall.explanation is not None
        assert recall.explanation.considered == 0


class TestSmallScopes:
    def test_one_memory_scores_by_how_well_it_fits(self, memory: MemoryManager) -> None:
        memory.remember("the red kettle is on the stove")
        fitting, foreign = memory.recall("red kettle stove"), memory.recall("quantum chromodynamics")
        assert fitting[0].score > 0.5 > foreign[0].score
        assert fitting.answerable > 0.5 > foreign.answerable

    def test_the_fitting_one_of_five_stands_out(self, memory: MemoryManager) -> None:
        memory.remember(["the kettle is red", "tea is green", "the sea is wide", "bread is warm", "snow is cold"])
        recall = memory.recall("red kettle")
        assert recall[0].content == "the kettle is red"
        assert recall[0].score > 3 * recall[1].score


class TestLargeScopes:
    """Where there are too many to score them all, candidates and their neighbours are enough."""

    @pytest.fixture(autouse=True)
    def _few_count_as_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(candidates, "EXACT_UP_TO", 3)
        monkeypatch.setattr(candidates, "_CANDIDATES", 2)

    def test_words_names_replies_and_dates_still_find(self, talk: MemoryManager) -> None:
        assert found(talk, "What did Ann buy, a boat?")[0] == "two-1"
        assert "one-1" in found(talk, "Did Ben's kettle arrive?", limit=2)
        assert found(talk, "the boat that leaks")[0] == "three-0"
        assert set(found(talk, "2024-01-08")) == {"one-0", "one-1", "one-2"}

    def test_the_scope_is_inside(self, talk: MemoryManager) -> None:
        for number in range(8):
            talk.remember(f"the boat number {number}", agent="other")
        assert {hit.memory.agent for hit in talk.recall("boat", agent="other")} == {"other"}

    def test_a_memory_no_arm_brought_is_explained(self, talk: MemoryManager) -> None:
        tell(talk, "long", MONDAY, [f"Ann: Line {number}." for number in range(30)])
        reasons = [talk.why_not("the boat that leaks", number).reason for number in range(1, 38)]
        assert any("no arm brought it" in reason for reason in reasons)


class TestFilters:
    def test_what_a_filter_hides_is_not_shown_but_still_speaks_for_its_neighbours(self, talk: MemoryManager) -> None:
        assert found(talk, "Did the kettle arrive?", where={"speaker": "Ben"})[0] == "one-1"
        assert "one-0" not in found(talk, "Did the kettle arrive?", where={"speaker": "Ben"})

    def test_an_answer_that_is_filtered_out_is_no_answer(self, talk: MemoryManager) -> None:
        recall = talk.recall("kettle", where={"source": "nowhere"})
        assert (recall.hits, recall.answerable) == ((), 0.0)


class TestExplaining:
    def test_the_question_as_it_was_read_comes_with_the_answer_when_asked(self, talk: MemoryManager) -> None:
        plain = talk.recall("What did Ann buy last month?", now=ASKED)
        told = talk.recall("What did Ann buy last month?", now=ASKED, explain=True)
        assert plain.explanation is None
        assert told.explanation is not None
        assert told.explanation.speakers == ("Ann",)
        assert [window.phrase for window in told.explanation.windows] == ["last month"]
        assert "ann" not in told.explanation.terms
        assert told.explanation.considered == 7

    def test_every_hit_says_why(self, talk: MemoryManager) -> None:
        recall = talk.recall("What did Ann buy, a boat?", now=ASKED)
        reasons = {each.arm for each in talk.why(recall, recall[0].id)}
        assert {"dense", "lexical", "speaker", "session"} <= reasons

    def test_why_of_something_else_is_an_error(self, talk: MemoryManager) -> None:
        with pytest.raises(NotFound, match="why_not"):
            talk.why(talk.recall("boat", limit=1), 999)

    def test_why_not_names_the_step(self, talk: MemoryManager) -> None:
        missing, deep = talk.why_not("boat", 999), talk.why_not("boat", 3, limit=2)
        assert "there is no memory 999" in missing.reason
        assert deep.rank is not None
        assert deep.rank > 2
        assert "fit better, and 2 were asked for" in deep.reason
        assert "filters" in talk.why_not("boat", 3, where={"speaker": "Ben"}).reason
        assert talk.why_not("Nice weather today", 3, limit=1).reason == "it is among the hits"

    def test_why_not_of_a_memory_that_has_expired(self, memory: MemoryManager) -> None:
        kept = memory.add_memory("the kettle is on", "short_term")
        assert "expired" in memory.why_not("kettle", kept.id, now=ASKED + timedelta(days=30)).reason

    def test_words_alone_say_when_none_is_shared(self, tmp_path: Path) -> None:
        config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/b.db", enable_vector_search=False)
        with MemoryManager(config) as manager:
            kept = manager.add_memory("tea")
            assert "shares no word" in manager.why_not("kettle", kept.id).reason


class TestModes:
    def test_an_unknown_mode_is_refused_with_the_known_ones(self, talk: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="fast, default, best"):
            talk.recall("boat", mode="slow")

    def test_fast_runs_no_model_on_the_question(self, talk: MemoryManager) -> None:
        recall = talk.recall("the boat leaks", mode="fast", explain=True)
        assert recall[0].content == "The boat leaks."
        assert recall.explanation is not None
        assert recall.explanation.embedded is None

    def test_fast_uses_vectors_that_need_no_model(self, tmp_path: Path) -> None:
        with MemoryManager(MemoryConfig(db_url=f"sqlite:///{tmp_path}/b.db", embedding_model="fast")) as manager:
            manager.remember(["My dog is ill", "Interest rates rose"])
            recall = manager.recall("the puppy feels sick", mode="fast", explain=True)
            assert recall[0].content == "My dog is ill"
            assert recall.explanation is not None
            assert recall.explanation.embedded == "the puppy feels sick"

    def test_best_reads_the_first_hits_once_more(self, talk: MemoryManager) -> None:
        recall = talk.recall("Why did the boat sink?", mode="best", limit=3)
        scores = [hit.score for hit in recall]
        assert recall[0].content == "The boat leaks."
        assert len(recall) == 3
        assert scores == sorted(scores, reverse=True)
        assert "reranker" in {each.arm for each in recall[0].why}

    def test_best_on_an_empty_memory_is_empty(self, memory: MemoryManager) -> None:
        assert memory.recall("anything", mode="best").hits == ()


class TestAbstaining:
    def test_a_thing_that_another_person_said_makes_an_answer_unlikely(self, memory: MemoryManager) -> None:
        tell(memory, "one", MONDAY, ["Ann: I adopted a grey parrot.", "Ben: I like long walks.", "Ann: Fine day."])
        right = memory.recall("Which parrot did Ann adopt?").answerable
        wrong = memory.recall("Which parrot did Ben adopt?").answerable
        assert right > 0.5
        assert wrong < right
