"""The result types that the client deserializes, gathered here until `memoranda.results` holds them all."""

from memoranda.executions.executions import ExecutionPage, ExecutionStats
from memoranda.knowledge.knowledge import KnowledgeReport, KnowledgeSource
from memoranda.maintenance.forget import ForgetReceipt
from memoranda.maintenance.health import Health, Stats
from memoranda.maintenance.history import History
from memoranda.maintenance.upkeep import UpkeepReport
from memoranda.memories.changes import VerificationReport
from memoranda.memories.memories import CleanupReport
from memoranda.transfer.export import ExportReport
from memoranda.transfer.importing import ImportReport

__all__ = [
    "CleanupReport",
    "ExecutionPage",
    "ExecutionStats",
    "ExportReport",
    "ForgetReceipt",
    "Health",
    "History",
    "ImportReport",
    "KnowledgeReport",
    "KnowledgeSource",
    "Stats",
    "UpkeepReport",
    "VerificationReport",
]
