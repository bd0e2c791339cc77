"""Stores for asyncio: the calls of `inmost`, each of which runs on a thread.

    async with await inmost.aio.Store.open("claude.inmost", passphrase=...) as store:
        result = await store.memory_tool().call({"command": "view", "path": "/memories"})
        async for entry in store.files.walk():
            ...

The methods have the arguments, results and exceptions of those with the same names in `inmost`. They run on the threads of the
event loop's default executor, so the loop goes on. Calls that run at once take effect in any order; `await` the first where the
order matters.

**Cancellation.** A call that is cancelled, by `asyncio.timeout` for example, has either not begun, and then it never will; or
it is complete by the time that `CancelledError` arrives, which waits for that. So no call goes on behind the program's back, and
the store stays usable. A file operation takes milliseconds; `compact`, `purge`, `check`, `backup_into`, `migrate` and `rotate`
take their time, and a timeout does not shorten them. A cancelled call may have made its change: read the store to find out. A
loop over `walk`, `search`, `grep` or `log` can end at any item.

A function that is given as `progress` runs on the thread of the call.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from os import PathLike
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from . import _inmost as native
from ._records import BackupInfo

__all__ = ["Backups", "Expiry", "Files", "History", "Keyslots", "MemoryTool", "Store", "Sync"]

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


async def _run(work: Callable[[], T]) -> T:
    """Runs `work` on a thread. A caller who is cancelled learns it when the work is complete, or will never begin."""
    # The thread takes the ticket, or the caller who is cancelled does.
    tickets = [contextvars.copy_context()]
    ended: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(None, _begin, tickets, work)
    interrupted: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError as error:
            if _take(tickets):
                raise
            interrupted = error
    if interrupted is not None:
        ended.exception()  # asked for, so that asyncio does not log it
        raise interrupted
    result: T = ended.result()
    return result


def _begin(tickets: list[contextvars.Context], work: Callable[[], T]) -> T | None:
    context = _take(tickets)
    return context.run(work) if context else None


def _take(tickets: list[contextvars.Context]) -> contextvars.Context | None:
    try:
        return tickets.pop()
    except IndexError:
        return None


class _Part(Generic[S]):
    """What has a native object."""

    def __init__(self, sync: S) -> None:
        self.sync = sync
        """The object with the same methods, which block."""

    def __repr__(self) -> str:
        return repr(self.sync).replace("<inmost.", "<inmost.aio.")


class _Call(Generic[P, T]):
    """A method that runs the native one of the same name on a thread."""

    def __init__(self, method: Callable[Concatenate[Any, P], T]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, part: None, owner: type) -> _Call[P, T]: ...
    @overload
    def __get__(self, part: _Part[Any], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, part: _Part[Any] | None, owner: type) -> object:
        return self if part is None else functools.partial(self._call, part)

    async def _call(self, part: _Part[Any], *args: P.args, **kwargs: P.kwargs) -> T:
        return await _run(lambda: self._method(part.sync, *args, **kwargs))


class _Rows(Generic[P, T]):
    """As `_Call`, for a method whose rows are read some at a time."""

    def __init__(self, method: Callable[Concatenate[Any, P], Iterator[T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, part: None, owner: type) -> _Rows[P, T]: ...
    @overload
    def __get__(self, part: _Part[Any], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, part: _Part[Any] | None, owner: type) -> object:
        return self if part is None else functools.partial(self._call, part)

    async def _call(self, part: _Part[Any], *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        rows: Any = await _run(lambda: self._method(part.sync, *args, **kwargs))
        while page := await _run(lambda: list(itertools.islice(rows, _PAGE))):
            for row in page:
                # What was read before a lock is not handed out after it.
                rows.check()
                yield row


def _opener(open: Callable[P, native.Store]) -> Callable[P, Coroutine[Any, Any, Store]]:
    """A function that opens a store on a thread, and closes it again for a caller who is cancelled."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> Store:
        opened: list[native.Store] = []
        try:
            await _run(lambda: opened.append(open(*args, **kwargs)))
        except asyncio.CancelledError:
            for store in opened:
                store.close()
            raise
        return Store(opened[0])

    call.__doc__ = open.__doc__
    return call


def _tool(make: Callable[P, native.MemoryTool]) -> Callable[P, MemoryTool]:
    def call(*args: P.args, **kwargs: P.kwargs) -> MemoryTool:
        return MemoryTool(make(*args, **kwargs))

    call.__doc__ = make.__doc__
    return call


class Store(_Part[native.Store]):
    """An unlocked store, as `inmost.Store`. `Store(store)` takes one that is open. Use it in an `async with` statement."""

    create = staticmethod(_opener(native.Store.create))
    open = staticmethod(_opener(native.Store.open))
    in_memory = staticmethod(_opener(native.Store.in_memory))
    connect = staticmethod(_opener(native.Store.connect))
    status = _Call(native.Store.status)
    check = _Call(native.Store.check)
    compact = _Call(native.Store.compact)
    purge = _Call(native.Store.purge)
    compaction_due = _Call(native.Store.compaction_due)
    backup_into = _Call(native.Store.backup_into)
    migrate = _Call(native.Store.migrate)
    set_aside = _Call(native.Store.set_aside)
    discard_set_aside = _Call(native.Store.discard_set_aside)
    mark = _Call(native.Store.mark)
    is_locked = _Call(native.Store.is_locked)
    lock = _Call(native.Store.lock)
    close = _Call(native.Store.close)

    def __init__(self, sync: native.Store) -> None:
        super().__init__(sync)
        self.files = Files(sync.files)
        self.history = History(sync.history)
        self.expiry = Expiry(sync.expiry)
        self.keyslots = Keyslots(sync.keyslots)
        self.circle = Sync(sync.sync)
        self.memory_tool = _tool(sync.memory_tool)

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await _run(lambda: self.sync.__exit__(exception_type, exception, traceback))
        except asyncio.CancelledError:
            # It may not have begun, and the keys must not stay.
            self.sync.close()
            raise


class Files(_Part[native.Files]):
    """The files of a store, as `inmost.Files`."""

    read = _Call(native.Files.read)
    read_lines = _Call(native.Files.read_lines)
    metadata = _Call(native.Files.metadata)
    exists = _Call(native.Files.exists)
    write = _Call(native.Files.write)
    append = _Call(native.Files.append)
    read_many = _Call(native.Files.read_many)
    write_many = _Call(native.Files.write_many)
    list = _Call(native.Files.list)
    walk = _Rows(native.Files.walk)
    search = _Rows(native.Files.search)
    grep = _Rows(native.Files.grep)
    rank = _Call(native.Files.rank)
    remove = _Call(native.Files.remove)
    rename = _Call(native.Files.rename)
    version = _Call(native.Files.version)
    write_if = _Call(native.Files.write_if)
    remove_if = _Call(native.Files.remove_if)
    rename_if = _Call(native.Files.rename_if)
    replace_if = _Call(native.Files.replace_if)


class History(_Part[native.History]):
    """The history of a store, as `inmost.History`."""

    log = _Rows(native.History.log)
    text = _Call(native.History.text)
    restore = _Call(native.History.restore)
    plan_undo = _Call(native.History.plan_undo)
    undo = _Call(native.History.undo)
    forget = _Call(native.History.forget)
    status = _Call(native.History.status)
    set = _Call(native.History.set)


class Expiry(_Part[native.Expiry]):
    """The expiry of unused files, as `inmost.Expiry`."""

    status = _Call(native.Expiry.status)
    set = _Call(native.Expiry.set)
    expire = _Call(native.Expiry.expire)


class Sync(_Part[native.Sync]):
    """The part of a store in a circle of devices, as `inmost.Sync`: `Store.circle`, because `sync` is the store for plain calls."""

    init = _Call(native.Sync.init)
    join = _Call(native.Sync.join)
    remove = _Call(native.Sync.remove)
    follow = _Call(native.Sync.follow)
    invitation = _Call(native.Sync.invitation)
    run = _Call(native.Sync.run)
    status = _Call(native.Sync.status)
    leave = _Call(native.Sync.leave)


class Keyslots(_Part[native.Keyslots]):
    """The credentials that open a store, as `inmost.Keyslots`."""

    list = _Call(native.Keyslots.list)
    add = _Call(native.Keyslots.add)
    replace = _Call(native.Keyslots.replace)
    remove = _Call(native.Keyslots.remove)
    rotate = _Call(native.Keyslots.rotate)


class MemoryTool(_Part[native.MemoryTool]):
    """Claude's memory tool, as `inmost.MemoryTool`."""

    call = _Call(native.MemoryTool.call)
    clear = _Call(native.MemoryTool.clear)


class Backups(_Part[native.Backups]):
    """The backups in a folder, as `inmost.Backups`."""

    check = _Call(native.Backups.check)
    restore = _Call(native.Backups.restore)

    @staticmethod
    async def open(folder: str | PathLike[str]) -> Backups:
        """Lists the backups in a folder, as `inmost.Backups.open`."""
        return Backups(await _run(lambda: native.Backups.open(folder)))

    def list(self) -> list[BackupInfo]:
        """The backups, the oldest first."""
        return self.sync.list()


_PAGE = 256
"""Rows that are read at once. A change of thread takes longer than a row."""
