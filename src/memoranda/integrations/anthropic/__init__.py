"""Anthropic's memory tool (`memory_20250818`) on Memoranda: what Claude writes down is kept, searched and recalled.

    client.beta.messages.run_tools(..., tools=[MemorandaMemoryTool(memory, user="ann")])

`pip install memoranda[anthropic]`
"""

from memoranda.integrations.anthropic.memory_tool import AsyncMemorandaMemoryTool, MemorandaMemoryTool

__all__ = ["AsyncMemorandaMemoryTool", "MemorandaMemoryTool"]
