"""`memoranda session` and `memoranda executions`: what workflows and agents did."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli.calls import Call, command
from memoranda.cli.errors import DAMAGED, group
from memoranda.cli.output import record, said, show, table
from memoranda.errors import NotFound

sessions = group("What took place in workflows.")
executions = group("The audit trail of what agents did.")

Workflow = Annotated[str, typer.Argument(help="The workflow's id.")]
OfWorkflow = Annotated[str | None, typer.Option("--workflow", "-w", help="Only this workflow.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many at most.")]
OfAgent = Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent.")]


def list_sessions(call: Call, workflow: OfWorkflow = None, limit: Limit = 20) -> None:
    """List sessions that ended, the newest first."""
    with call.manager() as manager:
        found = manager.get_sessions(workflow, limit)
    columns = ("workflow_id", "session_id", "agents", "messages", "duration")
    rows = [[_cell(each.get(column)) for column in columns] for each in found]
    show(found, call.as_json, lambda: table(columns, rows))


def show_session(call: Call, workflow: Workflow, limit: Limit = 20) -> None:
    """The conversation of a workflow that is open, in its order."""
    with call.manager() as manager:
        history = manager.get_conversation_history(workflow, limit)
    rows = ((each.timestamp.isoformat(timespec="seconds"), each.agent_id, each.role, each.content) for each in history)
    show(history, call.as_json, lambda: table(("at", "agent", "role", "content"), rows, wide="content"))


def clear_session(call: Call, workflow: Workflow) -> None:
    """Remove what a workflow keeps for the time of its sessions."""
    with call.manager() as manager:
        if not manager.clear_session(workflow):
            raise NotFound(f"no open session of workflow {workflow}")
    show({"cleared": workflow}, call.as_json, said(f"{workflow} cleared"))


def list_executions(
    call: Call,
    agent: OfAgent = None,
    workflow: OfWorkflow = None,
    status: Annotated[str | None, typer.Option(help="Only this status.")] = None,
    limit: Limit = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on from here: the next_cursor of the last answer.")] = None,
) -> None:
    """List execution records, the newest first."""
    with call.manager() as manager:
        page = manager.get_execution_records(agent, limit, status, workflow=workflow, cursor=cursor)
    columns = ("number", "recorded_at", "agent_id", "workflow_id", "status", "duration_ms", "id")
    rows = [[_cell(record[column]) for column in columns] for record in page]
    show(page, call.as_json, lambda: table(columns, rows))


def show_stats(call: Call, agent: OfAgent = None, workflow: OfWorkflow = None) -> None:
    """How many there were, how they ended, and how long they took."""
    with call.manager() as manager:
        stats = manager.get_execution_stats(agent, workflow=workflow)
    show(stats, call.as_json, lambda: record(stats))


def verify(call: Call, head: Annotated[str | None, typer.Option(help="A head noted earlier.")] = None) -> None:
    """Look whether any record was edited, removed, moved or cut off."""
    with call.manager() as manager:
        report = manager.verify_executions(head)
    text = f"{report.checked} records are as they were written; head {report.head}"
    problem = f"record {report.first_bad}: {report.problem}"
    show(report, call.as_json, said(text) if report.ok else said(problem, "red"))
    if not report.ok:
        raise typer.Exit(DAMAGED)


def _cell(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple | dict) else value


command(sessions, "list")(list_sessions)
command(sessions, "show")(show_session)
command(sessions, "clear")(clear_session)
command(executions, "list")(list_executions)
command(executions, "stats")(show_stats)
command(executions, "verify")(verify)
