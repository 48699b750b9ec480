"""Let the triggers that count keep the newest time.

When the table was renamed, SQLite also renamed `excluded` in them: they compared the stored time with itself.
"""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"

_COUNT = (
    "INSERT INTO counters VALUES (NEW.tenant, '{kind}', NEW.{column}, 1, NEW.recorded_at)"
    " ON CONFLICT DO UPDATE SET entries = entries + 1, last_at = max(last_at, NEW.recorded_at);"
)
_UNCOUNT = (
    "UPDATE counters SET entries = entries - 1 WHERE tenant = OLD.tenant AND kind = '{kind}' AND name = OLD.{column};"
)


def upgrade() -> None:
    moved = "".join(text.format(kind=kind, column=kind) for text in (_UNCOUNT, _COUNT) for kind in ("type", "agent"))
    for statement in (
        "DROP TRIGGER memories_moved",
        "CREATE TRIGGER memories_moved AFTER UPDATE OF tenant, type, agent ON memories"
        " WHEN OLD.tenant != NEW.tenant OR OLD.type != NEW.type OR OLD.agent != NEW.agent"
        f" BEGIN {moved} END",
        "DROP TRIGGER executions_added",
        "CREATE TRIGGER executions_added AFTER INSERT ON executions"
        f" BEGIN {_COUNT.format(kind='execution', column='agent')} END",
        "UPDATE counters SET last_at = max(last_at, coalesce((SELECT max(recorded_at) FROM executions"
        " WHERE executions.tenant = counters.tenant AND agent = name), 0)) WHERE kind = 'execution'",
        "UPDATE counters SET last_at = max(last_at, newest) FROM"
        " (SELECT tenant AS of, agent, max(recorded_at) AS newest FROM memories GROUP BY tenant, agent)"
        " WHERE tenant = of AND name = agent AND kind = 'agent'",
    ):
        op.execute(statement)
