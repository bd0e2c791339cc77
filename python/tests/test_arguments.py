"""Wrong arguments: each error names its argument, and none shows the value or the insides of an interpreter or a compiler."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import inmost
from inmost import errors

INTERNAL = re.compile(r"object|instance|cannot be|interpreted|codec|PyO3|Rust|unwrap|os error|expected")
CREDENTIAL = {"passphrase", "keyfile", "recovery_key", "raw_key"}


class Bluebird:
    """Of no type that any argument may have."""


def methods(tmp_path: Path) -> Iterator[tuple[str, Callable[..., object], dict[str, Any]]]:
    """Every public call, with arguments that it would take."""
    store = inmost.Store.create(tmp_path / "s", raw_key=bytes(32), history=timedelta(days=1))
    store.files.write("/memories/a", "tea")
    store.backup_into(tmp_path / "backups")
    good: dict[str, Any] = {
        "path": "/memories/a",
        "paths": [],
        "files": [],
        "old": "/memories/a",
        "new": "/memories/b",
        "number": 1,
        "first": 1,
        "condition": None,
        "moved": None,
        "replaced": None,
        "record": True,
        "unused_for": timedelta(days=1),
        "keep": None,
        "plan": store.history.plan_undo(),
        "folder": tmp_path / "backups",
        "to": tmp_path / "copy",
        "url": "postgres://u@localhost/d",
    }
    database, backups = inmost.Postgres(good["url"]), inmost.Backups.open(good["folder"])
    parts = [store, store.files, store.history, store.expiry, store.keyslots, backups, database]
    for part in [inmost.Store, inmost.Backups, *parts]:
        for name in dir(part):
            is_static = isinstance(inspect.getattr_static(part, name), staticmethod)
            method = getattr(part, name)
            if name.startswith("_") or not callable(method) or is_static != isinstance(part, type):
                continue
            given = {
                parameter.name: good.get(parameter.name, "text")
                for parameter in inspect.signature(method).parameters.values()
                if parameter.default is parameter.empty
            }
            if "raw_key" in inspect.signature(method).parameters:
                given["raw_key"] = bytes(32)
            if part is inmost.Store and "path" in given:
                given["path"] = tmp_path / "absent" / "s"
            yield f"{getattr(part, '__name__', type(part).__name__)}.{name}", method, given
    yield "Postgres", inmost.Postgres, {"url": good["url"]}


def test_an_error_names_the_argument_and_shows_no_value(tmp_path: Path) -> None:
    tried = 0
    for title, method, given in methods(tmp_path):
        for name in inspect.signature(method).parameters:
            if title == "Store.__exit__" or name == "call":
                continue
            for wrong in (Bluebird(), 1.5, -1, [Bluebird()], b"bluebird", "bluebird \ud800", datetime(2026, 1, 1)):
                others = {key: value for key, value in given.items() if name not in CREDENTIAL or key not in CREDENTIAL}
                if name == "keyfile":
                    others["passphrase"] = "p"
                tried += 1
                try:
                    result = method(**{**others, name: wrong})
                    if isinstance(result, Iterator):
                        next(result, None)
                    assert not isinstance(wrong, Bluebird), f"{title} took {name}={wrong!r}"
                except inmost.Error as error:
                    assert "bluebird" not in str(error)
                except (TypeError, ValueError) as error:
                    message = str(error)
                    assert not INTERNAL.search(message) and "bluebird" not in message, f"{title}: {message}"
                    assert re.search(rf"\b{name}\b", message), f"{title}({name}=...): {message}"
    assert tried > 900


def test_parts_of_arguments_are_named_too(store: inmost.Store, tmp_path: Path) -> None:
    files: Any = store.files
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("each of paths must be a str, not int", lambda: files.read_many(["/memories/a", 7])),
        ("paths must be an iterable of str", lambda: files.read_many("/memories/a")),
        ("each of files must be a NewFile, not dict", lambda: files.write_many([{"path": "/memories/a"}])),
        ("text must be a str, not int", lambda: files.write_many([inmost.NewFile("/memories/a", 7)])),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ("version must be a whole number from 0 on", lambda: files.remove_if("/memories/a", inmost.Precondition(version=-1))),
        ("condition must be a FileVersion, a Precondition, or None for no file, not int", lambda: files.remove_if("/memories/a", 7)),
        ("plan must be an UndoPlan, not list", lambda: store.history.undo([])),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ("since must be a datetime with a time zone", lambda: files.rank("tea", since=datetime(2026, 1, 1))),
    ]
    for message, run in wrong:
        with pytest.raises((TypeError, ValueError)) as raised:
            run()
        assert str(raised.value) == message
    with pytest.raises(FileNotFoundError) as missing:
        inmost.Store.open(tmp_path, passphrase="p", keyfile=tmp_path / "absent.key")
    assert missing.value.filename == str(tmp_path / "absent.key") and "os error" not in str(missing.value)


def test_an_empty_search_is_refused(store: inmost.Store) -> None:
    for search in (store.files.search, store.files.rank):
        with pytest.raises(errors.EmptySearch):
            search("")
