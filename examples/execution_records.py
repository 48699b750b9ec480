"""An audit trail of what agents did, with a check that no record was changed."""

from memoranda import MemoryManager

with MemoryManager() as memory_manager:
    for status, duration in [("success", 120), ("success", 80), ("failed", 950)]:
        record_id = memory_manager.save_execution_record(
            agent_id="analytics_agent",
            record={
                "status": status,
                "input": {"report": "weekly", "api_key": "not-for-the-record"},
                "output": {"rows": 42},
                "duration_ms": duration,
            },
        )
    print("the last record is", record_id)

    # Secrets are removed before a record is written
    newest = memory_manager.get_execution_records("analytics_agent", limit=1)[0]
    print("its input:", newest["input"])

    failed = memory_manager.get_execution_records("analytics_agent", status_filter="failed")
    print(f"{len(failed)} failed")

    stats = memory_manager.get_execution_stats("analytics_agent")
    print(
        f"{stats.count} executions, {stats.by_status}, median {stats.median_ms:.0f} ms, at most {stats.max_ms:.0f} ms"
    )

    report = memory_manager.verify_executions()
    print(f"unchanged: {report.ok}, {report.checked} records checked")

    # Export as plain files for other programs
    written = memory_manager.export_files("exported")
    print(f"{written.executions} records in", *sorted(path.name for path in written.folder.rglob("*.jsonl")))
