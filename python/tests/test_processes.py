"""Threads, forks, other processes and the end of the interpreter."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import inmost
from inmost import errors

VIEW = {"command": "view", "path": "/memories"}


def run(program: str, *arguments: str) -> str:
    """Runs a program in an interpreter of its own and returns what it prints."""
    # Python 3.12 and newer warn about a fork while other threads exist, and this package has them.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", dedent(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.fixture(params=["memory", "disk"])
def shared(request: pytest.FixtureRequest, on_disk: Callable[[], inmost.Store]) -> inmost.Store:
    return on_disk() if request.param == "disk" else inmost.Store.in_memory()


def test_no_edit_of_eight_threads_is_lost(shared: inmost.Store) -> None:
    tool = shared.memory_tool()
    tool.call({"command": "create", "path": "/memories/log", "file_text": "start\n"})
    barrier, failures = threading.Barrier(8), []

    def edit(thread: int) -> None:
        barrier.wait()
        for number in range(50):
            result = tool.call(
                {"command": "insert", "path": "/memories/log", "insert_line": 1, "insert_text": f"{thread}.{number}\n"}
            )
            if result.is_error:
                failures.append(result.content)

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = shared.files.read("/memories/log").splitlines()
    assert not failures
    assert sorted(lines) == sorted(["start", *(f"{thread}.{number}" for thread in range(8) for number in range(50))])


def test_no_increment_of_eight_threads_is_lost_with_preconditions(store: inmost.Store) -> None:
    store.files.write("/memories/n", "0")
    deadline = time.monotonic() + 120

    def increment() -> None:
        for _ in range(20):
            while True:
                # In this order: a change between the two calls must be noticed.
                now = store.files.version("/memories/n")
                text = str(int(store.files.read("/memories/n")) + 1)
                assert time.monotonic() < deadline
                try:
                    store.files.write_if("/memories/n", text, now)
                    break
                except errors.Changed:
                    pass

    threads = [threading.Thread(target=increment) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.files.read("/memories/n") == "160"


def test_threads_share_an_iterator(store: inmost.Store) -> None:
    store.files.write_many([inmost.NewFile(f"/memories/{n:04}", "") for n in range(3000)])
    walk, found = store.files.walk(), list[str]()

    def drain() -> None:
        found.extend(entry.name for entry in walk)

    threads = [threading.Thread(target=drain) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"{n:04}" for n in range(3000)]


def test_a_lock_in_another_thread_ends_calls_with_an_error(on_disk: Callable[[], inmost.Store]) -> None:
    store = on_disk()
    written, done, deadline = threading.Event(), list[int](), time.monotonic() + 120

    def write() -> None:
        number = 0
        try:
            while time.monotonic() < deadline:
                store.files.write(f"/memories/{number}", "tea")
                number += 1
                done.append(number)
                written.set()
        except errors.Locked:
            pass

    thread = threading.Thread(target=write)
    thread.start()
    assert written.wait(120)
    store.lock()
    thread.join()
    assert time.monotonic() < deadline
    with on_disk() as again:
        assert again.status().files == done[-1]


CALLS: dict[str, Callable[[inmost.Store], Any]] = {
    "status": lambda store: store.status(),
    "is_locked": lambda store: store.is_locked(),
    "in_memory": lambda store: inmost.Store.in_memory(),
    "call": lambda store: store.memory_tool().call(VIEW),
    "clear": lambda store: store.memory_tool(subtree="/memories/x").clear(),
    "read": lambda store: store.files.read("/memories/a"),
    "read_lines": lambda store: store.files.read_lines("/memories/a", 1),
    "metadata": lambda store: store.files.metadata("/memories/a"),
    "exists": lambda store: store.files.exists("/memories/a"),
    "write": lambda store: store.files.write("/memories/b", "tea"),
    "append": lambda store: store.files.append("/memories/c", "t"),
    "write_many": lambda store: store.files.write_many([]),
    "list": lambda store: store.files.list(),
    "walk": lambda store: next(store.files.walk()),
    "search": lambda store: next(store.files.search("tea")),
    "grep": lambda store: store.files.grep("tea"),
    "rename": lambda store: store.files.rename("/memories", "/memories/a"),
    "remove": lambda store: store.files.remove("/memories/absent"),
    "version": lambda store: store.files.version("/memories/a"),
    "write_if": lambda store: store.files.write_if("/memories/a", "tea", None),
    "log": lambda store: list(store.history.log()),
    "plan_undo": lambda store: store.history.plan_undo(),
    "set": lambda store: store.history.set(None),
    "history": lambda store: store.history.status(),
    "forget": lambda store: store.history.forget("/memories/a"),
    "expire": lambda store: store.expiry.expire(timedelta(days=1)),
    "close": lambda store: store.close(),
    "lock": lambda store: store.lock(),
}
"""Each is one call that takes long, with no other call beside it that could release the lock instead."""


@pytest.mark.parametrize("name", [*CALLS, "undo"])
def test_other_threads_run_during_a_call(name: str, store: inmost.Store) -> None:
    """The interpreter takes its lock from no thread here, so the other thread runs only if a call releases it."""
    store.files.write("/memories/a", "tea")
    plan = store.history.plan_undo()
    undo: Callable[[inmost.Store], Any] = lambda store: store.history.undo(plan)
    call = CALLS.get(name, undo)
    interval = sys.getswitchinterval()
    running, stop = threading.Event(), False

    def work() -> None:
        running.set()
        for _ in range(1_000_000):
            with suppress(inmost.FileError):
                call(store)
            if stop:
                return
        raise AssertionError("no other thread ran")

    worker = threading.Thread(target=work)
    sys.setswitchinterval(10_000)
    try:
        worker.start()
        assert running.wait(120)
        stop = True
        worker.join()
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_other_threads_run_while_a_keyfile_is_read(tmp_path: Path) -> None:
    # Regression: the lock was held, so the thread that fills the pipe never ran, and the call never returned.
    said = run(
        """
    import inmost, os, sys, threading
    pipe, store = sys.argv[1:]
    content = inmost.generate_keyfile()
    os.mkfifo(pipe)
    def fill():
        with open(pipe, "wb") as file:
            file.write(content)
    threading.Thread(target=fill).start()
    inmost.Store.create(store, passphrase="p", keyfile=pipe).close()
    print("opened")
    """,
        str(tmp_path / "pipe"),
        str(tmp_path / "s"),
    )
    assert said == "opened\n"


FORK = """
    import os, sys, inmost
    from inmost import errors

    def child(work):
        # Returns what the work in a forked child prints.
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            try:
                os.write(write, str(work()).encode())
            except BaseException as error:
                os.write(write, repr(error).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        assert os.wait()[1] == 0
        return said

    def raised(work):
        try:
            work()
        except errors.Forked as error:
            return type(error).__name__
        return "nothing"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_gets_an_error_and_the_parent_goes_on(tmp_path: Path) -> None:
    said = run(
        FORK
        + """
    store = inmost.Store.create(sys.argv[1], raw_key=bytes(32))
    tool = store.memory_tool()
    store.files.write("/memories/a", "tea")
    walk = store.files.walk()
    for work in (
        lambda: store.files.read("/memories/a"),
        lambda: store.files.write("/memories/a", "coffee"),
        lambda: store.status(),
        lambda: next(walk),
        lambda: list(store.history.log()),
    ):
        print(child(lambda: raised(work)))
    def in_words(result):
        return result.content, type(result.store_error).__name__
    print(child(lambda: in_words(tool.call({"command": "view", "path": "/memories"}))))
    print(child(lambda: in_words(tool.clear())))
    def leave():
        with store:
            pass
        store.lock()
        return store.is_locked()
    print(child(leave))
    store.files.append("/memories/a", "!")
    print(store.files.read("/memories/a"))
    """,
        str(tmp_path / "s"),
    )
    assert said.splitlines() == ["Forked"] * 5 + [
        "('Error: Memory is unavailable.', 'Forked')",
        "('Error: Memory is unavailable.', 'Forked')",
        "True",
        "tea!",
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_can_open_a_store_if_its_parent_opened_none(tmp_path: Path) -> None:
    said = run(
        FORK
        + """
    def work():
        with inmost.Store.create(sys.argv[1], raw_key=bytes(32)) as store:
            store.files.write("/memories/a", "tea")
        return "done"
    print(child(work))
    with inmost.Store.open(sys.argv[1], raw_key=bytes(32)) as store:
        print(store.files.read("/memories/a"))
    """,
        str(tmp_path / "s"),
    )
    assert said.splitlines() == ["done", "tea"]


def read_in_child(store: Any, pipe: Connection) -> None:
    try:
        pipe.send(store.files.read("/memories/a"))
    except inmost.Error as error:
        pipe.send(type(error).__name__)


def open_in_child(path: str, key: bytes, pipe: Connection) -> None:
    try:
        with inmost.Store.open(path, raw_key=key) as store:
            pipe.send(store.files.read("/memories/a"))
    except inmost.Error as error:
        pipe.send(type(error).__name__)


def in_process(method: str, target: Callable[..., None], *arguments: Any) -> Any:
    context: Any = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, sender))
    process.start()
    sender.close()
    try:
        assert receiver.poll(120), "the child process sent nothing within 120 s"
        said = receiver.recv()
        process.join(120)
        assert process.exitcode == 0, "the child process did not end within 120 s, or failed"
    finally:
        process.kill()
    return said


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_multiprocessing_by_fork_gets_the_error(on_disk: Callable[[], inmost.Store]) -> None:
    store = on_disk()
    store.files.write("/memories/a", "tea")
    assert in_process("fork", read_in_child, store) == "Forked"
    assert store.files.read("/memories/a") == "tea"


def test_multiprocessing_by_spawn_opens_the_store_itself(
    on_disk: Callable[[], inmost.Store], tmp_path: Path, key: bytes
) -> None:
    path = str(tmp_path / "claude.inmost")
    store = on_disk()
    store.files.write("/memories/a", "tea")
    with pytest.raises(TypeError, match="Store.connect"):
        in_process("spawn", read_in_child, store)
    assert in_process("spawn", open_in_child, path, key) == "InUse"
    store.close()
    assert in_process("spawn", open_in_child, path, key) == "tea"


@pytest.mark.parametrize(
    "end",
    [
        "pass",
        "sys.exit(0)",
        "os._exit(0)",
        "os.kill(os.getpid(), 9)",
        "import threading; threading.Thread(target=more).start()",
        "import threading; threading.Thread(target=more, daemon=True).start()",
        "import atexit; atexit.register(more)",
    ],
)
def test_nothing_acknowledged_is_lost_without_a_lock(end: str, tmp_path: Path) -> None:
    program = f"""
    import inmost, os, sys
    store = inmost.Store.create(sys.argv[1], raw_key=bytes(32))
    tool = store.memory_tool()
    def more():
        for n in range(20, 40):
            store.files.write(f"/memories/{{n}}", "tea")
            print(n, flush=True)
    for n in range(20):
        tool.call({{"command": "create", "path": f"/memories/{{n}}", "file_text": "tea"}})
        print(n, flush=True)
    {end}
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program), str(tmp_path / "s")], capture_output=True, text=True
    )
    assert done.returncode in (0, -signal.SIGKILL) and not done.stderr, done.stderr
    acknowledged = done.stdout.split()
    assert len(acknowledged) >= 20
    with inmost.Store.open(tmp_path / "s", raw_key=bytes(32)) as store:
        assert {entry.name for entry in store.files.list()} >= set(acknowledged)
