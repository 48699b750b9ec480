from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Incompatible, InvalidInput, MemorandaError
from memoranda.messages.message import Message
from memoranda.transfer.chats import import_conversation, read_chatgpt_export


def contents(messages: Any) -> list[object]:
    return [message["content"] for message in messages]


def filled(count: int, **options: Any) -> ConversationMemory:
    memory = ConversationMemory(**options)
    memory.add([{"role": "user", "content": str(i)} for i in range(count)])
    return memory


def test_messages_are_returned_in_order_all_or_the_newest() -> None:
    memory = filled(5)
    assert contents(memory.get_messages()) == ["0", "1", "2", "3", "4"]
    assert contents(memory.get_messages(limit=2)) == ["3", "4"]
    assert contents(memory.get_recent(3)) == ["2", "3", "4"]
    assert len(memory.get_messages(limit=0)) == len(memory.get_messages(limit=-3)) == 5
    assert memory.get_recent(0) == []
    assert len(memory.get_messages(limit=99)) == memory.size() == len(memory) == 5


def test_add_accepts_one_several_or_no_messages_and_dicts() -> None:
    memory = ConversationMemory()
    memory.add(Message("user", "a"))
    memory.add({"role": "assistant", "content": "b"})
    memory.add(None)
    memory.add([])
    memory.add(message for message in [Message("user", "c"), {"role": "user", "content": "d"}])
    memory.add_message({"role": "user", "content": "e"})
    assert contents(memory.get_messages()) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("wrong", ["text", 3, b"x", ["text"], [Message("user", "ok"), 3], object()])
def test_adding_another_type_raises_and_adds_nothing(wrong: Any) -> None:
    memory = filled(1)
    with pytest.raises(TypeError):
        memory.add(wrong)
    assert contents(memory.get_messages()) == ["0"]


def test_bad_message_in_a_list_adds_nothing() -> None:
    memory = filled(1)
    with pytest.raises(InvalidInput, match="unknown role"):
        memory.add([Message("user", "fine"), {"role": "robot", "content": "x"}])
    assert len(memory) == 1


def test_repeated_id_is_skipped_unless_duplicates_are_allowed() -> None:
    memory = ConversationMemory()
    message = Message("user", "a", message_id="m1")
    memory.add([message, message])
    memory.add_message(message)
    assert len(memory) == 1
    memory.add([message, message], allow_duplicates=True)
    assert len(memory) == 3
    memory.delete([0, 1, 2])
    memory.add(message)
    assert len(memory) == 1


def test_dropped_message_can_be_added_again() -> None:
    memory = ConversationMemory(max_messages=2)
    first = Message("user", "first", message_id="m1")
    memory.add([first, Message("user", "second"), Message("user", "third")])
    memory.add(first)
    assert contents(memory.get_messages()) == ["third", "first"]


def test_oldest_messages_are_dropped_beyond_max_messages() -> None:
    memory = filled(250, max_messages=100)
    assert contents(memory.get_messages()) == [str(i) for i in range(150, 250)]
    for i in range(250, 600):
        memory.add_message(Message("user", str(i)))
        assert len(memory) == 100
        assert memory.messages[0].content == str(i - 99)


def test_messages_by_role_and_last_message() -> None:
    memory = ConversationMemory()
    assert memory.get_last_message() is None
    memory.add([{"role": r, "content": str(i)} for i, r in enumerate(["user", "assistant", "user", "user"])])
    assert contents(memory.get_messages_by_role("user")) == ["0", "2", "3"]
    assert contents(memory.get_messages_by_role("user", limit=2)) == ["2", "3"]
    assert memory.get_messages_by_role("tool") == []
    last = memory.get_last_message()
    assert last is not None
    assert last.content == "3"
    assert memory.get_messages_by_role("robot") == []


@pytest.mark.parametrize(
    ("index", "left"),
    [(0, "1234"), (4, "0123"), ([0, 2, 4], "13"), ([4, 4], "0123"), ([], "01234"), ((i for i in (1, 3)), "024")],
)
def test_delete_by_index_or_indices(index: Any, left: str) -> None:
    memory = filled(5)
    memory.delete(index)
    assert "".join(str(t) for t in contents(memory.get_messages())) == left


@pytest.mark.parametrize("index", [5, -6, [0, 99], [0, -6]])
def test_wrong_index_deletes_nothing(index: Any) -> None:
    memory = filled(5)
    with pytest.raises(IndexError, match="there are 5"):
        memory.delete(index)
    assert len(memory) == 5


@pytest.mark.parametrize("index", ["0", [True], [1.5], None])
def test_index_of_another_type_raises(index: Any) -> None:
    with pytest.raises(TypeError):
        filled(5).delete(index)


def test_truncation_keeps_the_newest() -> None:
    memory = filled(5)
    memory.truncate_to_size(10)
    assert len(memory) == 5
    memory.truncate_to_size(2)
    assert contents(memory.get_messages()) == ["3", "4"]
    memory.truncate_to_size(0)
    assert memory.get_messages() == []


def test_changing_a_returned_value_does_not_change_the_memory() -> None:
    memory = filled(2)
    messages: list[Any] = memory.get_messages()
    messages.insert(0, {"role": "system", "content": "Relevant memories"})
    messages[1].to_dict()["content"] = "changed"
    memory.to_dict()[0]["content"] = "changed"
    assert contents(memory.get_messages()) == ["0", "1"]


def test_state_round_trip() -> None:
    memory = filled(3)
    state = json.loads(json.dumps(memory.state_dict()))
    other = filled(1)
    other.load_state_dict(state)
    assert other.get_messages() == memory.get_messages()
    limited = ConversationMemory(max_messages=2)
    limited.load_state_dict(state)
    assert contents(limited.get_messages()) == ["1", "2"]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("text", InvalidInput),
        ({}, InvalidInput),
        ({"messages": "text"}, InvalidInput),
        ({"messages": [{"role": "user"}, {"role": "robot"}]}, InvalidInput),
        ({"messages": [], "colour": "blue"}, InvalidInput),
        ({"messages": [], "version": 2}, Incompatible),
        ({"messages": [], "format": "something else"}, Incompatible),
    ],
)
def test_invalid_state_changes_nothing(state: Any, error: type[Exception]) -> None:
    memory = filled(2)
    with pytest.raises(error):
        memory.load_state_dict(state)
    assert contents(memory.get_messages()) == ["0", "1"]


def test_without_strict_unknown_keys_are_ignored() -> None:
    memory = filled(2)
    memory.load_state_dict({"colour": "blue"}, strict=False)
    assert len(memory) == 2
    memory.load_state_dict({"messages": [], "colour": "blue"}, strict=False)
    assert len(memory) == 0


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    memory = filled(3)
    memory.add(Message("user", "snö ☃", images=["a.png"], metadata={"x": [1]}))
    memory.save_to_file(path)
    memory.save_to_file(str(path))
    other = ConversationMemory()
    other.load_from_file(path)
    assert other.get_messages() == memory.get_messages()
    assert [file.name for file in tmp_path.iterdir()] == ["conversation.json"]


def test_file_with_a_plain_list_of_messages_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps(filled(2).to_dict()), encoding="utf-8")
    memory = ConversationMemory()
    memory.load_from_file(path)
    assert contents(memory.get_messages()) == ["0", "1"]


def test_damaged_file_raises_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    filled(2).save_to_file(path)
    whole = path.read_bytes()
    memory = filled(1)
    damaged = [whole[:cut] for cut in range(len(whole))]
    for bytes_ in [*damaged, b"\xff\xfe", b"3", b'"text"', b"[" * 100_000, whole.replace(b"user", b"robo")]:
        path.write_bytes(bytes_)
        with pytest.raises((Incompatible, InvalidInput)):
            memory.load_from_file(path)
        assert contents(memory.get_messages()) == ["0"]


def test_file_of_a_newer_version_and_missing_file_raise(tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps({**filled(1).state_dict(), "version": 99}))
    with pytest.raises(Incompatible, match="version 99"):
        ConversationMemory().load_from_file(path)
    with pytest.raises(FileNotFoundError):
        ConversationMemory().load_from_file(tmp_path / "nothing.json")


def test_file_that_cannot_be_read_or_written_is_an_error_of_ours(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    readers: list[Callable[[Path], object]] = [
        ConversationMemory().load_from_file,
        import_conversation,
        read_chatgpt_export,
    ]
    for name in ("nothing.json", "", "loop.json", "nothing/a.json", "x" * 300 + ".json", "a\0b.json", "/dev/zero"):
        for read in readers:
            with pytest.raises(MemorandaError):
                read(tmp_path / name)
    for name in ("nothing/a.json", "", "x" * 300, "/dev/full"):
        with pytest.raises(MemorandaError):
            filled(1).save_to_file(tmp_path / name)


def test_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "conversation.json"
    filled(1).save_to_file(path)
    before = path.read_bytes()

    def no_space(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        filled(9).save_to_file(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("wrong", [0, -1, "10", 2.0, True])
def test_limits_that_are_no_positive_integers_raise(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="max_messages"):
        ConversationMemory(max_messages=wrong)
    for call in (lambda m: m.get_recent(-1), lambda m: m.truncate_to_size(-1)):
        with pytest.raises(InvalidInput, match="give at least 0"):
            call(filled(1))


def test_unknown_retention_policy_raises_and_lists_the_known_ones() -> None:
    assert ConversationMemory(retention_policy="persistent").retention_policy == "persistent"
    with pytest.raises(InvalidInput, match="single_run, session, persistent"):
        ConversationMemory(retention_policy="forever")


def test_concurrent_threads_lose_no_message() -> None:
    memory = ConversationMemory()
    shared = [Message("user", "same", message_id=f"s{i}") for i in range(50)]

    def work(worker: int) -> None:
        for i in range(200):
            memory.add_message(Message("user", f"{worker}-{i}"))
            memory.get_recent(5)
        memory.add(shared)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memory) == 8 * 200 + 50
    from_worker_3 = [str(text) for text in contents(memory.get_messages()) if str(text).startswith("3-")]
    assert from_worker_3 == [f"3-{i}" for i in range(200)]
