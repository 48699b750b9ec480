"""Recall through the manager, on the real index, with the real small models where meaning matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import InvalidInput, MemoryConfig, MemoryManager, Message, NotFound
from memoranda.recall import arms
from memoranda.testing.fakes import HashEmbedder

MONDAY = datetime(2024, 1, 8, 12, tzinfo=UTC)
ASKED = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=lambda: ASKED) as manager:
        yield manager


@pytest.fixture
def dialogue(memory: MemoryManager) -> MemoryManager:
    remember_lines(
        memory, "one", MONDAY, ["Ann: Did the kettle arrive?", "Ben: Yes, it is red.", "Ann: Nice weather today."]
    )
    remember_lines(memory, "two", MONDAY + timedelta(days=20), ["Ben: I bought a boat.", "Ann: I bought a boat too."])
    remember_lines(memory, "three", MONDAY + timedelta(days=40), ["Ben: The boat leaks.", "Ann: Call the yard."])
    return memory


def remember_lines(memory: MemoryManager, session: str, start: datetime, lines: list[str]) -> None:
    messages = []
    for number, line in enumerate(lines):
        name, _, text = line.partition(": ")
        when = start + timedelta(minutes=number)
        messages.append(Message(role="user", name=name, content=text, timestamp=when, message_id=f"{session}-{number}"))
    memory.remember(messages, session=session)


def recall_ids(memory: MemoryManager, question: str, **options: object) -> list[str | None]:
    return [hit.message_id for hit in memory.recall(question, now=ASKED, **options)]  # type: ignore[arg-type]


class TestParsing:
    def test_named_speaker_wins_over_another_with_same_words(self, dialogue: MemoryManager) -> None:
        assert recall_ids(dialogue, "What did Ann buy, a boat?")[0] == "two-1"
        assert recall_ids(dialogue, "What did Ben buy, a boat?")[0] == "two-0"

    def test_reply_is_found_by_question_before_it(self, dialogue: MemoryManager) -> None:
        assert recall_ids(dialogue, "the kettle", limit=2) == ["one-0", "one-1"]
        assert "one-1" in recall_ids(dialogue, "Did Ben's kettle arrive?", limit=2)

    def test_time_window_decides_between_equal_texts(self, dialogue: MemoryManager) -> None:
        remember_lines(dialogue, "four", MONDAY + timedelta(days=30), ["Ben: I saw the heron.", "Ann: Oh."])
        remember_lines(dialogue, "five", MONDAY + timedelta(days=2), ["Ben: I saw the heron.", "Ann: Oh."])
        assert recall_ids(dialogue, "Who saw the heron in January 2024?")[0] == "five-0"
        assert recall_ids(dialogue, "Who saw the heron in February 2024?")[0] == "four-0"
        assert recall_ids(dialogue, "Who saw the heron three weeks ago?")[0] == "four-0"

    def test_when_question_prefers_text_with_a_time(self, memory: MemoryManager) -> None:
        memory.remember(["The boat leaks again", "The boat leaks since April", "The boat leaks badly", "Rain", "Sun"])
        assert memory.recall("the boat leaks")[0].content != "The boat leaks since April"
        (hit, *_) = memory.recall("When did the boat leak?")
        assert hit.content == "The boat leaks since April"
        assert "kind" in {reason.arm for reason in hit.why}

    def test_date_alone_returns_memories_of_that_day(self, dialogue: MemoryManager) -> None:
        assert set(recall_ids(dialogue, "2024-01-08")) == {"one-0", "one-1", "one-2"}

    def test_time_that_holds_no_memory_is_said_and_not_a_filter(self, dialogue: MemoryManager) -> None:
        recall = dialogue.recall("on 9 September 2022?", explain=True)
        assert recall.explanation is not None
        assert "no memory lies in" in " ".join(recall.explanation.notes)

    def test_text_without_speaker_that_names_person_gets_speaker_gain(self, dialogue: MemoryManager) -> None:
        dialogue.add_memory("Ann plays the cello")
        assert dialogue.recall("What does Ann play?")[0].content == "Ann plays the cello"

    def test_turn_without_name_has_its_role_as_speaker(self, memory: MemoryManager) -> None:
        memory.remember([Message(role="user", content="My hamster is called Bo"), Message("assistant", "Hamster!")])
        (hit, *_) = memory.recall("What is my hamster called?", explain=True)
        assert (hit.content, hit.memory.speaker) == ("My hamster is called Bo", "user")

    def test_speaker_of_another_scope_is_an_ordinary_word(self, memory: MemoryManager) -> None:
        memory.remember(Message(role="user", name="Paris", content="I like tea"), agent="a")
        memory.remember(["The offer of Paris", "The offer of Rome"], agent="b")
        recall = memory.recall("the offer of Paris", agent="b", explain=True)
        assert recall[0].content == "The offer of Paris"
        assert recall.explanation is not None
        assert recall.explanation.speakers == ()
        assert memory.recall("What does Paris like, tea?", agent="a", explain=True).explanation.speakers == ("Paris",)  # type: ignore[union-attr]


class TestUnusualQuestions:
    @pytest.mark.parametrize("question", ["", "   ", "\n\t"])
    def test_blank_question_finds_nothing(self, dialogue: MemoryManager, question: str) -> None:
        found = dialogue.recall(question, explain=True)
        assert (list(found), found.answerable, found.query) == ([], 0.0, "")
        assert dialogue.replay(found.id).recall.hits == ()
        assert dialogue.context(question) == ""
        assert dialogue.search_memories(question) == dialogue.search_memory(question) == []
        assert dialogue.search_similar("a", question) == []
        assert list(dialogue.recall(question, shared=True)) == []
        with pytest.raises(InvalidInput, match="limit"):
            dialogue.recall(question, limit=0)
        with pytest.raises(InvalidInput, match="query is empty"):
            dialogue.why_not(question, 1)

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
    def test_any_text_is_answered_with_scores_in_order(self, dialogue: MemoryManager, question: str) -> None:
        recall = dialogue.recall(question, now=ASKED)
        scores = [hit.score for hit in recall]
        assert len(recall) == 7
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in (*scores, recall.answerable))

    def test_stop_words_alone_find_text_that_holds_them(self, memory: MemoryManager) -> None:
        memory.remember(["To be or not to be", "Cheese and wine"])
        assert memory.recall("to be or not to be")[0].content == "To be or not to be"

    def test_emoji_is_found(self, memory: MemoryManager) -> None:
        memory.remember(["we won 🎉", "we lost"])
        assert memory.recall("🎉")[0].content == "we won 🎉"

    def test_right_to_left_text_is_found(self, memory: MemoryManager) -> None:
        memory.remember(["أحب القهوة", "שלום עולם", "plain words"])
        assert memory.recall("القهوة")[0].content == "أحب القهوة"
        assert memory.recall("שלום")[0].content == "שלום עולם"

    def test_code_and_ids_are_found(self, memory: MemoryManager) -> None:
        memory.remember(["order ZX-4711-b was shipped", "call parse_config(path) first", "nothing"])
        assert memory.recall("ZX-4711-b")[0].content == "order ZX-4711-b was shipped"
        assert memory.recall("parse_config(path)")[0].content == "call parse_config(path) first"

    def test_question_of_a_hundred_thousand_words_is_answered(self, dialogue: MemoryManager) -> None:
        assert recall_ids(dialogue, "boat leaks " + "word " * 100_000)[0] == "three-0"

    def test_empty_memory_returns_no_hits(self, memory: MemoryManager) -> None:
        recall = memory.recall("anything", explain=True)
        assert (recall.hits, recall.answerable) == ((), 0.0)
        assert recall.explanation is not None
        assert recall.explanation.considered == 0


class TestSmallScopes:
    def test_single_memory_scores_by_how_well_it_fits(self, memory: MemoryManager) -> None:
        memory.remember("the red kettle is on the stove")
        fitting, unrelated = memory.recall("red kettle stove"), memory.recall("quantum chromodynamics")
        assert fitting[0].score > 0.5 > unrelated[0].score
        assert fitting.answerable > 0.5 > unrelated.answerable

    def test_fitting_memory_of_five_scores_much_higher(self, memory: MemoryManager) -> None:
        memory.remember(["the kettle is red", "tea is green", "the sea is wide", "bread is warm", "snow is cold"])
        recall = memory.recall("red kettle")
        assert recall[0].content == "the kettle is red"
        assert recall[0].score > 3 * recall[1].score


class TestLargeScopes:
    """With too many memories to score them all, candidates and their neighbours are enough."""

    @pytest.fixture(autouse=True)
    def _small_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(arms, "EXACT_UP_TO", 3)
        monkeypatch.setattr(arms, "_CANDIDATES_PER_ARM", 2)

    def test_words_names_replies_and_dates_find_memories(self, dialogue: MemoryManager) -> None:
        assert recall_ids(dialogue, "What did Ann buy, a boat?")[0] == "two-1"
        assert "one-1" in recall_ids(dialogue, "Did Ben's kettle arrive?", limit=2)
        assert recall_ids(dialogue, "the boat that leaks")[0] == "three-0"
        assert set(recall_ids(dialogue, "2024-01-08")) == {"one-0", "one-1", "one-2"}

    def test_candidates_stay_inside_scope(self, dialogue: MemoryManager) -> None:
        for number in range(8):
            dialogue.remember(f"the boat number {number}", agent="other")
        assert {hit.memory.agent for hit in dialogue.recall("boat", agent="other")} == {"other"}

    def test_why_not_explains_memory_that_is_no_candidate(self, dialogue: MemoryManager) -> None:
        remember_lines(dialogue, "long", MONDAY, [f"Ann: Line {number}." for number in range(30)])
        reasons = [dialogue.why_not("the boat that leaks", number).reason for number in range(1, 38)]
        assert any("no arm chose it" in reason for reason in reasons)


class TestFilters:
    def test_filtered_memory_is_hidden_but_raises_its_neighbours(self, dialogue: MemoryManager) -> None:
        assert recall_ids(dialogue, "Did the kettle arrive?", where={"speaker": "Ben"})[0] == "one-1"
        assert "one-0" not in recall_ids(dialogue, "Did the kettle arrive?", where={"speaker": "Ben"})

    def test_filter_without_matches_gives_no_answer(self, dialogue: MemoryManager) -> None:
        recall = dialogue.recall("kettle", where={"source": "nowhere"})
        assert (recall.hits, recall.answerable) == ((), 0.0)


class TestExplanation:
    def test_explain_returns_parsed_question(self, dialogue: MemoryManager) -> None:
        plain = dialogue.recall("What did Ann buy last month?", now=ASKED)
        explained = dialogue.recall("What did Ann buy last month?", now=ASKED, explain=True)
        assert plain.explanation is None
        assert explained.explanation is not None
        assert explained.explanation.speakers == ("Ann",)
        assert [window.phrase for window in explained.explanation.windows] == ["last month"]
        assert "ann" not in explained.explanation.terms
        assert explained.explanation.considered == 7

    def test_why_names_reasons_of_a_hit(self, dialogue: MemoryManager) -> None:
        recall = dialogue.recall("What did Ann buy, a boat?", now=ASKED)
        reasons = {each.arm for each in dialogue.why(recall, recall[0].id)}
        assert {"dense", "lexical", "speaker", "session"} <= reasons

    def test_why_of_memory_that_is_no_hit_is_an_error(self, dialogue: MemoryManager) -> None:
        with pytest.raises(NotFound, match="why_not"):
            dialogue.why(dialogue.recall("boat", limit=1), 999)

    def test_why_not_names_the_step(self, dialogue: MemoryManager) -> None:
        missing, deep = dialogue.why_not("boat", 999), dialogue.why_not("boat", 3, limit=2)
        assert "there is no memory 999" in missing.reason
        assert deep.rank is not None
        assert deep.rank > 2
        assert "fit better, and the limit is 2" in deep.reason
        assert "filters" in dialogue.why_not("boat", 3, where={"speaker": "Ben"}).reason
        assert dialogue.why_not("Nice weather today", 3, limit=1).reason == "it is among the hits"

    def test_why_not_names_expiry(self, memory: MemoryManager) -> None:
        stored = memory.add_memory("the kettle is on", "short_term")
        assert "expired" in memory.why_not("kettle", stored.id, now=ASKED + timedelta(days=30)).reason

    def test_why_not_without_vectors_names_missing_words(self, tmp_path: Path) -> None:
        config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/b.db", enable_vector_search=False)
        with MemoryManager(config) as manager:
            stored = manager.add_memory("tea")
            assert "shares no word" in manager.why_not("kettle", stored.id).reason


class TestModes:
    def test_unknown_mode_error_lists_known_modes(self, dialogue: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="fast, default, best"):
            dialogue.recall("boat", mode="slow")

    def test_fast_mode_runs_no_model_on_question(self, dialogue: MemoryManager) -> None:
        recall = dialogue.recall("the boat leaks", mode="fast", explain=True)
        assert recall[0].content == "The boat leaks."
        assert recall.explanation is not None
        assert recall.explanation.embedded is None

    def test_fast_mode_uses_static_vectors(self, tmp_path: Path) -> None:
        with MemoryManager(MemoryConfig(db_url=f"sqlite:///{tmp_path}/b.db", embedding_model="fast")) as manager:
            manager.remember(["My dog is ill", "Interest rates rose"])
            recall = manager.recall("the puppy feels sick", mode="fast", explain=True)
            assert recall[0].content == "My dog is ill"
            assert recall.explanation is not None
            assert recall.explanation.embedded == "the puppy feels sick"

    def test_best_mode_reranks_first_hits(self, dialogue: MemoryManager) -> None:
        recall = dialogue.recall("Why did the boat sink?", mode="best", limit=3)
        scores = [hit.score for hit in recall]
        assert recall[0].content == "The boat leaks."
        assert len(recall) == 3
        assert scores == sorted(scores, reverse=True)
        assert "reranker" in {each.arm for each in recall[0].why}

    def test_best_mode_on_empty_memory_returns_no_hits(self, memory: MemoryManager) -> None:
        assert memory.recall("anything", mode="best").hits == ()


class TestAnswerable:
    def test_answer_is_less_likely_when_another_person_said_it(self, memory: MemoryManager) -> None:
        remember_lines(
            memory, "one", MONDAY, ["Ann: I adopted a grey parrot.", "Ben: I like long walks.", "Ann: Fine day."]
        )
        right = memory.recall("Which parrot did Ann adopt?").answerable
        wrong = memory.recall("Which parrot did Ben adopt?").answerable
        assert right > 0.5
        assert wrong < right


class TestSessions:
    def test_sessions_with_several_good_hits_come_first(self, memory: MemoryManager) -> None:
        remember_lines(
            memory, "one", MONDAY, ["Ann: The red kite flew.", "Ben: The red kite flew far away over the lake."]
        )
        remember_lines(
            memory, "two", MONDAY, ["Ann: A red kite flew.", "Ben: My red kite flew.", "Ann: Your red kite flew."]
        )
        memory.add_memory("The red kite flew without a session")
        assert set(memory.recall("red kite").sessions) == {"one", "two"}
        assert memory.recall("nothing of the kind", min_score=1.0).sessions == ()

    def test_session_weight_falls_with_the_rank_of_its_hits(self, memory: MemoryManager) -> None:
        remember_lines(memory, "one", MONDAY, ["Ann: kites.", "Ben: I like red kites."])
        hits = list(memory.recall("red kites"))
        first, second = replace(hits[0].memory, session="a"), replace(hits[0].memory, session="b")
        ordered = [replace(hits[0], memory=each) for each in (first, second, second)]
        assert replace(memory.recall("red kites"), hits=tuple(ordered)).sessions == ("b", "a")
        assert replace(memory.recall("red kites"), hits=tuple(ordered[:2])).sessions == ("a", "b")


def test_only_the_beginning_of_a_very_long_question_is_read(memory: MemoryManager) -> None:
    memory.add_memories(["the kettle is red", "the boat leaks"])
    question = "kettle " + "x " * 10_000 + "boat"
    found = memory.recall(question)
    assert (len(found.query), found[0].content) == (10_000, "the kettle is red")
    assert "boat" not in memory.recall(question, limit=1)[0].content
