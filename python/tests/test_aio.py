"""The asynchronous forms: what they return, and what a cancelled call leaves behind."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

import inmost
from inmost import aio, errors


async def test_a_store_its_files_and_its_history(tmp_path: Path, key: bytes) -> None:
    path = tmp_path / "s"
    async with await aio.Store.create(path, raw_key=key, history=timedelta(days=1)) as store:
        await asyncio.gather(*(store.files.write(f"/memories/{number}.md", "tea") for number in range(20)))
        assert [entry.name async for entry in store.files.walk()] == sorted(f"{number}.md" for number in range(20))
        assert [found.line async for found in store.files.search("tea", "/memories/1.md")] == [1]
        await store.files.write("/memories/1.md", text="coffee")
        first, second = [change.number async for change in store.history.log("/memories/1.md")]
        assert await store.history.text(second) == "tea"
        await store.history.restore(second)
        result = await store.memory_tool(read_only=True).call({"command": "view", "path": "/memories/1.md"})
        assert result.content.endswith("tea") and not result.is_error
        assert (await store.status()).files == 20 and (await store.check()).is_clean
        assert await store.keyslots.add(raw_key=os.urandom(32)) == 1
        await store.backup_into(tmp_path / "b")
        assert not await store.is_locked()
    assert await store.is_locked()
    backups = await aio.Backups.open(tmp_path / "b")
    assert (await backups.check(backups.list()[0].number, raw_key=key)).is_clean
    async with await aio.Store.open(path, raw_key=key) as again:
        assert await again.files.read("/memories/1.md") == "tea"
    with pytest.raises(errors.NotAStore):
        await aio.Store.open(tmp_path / "none", raw_key=key)


async def test_every_call_of_the_package_has_an_asynchronous_form() -> None:
    for name in aio.__all__:
        form, plain = getattr(aio, name), getattr(inmost, name)
        for method in (each for each in dir(plain) if not each.startswith("_")):
            if name == "Store" and method in ("files", "history", "expiry", "keyslots", "sync", "memory_tool"):
                continue
            call = inspect.getattr_static(form, method)
            assert callable(getattr(form, method)) or getattr(call, "_method") is getattr(plain, method), (name, method)


async def test_a_call_that_has_not_begun_never_begins(store: inmost.Store) -> None:
    one, free = ThreadPoolExecutor(1), threading.Event()
    asyncio.get_running_loop().set_default_executor(one)
    busy = asyncio.get_running_loop().run_in_executor(None, free.wait)
    writing = asyncio.create_task(aio.Store(store).files.write("/memories/a.md", "tea"))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    free.set()
    await busy
    await aio.Store(store).files.write("/memories/b.md", "tea")
    assert [entry.name for entry in store.files.list()] == ["b.md"]


async def test_a_call_that_has_begun_is_complete_before_its_caller_goes_on(store: inmost.Store, tmp_path: Path) -> None:
    begun, go_on, counts = threading.Event(), threading.Event(), list[int]()

    def progress(count: int) -> None:
        counts.append(count)
        begun.set()
        assert go_on.wait(60)

    store.files.write("/memories/a.md", "tea")
    checking = asyncio.create_task(aio.Store(store).check(progress=progress))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    for _ in range(3):
        checking.cancel()
        await asyncio.sleep(0.001)
    assert not checking.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await checking
    assert len(counts) >= 2, "the last count is that of the end"
    assert await aio.Store(store).files.read("/memories/a.md") == "tea"


async def test_a_timeout_leaves_a_store_that_works(store: inmost.Store) -> None:
    files = aio.Store(store).files
    for number in range(200):
        try:
            async with asyncio.timeout(0.0001 * (number % 7)):
                await files.write("/memories/a.md", str(number))
        except TimeoutError:
            pass
        # Nothing goes on that would write an earlier text now.
        before = await files.read("/memories/a.md") if await files.exists("/memories/a.md") else None
        await asyncio.sleep(0)
        assert before == (await files.read("/memories/a.md") if before else None)
    await files.write("/memories/a.md", "tea")
    assert await files.read("/memories/a.md") == "tea"


async def test_what_is_opened_for_a_cancelled_caller_is_closed(tmp_path: Path, key: bytes) -> None:
    inmost.Store.create(tmp_path / "s", raw_key=key).close()
    for number in range(20):
        opening = asyncio.create_task(aio.Store.open(tmp_path / "s", raw_key=key))
        await asyncio.sleep(0.0005 * (number % 5))
        opening.cancel()
        try:
            await (await opening).close()
        except asyncio.CancelledError:
            pass
    # It would be `InUse` otherwise.
    inmost.Store.open(tmp_path / "s", raw_key=key).close()


async def test_a_cancelled_block_locks_its_store(tmp_path: Path, key: bytes) -> None:
    opened: list[aio.Store] = []

    async def work() -> None:
        async with await aio.Store.create(tmp_path / "s", raw_key=key) as store:
            opened.append(store)
            await asyncio.sleep(3600)

    task = asyncio.create_task(work())
    while not opened:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert opened[0].sync.is_locked() and repr(opened[0]) == "<inmost.aio.Store, locked>"


async def test_rows_that_were_read_before_a_lock_are_not_handed_out(store: inmost.Store) -> None:
    for number in range(10):
        store.files.write(f"/memories/{number}", "tea")
    rows = aio.Store(store).files.walk()
    await anext(rows)
    store.lock()
    with pytest.raises(errors.Locked):
        await anext(rows)


async def test_stores_can_be_referred_to_weakly(store: inmost.Store) -> None:
    form = aio.Store(store)
    references: list[weakref.ref[object]] = [weakref.ref(form), weakref.ref(form.files), weakref.ref(store)]
    assert all(reference() is not None for reference in references)
    assert repr(form) == "<inmost.aio.Store>"
    del form
    gc.collect()
    assert [reference() is None for reference in references] == [True, True, False]
