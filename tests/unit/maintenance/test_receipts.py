from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import ANY, InvalidInput, MemoryManager, Message, NotFound, Unavailable, aio
from memoranda.maintenance.erasure import ErasedTexts
from memoranda.maintenance.forget import MemoryEraser, is_erasure_pending
from memoranda.maintenance.receipts import finish_receipts
from memoranda.results.maintenance import ForgetReceipt, StoreReceipt
from memoranda.storage.base import Store
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import restore
from tests.driver import sqlite3
from tests.fake_clock import FakeClock
from tests.unit.maintenance.samples import NOW as START
from tests.unit.maintenance.samples import open_manager

NAME = "zebedeia"


@pytest.fixture
def manager(path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with open_manager(path, clock) as manager:
        yield manager


def places(receipt: ForgetReceipt) -> dict[str, StoreReceipt]:
    return {place.store: place for place in receipt.stores}


def run_sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def contents(manager: MemoryManager) -> list[str]:
    return sorted(memory.content for memory in manager.list_memories(user=ANY))


def test_receipt_is_stored_signed_and_found_by_user(manager: MemoryManager, path: Path, clock: FakeClock) -> None:
    manager.add_memories(["I live in Rome.", "I like tea."], user=NAME)
    manager.add_memory("I like soup.", user="bob")
    receipt = manager.forget(user=NAME)
    clock.advance(minutes=1)
    other = manager.forget(user="bob")
    assert receipt.complete
    assert manager.receipt(receipt.id) == receipt
    assert manager.receipts(user=NAME) == [receipt]
    assert manager.receipts() == [other, receipt]
    assert manager.receipts(limit=1) == [other]
    assert manager.receipts(user="nobody") == []
    manager.close()
    with open_manager(path, clock) as later:
        assert later.receipt(receipt.id) == receipt
        assert later.verify_receipt(receipt)
        assert later.verify_receipt(receipt.id)


def test_unknown_receipt_is_not_found(manager: MemoryManager) -> None:
    with pytest.raises(NotFound, match="no receipt 'none'"):
        manager.receipt("none")


def test_dry_run_stores_no_receipt(manager: MemoryManager) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    assert manager.forget(user="ada", dry_run=True).id == ""
    assert manager.receipts() == []


def test_receipts_of_another_tenant_are_not_shown(manager: MemoryManager) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    receipt = manager.forget(user="ada")
    other = manager.for_tenant("other")
    assert other.receipts() == []
    assert not other.verify_receipt(receipt)
    with pytest.raises(NotFound):
        other.receipt(receipt.id)


@pytest.mark.parametrize(
    "changed",
    [
        {"ids": ()},
        {"at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"user": "user-0000000000000000"},
        {"tombstones": ()},
        {"stores": ()},
        {"signature": ""},
    ],
)
def test_changed_receipt_is_not_verified(manager: MemoryManager, changed: dict[str, object]) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    receipt = manager.forget(user="ada")
    assert not manager.verify_receipt(replace(receipt, **changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE receipts SET receipt = replace(receipt, 'erased', 'pending')", "was changed after it was signed"),
        ("UPDATE receipts SET signature = x'00'", "was changed after it was signed"),
        ("UPDATE receipts SET signature = 'none'", "was changed after it was signed"),
        ("UPDATE receipts SET at = at - 1", "another user, time or state"),
        ("UPDATE receipts SET user = 'eve'", "another user, time or state"),
        ("UPDATE receipts SET finished = 1 - finished", "another user, time or state"),
        ("DELETE FROM receipts", "1 receipts were removed"),
    ],
)
def test_check_finds_edited_and_removed_receipts(
    manager: MemoryManager, path: Path, statement: str, problem: str
) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    manager.forget(user="ada")
    assert manager.check().ok
    run_sql(path, statement)
    assert problem in manager.check().problems[0]


def test_no_name_and_no_text_is_left_in_file_receipt_and_change_log(
    manager: MemoryManager, path: Path, clock: FakeClock
) -> None:
    manager.add_memory("I live in Rome.", user=NAME, agent=f"{NAME}-agent", session=f"{NAME}-session")
    manager.add_memory("I like soup.", user="bob")
    receipt = manager.forget(user=NAME)
    assert NAME not in repr(receipt)
    assert "Rome" not in repr(receipt)
    manager.close()
    assert [file.name for file in path.parent.iterdir() if NAME.encode() in file.read_bytes()] == []
    with open_manager(path, clock) as later:
        assert later.receipts(user=NAME)[0].user == receipt.user
        assert contents(later) == ["I like soup."]
        later.add_memory("I am back.", user=NAME)
        assert [hit.content for hit in later.recall("back", user=NAME)] == ["I am back."]


def test_name_of_user_who_still_has_memories_is_kept_in_change_log(manager: MemoryManager, path: Path) -> None:
    first, _ = manager.add_memories(["I live in Rome.", "I like tea."], user=NAME)
    manager.forget(first.id, user=NAME)
    users = sqlite3.connect(path).execute("SELECT DISTINCT user FROM changes").fetchall()
    assert users == [(NAME,)]


def test_execution_record_with_the_text_makes_receipt_incomplete(manager: MemoryManager) -> None:
    manager.add_memories(["The safe code is 4711, behind the clock.", "I like tea."], user="ada")
    record = manager.save_execution_record(
        "a", {"input": {"prompt": 'He said: "the safe code is 4711 behind the clock"'}}
    )
    manager.save_execution_record("a", {"input": "something else about tea"})
    preview = manager.forget(containing="4711", user="ada", dry_run=True)
    assert places(preview)["execution records"].status == "remains"
    receipt = manager.forget(containing="4711", user="ada")
    place = places(receipt)["execution records"]
    assert (receipt.complete, place.status, place.count) == (False, "remains", 1)
    assert record in place.detail
    assert [each.store for each in receipt.remaining] == ["execution records"]
    assert manager.verify_executions()
    tea = manager.forget(user="ada")
    assert tea.complete


def test_short_term_values_that_were_not_searched_are_named(manager: MemoryManager) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    manager.save("a", "k", "I live in Rome.")
    receipt = manager.forget(user="ada")
    assert (receipt.complete, places(receipt)["short-term values"].status) == (False, "not searched")
    assert manager.forget(agent="a").complete


def test_pending_receipt_is_finished_by_the_next_start(
    manager: MemoryManager, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    opened = manager._components.open()
    monkeypatch.setattr(opened.store, "compact", lambda: False)
    receipt = manager.forget(user="ada")
    assert (receipt.complete, places(receipt)["database file"].status) == (False, "pending")
    monkeypatch.undo()
    manager.close()
    with open_manager(path, clock) as later:
        finished = later.receipt(receipt.id)
        assert finished.complete
        assert later.verify_receipt(finished)
        assert later.check().ok


def test_crash_after_the_erasure_leaves_a_receipt(
    manager: MemoryManager, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("I live in Rome.", user="ada")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryEraser, "_clean_up", crash)
    with pytest.raises(KeyboardInterrupt):
        manager.forget(user="ada")
    manager.close()
    with open_manager(path, clock) as later:
        (receipt,) = later.receipts(user="ada")
        assert receipt.ids == (1,)
        assert later.check().ok


def test_import_leaves_out_what_was_forgotten(manager: MemoryManager, tmp_path: Path, clock: FakeClock) -> None:
    turns = [Message("user", text, timestamp=START) for text in ("I live in Rome.", "I like green tea.")]
    outcomes = manager.remember(turns, user="ada", session="s")
    ids = [outcome.memory.id for outcome in outcomes if outcome.memory]
    manager.add_memory_association(ids[0], ids[1], user="ada")
    manager.update(ids[0], "I live in Rome now.", user="ada")
    export = tmp_path / "old.jsonl"
    manager.export_jsonl(export)
    manager.forget(ids[0], user="ada")
    with open_manager(tmp_path / "fresh.db", clock) as fresh:
        assert fresh.import_jsonl(export).skipped == 0
    report = manager.import_jsonl(export)
    assert (report.skipped, report.associations) == (2, 0)
    assert "forgotten here" in (report.skipped_reason or "")
    assert "Rome" not in " ".join(contents(manager))
    assert manager.import_jsonl(export).skipped == 2
    assert manager.check().ok
    assert manager.import_jsonl(export, include_forgotten=True).skipped == 0
    assert "I live in Rome now." in contents(manager)


def test_other_users_same_words_are_imported(manager: MemoryManager, tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path / 'other.db'}", embedder=HashEmbedder()) as other:
        other.add_memory("I live in Rome.", user="bob")
        other.export_jsonl(tmp_path / "bob.jsonl")
    manager.add_memory("I live in Rome.", user="ada")
    manager.forget(user="ada")
    report = manager.import_jsonl(tmp_path / "bob.jsonl")
    assert (report.memories, report.skipped) == (1, 0)


def test_statement_said_again_is_stored(manager: MemoryManager, clock: FakeClock) -> None:
    manager.remember("I live in Rome.", user="ada")
    manager.forget(user="ada")
    clock.advance(days=1)
    (outcome,) = manager.remember("I live in Rome.", user="ada")
    assert outcome.status == "stored"
    assert manager.forget_again() is None
    assert contents(manager) == ["I live in Rome."]


def test_restored_backup_is_forgotten_again(path: Path, tmp_path: Path, clock: FakeClock) -> None:
    backup = tmp_path / "old.backup"
    with open_manager(path, clock) as manager:
        manager.save_execution_record("a", {"started": True})  # so that the backup has the key of the store
        manager.remember(Message("user", "I live in Rome.", timestamp=START), user="ada")
        manager.get_memory("helper", user="ada").add(Message("user", "I hate Rome"))
        manager.add_memory("I like soup.", user="bob")
        manager.backup(backup)
        clock.advance(days=1)
        receipts = [manager.forget(user="ada")]
        config = manager._components.config
    restore(backup, config, force=True)
    with open_manager(path, clock) as manager:
        assert contents(manager) == ["I like soup.", "I live in Rome."]
        assert manager.forget_again() is None
        with pytest.raises(InvalidInput, match="not signed by this store"):
            manager.forget_again([replace(receipts[0], ids=(7,))])
        done = manager.forget_again(receipts)
        assert done is not None
        assert contents(manager) == ["I like soup."]
        assert manager.get_memory("helper", user="ada").get_messages() == []
        assert manager.receipt(receipts[0].id) == receipts[0]
        assert manager.forget_again(receipts) is None


@pytest.mark.parametrize(
    ("erased", "text", "found"),
    [
        ("I live in Rome.", "the user said: i live in rome, I think", True),
        ("Where do I live?", "asked where do I live", True),
        ("yes", "yes, that is right", False),
        ("yes", "Yes!", True),
        ("I live in Rome.", "I live in Romeo street", False),
    ],
)
def test_erased_text_is_found_inside_another(erased: str, text: str, found: bool) -> None:
    assert ErasedTexts([erased]).is_in(text) is found


async def test_async_manager_returns_the_same_receipts(path: Path, clock: FakeClock) -> None:
    async with aio.MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(), clock=clock) as manager:
        await manager.add_memory("I live in Rome.", user="ada")
        receipt = await manager.forget(user="ada")
        assert await manager.receipts(user="ada") == [await manager.receipt(receipt.id)] == [receipt]
        assert await manager.verify_receipt(receipt)
        assert await manager.forget_again() is None


def fail_writes_after_the_erasure(store: Store, patch: pytest.MonkeyPatch) -> None:
    """Let the commit that deletes the rows pass, and no later one."""
    write = store.write
    erased: list[bool] = []

    def write_until_erased(work, **options):  # type: ignore[no-untyped-def]
        if erased:
            raise Unavailable("the disk is full")
        result = write(work, **options)
        erased.extend([True] if is_erasure_pending(store) else [])
        return result

    patch.setattr(store, "write", write_until_erased)


def test_forget_is_done_when_its_receipt_cannot_be_written_again(
    manager: MemoryManager, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    store = manager._components.open().store
    with monkeypatch.context() as patch:
        fail_writes_after_the_erasure(store, patch)
        receipt = manager.forget(user="ada")
    assert (receipt.complete, places(receipt)["database file"].status) == (False, "pending")
    assert manager.receipt(receipt.id) == receipt
    assert manager.list_memories(user="ada") == []
    assert not is_erasure_pending(store)  # the file was cleaned: only the receipt does not say so yet
    manager.close()
    with open_manager(path, clock) as later:
        finished = later.receipt(receipt.id)
        assert finished.complete
        assert finished.ids == receipt.ids
        assert later.verify_receipt(finished)
        assert {place.store for place in finished.stores} >= {"memories", "execution records", "backups"}


def test_unfinished_receipt_still_names_what_remains(manager: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    manager.save("a", "k", "I live in Rome.")
    manager.save_execution_record("a", {"input": "I live in Rome."})
    with monkeypatch.context() as patch:
        fail_writes_after_the_erasure(manager._components.open().store, patch)
        receipt = manager.forget(user="ada")
    manager.upkeep(policies=["expire"])
    finished = manager.receipt(receipt.id)
    assert places(finished)["database file"].status == "erased"
    assert {place.store for place in finished.remaining} == {"execution records", "short-term values"}


def test_receipt_is_not_finished_while_somebody_else_has_erased_more(
    manager: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    opened = manager._components.open()
    with monkeypatch.context() as patch:
        patch.setattr(opened.store, "compact", lambda: False)
        receipt = manager.forget(user="ada")
    finish_receipts(opened.store, opened.key)
    assert manager.receipt(receipt.id) == receipt
    assert opened.compact()
    assert manager.receipt(receipt.id).complete


def test_store_opens_when_pending_receipts_cannot_be_written(
    manager: MemoryManager, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("I live in Rome.", user="ada")
    manager.add_memory("I like soup.", user="bob")
    with monkeypatch.context() as patch:
        patch.setattr(manager._components.open().store, "compact", lambda: False)
        receipt = manager.forget(user="ada")
    manager.close()
    key = path.with_name(f"{path.name}.key")
    saved = key.read_bytes()
    key.unlink()
    with open_manager(path, clock) as later:
        assert contents(later) == ["I like soup."]
    key.write_bytes(saved)
    with open_manager(path, clock) as later:
        assert later.receipt(receipt.id).complete
