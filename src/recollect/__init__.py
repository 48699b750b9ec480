"""Memory for AI agents: complete without a model, better with one."""

from recollect.conversation.memory import ConversationMemory
from recollect.conversation.summarizing import SummarizingMemory
from recollect.errors import (
    Closed,
    Conflict,
    ExtractionFailed,
    Incompatible,
    InvalidInput,
    InvalidType,
    MissingExtra,
    NotFound,
    RecollectError,
    Unavailable,
)
from recollect.manager import MemoryManager
from recollect.messages.anthropic import format_for_anthropic, from_anthropic, system_text
from recollect.messages.calls import AgentCallMsg, ToolCallMsg
from recollect.messages.content import MessageContent
from recollect.messages.message import Message
from recollect.messages.openai import format_for_openai, from_openai
from recollect.settings import MemoryConfig, get_settings
from recollect.types import ANY, Association, Hit, Memory, MemoryType, Outcome, Recall, Scope

MemoryAssociation = Association
MemoryEntry = Memory
MemoryTypes = MemoryType

__all__ = [
    "ANY",
    "AgentCallMsg",
    "Association",
    "Closed",
    "Conflict",
    "ConversationMemory",
    "ExtractionFailed",
    "Hit",
    "Incompatible",
    "InvalidInput",
    "InvalidType",
    "Memory",
    "MemoryAssociation",
    "MemoryConfig",
    "MemoryEntry",
    "MemoryManager",
    "MemoryType",
    "MemoryTypes",
    "Message",
    "MessageContent",
    "MissingExtra",
    "NotFound",
    "Outcome",
    "Recall",
    "RecollectError",
    "Scope",
    "SummarizingMemory",
    "ToolCallMsg",
    "Unavailable",
    "format_for_anthropic",
    "format_for_openai",
    "from_anthropic",
    "from_openai",
    "get_settings",
    "system_text",
]
