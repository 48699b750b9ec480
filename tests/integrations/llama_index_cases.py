from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLMWithChatMemoryOfLastCall as ScriptedLLM
from llama_index.core.memory import Memory

from memoranda import MemoryManager, aio
from memoranda.errors import InvalidType
from memoranda.integrations.llama_index import MemorandaMemoryBlock

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


async def test_sync_manager_is_refused_with_the_name_of_the_right_one(tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "memories.db") as manager, pytest.raises(InvalidType, match=r"memoranda\.aio"):
        MemorandaMemoryBlock(manager)
