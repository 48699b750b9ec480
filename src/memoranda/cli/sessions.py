"""`memoranda session` and `memoranda executions`: what workflows and agents did."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli.options import CommandOptions, command
from memoranda.cli.output import DAMAGED, make_group, message, print_result, record_table, table
from memoranda.errors import NotFound

sessions = make_group("Show and clear the sessions of workflows.")
executions = make_group("Show and verify the audit trail of what agents did.")

Workflow = Annotated[str, typer.Argument(help="Id of the workflow.")]
OnlyWorkflow = Annotated[str | None, typer.Option("--workflow", "-w", help="Only this workflow.")]
OnlyAgent = Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of results.")]


def list_sessions(options: CommandOptions, workflow: OnlyWorkflow = None, limit: Limit = 20) -> None:
    """List sessions that have ended, newest first."""
    with options.open_manager() as manager:
        found = manager.get_sessions(workflow, limit)
    columns = ("workflow_id", "session_id", "agents", "messages", "duration")
    rows = ([session.get(column) for column in columns] for session in found)
    print_result(found, options.as_json, lambda: table(columns, rows))


def show_session(options: CommandOptions, workflow: Workflow, limit: Limit = 20) -> None:
    """Show the conversation of an open workflow, oldest message first."""
    with options.open_manager() as manager:
        history = manager.get_conversation_history(workflow, limit)
    rows = ((item.timestamp.isoformat(timespec="seconds"), item.agent_id, item.role, item.content) for item in history)
    columns = ("at", "agent", "role", "content")
    print_result(history, options.as_json, lambda: table(columns, rows, wide="content"))


def clear_session(options: CommandOptions, workflow: Workflow) -> None:
    """Delete the session data of a workflow."""
    with options.open_manager() as manager:
        if not manager.clear_session(workflow):
            raise NotFound(f"workflow {workflow} has no open session")
    print_result({"cleared": workflow}, options.as_json, message(f"{workflow} cleared"))


def list_executions(
    options: CommandOptions,
    agent: OnlyAgent = None,
    workflow: OnlyWorkflow = None,
    status: Annotated[str | None, typer.Option(help="Only this status.")] = None,
    limit: Limit = 20,
    cursor: Annotated[str | None, typer.Option(help="The next_cursor of the previous page.")] = None,
) -> None:
    """List execution records, newest first."""
    with options.open_manager() as manager:
        page = manager.get_execution_records(agent, limit, status, workflow=workflow, cursor=cursor)
    columns = ("number", "recorded_at", "agent_id", "workflow_id", "status", "duration_ms", "id")
    rows = ([record[column] for column in columns] for record in page)
    print_result(page, options.as_json, lambda: table(columns, rows))


def show_stats(options: CommandOptions, agent: OnlyAgent = None, workflow: OnlyWorkflow = None) -> None:
    """Count executions by status and show their durations."""
    with options.open_manager() as manager:
        stats = manager.get_execution_stats(agent, workflow=workflow)
    print_result(stats, options.as_json, lambda: record_table(stats))


def verify(
    options: CommandOptions,
    head: Annotated[str | None, typer.Option(help="Head of the chain as an earlier `verify` printed it.")] = None,
) -> None:
    """Check that no record was edited, removed, moved or cut off."""
    with options.open_manager() as manager:
        report = manager.verify_executions(head)
    intact = message(f"{report.checked} records are unchanged; head {report.head}")
    problem = message(f"record {report.first_bad}: {report.problem}", "red")
    print_result(report, options.as_json, intact if report.ok else problem)
    if not report.ok:
        raise typer.Exit(DAMAGED)


command(sessions, "list")(list_sessions)
command(sessions, "show")(show_session)
command(sessions, "clear")(clear_session)
command(executions, "list")(list_executions)
command(executions, "stats")(show_stats)
command(executions, "verify")(verify)
