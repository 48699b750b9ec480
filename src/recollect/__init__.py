"""Memory for AI agents: complete without a model, better with one."""

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
from recollect.messages.calls import AgentCallMsg, ToolCallMsg
from recollect.messages.content import MessageContent
from recollect.messages.message import Message
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
    "ToolCallMsg",
    "Unavailable",
    "get_settings",
]
