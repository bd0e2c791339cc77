"""Stores in a PostgreSQL database. Run by `tests/postgres/run.sh with`, which starts a server."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

import inmost
from inmost import errors

URL = os.environ["INMOST_TEST_POSTGRES"]
KEY = bytes(range(32))


@pytest.fixture
def database() -> inmost.Postgres:
    return inmost.Postgres(URL, size=2)


def test_stores_of_a_process_share_a_pool(database: inmost.Postgres) -> None:
    vaults = [database.vault() for _ in range(5)]
    stores = [inmost.Store.create(vault, raw_key=KEY) for vault in vaults]

    def use(number: int) -> str:
        stores[number].files.write("/memories/a.md", f"{number}\n")
        return stores[number].files.read("/memories/a.md")

    with ThreadPoolExecutor(5) as threads:
        assert list(threads.map(use, range(5))) == [f"{number}\n" for number in range(5)]
    assert len({vault.id for vault in vaults}) == 5


def test_two_stores_on_one_vault_see_each_other(database: inmost.Postgres) -> None:
    vault = database.vault()
    with inmost.Store.create(vault, raw_key=KEY, history=timedelta(days=30)) as one:
        with inmost.Store.open(database.vault(vault.id), raw_key=KEY) as other:
            one.files.write("/memories/a.md", "one\n")
            assert other.files.read("/memories/a.md") == "one\n"
            call = {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "two"}
            assert not other.memory_tool().call(call).is_error
            assert one.files.read("/memories/a.md") == "two\n"
            assert len(list(one.history.log("/memories/a.md"))) == 2


def test_a_store_moves_from_a_folder_into_a_database_and_back(database: inmost.Postgres, tmp_path: Path) -> None:
    vault, url = database.vault(), f"{URL}?vault={database.vault().id}"
    with inmost.Store.create(tmp_path / "s", raw_key=KEY, history=timedelta(days=30)) as store:
        for text in ("tea", "coffee"):
            store.files.write("/memories/a.md", text)
        store.migrate(vault)
        with pytest.raises(errors.StoreAlreadyExists):
            store.migrate(vault)
        with pytest.raises(errors.Unavailable, match="names no vault"):
            store.migrate(URL)
    with inmost.Store.open(vault, raw_key=KEY) as store:
        store.migrate(url)
    with inmost.Store.open(url, raw_key=KEY) as store:
        store.migrate(tmp_path / "back")
        assert store.set_aside() == []
    with inmost.Store.open(tmp_path / "back", raw_key=KEY) as store:
        assert [store.history.text(change.number) for change in store.history.log()] == ["coffee", "tea"]


def test_a_url_names_a_vault(database: inmost.Postgres) -> None:
    url = f"{URL}?vault={database.vault().id}"
    with inmost.Store.create(url, raw_key=KEY) as store:
        store.files.write("/memories/a.md", "text\n")
    with inmost.Store.open(url, raw_key=KEY) as store:
        assert store.files.read("/memories/a.md") == "text\n"
    with pytest.raises(errors.Unavailable, match="names no vault"):
        inmost.Store.open(URL, raw_key=KEY)
    with pytest.raises(errors.NotAStore):
        inmost.Store.open(database.vault(), raw_key=KEY)
    with pytest.raises(errors.StoreAlreadyExists):
        inmost.Store.create(url, raw_key=KEY)
    # The program of the package knows vaults too.
    program = os.path.join(os.path.dirname(sys.executable), "inmost")
    subprocess.run([program, "destroy", "--yes", "--store", url], check=True)
    with pytest.raises(errors.NotAStore):
        inmost.Store.open(url, raw_key=KEY)


def test_a_mark_detects_an_older_state(database: inmost.Postgres) -> None:
    vault = database.vault()
    with inmost.Store.create(vault, raw_key=KEY) as store:
        early = store.mark()
        store.files.write("/memories/a.md", "text\n")
        late = store.mark()
    for mark in early, late:
        inmost.Store.open(vault, raw_key=KEY, at_least=mark).close()
    with inmost.Store.create(database.vault(), raw_key=KEY) as other, pytest.raises(errors.ForeignAnchor):
        inmost.Store.open(vault, raw_key=KEY, at_least=other.mark())
    vault.destroy()
    with pytest.raises(errors.NotAStore):
        inmost.Store.open(vault, raw_key=KEY)


def test_mistakes_are_named(database: inmost.Postgres) -> None:
    assert "secret" not in repr(inmost.Postgres(URL, password="secret"))
    with pytest.raises(ValueError, match="contains a password"):
        inmost.Postgres("postgres://role:secret@127.0.0.1/memories")
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        database.vault("ada")
    with pytest.raises(TypeError, match="path must be a str, an os.PathLike or an inmost.Vault"):
        inmost.Store.open(17, raw_key=KEY)  # type: ignore[arg-type]
    with pytest.raises(errors.Unavailable):
        inmost.Store.open(inmost.Postgres("postgres://nobody@127.0.0.1:1/x").vault(), raw_key=KEY)
