"""The model of a disk after a power cut: what was synced is there, of the rest any part."""

from __future__ import annotations

import os
import random

from tests.prove.disk import MODES, SECTOR, Disk, DiskFile, Progress
from tests.prove.shim import Event

FOLDER = "/store"


def event(kind: str, fd: int = 3, offset: int = 0, first: bytes = b"", second: bytes = b"") -> Event:
    return Event(kind, fd, offset, first, second)


def opened(name: bytes = b"/store/a", fd: int = 3) -> Event:
    return event("O", fd, os.O_RDWR | os.O_CREAT, name)


def images(disk: Disk) -> list[dict[str, bytes]]:
    return [disk.image(random.Random(seed), mode) for mode in MODES for seed in range(20)]


def disk_after(*events: Event, obeys_sync: bool = True) -> Disk:
    disk = Disk(FOLDER, obeys_sync)
    for each in events:
        disk.apply(each)
    return disk


SYNC_FOLDER = (event("O", 9, os.O_RDONLY, b"/store"), event("S", 9))


def test_synced_write_in_a_synced_folder_is_in_every_image() -> None:
    disk = disk_after(opened(), event("W", first=b"kept"), event("S"), *SYNC_FOLDER)
    assert {image.get("a") for image in images(disk)} == {b"kept"}


def test_write_that_was_not_synced_is_in_some_images_only() -> None:
    disk = disk_after(opened(), event("S"), *SYNC_FOLDER, event("W", first=b"lost?"))
    assert {image["a"] for image in images(disk)} == {b"", b"lost?"}


def test_file_whose_folder_was_not_synced_can_be_missing() -> None:
    disk = disk_after(opened(), event("W", first=b"x"), event("S"))
    assert {"a" in image for image in images(disk)} == {True, False}


def test_sync_that_does_nothing_can_lose_everything() -> None:
    disk = disk_after(opened(), event("W", first=b"x"), event("S"), *SYNC_FOLDER, obeys_sync=False)
    assert {} in images(disk)


def test_torn_write_has_whole_sectors_of_it() -> None:
    disk = disk_after(opened(), event("S"), *SYNC_FOLDER, event("W", first=b"1" * (4 * SECTOR)))
    torn = [disk.image(random.Random(seed), "torn")["a"] for seed in range(40)]
    assert any(b"1" in image and b"\0" in image for image in torn)
    for image in torn:
        assert all(len(set(image[at : at + SECTOR])) == 1 for at in range(0, len(image), SECTOR))


def test_later_write_of_a_sector_never_comes_without_the_earlier_one() -> None:
    writes = (event("W", first=b"a" * 10), event("W", offset=10, first=b"b" * 10))
    disk = disk_after(opened(), event("S"), *SYNC_FOLDER, *writes)
    assert {image["a"] for image in images(disk)} == {b"", b"a" * 10, b"a" * 10 + b"b" * 10}


def test_rename_is_there_or_not_and_never_half() -> None:
    disk = disk_after(opened(), event("W", first=b"new"), event("S"), *SYNC_FOLDER)
    disk.apply(event("R", -1, 0, b"/store/a", b"/store/b"))
    assert {tuple(image) for image in images(disk)} == {("a",), ("b",)}


def test_what_a_failed_sync_dropped_is_not_on_disk_after_a_later_sync() -> None:
    file = DiskFile()
    file.pending.append((0, b"dropped" + bytes(SECTOR)))
    file.fail_sync()
    file.pending.append((2 * SECTOR, b"written"))
    file.sync()
    assert b"dropped" not in file.content
    assert b"written" in file.content
    assert b"dropped" in file.image(random.Random(0), "all")


def test_progress_allows_the_operation_under_way_and_nothing_else() -> None:
    progress = Progress()
    progress.read(b'{"kind": "add", "put": {"a": "1"}, "drop": [], "atomic": true}')
    progress.read(b"done")
    progress.read(b'{"kind": "add", "put": {"b": "1"}, "drop": [], "atomic": true}')
    assert progress.allows({"a": "1"})
    assert progress.allows({"a": "1", "b": "1"})
    assert not progress.allows({})
    assert not progress.allows({"a": "1", "c": "1"})
