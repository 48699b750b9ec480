"""Memory for AI agents: complete without a model, better with one."""

from recollect.agents import BaseAgent, MemoryMixin
from recollect.conversation.memory import ConversationMemory
from recollect.conversation.summarizing import SummarizingMemory
from recollect.conversing import ConversationContext
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
from recollect.manager import MemoryManager, create_session
from recollect.messages.anthropic import format_for_anthropic, from_anthropic, system_text
from recollect.messages.calls import AgentCallMsg, ToolCallMsg
from recollect.messages.content import MessageContent
from recollect.messages.message import Message
from recollect.messages.openai import format_for_openai, from_openai
from recollect.persistence.base import MemoryBase, PersistentMemoryBase
from recollect.persistent import PersistentMemory
from recollect.session.context import SessionContext
from recollect.settings import MemoryConfig, get_settings
from recollect.types import ANY, Association, Hit, Memory, MemoryType, Outcome, Recall, Scope

MemoryAssociation = Association
MemoryEntry = Memory
MemoryTypes = MemoryType

__all__ = [
    "ANY",
    "AgentCallMsg",
    "Association",
    "BaseAgent",
    "Closed",
    "Conflict",
    "ConversationContext",
    "ConversationMemory",
    "ExtractionFailed",
    "Hit",
    "Incompatible",
    "InvalidInput",
    "InvalidType",
    "Memory",
    "MemoryAssociation",
    "MemoryBase",
    "MemoryConfig",
    "MemoryEntry",
    "MemoryManager",
    "MemoryMixin",
    "MemoryType",
    "MemoryTypes",
    "Message",
    "MessageContent",
    "MissingExtra",
    "NotFound",
    "Outcome",
    "PersistentMemory",
    "PersistentMemoryBase",
    "Recall",
    "RecollectError",
    "Scope",
    "SessionContext",
    "SummarizingMemory",
    "ToolCallMsg",
    "Unavailable",
    "create_session",
    "format_for_anthropic",
    "format_for_openai",
    "from_anthropic",
    "from_openai",
    "get_settings",
    "system_text",
]
