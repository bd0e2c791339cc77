"""What a host does with a store besides its files: keyslots, backups, checks, rewrites, and what a call says of its progress."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import unix

import inmost
from inmost import errors


def test_each_keyslot_opens_the_store_until_it_is_removed(tmp_path: Path) -> None:
    path, first, second, paper = tmp_path / "s", os.urandom(32), os.urandom(32), inmost.generate_recovery_key()
    with inmost.Store.create(path, raw_key=first) as store:
        assert store.keyslots.add(raw_key=second, label="the server") == 1
        assert store.keyslots.add(recovery_key=paper) == 2
        slots = store.keyslots.list()
        assert [(slot.number, slot.kind, slot.label) for slot in slots] == [
            (0, "raw key", "raw key"),
            (1, "raw key", "the server"),
            (2, "recovery key", "recovery key"),
        ]
        assert [slot.is_current for slot in slots] == [True, False, False]
        assert abs(slots[0].created - datetime.now(timezone.utc)) < timedelta(hours=1)
    with inmost.Store.open(path, recovery_key=paper) as store:
        store.keyslots.remove(1)
        with pytest.raises(errors.NoSuchSlot) as raised:
            store.keyslots.remove(1)
        assert raised.value.slot == 1
        store.keyslots.replace(0, raw_key=second, label="again")
        assert [slot.label for slot in store.keyslots.list()] == ["again", "recovery key"]
    inmost.Store.open(path, raw_key=second).close()
    with pytest.raises(errors.WrongKey):
        inmost.Store.open(path, raw_key=first)


def test_a_passphrase_is_changed_and_the_last_slot_stays(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with inmost.Store.create(path, passphrase="old phrase") as store:
        store.keyslots.replace(0, passphrase="new phrase")
        with pytest.raises(errors.LastSlot):
            store.keyslots.remove(0)
    inmost.Store.open(path, passphrase="new phrase").close()
    with pytest.raises(errors.WrongPassphrase):
        inmost.Store.open(path, passphrase="old phrase")


def test_a_rotation_keeps_one_credential_and_returns_the_others(tmp_path: Path, key: bytes) -> None:
    path, other = tmp_path / "s", os.urandom(32)
    with inmost.Store.create(path, raw_key=key) as store:
        store.files.write("/memories/a.md", "tea")
        store.keyslots.add(raw_key=other, label="lost laptop")
        with pytest.raises(errors.WrongKey):
            store.keyslots.rotate(raw_key=os.urandom(32))
        assert [slot.label for slot in store.keyslots.rotate(raw_key=key)] == ["lost laptop"]
        assert store.files.read("/memories/a.md") == "tea"
    inmost.Store.open(path, raw_key=key).close()
    with pytest.raises(errors.WrongKey):
        inmost.Store.open(path, raw_key=other)


def test_wrong_arguments_of_keyslots_change_nothing(on_disk: Callable[[], inmost.Store], store: inmost.Store) -> None:
    slots = on_disk().keyslots
    with pytest.raises(TypeError, match="give one credential"):
        slots.add()
    with pytest.raises(TypeError, match="unexpected keyword argument 'passwort'"):
        slots.add(passwort="p")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match="a label has at most 63 bytes"):
        slots.add(raw_key=bytes(32), label="x" * 64)
    with pytest.raises(errors.InvalidCredential):
        slots.replace(0, passphrase="")
    assert len(slots.list()) == 1
    with pytest.raises(errors.InMemory):
        store.keyslots.list()


def test_backups_are_made_listed_checked_and_restored(tmp_path: Path, key: bytes) -> None:
    folder = tmp_path / "backups"
    with pytest.raises(errors.NotAStore):
        inmost.Backups.open(folder)
    with inmost.Store.create(tmp_path / "s", raw_key=key, history=timedelta(days=1)) as store:
        store.files.write("/memories/a.md", "tea")
        first = store.backup_into(folder)
        store.files.write("/memories/a.md", "coffee")
        second = store.backup_into(str(folder), with_versions=True)
        assert (first.number, first.removed, first.is_cleared) == (1, (), True)
        assert (second.verified.files, second.verified.bytes) == (1, 6) and second.added_bytes > 0
        backups = inmost.Backups.open(folder)
        third = store.backup_into(folder, keep=1, keep_within=timedelta(0))
        assert third.removed == (1, 2)
        assert [info.number for info in inmost.Backups.open(folder).list()] == [3]
        assert [info.number for info in backups.list()] == [1, 2], "as they were when it was opened"
    [info] = inmost.Backups.open(folder).list()
    assert info.time is not None and info.own_bytes > 0 and len(info.store) == 32
    backups = inmost.Backups.open(folder)
    report = backups.check(3, raw_key=key)
    assert report.is_clean and (report.files, report.bytes) == (1, 6)
    copy = backups.restore(3, tmp_path / "restored", raw_key=key)
    assert (copy.files, copy.bytes) == (1, 6)
    with inmost.Store.open(tmp_path / "restored", raw_key=key) as restored:
        assert restored.files.read("/memories/a.md") == "coffee"
    with pytest.raises(errors.StoreAlreadyExists):
        backups.restore(3, tmp_path / "restored", raw_key=key)
    with pytest.raises(errors.WrongKey):
        backups.check(3, raw_key=os.urandom(32))
    with pytest.raises(errors.NotAStore):
        backups.check(9, raw_key=key)


def test_a_damaged_backup_is_reported_without_the_names_in_print(tmp_path: Path, key: bytes) -> None:
    folder = tmp_path / "backups"
    with inmost.Store.create(tmp_path / "s", raw_key=key) as store:
        for name in ("secret-plan.md", "b.md"):
            store.files.write(f"/memories/{name}", name * 900)
        store.backup_into(folder)
    pack = max(folder.glob("*"), key=lambda file: file.stat().st_size)
    content = bytearray(pack.read_bytes())
    for position in range(2_000, len(content), 100):
        content[position] ^= 1
    pack.write_bytes(content)
    try:
        report = inmost.Backups.open(folder).check(1, raw_key=key)
    except errors.Tampered:
        return
    assert not report.is_clean
    problem = report.problems[0]
    assert problem.what and problem.how
    assert "secret-plan" not in repr(report)


def test_a_check_a_compaction_and_a_purge(on_disk: Callable[[], inmost.Store]) -> None:
    store = on_disk()
    store.history.set(timedelta(days=1))
    for text in ("tea", "coffee"):
        store.files.write("/memories/a.md", text)
    report = store.check()
    assert report.is_clean and report.problems == () and report.unlisted == 0
    assert (report.files, report.bytes) == (1, 6) and report.records > 1
    assert store.compaction_due() is False
    store.compact()
    assert [store.history.text(change.number) for change in store.history.log()] == ["coffee", "tea"]
    store.purge()
    assert list(store.history.log()) == []
    assert store.files.read("/memories/a.md") == "coffee"


def test_progress_gets_the_counts_and_the_last_one_at_the_end(tmp_path: Path, key: bytes) -> None:
    counts: list[int] = []
    with inmost.Store.create(tmp_path / "s", raw_key=key, history=timedelta(days=1)) as store:
        for number in range(50):
            store.files.write(f"/memories/{number}", "tea")
        store.compact(progress=counts.append)
        assert counts == sorted(counts) and counts[-1] >= 50
        counts.clear()
        report = store.check(progress=counts.append)
        assert counts[-1] >= report.records
        for call in (
            lambda: store.backup_into(tmp_path / "b", progress=counts.append),
            lambda: inmost.Backups.open(tmp_path / "b").check(1, raw_key=key, progress=counts.append),
            lambda: inmost.Backups.open(tmp_path / "b").restore(1, tmp_path / "r", raw_key=key, progress=counts.append),
            lambda: store.keyslots.rotate(raw_key=key, progress=counts.append),
            lambda: store.history.undo(store.history.plan_undo("/memories/7"), progress=counts.append),
            lambda: store.history.forget("/memories/8", progress=counts.append),
            lambda: store.purge(progress=counts.append),
        ):
            counts.clear()
            call()
            assert counts and counts[-1] > 0


def test_what_progress_raises_comes_when_the_work_is_done(tmp_path: Path, key: bytes) -> None:
    calls: list[int] = []

    def fail(count: int) -> None:
        calls.append(count)
        raise RuntimeError("no room on the screen")

    with inmost.Store.create(tmp_path / "s", raw_key=key) as store:
        with pytest.raises(RuntimeError, match="no room on the screen"):
            store.backup_into(tmp_path / "b", progress=fail)
        assert len(calls) == 1
        assert len(inmost.Backups.open(tmp_path / "b").list()) == 1
        with pytest.raises(TypeError, match="progress"):
            store.compact(progress=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_progress_function_cannot_use_its_store(store: inmost.Store) -> None:
    store.files.write("/memories/a.md", "tea")
    walk = iter(store.files.walk())
    calls: list[Callable[[], object]] = [
        lambda: store.files.write("/memories/a.md", "coffee"),
        lambda: store.files.read_many(["/memories/a.md"]),
        lambda: store.files.write_many([]),
        lambda: store.memory_tool().call({"command": "view", "path": "/memories"}),
        lambda: store.memory_tool().clear(),
        lambda: store.check(),
        lambda: next(walk),
        store.status,
        store.is_locked,
        store.lock,
        store.close,
    ]
    for call in calls:

        def progress(_: int, call: Callable[[], object] = call) -> None:
            call()

        # It would wait for ever for the check, which waits for it.
        with pytest.raises(RuntimeError, match="a progress function must not use its store"):
            store.check(progress=progress)
    with inmost.Store.in_memory() as other:
        store.check(progress=lambda count: other.files.write("/memories/count", str(count)))
        assert int(other.files.read("/memories/count")) > 0
    store.files.write("/memories/a.md", "coffee")


def test_a_store_of_unknown_freshness_is_refused_on_request(tmp_path: Path, key: bytes) -> None:
    path, anchor = tmp_path / "s", tmp_path / "anchor"
    with inmost.Store.create(path, raw_key=key, anchor=anchor) as store:
        assert store.status().freshness == "known"
    with inmost.Store.open(path, raw_key=key, anchor=anchor, require_fresh=True) as store:
        assert store.status().freshness == "known"
    with pytest.raises(errors.FreshnessUnknown):
        inmost.Store.open(path, raw_key=key, anchor=tmp_path / "new", require_fresh=True)
    with inmost.Store.open(path, raw_key=key, anchor=tmp_path / "new") as store:
        assert store.status().freshness == "was_missing"
    assert inmost.Store.in_memory().status().freshness == "none"


def test_an_older_copy_is_accepted_on_purpose_and_what_it_was_put_over_is_set_aside(tmp_path: Path, key: bytes) -> None:
    path, copy, anchor, removed = tmp_path / "s", tmp_path / "copy", tmp_path / "anchor", os.urandom(32)
    with inmost.Store.create(path, raw_key=key, anchor=anchor) as store:
        store.keyslots.add(raw_key=removed, label="lost laptop")
        assert store.set_aside() == []
    shutil.copytree(path, copy)
    with inmost.Store.open(path, raw_key=key, anchor=anchor) as store:
        store.keyslots.remove(1)
        store.files.write("/memories/a.md", "tea")
        store.compact()
    shutil.copytree(copy, path, dirs_exist_ok=True)
    with pytest.raises(errors.RolledBack):
        inmost.Store.open(path, raw_key=key, anchor=anchor)
    with inmost.Store.open(path, raw_key=key, anchor=anchor, accept_rollback=True) as store:
        assert store.status().freshness == "known"
        assert [slot.label for slot in store.keyslots.list()] == ["raw key", "lost laptop"]
        assert not store.files.exists("/memories/a.md")
        [found] = store.set_aside()
        assert found.bytes > 0 and (path / found.name).is_dir()
        store.discard_set_aside(found.number + 1)
        assert store.set_aside() == [found]
        store.discard_set_aside(found.number)
        assert store.set_aside() == [] and not (path / found.name).exists()
    with inmost.Store.open(path, raw_key=removed, anchor=anchor, require_fresh=True) as store:
        assert store.check().is_clean


def test_a_store_is_copied_to_another_folder_with_its_versions(
    tmp_path: Path, key: bytes, store: inmost.Store
) -> None:
    counts: list[int] = []
    with inmost.Store.create(tmp_path / "s", raw_key=key, history=timedelta(days=1)) as old:
        for text in ("tea", "coffee"):
            old.files.write("/memories/a.md", text)
        old.migrate(tmp_path / "new", progress=counts.append)
        assert counts[-1] > 0
        with pytest.raises(errors.StoreAlreadyExists):
            old.migrate(str(tmp_path / "new"))
        old.files.write("/memories/a.md", "milk")
    with inmost.Store.open(tmp_path / "new", raw_key=key) as new:
        assert [new.history.text(change.number) for change in new.history.log()] == ["coffee", "tea"]
        with pytest.raises(TypeError, match="to must be a str"):
            new.migrate(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(errors.InMemory):
        store.migrate(tmp_path / "other")


@unix
def test_a_store_that_a_key_daemon_holds_is_maintained_too(held: Path, tmp_path: Path) -> None:
    with inmost.Store.connect(held) as store:
        store.files.write("/memories/a.md", "tea")
        assert store.keyslots.add(raw_key=bytes(range(32)), label="spare") == 1
        assert [slot.label for slot in store.keyslots.list()] == ["passphrase", "spare"]
        assert store.check().is_clean
        store.compact()
        assert store.backup_into(tmp_path / "b").verified.files == 1
        assert store.compaction_due() is False
        store.migrate(tmp_path / "copy")
        with pytest.raises(errors.KeyDaemon, match="cannot copy"):
            store.migrate("postgres://nobody@127.0.0.1:1/x?vault=" + "0" * 32)
        assert store.set_aside() == []
