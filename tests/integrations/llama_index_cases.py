from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLMWithChatMemoryOfLastCall as ScriptedLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from memoranda import MemoryManager, aio
from memoranda.errors import InvalidType
from memoranda.integrations.llama_index import MemorandaChatStore, MemorandaMemoryBlock

pytestmark = pytest.mark.filterwarnings("default")  # LlamaIndex uses old names of pydantic and leaves a database open
DOG = "My dog Rex is allergic to chicken and eats only fish."
CHAT = [DOG, "I moved to Lisbon in May and work as a pilot of ships at the harbour.", "Tell me more.", "And then?"]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with aio.MemoryManager(tmp_path / "memories.db") as manager:
        yield manager


def chat_memory(block: MemorandaMemoryBlock, session: str, *, tokens: int = 2000) -> Memory:
    return Memory.from_defaults(
        session_id=session,
        token_limit=tokens,
        token_flush_size=5,
        chat_history_token_ratio=0.5,
        memory_blocks=[block],
        tokenizer_fn=str.split,
    )


def prompt_of(llm: ScriptedLLM) -> str:
    return "\n".join(message.content or "" for message in llm.last_chat_messages or ())


async def test_agent_is_given_what_was_said_in_another_session(memory: aio.MemoryManager) -> None:
    block = MemorandaMemoryBlock(memory, user="ann")
    llm = ScriptedLLM()
    agent = FunctionAgent(tools=[], llm=llm)
    first = chat_memory(block, "first", tokens=30)
    for text in CHAT:
        await agent.run(text, memory=first)
    await agent.run("What can I feed my dog?", memory=chat_memory(block, "second"))
    assert "<long_term_memory>" in prompt_of(llm)
    assert DOG in prompt_of(llm)
    stored = await memory.list_memories(user="ann")
    assert {each.session for each in stored} == {"first"}
    assert stored[0].speaker == "user"


async def test_agent_is_not_given_what_another_user_said(memory: aio.MemoryManager) -> None:
    await MemorandaMemoryBlock(memory, user="ann").aput([ChatMessage(role="user", content=DOG)])
    llm = ScriptedLLM()
    chat = chat_memory(MemorandaMemoryBlock(memory, user="bob"), "chat of bob")
    await FunctionAgent(tools=[], llm=llm).run("What can I feed my dog?", memory=chat)
    assert "Rex" not in prompt_of(llm)


@pytest.mark.parametrize("role", list(MessageRole))
async def test_message_of_every_role_is_accepted(memory: aio.MemoryManager, role: MessageRole) -> None:
    await MemorandaMemoryBlock(memory, user="ann").aput([ChatMessage(role=role, content=DOG)])
    assert [each.content for each in await memory.list_memories(user="ann")] in ([DOG], [])


async def test_block_without_question_is_empty(memory: aio.MemoryManager) -> None:
    block = MemorandaMemoryBlock(memory, user="ann")
    await block.aput([ChatMessage(role="user", content=DOG), ChatMessage(role="assistant", content=None)])
    assert await block.aget([]) == ""
    assert await block.aget([ChatMessage(role="assistant", content="What about the dog?")]) == ""


async def test_block_of_one_session_recalls_only_that_session(memory: aio.MemoryManager) -> None:
    await MemorandaMemoryBlock(memory, user="ann", session="one").aput([ChatMessage(role="user", content=DOG)])
    question = [ChatMessage(role="user", content="What can I feed my dog?")]
    assert DOG in await MemorandaMemoryBlock(memory, user="ann", session="one").aget(question)
    assert DOG not in await MemorandaMemoryBlock(memory, user="ann", session="two").aget(question)


async def test_every_source_is_taken(tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "memories.db") as manager:
        await MemorandaMemoryBlock(manager).aput([ChatMessage(role="user", content=DOG)])
    block = MemorandaMemoryBlock(tmp_path / "memories.db")
    assert DOG in await block.aget([ChatMessage(role="user", content="What can I feed my dog?")])
    await block.memory.close()
    with pytest.raises(InvalidType, match=r"memoranda\.MemoryManager, or the path"):
        MemorandaMemoryBlock(5)  # type: ignore[arg-type]


async def test_chat_is_continued_by_another_process_and_recalled_in_other_chats(tmp_path: Path) -> None:
    llm = ScriptedLLM()
    agent = FunctionAgent(tools=[], llm=llm)
    for session, text in (("monday", DOG), ("monday", "And rice?"), ("friday", "What can I feed my dog?")):
        async with aio.MemoryManager(tmp_path / "memories.db") as memory:
            chat = Memory.from_defaults(
                session_id=session,
                chat_store=MemorandaChatStore(memory, user="ann"),
                memory_blocks=[MemorandaMemoryBlock(memory, user="ann")],
                tokenizer_fn=str.split,
            )
            await agent.run(text, memory=chat)
            said = [message.content for message in await chat.aget_all()]
    assert len(said) == 2
    assert DOG in prompt_of(llm)
    async with aio.MemoryManager(tmp_path / "memories.db") as memory:
        store = MemorandaChatStore(memory, user="ann")
        assert await store.get_keys() == ["friday", "monday"]
        await store.add_message("late", ChatMessage(role="tool", content="a\0b, half \ud83d"))
        assert (await store.get_messages("late"))[0].content == "a\0b, half \ud83d"
        assert [message.role.value for message in await store.get_messages("monday")] == ["user", "assistant"] * 2


async def test_chat_store_does_what_the_store_of_llama_index_does(memory: aio.MemoryManager) -> None:
    """The same calls on both stores, and the same messages and counts after each."""
    ours, theirs = MemorandaChatStore(memory, remember=False), SQLAlchemyChatStore(table_name="chats")
    chat = [ChatMessage(role="user", content=f"text {number}", additional_kwargs={"n": number}) for number in range(6)]
    chat[2].content = "a\0b"
    steps = [
        ("add_messages", "a", chat[:4]),
        ("add_message", "b", chat[4]),
        ("archive_oldest_messages", "a", 2),
        ("delete_oldest_messages", "a", 1),
        ("delete_message", "a", 1),
        ("delete_message", "a", 99),
        ("set_messages", "b", chat[3:6]),
        ("archive_oldest_messages", "c", 3),
        ("delete_messages", "a", MessageStatus.ARCHIVED),
        ("delete_messages", "b"),
    ]
    for name, *arguments in steps:
        assert await getattr(ours, name)(*arguments) == await getattr(theirs, name)(*arguments), name
        for key in "abc":
            for status in (None, *MessageStatus):
                assert await ours.get_messages(key, status) == await theirs.get_messages(key, status), name
                assert await ours.count_messages(key, status) == await theirs.count_messages(key, status), name
                assert await ours.get_messages(key, status, 1, 1) == await theirs.get_messages(key, status, 1, 1), name
        assert await ours.get_keys() == sorted(await theirs.get_keys()), name


async def test_messages_of_concurrent_writers_are_all_kept(memory: aio.MemoryManager) -> None:
    stores = [MemorandaChatStore(memory, user="ann", remember=False) for _ in range(5)]
    texts = [f"text {number}" for number in range(5)]
    pairs = zip(stores, texts, strict=True)
    await asyncio.gather(*(store.add_message("a", ChatMessage(role="user", content=text)) for store, text in pairs))
    assert sorted(message.content or "" for message in await stores[0].get_messages("a")) == texts
    assert await MemorandaChatStore(memory, user="bob").get_messages("a") == []
