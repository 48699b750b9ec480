from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from memoranda.conversation.memory import ConversationMemory
from memoranda.conversation.summarizing import MAX_SUMMARIES, SummarizingMemory
from memoranda.conversation.window import message_tokens
from memoranda.errors import InvalidInput, Unavailable
from memoranda.llm.scripted import ScriptedLLM
from memoranda.messages.calls import ToolCallMsg
from memoranda.messages.message import Message
from memoranda.messages.openai import format_for_openai


def turn(i: int) -> Message:
    return Message("user", f"On day {i} I met Person{i} in City{i}.", message_id=str(i))


def filled(count: int, **options: Any) -> SummarizingMemory:
    memory = SummarizingMemory(**options)
    for i in range(count):
        memory.add_message(turn(i))
    return memory


def test_when_full_the_oldest_half_becomes_a_summary() -> None:
    memory = filled(49)
    assert memory.summaries == []
    memory.add_message(turn(49))
    assert len(memory.summaries) == 1
    assert "Person3 " in memory.summaries[0]
    assert [message.message_id for message in memory.get_messages()] == [str(i) for i in range(25, 50)]


def test_nothing_is_lost_the_originals_stay_in_order() -> None:
    memory = filled(1_000, max_messages=20)
    whole = [*memory.originals(), *memory.get_messages()]
    assert [message.message_id for message in whole] == [str(i) for i in range(1_000)]
    assert len(memory.summaries) <= MAX_SUMMARIES
    behind = [memory.originals(i) for i in range(len(memory.summaries))]
    assert [message for part in behind for message in part] == memory.originals()
    assert memory.originals(-1) == behind[-1]
    with pytest.raises(IndexError):
        memory.originals(len(memory.summaries))


def test_a_message_that_was_summarised_is_not_added_again() -> None:
    memory = filled(30, max_messages=20)
    memory.add([turn(3), turn(29), turn(30)])
    assert memory.messages[-1].message_id == "30"
    assert len(memory.originals()) + len(memory) == 31


def test_a_list_longer_than_the_window_is_summarised_as_a_whole() -> None:
    memory = SummarizingMemory(max_messages=10)
    memory.add([turn(i) for i in range(100)])
    assert len(memory) < 10
    assert len(memory.originals()) + len(memory) == 100


def test_summaries_stay_short_however_long_the_conversation() -> None:
    short, long = filled(200, max_messages=20), filled(2_000, max_messages=20)
    assert sum(map(len, long.summaries)) < 3 * sum(map(len, short.summaries))


def test_the_window_has_system_summary_and_newest_turns_within_the_budget() -> None:
    memory = SummarizingMemory(max_messages=20, counter=lambda text: len(text.split()))
    memory.add(Message("system", "Be kind."))
    memory.add([turn(i) for i in range(60)])
    window = memory.get_window(400)
    assert [message.role for message in window[:3]] == ["system", "user", "user"]
    assert window[1].metadata == {"summary": True}
    assert str(window[1].content).startswith("Summary of the conversation")
    assert window[-1].message_id == "59"
    for budget in range(20, 400, 20):
        tokens = [message_tokens(m, lambda text: len(text.split())) for m in memory.get_window(budget)]
        assert sum(tokens) <= budget


def test_the_newest_turn_comes_before_the_summary_when_room_is_short() -> None:
    memory = SummarizingMemory(max_messages=4, counter=lambda text: len(text.split()))
    memory.add([turn(i) for i in range(4)])
    memory.add(Message("user", "word " * 60))
    window = memory.get_window(70)
    assert len(window) == 1


def test_a_system_message_is_never_summarised() -> None:
    memory = SummarizingMemory(max_messages=4)
    memory.add(Message("system", "Be kind."))
    memory.add([turn(i) for i in range(20)])
    assert memory.messages[0].role == "system"
    assert all("kind" not in summary for summary in memory.summaries)


def test_a_call_is_not_parted_from_its_results() -> None:
    call = ToolCallMsg("a", "a", "function", "search", "{}")
    for before in range(8):
        memory = SummarizingMemory(max_messages=8)
        memory.add([turn(i) for i in range(before)])
        memory.add(Message("assistant", "I look", tool_calls=[call]))
        for i in range(6):
            memory.add(Message("tool", f"result {i}", tool_call_id="a") if i == 0 else turn(100 + i))
        format_for_openai(memory.get_messages())
        format_for_openai(memory.originals())


def test_with_a_model_the_summaries_are_its_words() -> None:
    llm = ScriptedLLM(["They met many people.", "They met more."])
    memory = filled(30, max_messages=20, llm=llm)
    assert memory.summaries == ["They met many people.", "They met more."]
    assert "Person3 " in llm.prompts[0]
    assert (memory.usage.calls, memory.usage.estimated) == (2, True)
    assert memory.degraded is None


def test_a_model_that_fails_leaves_the_extractive_summary_and_says_so() -> None:
    memory = filled(20, max_messages=20, llm=ScriptedLLM([]))
    assert "Person3 " in memory.summaries[0]
    assert memory.degraded == "Unavailable: the scripted model has no answers left"
    empty = filled(20, max_messages=20, llm=ScriptedLLM([" "]))
    assert empty.degraded == "ExtractionFailed: the model gave an empty summary"
    assert empty.summaries == memory.summaries


def test_many_summaries_are_merged_by_the_model_too() -> None:
    llm = ScriptedLLM([f"Part {i}." for i in range(MAX_SUMMARIES + 1)] + ["All parts together."])
    memory = filled(10 * (MAX_SUMMARIES + 2), max_messages=20, llm=llm)
    assert memory.summaries[0] == "All parts together."
    assert memory.summaries[1] == f"Part {MAX_SUMMARIES // 2}."
    assert len(memory.originals(0)) == 10 * MAX_SUMMARIES // 2


class SlowLLM:
    """Waits until it is told to go on."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        self.asked.set()
        if not self.go_on.wait(10):
            raise Unavailable("nobody said go on")
        return "Slowly said."


def test_the_talk_goes_on_while_the_model_thinks() -> None:
    llm = SlowLLM()
    memory = SummarizingMemory(max_messages=10, llm=llm)
    memory.add([turn(i) for i in range(9)])
    adding = threading.Thread(target=memory.add, args=(turn(9),))
    adding.start()
    assert llm.asked.wait(10)
    assert len(memory.get_messages()) == 10
    llm.go_on.set()
    adding.join(10)
    assert memory.summaries == ["Slowly said."]
    assert len(memory) == 5


def test_a_conversation_cleared_while_the_model_thinks_stays_clear() -> None:
    llm = SlowLLM()
    memory = SummarizingMemory(max_messages=10, llm=llm)
    adding = threading.Thread(target=memory.add, args=([turn(i) for i in range(10)],))
    adding.start()
    assert llm.asked.wait(10)
    memory.clear()
    llm.go_on.set()
    adding.join(10)
    assert (memory.summaries, len(memory), memory.originals()) == ([], 0, [])


def test_state_and_files_hold_summaries_and_originals(tmp_path: Path) -> None:
    memory = filled(95, max_messages=20)
    path = tmp_path / "conversation.json"
    memory.save_to_file(path)
    other = SummarizingMemory(max_messages=20)
    other.load_from_file(path)
    assert other.summaries == memory.summaries
    assert other.originals(1) == memory.originals(1)
    assert other.get_messages() == memory.get_messages()
    other.clear()
    assert other.summary_message() is None
    with pytest.raises(InvalidInput, match="unknown key"):
        ConversationMemory().load_from_file(path)


def test_a_plain_conversations_state_is_summarised_when_it_is_too_long() -> None:
    plain = ConversationMemory()
    plain.add([turn(i) for i in range(30)])
    memory = SummarizingMemory(max_messages=20)
    memory.load_state_dict(plain.state_dict())
    assert len(memory.originals()) + len(memory) == 30
    assert len(memory.summaries) == 2


@pytest.mark.parametrize(
    "change", [{"spans": [1]}, {"summaries": "x"}, {"summaries": [3]}, {"originals": [3]}, {"spans": ["1"]}]
)
def test_a_state_that_does_not_hold_together_changes_nothing(change: dict[str, Any]) -> None:
    memory = filled(25, max_messages=20)
    before = json.dumps(memory.state_dict())
    with pytest.raises(InvalidInput):
        memory.load_state_dict({**memory.state_dict(), **change})
    assert json.dumps(memory.state_dict()) == before


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidInput, match="2 or more"):
        SummarizingMemory(max_messages=1)
    with pytest.raises(InvalidInput, match="ratio"):
        SummarizingMemory(ratio=1.5)
