"""Stores: credentials, locking, errors, and what is never shown."""

from __future__ import annotations

import copy
import os
import pickle
import re
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import inmost
from inmost import errors

REPOSITORY = Path(__file__).resolve().parents[2]
VIEW = {"command": "view", "path": "/memories"}


@pytest.mark.parametrize("passphrase", ["größer als 8", "größer als 8".encode(), bytearray("größer als 8".encode())])
def test_a_passphrase_is_text_or_its_bytes(tmp_path: Path, passphrase: str | bytes | bytearray) -> None:
    with inmost.Store.create(tmp_path / "s", passphrase="größer als 8") as store:
        store.files.write("/memories/a", "tea")
    with inmost.Store.open(tmp_path / "s", passphrase=passphrase) as store:
        assert store.files.read("/memories/a") == "tea"


def test_a_wrong_passphrase_is_refused_and_the_store_can_be_opened_afterwards(tmp_path: Path) -> None:
    inmost.Store.create(tmp_path / "s", passphrase="right").close()
    with pytest.raises(errors.WrongPassphrase) as raised:
        inmost.Store.open(tmp_path / "s", passphrase="wrong")
    assert raised.value.advice and str(raised.value).endswith(raised.value.advice)
    inmost.Store.open(tmp_path / "s", passphrase="right").close()


def test_a_keyfile_is_a_path_or_its_content(tmp_path: Path) -> None:
    content = inmost.generate_keyfile()
    file = tmp_path / "key"
    file.write_bytes(content)
    inmost.Store.create(tmp_path / "s", passphrase="p", keyfile=content).close()
    for keyfile in (file, str(file), content, bytearray(content)):
        inmost.Store.open(tmp_path / "s", passphrase="p", keyfile=keyfile).close()
    with pytest.raises(errors.WrongKey) as raised:
        inmost.Store.open(tmp_path / "s", passphrase="p", keyfile=inmost.generate_keyfile())
    assert raised.value.kind == "passphrase and keyfile"
    with pytest.raises(FileNotFoundError):
        inmost.Store.open(tmp_path / "s", passphrase="p", keyfile=tmp_path / "absent")


def test_a_recovery_key_can_be_typed(tmp_path: Path) -> None:
    key = inmost.generate_recovery_key()
    inmost.Store.create(tmp_path / "s", recovery_key=key).close()
    inmost.Store.open(tmp_path / "s", recovery_key=key.lower().replace("-", " ")).close()
    with pytest.raises(errors.WrongKey):
        inmost.Store.open(tmp_path / "s", recovery_key=inmost.generate_recovery_key())


def test_exactly_one_credential_is_given(tmp_path: Path) -> None:
    no_credentials: list[dict[str, Any]] = [
        {},
        {"passphrase": "p", "raw_key": bytes(32)},
        {"keyfile": b"k"},
        {"recovery_key": "r", "keyfile": b"k"},
        {"passphrase": 7},
        {"raw_key": "a" * 32},
    ]
    for arguments in no_credentials:
        with pytest.raises(TypeError):
            inmost.Store.create(tmp_path / "s", **arguments)
    invalid: list[dict[str, Any]] = [
        {"passphrase": ""},
        {"passphrase": b"\xff"},
        {"passphrase": "x" * 5000},
        {"passphrase": "p", "keyfile": b"text"},
        {"recovery_key": "typo"},
        {"recovery_key": b"\xff"},
        {"raw_key": bytes(31)},
    ]
    for arguments in invalid:
        with pytest.raises(errors.InvalidCredential) as raised:
            inmost.Store.create(tmp_path / "s", **arguments)
        assert isinstance(raised.value, ValueError)
    assert not (tmp_path / "s").exists()


def test_a_credential_that_is_no_unicode_is_not_shown(tmp_path: Path) -> None:
    # Regression: the error of CPython, which shows the whole passphrase, was passed on.
    credentials: list[dict[str, Any]] = [{"passphrase": "bluebird\ud800"}, {"recovery_key": "bluebird\ud800"}]
    for arguments in credentials:
        with pytest.raises(ValueError, match="surrogate") as raised:
            inmost.Store.create(tmp_path / "s", **arguments)
        assert "bluebird" not in repr(raised.value)
    assert not (tmp_path / "s").exists()


def test_a_store_outlives_its_context_on_disk_only(on_disk: Callable[[], inmost.Store]) -> None:
    with on_disk() as store:
        assert store.__enter__() is store
        store.files.write("/memories/a", "tea")
        assert not store.is_locked()
    assert store.is_locked()
    with pytest.raises(errors.Locked):
        store.files.read("/memories/a")
    store.close()
    with on_disk() as store:
        assert store.files.read("/memories/a") == "tea"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is Unicode")
def test_a_path_may_have_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    inmost.Store.create(path, raw_key=bytes(32)).close()
    inmost.Store.open(path, raw_key=bytes(32)).close()


def test_a_store_is_locked_after_an_exception(store: inmost.Store) -> None:
    with pytest.raises(ZeroDivisionError):
        with store:
            raise ZeroDivisionError
    assert store.is_locked()


def test_an_open_store_is_in_use(on_disk: Callable[[], inmost.Store], tmp_path: Path, key: bytes) -> None:
    on_disk()
    with pytest.raises(errors.InUse) as raised:
        inmost.Store.open(tmp_path / "claude.inmost", raw_key=key)
    assert raised.value.process == os.getpid()
    with pytest.raises(errors.StoreAlreadyExists):
        inmost.Store.create(tmp_path / "claude.inmost", raw_key=key)
    with pytest.raises(errors.NotAStore):
        inmost.Store.open(tmp_path, raw_key=key)


def test_quotas_hold(tmp_path: Path, key: bytes) -> None:
    with inmost.Store.create(tmp_path / "s", raw_key=key, max_file_bytes=4, max_files=2, max_store_bytes=6) as store:
        with pytest.raises(errors.FileTooLarge) as too_large:
            store.files.write("/memories/a", "12345")
        assert too_large.value.limit == 4
        store.files.write("/memories/a", "1234")
        with pytest.raises(errors.TooMuchText) as too_much:
            store.files.write("/memories/b", "123")
        assert too_much.value.limit == 6
        store.files.write("/memories/b", "1")
        with pytest.raises(errors.TooManyFiles) as too_many:
            store.files.write("/memories/c", "1")
        assert too_many.value.limit == 2
        status = store.status()
        assert (status.files, status.bytes) == (2, 5) and status.disk_bytes > 0


def test_an_idle_store_locks_itself() -> None:
    store = inmost.Store.in_memory(idle_lock=timedelta(0))
    deadline = time.monotonic() + 60  # a second is enough
    while not store.is_locked():
        assert time.monotonic() < deadline
    with pytest.raises(errors.Locked):
        store.files.read("/memories/a")


def test_an_anchor_detects_an_older_copy(tmp_path: Path, key: bytes) -> None:
    import shutil

    path, anchor = tmp_path / "s", tmp_path / "anchor"
    inmost.Store.create(path, raw_key=key, anchor=anchor).close()
    shutil.copytree(path, tmp_path / "older")
    with inmost.Store.open(path, raw_key=key, anchor=anchor) as store:
        store.files.write("/memories/a", "newer")
    with pytest.raises(errors.RolledBack) as raised:
        inmost.Store.open(tmp_path / "older", raw_key=key, anchor=anchor)
    assert raised.value.expected > raised.value.found


def variants(file: str, enum: str) -> list[str]:
    """The variants of an enum in a source file of the library."""
    source = (REPOSITORY / file).read_text()
    body = source.split(f"pub enum {enum} {{")[1].split("\n}")[0]
    return re.findall(r"^    ([A-Z]\w+)", body, re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "enum", "base", "least"),
    [
        ("src/session/error.rs", "StoreError", errors.StoreError, 20),
        ("src/vfs/error.rs", "FileError", errors.FileError, 20),
        ("crates/inmost-sync/src/error.rs", "SyncError", errors.SyncError, 14),
    ],
)
def test_each_fact_has_an_exception_of_its_own(file: str, enum: str, base: type[errors.Error], least: int) -> None:
    facts = variants(file, enum)
    assert len(facts) >= least
    names = {"AlreadyExists": "StoreAlreadyExists"} if enum == "StoreError" else {}
    for fact in facts:
        if (enum, fact) in {("FileError", "Store"), ("SyncError", "Store"), ("SyncError", "File")}:
            continue  # the error of the store or of the file is raised
        # The library names a fact as its variant, which its own tests check.
        name = names.get(fact, fact)
        assert issubclass(getattr(errors, name), base) and issubclass(base, inmost.Error)


def test_nothing_that_is_printed_shows_content(store: inmost.Store) -> None:
    secret = "Bluebird"
    path = f"/memories/{secret}/{secret}.md"
    store.history.set(timedelta(days=1))
    tool = store.memory_tool(actor=secret)
    made = tool.call({"command": "create", "path": path, "file_text": secret})
    assert secret in made.content
    store.files.write(path, f"{secret} {secret}")
    shown = [made, tool, store, store.files, store.history, store.history.status(), store.status()]
    shown += [store.files.metadata(path), store.files.version(path), inmost.NewFile(path, secret)]
    shown += [*store.files.list(), *store.files.walk(), *store.files.search(secret), *store.history.log()]
    plan = store.history.plan_undo(path)
    shown += [plan, *plan.steps, store.files.walk(), store.files.search(secret), *store.history.undo(plan)]
    store.files.write(path, secret)
    for failing in (
        lambda: store.files.read(f"/memories/{secret}"),
        lambda: store.files.read(f"{path}/below"),
        lambda: store.files.list(path),
        lambda: store.files.read(f"/memories/{secret}/absent"),
        lambda: store.files.read(f"/{secret}"),
        lambda: store.files.grep(f"{secret}["),
        lambda: store.files.write_if(path, secret, None),
    ):
        with pytest.raises(inmost.FileError) as raised:
            failing()
        shown += [raised.value, str(raised.value)]
    version = store.files.version(path)
    assert version is not None
    # The hash of a short text confirms a guess of it.
    hidden = [secret, version.sha256]
    shown += [version, inmost.Precondition.of_sha256(version.sha256)]
    for value in shown:
        assert not any(text in repr(value) for text in hidden)
        if not isinstance(value, str):
            assert secret not in str(value)


def test_a_path_in_an_error_is_an_attribute(store: inmost.Store) -> None:
    store.files.write("/memories/a/b", "tea")
    with pytest.raises(errors.IsAFolder) as folder:
        store.files.read("/memories/a")
    assert folder.value.path == "/memories/a"
    with pytest.raises(errors.NotAFolder) as file:
        store.files.write("/memories/a/b/c", "tea")
    assert file.value.path == "/memories/a/b"


def test_what_belongs_to_a_process_cannot_be_pickled(store: inmost.Store) -> None:
    for value in (store, store.memory_tool()):
        with pytest.raises(TypeError, match="Store.connect"):
            pickle.dumps(value)
        with pytest.raises(TypeError):
            copy.deepcopy(value)
    for part in (store.files, store.history):
        with pytest.raises(TypeError):
            pickle.dumps(part)
    store.files.write("/memories/a", "tea")
    for record in (*store.files.walk(), store.files.version("/memories/a")):
        assert pickle.loads(pickle.dumps(record)) == record
    error = errors.Locked("The store is locked.", "Unlock it.")
    assert str(pickle.loads(pickle.dumps(error))) == "The store is locked. Unlock it."
